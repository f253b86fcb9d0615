//! SIGKILL under load, again and again: nothing acknowledged is lost, nothing is half done.
//!
//! Here: batches, and (in `kills/`) keyed requests, against a server with small bounds, killed in the middle of a
//! snapshot, a truncation or with entities on loan, started again with another shard count. What a kill's
//! clients were answered is looked for after the next start, all of it, and after every later start a part
//! of it: a snapshot, a truncation or a kill that comes later may be what loses it. Not here: power cuts
//! (the storage suite has the model).

mod kept;
mod keyed;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Server, Setup, count, figure, until};
use crate::raw::{Connection, post};
use kept::Even;

const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");
const NOW: &str = "2026-01-05T12:00:00Z";
const CONFIG: &str = "\
[snapshots]\ninterval_ms = 200\nbytes_per_s = 20_000_000\n\
[journal]\njournal_bytes_max = 8_388_608\n";

/// Kills of a run in the gate; `INTERLOCK_KILLS` asks for more.
const KILLS: usize = 20;
/// Kills go on past those until each state was hit, at most so many more.
const KILLS_MORE: usize = 40;
const BATCH: u64 = 200;

/// What the client knows of one check: its number says which customer, effect key and object.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    /// The server said so, before it was killed.
    Allowed,
    /// Sent, and no answer came.
    Open,
}

#[derive(Default)]
struct Seen {
    checks: BTreeMap<u64, Known>,
    keyed: keyed::Told,
}

/// What is left of all kills so far, and how often it was looked for.
#[derive(Default)]
struct Kept {
    checks: Even<u64>,
    keyed: keyed::Kept,
    starts: usize,
    answers: usize,
}

impl Kept {
    /// Adds what a kill's clients were answered.
    fn add(&mut self, seen: Seen) {
        let checks = seen.checks.into_iter();
        for (number, _) in checks.filter(|(_, known)| *known == Known::Allowed) {
            self.checks.add(number);
        }
        self.keyed.add(seen.keyed);
    }

    /// Looks for all of it, on a server that has just started.
    fn verify(&mut self, server: &Server) {
        self.starts += 1;
        let checks = self.checks.iter();
        let seen = Seen {
            checks: checks.map(|number| (*number, Known::Allowed)).collect(),
            keyed: self.keyed.told(),
        };
        self.answers += seen.checks.len() + seen.keyed.len();
        verify(server, &seen, self.starts);
    }
}

/// How many kills hit what, by the reports of the starts after them.
#[derive(Debug, Default)]
struct Hits {
    snapshot: usize,
    truncation: usize,
    on_loan: usize,
    /// Claims that were acknowledged before, and those of them that were given back.
    claims: (usize, usize),
    /// Other acts of each kind that were acknowledged before.
    acts: [usize; 8],
}

/// Pitfall 4.
#[test]
fn kills_under_load_lose_nothing_acknowledged() {
    let next = AtomicU64::new(0);
    let mut hits = Hits::default();
    let mut setup = Setup::new().seed(SEED).config(CONFIG).test_clock(NOW);
    let wanted = count("INTERLOCK_KILLS", KILLS);
    let (mut kills, mut checked, mut kept) = (0, 0, Kept::default());
    while kills < wanted || (!hits.all() && kills < wanted + KILLS_MORE) {
        // On one shard nothing is ever lent.
        let shards = [2, 5, 1, 3, 4][kills % 5];
        let server = setup.shards(shards).start();
        kept.verify(&server);
        let seen = load_until_killed(&server, &next, kills);
        setup = server.kill();
        kills += 1;
        let server = setup.shards([3, 1, 4, 2, 5][kills % 5]).start();
        hits.read(&server);
        println!("kill {kills}: {} checks, {hits:?}", seen.checks.len());
        let (claims, released) = seen.keyed.claims();
        hits.claims.0 += claims;
        hits.claims.1 += released;
        for (sum, more) in hits.acts.iter_mut().zip(seen.keyed.acts()) {
            *sum += more;
        }
        kept.verify(&server);
        verify(&server, &seen, kept.starts);
        checked += seen.checks.len() + seen.keyed.len();
        kept.add(seen);
        setup = server.kill();
    }
    // Also what the last kill's clients were answered has a later start.
    kept.verify(&setup.start());
    figure(format_args!(
        "{kills} kills under load, {checked} answers looked for, and {} once more over {} later starts, \
         0 lost: {hits:?}",
        kept.answers, kept.starts
    ));
    assert!(hits.all(), "after {kills} kills: {hits:?}");
    assert!(hits.claims.0 > 0 && hits.claims.1 > 0, "{hits:?}");
    let seldom = hits.acts.iter().filter(|count| **count > 0).count();
    assert_eq!(seldom, 6, "every other act was acknowledged: {hits:?}");
    assert_eq!(kept.keyed.kinds(), (8, 2, 6), "of each kind some is kept");
}

impl Hits {
    const fn all(&self) -> bool {
        self.snapshot > 0 && self.truncation > 0 && self.on_loan > 0
    }

    fn read(&mut self, server: &Server) {
        let line = server.line("last run: ");
        assert!(line.contains("killed"), "{line}");
        self.snapshot += usize::from(line.contains("snapshot=true"));
        self.truncation += usize::from(line.contains("truncation=true"));
        self.on_loan += usize::from(!line.contains("on_loan=0"));
    }
}

