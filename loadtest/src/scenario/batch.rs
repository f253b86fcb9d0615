//! `batch`: full batches of checks, each check with a fresh effect key, spread over customers and
//! objects. With `--closed` it finds out how many checks a second can be had.

use std::time::Duration;

use clap::Args;

use crate::arrivals::Pace;
use crate::checks::{About, BATCH_MAX, Batches, Checks};
use crate::device::Speed;
use crate::options::{Length, NO_END, Output, Pacing, Where};
use crate::report::{Document, Run};
use crate::run::{self, Plan};
use crate::target::{Space, Target};
use crate::template::{Customers, Shape};

/// Checks a second when nothing else is asked for.
const USUAL_RATE: f64 = 100_000.0;
/// How long the disk alone is written to, before and again after the run.
const DISK: Duration = Duration::from_secs(1);
/// Connections of batches when nothing else is asked for.
pub(crate) const USUAL_CONNECTIONS: u64 = 4;

/// Options of the scenario.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    at: Where,
    #[command(flatten)]
    length: Length,
    #[command(flatten)]
    pacing: Pacing,
    #[command(flatten)]
    batches: Batches,
    #[command(flatten)]
    about: About,
    /// Also measure what the disk under the spawned server's data takes in writes with a sync each,
    /// before and after the run, and set what the run wrote against it
    #[arg(long, requires = "spawn")]
    disk: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    let target = Target::open(&asked.at, Space::Load)?;
    document.meet(&target);
    let mut shape = asked.about.shape(Some(asked.batches.batch));
    shape.order_probes = asked.batches.order_probes as usize;
    let script = |connection| {
        Ok(Box::new(Checks::new(&shape, &target.endpoint, connection).alone_in(&target)) as Box<_>)
    };
    let mut plan = Plan::new("batch", &target, &script);
    plan.unit = "checks";
    plan.batch = shape.checks() as f64;
    plan.about = asked.about.words();
    plan.pace = asked.pacing.pace(USUAL_RATE, plan.batch);
    asked.length.apply(&mut plan, USUAL_CONNECTIONS);
    let folder = target.data().filter(|_| asked.disk);
    let alone = |folder: &std::path::PathBuf| Speed::of(folder, DISK);
    let before = folder.as_ref().map(alone).transpose()?;
    let run = run::run(&plan)?;
    if let (Some(folder), Some(before)) = (&folder, before) {
        document.disk = before.between(alone(folder)?).beside(&run);
        document
            .words
            .extend(document.disk.map(|disk| disk.words()));
    }
    document.runs.push(run);
    target.close()
}

/// A saturating run of full batches, for scenarios that compare such runs.
pub(crate) fn saturate(
    name: &str,
    target: &Target,
    about: &About,
    length: &Length,
) -> Result<Run, String> {
    let shape = about.shape(Some(BATCH_MAX));
    let script = |connection| {
        Ok(Box::new(Checks::new(&shape, &target.endpoint, connection).alone_in(target)) as Box<_>)
    };
    let mut plan = Plan::new(name, target, &script);
    plan.unit = "checks";
    plan.batch = f64::from(BATCH_MAX);
    plan.about = about.words();
    plan.pace = Pace::Closed;
    length.apply(&mut plan, USUAL_CONNECTIONS);
    run::run(&plan)
}

/// Asks one check about each customer from `first` to before `end`, as fast as it goes.
pub(crate) fn fill(
    target: &Target,
    about: &About,
    connections: u64,
    (first, end): (u64, u64),
) -> Result<Run, String> {
    let shape = Shape {
        customers: Customers::InTurn {
            next: std::sync::Arc::new(first.into()),
            end,
        },
        order_probes: 0,
        ..about.shape(Some(BATCH_MAX))
    };
    let script = |connection| {
        Ok(Box::new(Checks::new(&shape, &target.endpoint, connection).alone_in(target)) as Box<_>)
    };
    let mut plan = Plan::new("fill", target, &script);
    plan.unit = "checks";
    plan.batch = f64::from(BATCH_MAX);
    plan.about = format!("one check for each of {} customers", end - first);
    plan.connections = connections;
    plan.warm_up = Duration::ZERO;
    // It ends when its customers have had their turn.
    plan.measured = NO_END;
    run::run(&plan)
}
