//! SIGKILL under load, again and again: nothing acknowledged is lost, nothing is half done.
//!
//! Here: batches and keyed requests against a server with small bounds, killed in the middle of a
//! snapshot, a truncation or with entities on loan, started again with another shard count. Not
//! here: power cuts (the storage suite has the model).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Server, Setup, count, until};
use crate::raw::{Connection, post};

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

/// A keyed request and the bytes of its first answer.
struct Keyed {
    once: String,
    path: String,
    body: String,
    text: String,
}

/// What is acknowledged of a claim: which customer, under which epoch, and whether it was given
/// back.
#[derive(Clone, Copy)]
struct Claimed {
    number: u64,
    epoch: u64,
    /// Sent but not answered: it may be given back or not.
    released: Option<bool>,
}

#[derive(Default)]
struct Seen {
    checks: BTreeMap<u64, Known>,
    keyed: Vec<Keyed>,
    claims: Vec<Claimed>,
}

/// How many kills hit what, by the reports of the starts after them.
#[derive(Debug, Default)]
struct Hits {
    snapshot: usize,
    truncation: usize,
    on_loan: usize,
    /// Claims that were acknowledged before, and those of them that were given back.
    claims: (usize, usize),
}

#[test]
fn kills_under_load_lose_nothing_acknowledged() {
    let next = AtomicU64::new(0);
    let mut hits = Hits::default();
    let mut setup = Setup::new().seed(SEED).config(CONFIG).test_clock(NOW);
    let wanted = count("INTERLOCK_KILLS", KILLS);
    let (mut kills, mut checked) = (0, 0);
    while kills < wanted || (!hits.all() && kills < wanted + KILLS_MORE) {
        // On one shard nothing is ever lent.
        let shards = [2, 5, 1, 3, 4][kills % 5];
        let server = setup.shards(shards).start();
        let seen = load_until_killed(&server, &next, kills);
        setup = server.kill();
        kills += 1;
        let server = setup.shards([3, 1, 4, 2, 5][kills % 5]).start();
        hits.read(&server);
        println!("kill {kills}: {} checks, {hits:?}", seen.checks.len());
        hits.claims.0 += seen.claims.len();
        let released = |claim: &&Claimed| claim.released == Some(true);
        hits.claims.1 += seen.claims.iter().filter(released).count();
        verify(&server, &seen);
        checked += seen.checks.len() + seen.keyed.len() + seen.claims.len();
        setup = server.kill();
    }
    println!("{kills} kills under load, {checked} answers looked for, 0 lost: {hits:?}");
    assert!(hits.all(), "after {kills} kills: {hits:?}");
    assert!(hits.claims.0 > 0 && hits.claims.1 > 0, "{hits:?}");
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
        let keyed = scope.spawn(|| send_keyed(server, next, &stop));
        wait_for_state(&server.data().path().join("run"), kill, &allowed);
        // The kill comes while the threads send: what they wait for then stays open.
        server.signal_kill();
        stop.store(true, Ordering::Release);
        for thread in batches {
            seen.checks
                .append(&mut thread.join().expect("a thread of load"));
        }
        (seen.keyed, seen.claims) = keyed.join().expect("a thread of keyed load");
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

fn send_keyed(server: &Server, next: &AtomicU64, stop: &AtomicBool) -> (Vec<Keyed>, Vec<Claimed>) {
    let (mut keyed, mut claims) = (Vec::new(), Vec::new());
    let mut connection = Connection::new(server.url());
    while !stop.load(Ordering::Acquire) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let (path, body) = keyed_request(number);
        let Some(answer) = send_once(&mut connection, &format!("once-{number}"), path, body) else {
            break;
        };
        let Some(answer) = answer else { continue };
        let claimed = (number % 4 >= 2).then(|| claimed(number, &answer.text));
        keyed.push(answer);
        let Some((mut claimed, path)) = claimed else {
            continue;
        };
        if number % 4 == 3 {
            let once = format!("release-{number}");
            let body = json!({"epoch": claimed.epoch});
            let Some(answer) = send_once(&mut connection, &once, &path, body) else {
                claimed.released = None;
                claims.push(claimed);
                break;
            };
            claimed.released = Some(answer.is_some());
            keyed.extend(answer);
        }
        claims.push(claimed);
    }
    (keyed, claims)
}

