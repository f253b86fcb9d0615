//! Scenarios whose connections each walk through steps of their own, without checks.
//!
//! Here: their options, and the way from these to a run. Not here: what the steps are (`claims`,
//! `effects`).

use clap::Args;

use crate::connection::Script;
use crate::options::{self, Length, Output, Pacing, Where};
use crate::report::Document;
use crate::run::{self, Plan};
use crate::target::{Endpoint, Space, Target};

/// Requests a second when nothing else is asked for.
const USUAL_RATE: f64 = 2_000.0;
const USUAL_CONNECTIONS: u64 = 16;

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
    pub(crate) output: Output,
}

/// What such a scenario is called and asks.
pub(crate) struct Steps {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The kinds of requests.
    pub(crate) kinds: &'static [&'static str],
    /// The script of a connection, by the run's tag and the connection's number.
    pub(crate) script: fn(&Endpoint, u32, u64) -> Box<dyn Script>,
}

pub(crate) fn run(asked: &Asked, document: &mut Document, steps: &Steps) -> Result<(), String> {
    let target = Target::open(&asked.at, Space::Load)?;
    document.meet(&target);
    let run = options::run_tag();
    let script = |connection| Ok((steps.script)(&target.endpoint, run, connection));
    let mut plan = Plan::new(steps.name, &target, &script);
    plan.steps = steps.kinds;
    plan.about = steps.about.to_owned();
    plan.pace = asked.pacing.pace(USUAL_RATE, 1.0);
    asked.length.apply(&mut plan, USUAL_CONNECTIONS);
    document.runs.push(run::run(&plan)?);
    target.close()
}
