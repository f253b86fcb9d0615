//! What takes longer than the gate allows: the same proofs with more seeds, kills and cases, for as
//! long as somebody asks. Each part is a file of its own; here is only the choice among them and the
//! bound in time. Nothing here runs in CI.

use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use crate::shell::{Outcome, took};
use crate::sim;

/// Runs one of the long proofs.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    part: Part,
}

/// How long a part may take.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Bound {
    /// Minutes after which nothing new begins, 1 to 1,440
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=1_440))]
    pub(crate) minutes: u64,
}

impl Bound {
    /// The bound as a duration.
    pub(crate) const fn duration(self) -> Duration {
        Duration::from_secs(self.minutes * 60)
    }
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Simulate fresh seeds, 20 at a time
    Sim(Bound),
}

/// Runs the part.
pub(crate) fn run(options: &Options) -> Outcome {
    match options.part {
        Part::Sim(bound) => simulate(bound),
    }
}

/// Rounds of fresh seeds; the first that fails ends it, with the command that replays it.
fn simulate(bound: Bound) -> Outcome {
    let start = Instant::now();
    let round = sim::Options::fresh();
    let mut seeds = 0;
    while start.elapsed() < bound.duration() {
        sim::run(&round)?;
        seeds += round.seeds;
        eprintln!("soak: {seeds} seeds fine after {}", took(start.elapsed()));
    }
    Ok(())
}
