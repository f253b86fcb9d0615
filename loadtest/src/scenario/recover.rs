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

/// The journal's bound when no setting gives another.
const JOURNAL_BYTES_MAX: u64 = 2_147_483_648;
/// The longest that `--tail` waits for the journal, and how often it looks.
const TAIL_WAIT: Duration = Duration::from_secs(300);
const TAIL_LOOK: Duration = Duration::from_millis(200);
/// How much longer the load would go on if nobody killed the server.
const LONGER: Duration = Duration::from_secs(60);
/// How often a question that was refused or answered undecided is asked again, and the pause before
/// it: a minute, for a journal at its bound takes nothing until snapshots have cut it.
const TRIES_MAX: usize = 300;
const TRY_PAUSE: Duration = Duration::from_millis(200);

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
    /// Kill when the journal is as long as it gets, instead of after --seconds: near its bound, or when
    /// snapshots begin to cut it short; after 300 s at the latest
    #[arg(long, conflicts_with_all = ["seconds", "requests"])]
    tail: bool,
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
    let (noted, journal_bytes) = load_and_kill(asked, &target, &shape, document)?;
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
        journal_bytes,
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

/// Loads the server and kills it; the effects that were acknowledged, and the journal's length.
fn load_and_kill(
    asked: &Asked,
    target: &Target,
    shape: &Shape,
    document: &mut Document,
) -> Result<(Vec<u64>, u64), String> {
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
    if asked.tail {
        plan.measured = TAIL_WAIT;
    }
    let killed_after = plan.warm_up + plan.measured;
    plan.measured += LONGER;
    let (run, journal) = thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let at = Instant::now() + killed_after;
            let mut bound = journal_bound(&asked.at.set);
            if !asked.tail {
                bound = u64::MAX;
                interrupt::sleep_until(at);
            }
            let journal = until_long(target, bound, at);
            process.kill();
            journal
        });
        let run = run::run(&plan);
        (run, killer.join().unwrap_or_default())
    });
    document.runs.push(run?);
    let noted = noted.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((noted.into_kept(), journal))
}

/// The journal's bound by the settings of the server.
fn journal_bound(settings: &[String]) -> u64 {
    let mut given = settings
        .iter()
        .filter_map(|setting| setting.strip_prefix("journal.journal_bytes_max="));
    let given = given.next_back().and_then(|value| value.parse().ok());
    given.unwrap_or(JOURNAL_BYTES_MAX)
}

/// Waits until the journal is as long as it gets, or a moment has come; its length then.
fn until_long(target: &Target, bound: u64, at: Instant) -> u64 {
    let mut tail = Tail::new(bound);
    loop {
        // A server that is too busy to say is asked again.
        if let Ok(metrics) = Metrics::of(&target.endpoint) {
            let bytes = metrics.sum("interlock_journal_bytes") as u64;
            if tail.is_long(bytes) {
                return bytes;
            }
        }
        if Instant::now() >= at || interrupt::asked() {
            return tail.longest;
        }
        interrupt::sleep_until((Instant::now() + TAIL_LOOK).min(at));
    }
}

/// Whether a journal is as long as it gets: near its bound, or where snapshots begin to cut it short,
/// for until then it only grows.
#[derive(Debug)]
struct Tail {
    bound: u64,
    longest: u64,
}

impl Tail {
    const fn new(bound: u64) -> Self {
        Self { bound, longest: 0 }
    }

    fn is_long(&mut self, bytes: u64) -> bool {
        // Of nothing much no part is a cut.
        const LEAST: u64 = 1 << 20;
        let is_cut = self.longest > LEAST && bytes < self.longest;
        self.longest = self.longest.max(bytes);
        bytes >= self.bound / 100 * 95 || is_cut
    }
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
        for attempt in 0..TRIES_MAX {
            interrupt::check()?;
            if attempt > 0 {
                thread::sleep(TRY_PAUSE);
            }
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
        journal_bytes,
        ..
    } = recovery;
    let kept = if *lost == 0 {
        format!("All {acknowledged} acknowledged effects that were asked about are there.")
    } else {
        format!("{lost} of {acknowledged} acknowledged effects that were asked about are lost.")
    };
    format!(
        "Ready {ready_s:.2} s after its start with {entities} entities, {entities_per_second:.0} a \
         second, with {:.0} MB of journal that no snapshot covered. {kept}",
        *journal_bytes as f64 / 1e6
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_long_at_its_bound_or_where_it_is_first_cut() {
        let mega = |bytes: u64| bytes * 1_000_000;
        let mut tail = Tail::new(mega(100));
        assert!(!tail.is_long(mega(50)) && !tail.is_long(mega(94)));
        assert!(tail.is_long(mega(95)));
        let mut tail = Tail::new(mega(100));
        let grows = [1, 0, 30, 60, 60, 70].map(mega);
        assert!(grows.into_iter().all(|bytes| !tail.is_long(bytes)));
        assert!(tail.is_long(mega(69)));
        assert!(!Tail::new(mega(100)).is_long(0));
    }

    #[test]
    fn the_bound_is_what_the_settings_say_last() {
        let settings = ["a.b=1", "journal.journal_bytes_max=7"].map(str::to_owned);
        assert_eq!(journal_bound(&settings), 7);
        assert_eq!(journal_bound(&[]), JOURNAL_BYTES_MAX);
    }

    #[test]
    fn what_is_lost_is_said() {
        let mut recovery = Recovery {
            disk_bytes: 0,
            journal_bytes: 12_000_000,
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
            "1500000 a second, with 12 MB of journal that no snapshot covered. All 7 acknowledged effects that were asked about are there."
        ));
        recovery.lost = 2;
        assert!(in_words(&recovery).contains("2 of 7 acknowledged effects"));
    }
}
