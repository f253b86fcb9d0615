//! `hot`: what many have in common. All checks on one customer, or on one object; half of the batches
//! on one customer and what the other half feels of it; a space that floods and what a quiet space
//! beside it feels of it. On a busy machine only the ratios say something.

use std::thread;

use clap::{Args, ValueEnum};

use crate::arrivals::{Pace, STEADY};
use crate::checks::{About, BATCH_MAX, Batches, Checks};
use crate::findings::Beside;
use crate::options::{Length, Output, Pacing, Where, rate};
use crate::report::{Document, Run};
use crate::run::{self, Plan};
use crate::scenario::batch::USUAL_CONNECTIONS;
use crate::target::{Endpoint, Space, Target};
use crate::template::{Customers, Shape};

/// Checks a second when nothing else is asked for.
const USUAL_RATE: f64 = 50_000.0;

/// Options of the scenario.
#[derive(Debug, Args)]
#[command(mut_arg("purpose", |it| it.default_value("transactional").help("The purpose of every check; one without a budget, which one customer would use up")))]
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
    /// What is hot, and `spread` to set it against; several with commas between them
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [On::Customer, On::Object])]
    on: Vec<On>,
    /// Times that a comparison is made; each has its own figures
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// A key of the quiet space beside a flood; a spawned server has one
    #[arg(long, requires = "key")]
    quiet_key: Option<String>,
    /// Single checks a second of the quiet space
    #[arg(long, default_value_t = 100.0, value_parser = rate)]
    quiet_rate: f64,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What is hot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum On {
    /// Nothing: many customers, many objects
    Spread,
    /// One customer, many objects
    Customer,
    /// One object, many customers
    Object,
    /// Half of the batches on one customer, beside batches that are spread
    Half,
    /// One space that floods, beside single checks of a quiet one
    Space,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    let target = Target::open(&asked.at, Space::Load)?;
    document.meet(&target);
    for on in &asked.on {
        match on {
            On::Spread => alone(asked, &target, document, "spread", |_| ())?,
            On::Customer => alone(asked, &target, document, "hot customer", one_customer)?,
            On::Object => alone(asked, &target, document, "hot object", one_object)?,
            On::Half => (0..asked.rounds).try_for_each(|_| half(asked, &target, document))?,
            On::Space => (0..asked.rounds).try_for_each(|_| space(asked, &target, document))?,
        }
    }
    target.close()
}

fn one_customer(shape: &mut Shape) {
    shape.customers = Customers::Spread(1);
}

fn one_object(shape: &mut Shape) {
    shape.objects = 1;
}

/// Batches of the asked size; `by` sets their effect keys apart.
fn shape(asked: &Asked, by: usize) -> Shape {
    let mut shape = asked.about.shape(Some(asked.batches.batch));
    shape.order_probes = asked.batches.order_probes as usize;
    shape.run = shape.run.wrapping_add(by as u32);
    shape
}

/// One run with nothing beside it.
fn alone(
    asked: &Asked,
    target: &Target,
    document: &mut Document,
    name: &str,
    heat: fn(&mut Shape),
) -> Result<(), String> {
    let mut shape = shape(asked, document.runs.len());
    heat(&mut shape);
    let script = |connection| {
        Ok(Box::new(Checks::new(&shape, &target.endpoint, connection).alone_in(target)) as Box<_>)
    };
    let mut plan = batches(asked, target, name, &script);
    plan.pace = asked.pacing.pace(USUAL_RATE, plan.batch);
    document.runs.push(run::run(&plan)?);
    Ok(())
}

fn batches<'a>(
    asked: &Asked,
    target: &'a Target,
    name: &str,
    script: &'a run::Scripts<'a>,
) -> Plan<'a> {
    let mut plan = Plan::new(name, target, script);
    plan.unit = "checks";
    plan.batch = f64::from(asked.batches.batch);
    plan.about = asked.about.words();
    asked.length.apply(&mut plan, USUAL_CONNECTIONS);
    plan
}

/// Spread batches alone, then beside as many on one customer.
fn half(asked: &Asked, target: &Target, document: &mut Document) -> Result<(), String> {
    let spread = shape(asked, document.runs.len());
    let mut hot = shape(asked, document.runs.len() + 1);
    one_customer(&mut hot);
    let of = |shape: &Shape, connection| {
        Ok(Box::new(Checks::new(shape, &target.endpoint, connection).alone_in(target)) as Box<_>)
    };
    let spread_script = |connection| of(&spread, connection);
    let hot_script = |connection| of(&hot, connection);
    let mut quiet = batches(asked, target, "spread half", &spread_script);
    let mut noisy = batches(asked, target, "hot half", &hot_script);
    for plan in [&mut quiet, &mut noisy] {
        plan.pace = asked.pacing.pace(USUAL_RATE, plan.batch);
        if let Pace::Open { per_second, .. } = &mut plan.pace {
            *per_second /= 2.0;
        }
        plan.connections = (plan.connections / 2).max(1);
    }
    beside(quiet, noisy, document)
}

