//! `steady`: a long time under half of what the server gives, while it remembers about as much at any
//! moment: memory, disk and single checks beside it.
//!
//! A reserved effect has no end, and nothing else ends within minutes. So the server runs on a test's
//! clock that the harness moves faster than time, checks name customers who never come again within
//! their budget's hour and no effect, and each customer is purged when its hour is over. Everything
//! else, snapshots, truncation, history and deadlines, goes by the machine's clock.

mod clock;
mod cycles;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::arrivals::{Pace, STEADY};
use crate::ask::Metrics;
use crate::checks::{About, BATCH_MAX, Checks};
use crate::findings::{Standing, Steady};
use crate::interrupt;
use crate::options::{Length, Output, Where, measured, rate, seconds};
use crate::process::{self, Process};
use crate::progress;
use crate::report::{Document, Run};
use crate::run::{self, Plan};
use crate::scenario::batch::{self, USUAL_CONNECTIONS};
use crate::scenario::hot;
use crate::target::{Space, Target};
use crate::template::{Customers, Shape};

/// Connections of single checks: beside batches each is under way for some milliseconds, and 16 would
/// be all busy before 5,000 a second are.
const SINGLE_CONNECTIONS: u64 = 64;
/// How long the most is looked for, and single checks alone.
const SHORT_S: f64 = 10.0;
/// Lives of an entity until about as many end as begin.
const LIVES: f64 = 3.0;
/// How long a customer's contact counts on the server's clock, in seconds.
const HOUR_S: f64 = 3600.0;
/// How often the server is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Options of the scenario.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    at: Where,
    /// Checks a second in batches; without it half of what full batches get in a run before
    #[arg(long, value_parser = rate)]
    rate: Option<f64>,
    /// Single checks a second beside them
    #[arg(long, default_value_t = 5_000.0, value_parser = rate)]
    quiet_rate: f64,
    /// Entities that live at a time
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1_000..=20_000_000))]
    live: u64,
    /// Measured seconds
    #[arg(long, default_value_t = 1200.0, value_parser = measured)]
    seconds: f64,
    /// Seconds of load before the measured ones; without it three lives of an entity
    #[arg(long, value_parser = seconds)]
    warm_up: Option<f64>,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    if asked.at.spawn.is_none() {
        return Err("steady starts servers of its own: give --spawn".to_owned());
    }
    let (rate, most_per_second) = rate_of(asked, document)?;
    let births = rate + asked.quiet_rate;
    let life_s = asked.live as f64 / births;
    let target = Target::spawn_at(&asked.at, &clock::start(), Space::Hourly)?;
    document.meet(&target);
    let over = AtomicBool::new(false);
    let warm_up = asked.warm_up.unwrap_or(LIVES * life_s);
    let load = Load::new(asked, &target, rate, warm_up);
    let (told, moved) = thread::scope(|scope| {
        let mover = scope.spawn(|| clock::follow(&target.endpoint, HOUR_S / life_s, &over));
        let told = load.run(document);
        over.store(true, Ordering::Relaxed);
        let moved = mover.join();
        (
            told,
            moved.unwrap_or_else(|_| Err("the clock's thread panicked".to_owned())),
        )
    });
    let standings = told?;
    moved?;
    let mut steady = cycles::found(&standings);
    (steady.live, steady.life_s) = (asked.live, life_s);
    (steady.rate, steady.most_per_second) = (rate, most_per_second);
    document.words.extend(in_words(&steady));
    document.steady = Some(steady);
    target.close()
}

/// The rate asked for, else half of the most; and the most, where it was looked for.
fn rate_of(asked: &Asked, document: &mut Document) -> Result<(f64, Option<f64>), String> {
    if let Some(rate) = asked.rate {
        return Ok((rate, None));
    }
    progress::say("the most that full batches get");
    let target = Target::spawn(&asked.at, asked.at.shards, Space::Load)?;
    document.meet(&target);
    let length = Length {
        seconds: SHORT_S.min(asked.seconds),
        warm_up: 1.0,
        requests: None,
        connections: None,
    };
    let run = batch::saturate("the most", &target, &About::usual(), &length)?;
    target.close()?;
    let most = run.throughput.map(|it| it.per_second);
    document.runs.push(run);
    let most = most.ok_or("an answer was wrong, so there is no rate to take half of")?;
    Ok((most / 2.0, Some(most)))
}

/// The load of the whole time.
struct Load<'a> {
    asked: &'a Asked,
    target: &'a Target,
    rate: f64,
    warm_up: Duration,
    single: Shape,
    batch: Shape,
}

impl<'a> Load<'a> {
    fn new(asked: &'a Asked, target: &'a Target, rate: f64, warm_up: f64) -> Self {
        let next = Arc::default();
        let shape = |batch| Shape {
            purpose: "hourly".to_owned(),
            customers: Customers::Rolling(Arc::clone(&next)),
            effects: false,
            order_probes: 0,
            ..About::usual().shape(batch)
        };
        Self {
            asked,
            target,
            rate,
            warm_up: Duration::from_secs_f64(warm_up),
            single: shape(None),
            batch: shape(Some(BATCH_MAX)),
        }
    }

