//! What takes longer than the gate allows: the same proofs with more seeds, kills and cases, for as
//! long as somebody asks. Here: the choice among them, how long or how often, and the variables that tell
//! the end-to-end tests so. Not here: what is proved. Nothing here runs in CI.

use std::process::Command;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use crate::shell::{self, Outcome, took};
use crate::{fuzz, mutants, schema, setup, sim};

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

/// How often a part repeats what it does.
#[derive(Debug, Clone, Copy, Args)]
struct Times {
    /// How many, 1 to 100,000
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    times: u32,
}

/// How long a server stands still.
#[derive(Debug, Clone, Copy, Args)]
struct Stop {
    /// Seconds, 1 to 3,600
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    seconds: u32,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Simulate fresh seeds, as many at a time as the gate does
    Sim(Bound),
    /// Kill a server under mixed load, each start under another shard count
    Kills(Times),
    /// Start on copies of a data directory whose bytes were cut or flipped
    Damage(Times),
    /// Stop a server under load, and let it go on
    Stop(Stop),
    /// Plant every known fault in a copy of the tree
    Mutants,
    /// Make up faults in the deciding files
    Generated(Bound),
    /// Generate requests against the served document
    Schema(Times),
    /// Let hostile clients at a server again and again
    Hostile(Times),
    /// Judge what clients see of a server that is killed again and again
    Linear(Bound),
    /// Make up inputs for what reads bytes; the targets share the time
    Fuzz(Bound),
}

/// Runs the part.
pub(crate) fn run(options: &Options) -> Outcome {
    match options.part {
        Part::Sim(bound) => simulate(bound),
        Part::Kills(times) => test(
            "kills::kills_under_load",
            "INTERLOCK_KILLS",
            times.times.into(),
        ),
        Part::Damage(times) => test(
            "damage::damaged_bytes",
            "INTERLOCK_DAMAGES",
            times.times.into(),
        ),
        Part::Stop(stop) => test(
            "clocks::a_server_that_stands",
            "INTERLOCK_STOP_S",
            stop.seconds.into(),
        ),
        Part::Mutants => mutants::run(&mutants::Options::all()),
        Part::Generated(bound) => mutants::run(&mutants::Options::generated(bound)),
        Part::Schema(times) => schema(times.times),
        Part::Hostile(times) => (0..times.times).try_for_each(|_| tested("hostile::", |test| test)),
        Part::Fuzz(bound) => fuzz::soak(bound.duration()),
        Part::Linear(bound) => test("crashes::", "INTERLOCK_LINEAR_S", bound.minutes * 60),
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

/// Requests for each operation and phase, from a seed that nobody chose.
fn schema(examples: u32) -> Outcome {
    let options = schema::Options {
        examples,
        seed: None,
    };
    let tests = schema::run(&options)?;
    eprintln!("soak: {}", tests.line());
    tests.verdict(true)
}

/// One of the end-to-end tests, with another number than the gate gives it. It prints its own figures.
fn test(name: &str, variable: &str, number: u64) -> Outcome {
    tested(name, |test| test.env(variable, number.to_string()))
}

/// One of the end-to-end tests, told what `change` says.
fn tested(name: &str, change: impl FnOnce(&mut Command) -> &mut Command) -> Outcome {
    setup::run()?;
    let words = [
        "test",
        "--profile",
        shell::PROFILE,
        "--package",
        "interlock",
    ];
    let mut test = shell::cargo(words);
    test.args(["--test", "it", "--", name, "--nocapture"]);
    shell::run(change(&mut test))
}
