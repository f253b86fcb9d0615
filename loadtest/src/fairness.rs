//! Whether a flooding space hurts a quiet one: single checks of one space at a slow, fixed rate, first
//! alone and then beside batches of another space, and how often the later latency is the earlier one.
//!
//! Both halves are runs like any other (`run`), so every answer is validated. On a busy machine only
//! the ratio says something, and rounds differ: several are run and each is printed.

use std::fmt;
use std::thread;

use clap::Args;
use serde::Serialize;

use crate::options::{Common, Plan, measured};
use crate::run;
use crate::table::Report;

/// Options of the scenario.
#[derive(Debug, Clone, Args)]
pub(crate) struct FairnessOptions {
    /// The server, http only
    #[arg(long, default_value = "http://127.0.0.1:7440")]
    url: String,
    /// An API key of the quiet space
    #[arg(long)]
    quiet_key: String,
    /// An API key of the flooding space
    #[arg(long)]
    flood_key: String,
    /// Single checks a second of the quiet space
    #[arg(long, default_value_t = 100.0, value_parser = measured)]
    quiet_rate: f64,
    /// Connections of the quiet space
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1000))]
    quiet_connections: u64,
    /// Connections of the flooding space, each with a batch of 500 under way
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=1000))]
    flood_connections: u64,
    /// Measured seconds of each half of a round
    #[arg(long, default_value_t = 5.0, value_parser = measured)]
    seconds: f64,
    /// Rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    rounds: u64,
    /// Print one JSON object a round instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// One round. Times are milliseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Round {
    round: u64,
    /// Half of the quiet space's checks took at most this, alone and beside the flood.
    quiet_p50_ms: [f64; 2],
    /// The same for 99 of 100.
    quiet_p99_ms: [f64; 2],
    /// The second p99 over the first.
    p99_ratio: f64,
    /// Checks a second that the flood got answered.
    flood_checks_per_second: f64,
    /// Batches of the flood that were refused for load.
    flood_refused: u64,
    /// Every answer was valid, and none of the quiet space was refused.
    pub(crate) passed: bool,
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [alone_50, beside_50] = self.quiet_p50_ms;
        let [alone_99, beside_99] = self.quiet_p99_ms;
        writeln!(f, "fairness, round {}", self.round)?;
        writeln!(
            f,
            "  quiet alone     p50 {alone_50:.2} ms, p99 {alone_99:.2} ms"
        )?;
        writeln!(
            f,
            "  beside a flood  p50 {beside_50:.2} ms, p99 {beside_99:.2} ms"
        )?;
        writeln!(f, "  p99 ratio       {:.1}", self.p99_ratio)?;
        write!(
            f,
            "  the flood       {:.0} checks/s, {} batches refused",
            self.flood_checks_per_second, self.flood_refused
        )
    }
}

/// Carries out all rounds and shows each when it ends.
pub(crate) fn run(
    asked: &FairnessOptions,
    mut show: impl FnMut(&Round) -> Result<(), String>,
) -> Result<bool, String> {
    let mut passed = true;
    for number in 1..=asked.rounds {
        let round = round(asked, number)?;
        show(&round)?;
        passed &= round.passed;
    }
    Ok(passed)
}

fn round(asked: &FairnessOptions, number: u64) -> Result<Round, String> {
    let quiet = Plan::quiet(&asked.common(true, number))?;
    let flood = Plan::flood(&asked.common(false, number))?;
    let alone = run::run(&quiet)?;
    let (beside, flooded) = thread::scope(|scope| {
        let flooded = scope.spawn(|| run::run(&flood));
        // The flood warms up for a second and outlasts the quiet run.
        let beside = run::run(&quiet);
        let flooded = flooded.join();
        let flooded = flooded.unwrap_or_else(|_| Err("the flood's thread panicked".to_owned()));
        (beside, flooded)
    });
    let (beside, flooded) = (beside?, flooded?);
    Ok(Round {
        round: number,
        quiet_p50_ms: [alone.latency_ms.p50, beside.latency_ms.p50],
        quiet_p99_ms: [alone.latency_ms.p99, beside.latency_ms.p99],
        p99_ratio: ratio(&alone, &beside),
        flood_checks_per_second: flooded.checks_per_second,
        flood_refused: flooded.faults.refused,
        passed: alone.passed() && beside.passed() && flooded.passed(),
    })
}

fn ratio(alone: &Report, beside: &Report) -> f64 {
    // A percentile is at least the histogram's smallest value once there was a request.
    if alone.latency_ms.p99 > 0.0 {
        beside.latency_ms.p99 / alone.latency_ms.p99
    } else {
        0.0
    }
}

impl FairnessOptions {
    /// The options of one half as those of an ordinary run. Customers differ in every round.
    fn common(&self, is_quiet: bool, seed: u64) -> Common {
        let (key, connections) = match is_quiet {
            true => (&self.quiet_key, self.quiet_connections),
            false => (&self.flood_key, self.flood_connections),
        };
        Common {
            url: self.url.clone(),
            key: key.clone(),
            seconds: self.seconds,
            warm_up: 1.0,
            connections,
            target_rate: is_quiet.then_some(self.quiet_rate),
            seed,
            customers: 1_000_000,
            objects: 1_000_000,
            purpose: "service".to_owned(),
            channel: "whatsapp".to_owned(),
            gateway: None,
            // A flood may be refused; the quiet space may not.
            allow_refusals: !is_quiet,
            json: true,
        }
    }
}
