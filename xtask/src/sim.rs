//! The seeded simulation: runs the package `interlock-sim` with fresh or given seeds, or replays a
//! trace. The simulator prints each seed before its run starts and, when a run fails, the command
//! that replays it and the few steps it comes to.

use std::path::PathBuf;

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
    /// What may go wrong: all, none, or some of crash, commit, start, clock, client, full with
    /// commas
    #[arg(long, default_value = "all")]
    pub(crate) faults: String,
    /// Run the seeds that once found something before the others
    #[arg(long)]
    pub(crate) kept: bool,
    /// Runs at once
    #[arg(long, default_value_t = 1)]
    pub(crate) jobs: usize,
    /// Replay the steps of a file that a failure was written to
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

impl Options {
    /// The seeds that once found something and fresh ones, as the gate runs them, one on each core.
    pub(crate) fn fresh() -> Self {
        Self {
            machine: "all".to_owned(),
            seed: None,
            seeds: 100,
            steps: 20_000,
            shards: None,
            faults: "all".to_owned(),
            kept: true,
            jobs: std::thread::available_parallelism()
                .map_or(1, usize::from)
                .min(64),
            trace: None,
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
    words.push(format!("--faults={}", options.faults));
    words.push(format!("--jobs={}", options.jobs));
    words.extend(options.kept.then(|| "--kept".to_owned()));
    let trace = options.trace.as_ref();
    words.extend(trace.map(|file| format!("--trace={}", file.display())));
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
