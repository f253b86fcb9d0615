//! `single`: one check a request, each with a fresh effect key, spread over customers and objects.

use clap::Args;

use crate::checks::{About, Checks};
use crate::options::{Length, Output, Pacing, Where};
use crate::report::Document;
use crate::run::{self, Plan};
use crate::target::{Space, Target};

/// Checks a second when nothing else is asked for.
const USUAL_RATE: f64 = 5_000.0;
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
    about: About,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    let target = Target::open(&asked.at, Space::Load)?;
    document.meet(&target);
    let shape = asked.about.shape(None);
    let script = |connection| {
        Ok(Box::new(Checks::new(&shape, &target.endpoint, connection).alone_in(&target)) as Box<_>)
    };
    let mut plan = Plan::new("single", &target, &script);
    plan.unit = "checks";
    plan.about = asked.about.words();
    plan.pace = asked.pacing.pace(USUAL_RATE, 1.0);
    asked.length.apply(&mut plan, USUAL_CONNECTIONS);
    document.runs.push(run::run(&plan)?);
    target.close()
}