    /// Single checks alone, then beside the batches; how the server stood in each second.
    fn run(&self, document: &mut Document) -> Result<Vec<Standing>, String> {
        let of = |shape: &Shape, connection| {
            let checks = Checks::new(shape, &self.target.endpoint, connection);
            Ok(Box::new(checks.alone_in(self.target)) as Box<_>)
        };
        let single = |connection| of(&self.single, connection);
        let batches = |connection| of(&self.batch, connection);
        let mut quiet = self.plan("single checks", &single, self.asked.quiet_rate, 1.0);
        quiet.connections = SINGLE_CONNECTIONS;
        let mut noisy = self.plan("batches", &batches, self.rate, f64::from(BATCH_MAX));
        noisy.shown = true;
        let whole = quiet.measured;
        quiet.measured = whole.min(Duration::from_secs_f64(SHORT_S));
        progress::say("single checks alone");
        let alone = run::run(&quiet)?;
        (quiet.measured, quiet.warm_up) = (whole, self.warm_up);
        noisy.warm_up = self.warm_up;
        quiet.first_connection = quiet.connections;
        progress::say("single checks beside batches");
        let over = AtomicBool::new(false);
        let from = Instant::now() + self.warm_up;
        let (together, noise, standings) = thread::scope(|scope| {
            let noise = scope.spawn(|| run::run(&noisy));
            let watcher = scope.spawn(|| watch(self.target, from, &over));
            let together = run::run(&quiet);
            over.store(true, Ordering::Relaxed);
            let lost = |_| Err("a thread of the load panicked".to_owned());
            (
                together,
                noise.join().unwrap_or_else(lost),
                watcher.join().unwrap_or_default(),
            )
        });
        let (mut together, noise) = (together?, noise?);
        together.name.push_str(" beside batches");
        tell(document, alone, together, noise);
        Ok(standings)
    }

    fn plan<'p>(
        &'p self,
        name: &str,
        script: &'p run::Scripts<'p>,
        rate: f64,
        batch: f64,
    ) -> Plan<'p> {
        let mut plan = Plan::new(name, self.target, script);
        plan.unit = "checks";
        plan.batch = batch;
        plan.about = "a new customer each, no effect".to_owned();
        plan.connections = USUAL_CONNECTIONS;
        plan.measured = Duration::from_secs_f64(self.asked.seconds);
        plan.shown = false;
        plan.pace = Pace::Open {
            per_second: rate / batch,
            profile: STEADY,
        };
        plan
    }
}

fn tell(document: &mut Document, mut alone: Run, together: Run, noise: Run) {
    if alone.passed() && together.passed() && noise.passed() {
        let beside = hot::comparison(&alone, &together, &noise);
        document.words.push(hot::in_words(&beside, noise.unit));
        document.beside.push(beside);
    }
    alone.name.push_str(" alone");
    document.runs.extend([alone, together, noise]);
}

/// How the server stands in each second from a moment on.
fn watch(target: &Target, from: Instant, over: &AtomicBool) -> Vec<Standing> {
    let mut standings = Vec::new();
    let mut at = from;
    while !over.load(Ordering::Relaxed) && !interrupt::asked() {
        if Instant::now() < at {
            thread::sleep(LOOK / 20);
            continue;
        }
        at += LOOK;
        // A second in which the server is too busy to say has no figures.
        if let Ok(metrics) = Metrics::of(&target.endpoint) {
            standings.push(standing(target, &metrics, from.elapsed().as_secs_f64()));
        }
    }
    standings
}

fn standing(target: &Target, metrics: &Metrics, at_s: f64) -> Standing {
    let count = |name: &str| metrics.sum(name).max(0.0) as u64;
    let data = target.data();
    let history = data.as_ref().map(|data| data.join("log").join("history"));
    let bytes =
        |folder: Option<&std::path::PathBuf>| folder.map_or(0, |it| process::disk_bytes(it));
    let history_bytes = bytes(history.as_ref());
    let resident = target.process.and_then(Process::resident_bytes);
    Standing {
        at_s,
        entities: count("interlock_entities"),
        live_bytes: count("interlock_entity_snapshot_bytes"),
        log_bytes: bytes(data.as_ref()).saturating_sub(history_bytes),
        history_bytes,
        resident_bytes: resident.unwrap_or(0),
        journal_bytes: count("interlock_journal_bytes"),
        snapshots: count("interlock_snapshots_completed"),
        purged: count("interlock_purged_total"),
    }
}

fn in_words(steady: &Steady) -> Vec<String> {
    let mega = |bytes: u64| bytes as f64 / 1e6;
    let mut words = vec![format!(
        "{} entities were to live at a time, {:.0} s each, at {:.0} checks/s in batches; {} went while \
         it was measured.",
        steady.live, steady.life_s, steady.rate, steady.purged
    )];
    words.push(format!(
        "Resident memory drifted by {:.1} % from the second quarter of the time to the last and kept \
         within {:.1} %.",
        steady.resident_drift * 100.0,
        steady.resident_range * 100.0
    ));
    let cycle = |it: &Standing| {
        format!(
            "Cycle at {:.0} s: {} entities, {:.0} MB live, {:.0} MB of log on disk ({:.1} times), {:.0} \
             MB of history, {:.0} MB resident.",
            it.at_s,
            it.entities,
            mega(it.live_bytes),
            mega(it.log_bytes),
            it.disk_ratio(),
            mega(it.history_bytes),
            mega(it.resident_bytes)
        )
    };
    words.extend(steady.cycles.iter().map(cycle));
    if steady.cycles.is_empty() {
        words.push("No cycle of snapshots and truncation was over in that time.".to_owned());
    }
    words
}