/// Sends load from several threads until the run mark shows what this kill is to hit (or a bound
/// has passed), kills, and gives what was acknowledged until then.
fn load_until_killed(server: &Server, next: &AtomicU64, kill: usize) -> Seen {
    let stop = AtomicBool::new(false);
    let allowed = AtomicBool::new(false);
    let mut seen = Seen::default();
    std::thread::scope(|scope| {
        let batches: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| send_batches(server, next, (&stop, &allowed))))
            .collect();
        let keyed = scope.spawn(|| keyed::send(server, next, &stop));
        wait_for_state(&server.data().path().join("run"), kill, &allowed);
        // The kill comes while the threads send: what they wait for then stays open.
        server.signal_kill();
        stop.store(true, Ordering::Release);
        for thread in batches {
            seen.checks
                .append(&mut thread.join().expect("a thread of load"));
        }
        seen.keyed = keyed.join().expect("a thread of keyed load");
    });
    assert!(
        seen.checks.values().any(|known| *known == Known::Allowed),
        "nothing was acknowledged"
    );
    seen
}

/// Waits until something was acknowledged and the run is in the middle of what this kill is to hit, or
/// a second has passed since.
#[expect(
    clippy::disallowed_methods,
    reason = "a bound on the wait for a state of another process"
)]
fn wait_for_state(mark: &Path, kill: usize, allowed: &AtomicBool) {
    let wanted: fn(&str) -> bool = match kill % 3 {
        0 => |mark| mark.contains("snapshot 1"),
        1 => |mark| mark.contains("truncation 1"),
        _ => |mark| !mark.contains("loans 0"),
    };
    let begun = Instant::now();
    while !allowed.load(Ordering::Acquire) {
        assert!(begun.elapsed() < PATIENCE, "nothing is acknowledged");
        std::thread::yield_now();
    }
    let started = Instant::now();
    let least = Duration::from_millis(150 + 37 * (kill as u64 % 7));
    while started.elapsed() < Duration::from_secs(1) {
        let state = std::fs::read_to_string(mark).unwrap_or_default();
        if started.elapsed() > least && wanted(&state) {
            return;
        }
        std::thread::yield_now();
    }
}

fn check(number: u64, direction: &str) -> Value {
    json!({
        "agent": "killer", "intent": "follow_up", "direction": direction, "purpose": "marketing",
        "channel": "voice", "effect_key": format!("kill-{number}"),
        "subject": {"type": "phone_e164", "value": format!("+55119{number:08}")},
        "object": {"type": "ticket", "namespace": "kill", "id": format!("{}", number % 5_000)},
    })
}

fn batch(numbers: impl Iterator<Item = u64>, direction: &str) -> String {
    let checks: Vec<Value> = numbers.map(|number| check(number, direction)).collect();
    json!({"checks": checks}).to_string()
}

fn send_batches(
    server: &Server,
    next: &AtomicU64,
    (stop, allowed): (&AtomicBool, &AtomicBool),
) -> BTreeMap<u64, Known> {
    let mut known = BTreeMap::new();
    let mut connection = Connection::new(server.url());
    while !stop.load(Ordering::Acquire) {
        let first = next.fetch_add(BATCH, Ordering::Relaxed);
        let body = batch(first..first + BATCH, "outbound");
        let request = post("/v1/coordination/check/batch", KEY, None, &body);
        known.extend((first..first + BATCH).map(|number| (number, Known::Open)));
        let Ok((status, text)) = connection.ask(&request) else {
            break;
        };
        if status == 503 || status == 429 {
            // Refused at the entrance: the journal is at its bound until a snapshot is through.
            std::thread::yield_now();
            continue;
        }
        assert_eq!(status, 200, "{text}");
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        let results = answer["results"].as_array().expect("results");
        for (number, result) in (first..).zip(results) {
            if result["decision"] == "allow" {
                known.insert(number, Known::Allowed);
                allowed.store(true, Ordering::Release);
            }
        }
    }
    known
}

/// Every acknowledged reservation is held with its unit spent; what was open is whole or not at
/// all.
fn verify(server: &Server, seen: &Seen, start: usize) {
    let mut connection = Connection::new(server.url());
    let numbers: Vec<u64> = seen.checks.keys().copied().collect();
    for some in numbers.chunks(500) {
        // Inbound: it shows the state of key and budget, and spends nothing.
        let body = batch(some.iter().copied(), "inbound");
        let request = post("/v1/coordination/check/batch", KEY, None, &body);
        let results = until("a batch is decided in time", || {
            let (status, text) = connection.ask(&request).expect("an answer");
            assert!(status == 200 || status == 503, "{status} {text}");
            let mut answer: Value = serde_json::from_str(&text).expect("JSON");
            let results: Vec<Value> = serde_json::from_value(answer["results"].take()).ok()?;
            results.iter().all(keyed::is_decided).then_some(results)
        });
        for (number, result) in some.iter().zip(&results) {
            let free = result["effect"]["state"] == "none";
            let left = &result["contact_budget"]["marketing"]["remaining"];
            assert_eq!(
                *left,
                json!(if free { 3 } else { 2 }),
                "check {number} is half: {result}"
            );
            let acknowledged = seen.checks[number] == Known::Allowed;
            assert!(
                !(acknowledged && free),
                "check {number} was acknowledged and is gone"
            );
        }
    }
    keyed::verify(&mut connection, &seen.keyed, start);
}
