//! The seeded simulation: runs the package `interlock-sim` with fresh or given seeds. The seed is
//! printed before a run starts, so that a failing one can be replayed.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use crate::shell::{self, Outcome};

const PACKAGE: &str = "interlock-sim";

/// What to simulate.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// The machine to run
    #[arg(long, default_value = "counters")]
    pub(crate) machine: String,
    /// The first seed; without it one that nobody chose
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Steps of each run
    #[arg(long, default_value_t = 20_000)]
    pub(crate) steps: u64,
    /// Shards; without it the runs alternate between 1, 2 and 4
    #[arg(long)]
    pub(crate) shards: Option<u32>,
    /// Runs, each with the next seed
    #[arg(long, default_value_t = 3)]
    pub(crate) runs: u32,
    /// Handed to the simulator as they are
    #[arg(last = true)]
    pub(crate) rest: Vec<String>,
}

impl Options {
    /// A few fresh seeds, as the gate runs them.
    pub(crate) fn fresh() -> Self {
        Self {
            machine: "counters".to_owned(),
            seed: None,
            steps: 20_000,
            shards: None,
            runs: 3,
            rest: Vec::new(),
        }
    }
}

/// Runs the simulator; the first failing run ends it and names its seed.
pub(crate) fn run(options: &Options) -> Outcome {
    if !shell::has_package(PACKAGE)? {
        return Err(format!("the workspace has no package {PACKAGE}"));
    }
    let first = options.seed.unwrap_or_else(fresh_seed);
    let commit = shell::read(&mut shell::command("git", ["rev-parse", "--short", "HEAD"]))
        .unwrap_or_else(|_| "unknown".to_owned());
    for index in 0..options.runs {
        let seed = first.wrapping_add(u64::from(index));
        let shards = options.shards.unwrap_or([1, 2, 4][index as usize % 3]);
        let call = [
            ("--machine", options.machine.clone()),
            ("--seed", seed.to_string()),
            ("--steps", options.steps.to_string()),
            ("--shards", shards.to_string()),
        ];
        let words = call
            .iter()
            .flat_map(|(name, value)| [*name, value.as_str()]);
        let words: Vec<&str> = words
            .chain(options.rest.iter().map(String::as_str))
            .collect();
        eprintln!("sim: commit {} {}", commit.trim(), words.join(" "));
        let mut simulate = shell::cargo(["run", "--release", "--quiet", "-p", PACKAGE, "--"]);
        shell::run(simulate.args(&words))?;
    }
    Ok(())
}

/// A seed from the clock, short enough to type.
fn fresh_seed() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    since.as_millis() as u64 % 1_000_000_000
}
