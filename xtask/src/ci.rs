//! The whole gate, as CI runs it on a clean clone: every stage runs, whatever the ones before it found,
//! and each gets a line at the end. The tests' own summary is the last line.

use std::time::Duration;

use crate::shell::{self, Outcome, took};
use crate::summary::Tests;
use crate::{deny, sim, testing, tidy};

type Stage = (&'static str, fn() -> Outcome);

/// Runs the gate.
pub(crate) fn run() -> Outcome {
    let stages: [Stage; 5] = [
        ("fmt", || {
            shell::run(&mut shell::cargo(["fmt", "--all", "--check"]))
        }),
        ("clippy", clippy),
        ("tidy", || tidy::run(false)),
        ("deny", deny::run),
        ("sim", || sim::run(&sim::Options::fresh())),
    ];
    let mut rows: Vec<(&str, Outcome, Duration)> = Vec::new();
    for (title, stage) in stages {
        let (outcome, duration) = shell::step(title, stage);
        rows.push((title, told(title, outcome), duration));
    }
    let (tests, duration) = shell::step("test", testing::run);
    let verdict = tests
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|it| it.verdict(shell::is_ci()));
    rows.push(("test", told("test", verdict), duration));
    let outcome = summary(rows);
    println!(
        "{}",
        tests
            .unwrap_or_else(|_| Tests {
                failed: 1,
                ..Tests::default()
            })
            .line()
    );
    outcome
}

/// Tells a fault at once; it is summed up at the end.
fn told(title: &str, outcome: Outcome) -> Outcome {
    outcome.inspect_err(|error| eprintln!("{title}: {error}"))
}

fn summary(rows: Vec<(&str, Outcome, Duration)>) -> Outcome {
    eprintln!("== stages");
    let mut failed = Vec::new();
    for (title, outcome, duration) in rows {
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        eprintln!("   {title:<10} {word:<8} {:>10}", took(duration));
        if outcome.is_err() {
            failed.push(title);
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("the gate found faults: {}", failed.join(", ")))
    }
}

fn clippy() -> Outcome {
    for which in [&["--workspace"][..], &shell::FEATURES, &shell::DIRECT] {
        let mut clippy = shell::cargo(["clippy", "--quiet", "--all-targets"]);
        clippy.args(which).args(["--", "-D", "warnings"]);
        shell::run(&mut clippy)?;
    }
    Ok(())
}