/// Single checks of a quiet space alone, then beside batches of another one, as many as it takes.
fn space(asked: &Asked, target: &Target, document: &mut Document) -> Result<(), String> {
    let quiet_at = quiet_endpoint(asked, target)?;
    let single = Shape {
        purpose: "service".to_owned(),
        ..asked.about.shape(None)
    };
    let flood = shape(asked, document.runs.len() + 1);
    let quiet_script = |connection| {
        Ok(Box::new(Checks::new(&single, &quiet_at, connection).alone_in(target)) as Box<_>)
    };
    let flood_script = |connection| {
        Ok(Box::new(Checks::new(&flood, &target.endpoint, connection).alone_in(target)) as Box<_>)
    };
    let mut quiet = batches(asked, target, "quiet space", &quiet_script);
    quiet.batch = 1.0;
    quiet.about = quiet.about.replace(&asked.about.purpose, &single.purpose);
    quiet.connections = USUAL_CONNECTIONS;
    quiet.pace = Pace::Open {
        per_second: asked.quiet_rate,
        profile: STEADY,
    };
    let mut noisy = batches(asked, target, "flooding space", &flood_script);
    noisy.batch = f64::from(asked.batches.batch.min(BATCH_MAX));
    noisy.connections = asked.length.connections.unwrap_or(4 * USUAL_CONNECTIONS);
    noisy.pace = match asked.pacing.rate {
        Some(_) => asked.pacing.pace(USUAL_RATE, noisy.batch),
        // A flood takes what it gets.
        None => Pace::Closed,
    };
    beside(quiet, noisy, document)
}

fn quiet_endpoint(asked: &Asked, target: &Target) -> Result<Endpoint, String> {
    match (&asked.quiet_key, &target.spawned) {
        (Some(key), _) => Ok(target.endpoint.with_key(key)),
        (None, Some(_)) => Ok(target.endpoint.with_key(Space::Quiet.key())),
        (None, None) => Err(
            "a flood needs two spaces: --key of one and --quiet-key of another, \
                             or --spawn"
                .to_owned(),
        ),
    }
}

/// A quiet run alone and then beside a noisy one, which begins before it and outlasts it.
fn beside(mut quiet: Plan<'_>, mut noisy: Plan<'_>, document: &mut Document) -> Result<(), String> {
    noisy.shown = false;
    noisy.measured += quiet.warm_up;
    let mut alone = run::run(&quiet)?;
    quiet.first_connection = quiet.connections;
    let (together, noise) = thread::scope(|scope| {
        let noise = scope.spawn(|| run::run(&noisy));
        let together = run::run(&quiet);
        let noise = noise.join();
        let noise = noise.unwrap_or_else(|_| Err("the noisy run's thread panicked".to_owned()));
        (together, noise)
    });
    let (mut together, mut noise) = (together?, noise?);
    if alone.passed() && together.passed() && noise.passed() {
        let beside = comparison(&alone, &together, &noise);
        document.words.push(in_words(&beside, noise.unit));
        document.beside.push(beside);
    }
    alone.name.push_str(" alone");
    together.name = format!("{} beside the {}", together.name, noise.name);
    noise.name = format!("{} beside the {}", noise.name, quiet.name);
    document.runs.extend([alone, together, noise]);
    Ok(())
}

/// A quiet run alone, the same beside a noisy one, and the noisy one.
pub(crate) fn comparison(alone: &Run, together: &Run, noise: &Run) -> Beside {
    let (before, after) = (alone.latency.p99_ms, together.latency.p99_ms);
    Beside {
        quiet: alone.name.clone(),
        noisy: noise.name.clone(),
        alone_p99_ms: before,
        together_p99_ms: after,
        ratio: after / before.max(1e-9),
        noisy_per_second: noise.throughput.map_or(0.0, |it| it.per_second),
    }
}

/// A comparison in one sentence.
pub(crate) fn in_words(beside: &Beside, unit: &str) -> String {
    format!(
        "Of the {}, 99 of 100 requests took {:.2} ms alone and {:.2} ms beside the {} ({:.0} \
         {unit}/s): {:.1} times as long.",
        beside.quiet,
        beside.alone_p99_ms,
        beside.together_p99_ms,
        beside.noisy,
        beside.noisy_per_second,
        beside.ratio
    )
}