/// A claim that was acknowledged, and the path it is given back by.
fn claimed(number: u64, text: &str) -> (Claimed, String) {
    let claim: Value = serde_json::from_str(text).expect("JSON");
    let id = claim["claim_id"].as_str().expect("a claim's id");
    let claimed = Claimed {
        number,
        epoch: claim["epoch"].as_u64().expect("a claim's epoch"),
        released: Some(false),
    };
    (claimed, format!("/v1/coordination/claims/{id}/release"))
}

fn keyed_request(number: u64) -> (&'static str, Value) {
    let subject = json!({"type": "phone_e164", "value": format!("+55119{number:08}")});
    match number % 4 {
        0 => (
            "/v1/coordination/effects",
            json!({"effect_key": format!("keyed-{number}"), "kind": "filing"}),
        ),
        1 => (
            "/v1/coordination/declare",
            json!({
                "kind": "contact.made", "agent": "killer", "subject": subject,
                "detail": {"channel": "voice", "purpose": "retention"},
            }),
        ),
        _ => (
            "/v1/coordination/claims",
            json!({"kind": "case", "holder": "killer", "lease_s": 86_400, "subject": subject}),
        ),
    }
}

/// Sends a keyed request. `None`: the server has gone. `Some(None)`: it was refused at the entrance.
fn send_once(
    connection: &mut Connection,
    once: &str,
    path: &str,
    body: Value,
) -> Option<Option<Keyed>> {
    let body = body.to_string();
    let (status, text) = connection.ask(&post(path, KEY, Some(once), &body)).ok()?;
    if status == 503 || status == 429 {
        return Some(None);
    }
    assert!(status == 200 || status == 201, "{status} {text}");
    Some(Some(Keyed {
        once: once.to_owned(),
        path: path.to_owned(),
        body,
        text,
    }))
}

/// Every acknowledged reservation is held with its unit spent; what was open is whole or not at
/// all; a repeated key gets the first answer byte for byte.
fn verify(server: &Server, seen: &Seen) {
    let mut connection = Connection::new(server.url());
    let numbers: Vec<u64> = seen.checks.keys().copied().collect();
    for some in numbers.chunks(500) {
        // Inbound: it shows the state of key and budget, and spends nothing.
        let body = batch(some.iter().copied(), "inbound");
        let request = post("/v1/coordination/check/batch", KEY, None, &body);
        let text = until("the journal's tail is short again", || {
            let (status, text) = connection.ask(&request).expect("an answer");
            assert!(status == 200 || status == 503, "{status} {text}");
            (status == 200).then_some(text)
        });
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        for (number, result) in some
            .iter()
            .zip(answer["results"].as_array().expect("results"))
        {
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
    verify_claims(&mut connection, &seen.claims);
    for Keyed {
        once,
        path,
        body,
        text,
    } in &seen.keyed
    {
        let request = post(path, KEY, Some(once), body);
        let again = until("the journal's tail is short again", || {
            let (status, text) = connection.ask(&request).expect("an answer");
            (status != 503).then_some(text)
        });
        assert_eq!(again, *text, "{path} with the key {once}");
    }
}

/// An acknowledged claim still stops others under its epoch, unless it was given back.
fn verify_claims(connection: &mut Connection, claims: &[Claimed]) {
    for claim in claims {
        let mut check = check(claim.number, "inbound");
        check["agent"] = json!("somebody else");
        for own in ["effect_key", "object"] {
            check.as_object_mut().expect("a check").remove(own);
        }
        let request = post("/v1/coordination/check", KEY, None, &check.to_string());
        let text = until("the journal's tail is short again", || {
            let (status, text) = connection.ask(&request).expect("an answer");
            assert!(status == 200 || status == 503, "{status} {text}");
            (status == 200).then_some(text)
        });
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        let held = answer["decision"] == "handoff_to" && answer["owner"]["epoch"] == claim.epoch;
        if let Some(released) = claim.released {
            assert_eq!(held, !released, "claim {}: {answer}", claim.number);
        }
    }
}
