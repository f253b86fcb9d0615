//! `growth`: one server that comes to know more and more customers. At each step every new customer
//! gets one check (so one counted contact and one reserved effect), then full batches over all of them
//! find out what can be had (closed loop); with `--fill-only` they do not, so that a step has exactly a
//! contact and an effect of each customer.

use std::time::Duration;

use clap::Args;

use crate::checks::About;
use crate::options::{Length, Output, Where};
use crate::process::{self, Process};
use crate::progress;
use crate::report::{Document, GrowthStep, Resources, Run};
use crate::scenario::batch;
use crate::target::{Space, Target};
use crate::template::CUSTOMERS_MAX;

/// How long a server without anything settles before it is looked at.
const SETTLE: Duration = Duration::from_millis(500);

/// Options of the scenario.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    at: Where,
    #[command(flatten)]
    length: Length,
    #[command(flatten)]
    about: About,
    /// Numbers of customers, rising, with commas between them
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000, 10_000_000], value_parser = clap::value_parser!(u64).range(500..=CUSTOMERS_MAX))]
    steps: Vec<u64>,
    /// Only fill, and look at memory and disk: no load in between, so as many effects as customers
    #[arg(long)]
    fill_only: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    if asked.at.spawn.is_none() {
        return Err("growth starts a server of its own: give --spawn".to_owned());
    }
    if !asked.steps.is_sorted_by(|earlier, later| earlier < later) {
        return Err("--steps: numbers of customers that rise".to_owned());
    }
    let target = Target::spawn(&asked.at, asked.at.shards, Space::Load)?;
    document.meet(&target);
    std::thread::sleep(SETTLE);
    let empty = target
        .process
        .and_then(Process::resident_bytes)
        .unwrap_or(0);
    let connections = asked.length.connections.unwrap_or(batch::USUAL_CONNECTIONS);
    let mut known = 0;
    for &customers in &asked.steps {
        progress::say(&format!("{customers} customers"));
        let mut filled = batch::fill(&target, &asked.about, connections, (known, customers))?;
        let disk_bytes = target.data().as_deref().map_or(0, process::disk_bytes);
        if asked.fill_only {
            filled.name = format!("fill to {customers}");
            let found = step(customers, &filled, &filled, empty, disk_bytes);
            document.growth.extend(found);
            document.runs.push(filled);
            known = customers;
            continue;
        }
        let about = About {
            customers,
            ..asked.about.clone()
        };
        let name = format!("{customers} customers");
        let run = batch::saturate(&name, &target, &about, &asked.length)?;
        filled.name = format!("fill to {customers}");
        document
            .growth
            .extend(step(customers, &filled, &run, empty, disk_bytes));
        document.runs.extend([filled, run]);
        known = customers;
    }
    let words = comparison(&document.growth);
    // The rate of a fill says nothing of how many customers there are.
    let told = if asked.fill_only { 1 } else { words.len() };
    document.words.extend(words.into_iter().take(told));
    target.close()
}

/// What the server has after the fill, and what it gives; none when an answer was wrong.
fn step(
    customers: u64,
    filled: &Run,
    run: &Run,
    empty: u64,
    disk_bytes: u64,
) -> Option<GrowthStep> {
    let Resources {
        resident_bytes,
        entities,
        ..
    } = *filled.server.as_ref()?;
    filled.throughput?;
    Some(GrowthStep {
        customers,
        entities,
        per_second: run.throughput?.per_second,
        p50_ms: run.latency.p50_ms,
        p99_ms: run.latency.p99_ms,
        resident_bytes,
        bytes_per_entity: resident_bytes.saturating_sub(empty) as f64 / entities.max(1) as f64,
        disk_bytes,
    })
}

fn comparison(steps: &[GrowthStep]) -> Vec<String> {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return Vec::new();
    };
    let mut words = vec![format!(
        "{} customers and what belongs to them ({} entities) take {:.0} MB, {:.0} bytes an entity \
         above the empty server.",
        last.customers,
        last.entities,
        last.resident_bytes as f64 / 1e6,
        last.bytes_per_entity
    )];
    if steps.len() > 1 {
        words.push(format!(
            "Over {} customers the server gives {:.0} % of what it gives over {}.",
            last.customers,
            last.per_second / first.per_second.max(1e-9) * 100.0,
            first.customers
        ));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_step_is_set_against_the_first() {
        let step = |customers, per_second| GrowthStep {
            customers,
            entities: 2 * customers,
            per_second,
            p50_ms: 1.0,
            p99_ms: 2.0,
            resident_bytes: 500_000_000,
            bytes_per_entity: 240.0,
            disk_bytes: 0,
        };
        let words = comparison(&[step(10_000, 400_000.0), step(1_000_000, 320_000.0)]);
        assert!(
            words[0].contains("500 MB, 240 bytes an entity"),
            "{words:?}"
        );
        assert!(
            words[1].contains("80 % of what it gives over 10000"),
            "{words:?}"
        );
        assert!(comparison(&[]).is_empty());
    }
}
