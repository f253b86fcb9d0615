//! `shards`: for each number of shards a server of its own, and the most that full batches get from it
//! (closed loop). Ends in which number to take on this machine, in words.

use clap::Args;

use crate::checks::About;
use crate::options::{Length, Output, Where};
use crate::progress;
use crate::report::{Document, Run, ShardStep};
use crate::scenario::batch;
use crate::target::{Space, Target};

/// A rate this near to the best is as good: runs differ by more than that.
const AS_GOOD: f64 = 0.95;
/// A shard that spends this share of its time in turns has none left.
const FULL: f64 = 0.85;

/// Options of the scenario.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    at: Where,
    #[command(flatten)]
    length: Length,
    #[command(flatten)]
    about: About,
    /// Numbers of shards, with commas between them
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4], value_parser = clap::value_parser!(u32).range(1..=256))]
    list: Vec<u32>,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    if asked.at.spawn.is_none() {
        return Err("shards starts servers of its own: give --spawn".to_owned());
    }
    for shards in &asked.list {
        let name = named(*shards);
        progress::say(&format!("a server of {name}"));
        let target = Target::spawn(&asked.at, Some(*shards), Space::Load)?;
        document.meet(&target);
        let run = batch::saturate(&name, &target, &asked.about, &asked.length)?;
        document.shards.extend(step(*shards, &run));
        document.runs.push(run);
        target.close()?;
    }
    if document.shards.len() == asked.list.len() {
        document
            .words
            .extend(recommendation(&document.shards, document.machine.cores));
    }
    Ok(())
}

/// A number of shards in words.
pub(super) fn named(shards: u32) -> String {
    let noun = if shards == 1 { "shard" } else { "shards" };
    format!("{shards} {noun}")
}

/// The step of a run; none when an answer was wrong.
fn step(shards: u32, run: &Run) -> Option<ShardStep> {
    let busy = run.server.iter().flat_map(|server| &server.shards_busy);
    Some(ShardStep {
        shards,
        per_second: run.throughput?.per_second,
        p50_ms: run.latency.p50_ms,
        p99_ms: run.latency.p99_ms,
        busy: busy.copied().fold(0.0, f64::max),
        server_us: run.cpu.server_us.unwrap_or(0.0),
    })
}

/// The fewest shards that are about as good as the best, and whether more could help.
fn recommendation(steps: &[ShardStep], cores: usize) -> Vec<String> {
    let best = steps.iter().map(|step| step.per_second).fold(0.0, f64::max);
    let good = steps
        .iter()
        .filter(|step| step.per_second >= best * AS_GOOD);
    let Some(take) = good.min_by_key(|step| step.shards) else {
        return Vec::new();
    };
    let shards = take.shards;
    let mut words = vec![format!(
        "Take {} on a machine like this ({cores} cores, the generator on them): \
         {:.0} checks/s with a p99 of {:.1} ms. No other number measured gives over {:.0} % more.",
        named(shards),
        take.per_second,
        take.p99_ms,
        (1.0 / AS_GOOD - 1.0) * 100.0
    )];
    let most = steps.iter().map(|step| step.shards).max().unwrap_or(0);
    let (busy, full) = (take.busy * 100.0, take.busy >= FULL);
    words.push(match (full, most > shards) {
        (true, false) => format!(
            "Its busiest shard spends {busy:.0} % of its time in turns, so it is what limits: \
             measure more shards."
        ),
        (true, true) => format!(
            "Its busiest shard spends {busy:.0} % of its time in turns; more shards do not help \
             because the machine's cores are shared out."
        ),
        (false, _) => format!(
            "Its busiest shard spends {busy:.0} % of its time in turns, so something else limits: \
             HTTP, the disk or the generator."
        ),
    });
    let slow = steps
        .iter()
        .filter(|step| step.shards > shards && step.p99_ms > 2.0 * take.p99_ms);
    words.extend(slow.map(|step| {
        format!(
            "{} more than double the p99, to {:.1} ms.",
            named(step.shards),
            step.p99_ms
        )
    }));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(shards: u32, per_second: f64, busy: f64, p99_ms: f64) -> ShardStep {
        ShardStep {
            shards,
            per_second,
            p50_ms: 1.0,
            p99_ms,
            busy,
            server_us: 4.0,
        }
    }

    #[test]
    fn the_fewest_that_are_as_good_are_recommended() {
        let steps = [
            step(1, 980.0, 0.9, 5.0),
            step(2, 1_000.0, 0.5, 6.0),
            step(4, 900.0, 0.3, 11.0),
        ];
        let words = recommendation(&steps, 2).join(" ");
        assert!(words.starts_with("Take 1 shard on"), "{words}");
        assert!(
            words.contains("90 % of its time in turns; more shards do not help"),
            "{words}"
        );
        assert!(
            words.contains("4 shards more than double the p99"),
            "{words}"
        );
        let words = recommendation(&[step(1, 500.0, 0.9, 5.0), step(2, 1_000.0, 0.9, 5.0)], 8);
        assert!(
            words[0].starts_with("Take 2 shards on") && words[1].ends_with("measure more shards.")
        );
        let words = recommendation(&[step(1, 500.0, 0.4, 5.0)], 2);
        assert!(words[1].contains("something else limits"));
        assert!(recommendation(&[], 2).is_empty());
        assert_eq!([1, 2].map(named), ["1 shard", "2 shards"]);
    }
}
