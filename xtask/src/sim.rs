//! The seeded simulation: runs the package `interlock-sim` with fresh or given seeds. The simulator
//! prints each seed before its run starts and, when a run fails, the command that replays it.

use clap::Args;

use crate::shell::{self, Outcome};

const PACKAGE: &str = "interlock-sim";

/// What to simulate.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// The machine to run, or all of them
    #[arg(long, default_value = "all")]
    pub(crate) machine: String,
    /// The first seed; without it one that nobody chose
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Runs, each with the next seed
    #[arg(long, alias = "runs", default_value_t = 1)]
    pub(crate) seeds: u32,
    /// Steps of each run
    #[arg(long, default_value_t = 100_000)]
    pub(crate) steps: u64,
    /// Shards of the first process; without it by seed
    #[arg(long)]
    pub(crate) shards: Option<u32>,
}

impl Options {
    /// Fresh seeds, as the gate runs them.
    pub(crate) fn fresh() -> Self {
        Self {
            machine: "all".to_owned(),
            seed: None,
            seeds: 20,
            steps: 100_000,
            shards: None,
        }
    }
}

/// Runs the simulator; the first failing run ends it.
pub(crate) fn run(options: &Options) -> Outcome {
    if !shell::has_package(PACKAGE)? {
        return Err(format!("the workspace has no package {PACKAGE}"));
    }
    let commit = shell::read(&mut shell::command("git", ["rev-parse", "--short", "HEAD"]))
        .unwrap_or_else(|_| "unknown".to_owned());
    let mut words = vec![
        format!("--machine={}", options.machine),
        format!("--seeds={}", options.seeds),
        format!("--steps={}", options.steps),
    ];
    words.extend(options.seed.map(|seed| format!("--seed={seed}")));
    words.extend(options.shards.map(|shards| format!("--shards={shards}")));
    eprintln!("sim: commit {} {}", commit.trim(), words.join(" "));
    let mut simulate = shell::cargo([
        "run",
        "--profile",
        shell::PROFILE,
        "--quiet",
        "-p",
        PACKAGE,
        "--",
    ]);
    shell::run(simulate.args(&words))
}
