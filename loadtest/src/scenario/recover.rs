//! `recover`: a server is filled, then loaded as much as it takes, killed by SIGKILL under that load
//! and started again on the same data. Found out: the time to its ready line, and whether everything
//! it had acknowledged is still there. For that, effect keys whose allow was answered before the kill
//! (the newest and a sample of all) are asked about again: none may be granted once more.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::answer::Validator;
use crate::ask::{Client, Metrics};
use crate::checks::{About, Acknowledged, BATCH_MAX, Checks};
use crate::interrupt;
use crate::options::{Length, Output, Where};
use crate::process;
use crate::progress;
use crate::report::{Document, Recovery};
use crate::run::{self, Plan};
use crate::scenario::batch;
use crate::target::{Space, Target};
use crate::template::{CUSTOMERS_MAX, Request, Shape};

/// How much longer the load would go on if nobody killed the server.
const LONGER: Duration = Duration::from_secs(60);
/// How often a question that was answered undecided is asked again.
const TRIES_MAX: usize = 20;

/// Options of the scenario.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    at: Where,
    #[command(flatten)]
    length: Length,
    #[command(flatten)]
    about: About,
    /// Customers that get a check each before the load
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(0..=CUSTOMERS_MAX))]
    fill: u64,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) fn run(asked: &Asked, document: &mut Document) -> Result<(), String> {
    if asked.at.spawn.is_none() {
        return Err("recover kills a server of its own: give --spawn".to_owned());
    }
    let target = Target::spawn(&asked.at, asked.at.shards, Space::Load)?;
    document.meet(&target);
    let connections = asked.length.connections.unwrap_or(batch::USUAL_CONNECTIONS);
    if asked.fill > 0 {
        progress::say(&format!("{} customers", asked.fill));
        let filled = batch::fill(&target, &asked.about, connections, (0, asked.fill))?;
        document.runs.push(filled);
    }
    let shape = Shape {
        run: asked.about.shape(None).run.wrapping_add(1),
        ..asked.about.shape(Some(BATCH_MAX))
    };
    let noted = load_and_kill(asked, &target, &shape, document)?;
    let disk_bytes = target.data().as_deref().map_or(0, process::disk_bytes);
    progress::say("killed; starting again");
    let target = target.kill_and_start(Space::Load)?;
    document.meet(&target);
    let ready_s = target
        .spawned
        .as_ref()
        .map_or(0.0, |it| it.took().as_secs_f64());
    let metrics = Metrics::of(&target.endpoint)?;
    let acknowledged = noted.len() as u64;
    let lost = granted_again(&target, &shape, &noted)?;
    let figure = |name: &str| metrics.sum(&format!("interlock_recovery_{name}"));
    let entities = figure("entities");
    let recovery = Recovery {
        disk_bytes,
        ready_s,
        rebuilt_s: figure("seconds"),
        entities: entities as u64,
        entities_per_second: entities / ready_s.max(1e-9),
        records: figure("records") as u64,
        snapshots: figure("snapshots") as u64,
        acknowledged,
        lost,
    };
    document.words.push(in_words(&recovery));
    document.recovery = Some(recovery);
    target.close()
}

/// Loads the server and kills it; the effects that were acknowledged.
fn load_and_kill(
    asked: &Asked,
    target: &Target,
    shape: &Shape,
    document: &mut Document,
) -> Result<Vec<u64>, String> {
    let process = target
        .process
        .ok_or("the server is no process of this machine")?;
    let noted = Mutex::new(Acknowledged::new());
    let script = |connection| {
        let checks = Checks::new(shape, &target.endpoint, connection).alone_in(target);
        Ok(Box::new(checks.noted(&noted)) as Box<_>)
    };
    let mut plan = Plan::new("load until killed", target, &script);
    plan.unit = "checks";
    plan.batch = f64::from(BATCH_MAX);
    plan.about = asked.about.words();
    plan.may_break = true;
    asked.length.apply(&mut plan, batch::USUAL_CONNECTIONS);
    let killed_after = plan.warm_up + plan.measured;
    plan.measured += LONGER;
    let run = thread::scope(|scope| {
        scope.spawn(|| {
            interrupt::sleep_until(Instant::now() + killed_after);
            process.kill();
        });
        run::run(&plan)
    })?;
    document.runs.push(run);
    let noted = noted.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(noted.into_kept())
}

/// Asks about effects that were acknowledged; how many the server granted once more.
fn granted_again(target: &Target, shape: &Shape, effects: &[u64]) -> Result<u64, String> {
    let shape = Shape {
        order_probes: 0,
        ..shape.clone()
    };
    let checks = BATCH_MAX as usize;
    let mut request = Request::new(&shape, &target.endpoint, 0);
    let mut client = Client::connect(&target.endpoint)?;
    let mut validator = Validator::new(checks);
    let mut lost = 0;
    for part in effects.chunks(checks) {
        // The last part is filled up with effects that were granted just as well.
        let mut named = part.to_vec();
        named.resize(checks, part[0]);
        let mut gone = vec![false; part.len()];
        let mut decided = false;
        for _ in 0..TRIES_MAX {
            request.renew();
            request.name_effects(&named);
            let (status, body) = client.send(request.bytes())?;
            if status != 200 {
                continue;
            }
            let counts = validator
                .batch(&body, checks, &[])
                .map_err(|invalid| format!("after the start: wrong answer: {invalid}"))?;
            decided = counts.undecided() == 0;
            for (place, gone) in gone.iter_mut().enumerate() {
                // Granted once more in any try: a later one would find it held again.
                *gone |= validator.allowed(place) || (decided && !is_held(validator.reason(place)));
            }
            if decided {
                break;
            }
        }
        lost += gone.iter().filter(|gone| **gone).count() as u64;
        if !decided {
            return Err(format!("after the start: no decision in {TRIES_MAX} tries"));
        }
    }
    Ok(lost)
}

fn is_held(reason: Option<&str>) -> bool {
    matches!(
        reason,
        Some("effect_in_flight" | "effect_unknown_outcome" | "effect_done")
    )
}

fn in_words(recovery: &Recovery) -> String {
    let Recovery {
        ready_s,
        entities,
        entities_per_second,
        acknowledged,
        lost,
        ..
    } = recovery;
    let kept = if *lost == 0 {
        format!("All {acknowledged} acknowledged effects that were asked about are there.")
    } else {
        format!("{lost} of {acknowledged} acknowledged effects that were asked about are lost.")
    };
    format!(
        "Ready {ready_s:.2} s after its start with {entities} entities, {entities_per_second:.0} a \
         second. {kept}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_said() {
        let mut recovery = Recovery {
            disk_bytes: 0,
            ready_s: 2.0,
            rebuilt_s: 1.5,
            entities: 3_000_000,
            entities_per_second: 1_500_000.0,
            records: 1,
            snapshots: 0,
            acknowledged: 7,
            lost: 0,
        };
        assert!(in_words(&recovery).ends_with(
            "1500000 a second. All 7 acknowledged effects that were asked about are there."
        ));
        recovery.lost = 2;
        assert!(in_words(&recovery).contains("2 of 7 acknowledged effects"));
    }
}
