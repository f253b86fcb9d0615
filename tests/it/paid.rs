//! Many at once for the last units of a paid operation: no unit is given twice, and none is lost, at
//! every shard count; and what was given is still taken after a kill. And a disk that fails: no unit
//! is given that is not recorded.
//!
//! Here: 64 threads for the units of one customer, of the space, and of the space through effects.
//! Not here: how units count (`domain`), and what a client is told (`api`).

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::harness::{Server, Setup};
use crate::raw::{Connection, post};

const THREADS: usize = 64;
const ROUNDS: usize = 20;
const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const ADMISSIONS: &str = "/v1/coordination/admissions";
const EFFECTS: &str = "/v1/coordination/effects";
/// Units of a customer in the conformance space.
const OF_CUSTOMER: usize = 10;
/// Units of each operation of the space.
const OF_SPACE: usize = 7;

/// The conformance space, with an operation of the space for each round and one for effects.
fn seed() -> String {
    let mut seed: Value = serde_json::from_str(SEED).expect("the seed is JSON");
    let rules = &mut seed["spaces"][0]["coordination"];
    let whole = json!({"scope": "space", "limit_units": OF_SPACE, "per_hours": 24,
        "call_ceiling": 2});
    for round in 0..ROUNDS {
        rules["paid"][format!("whole_{round}")] = whole.clone();
    }
    rules["paid"]["lookup"] = whole;
    rules["effects"]["paid_call_operation"] = json!("lookup");
    seed.to_string()
}

#[test]
fn units_are_given_once_on_1_shard() {
    race_at(1);
}

#[test]
fn units_are_given_once_on_2_shards() {
    race_at(2);
}

#[test]
fn units_are_given_once_on_5_shards() {
    race_at(5);
}

fn race_at(shards: u16) {
    let server = Setup::new().seed(&seed()).shards(shards).start();
    let search = |round: usize| {
        json!({"operation": "registry_search", "cost_units": 1,
            "subject": {"type": "phone_e164", "value": format!("+551195{round:07}")}})
    };
    let whole = |round: usize| json!({"operation": format!("whole_{round}"), "cost_units": 1});
    let customers = race(&server, ("customer", ADMISSIONS), ROUNDS, |round, _| {
        search(round)
    });
    assert_eq!(customers, [OF_CUSTOMER; ROUNDS], "units of customers");
    let spaces = race(&server, ("space", ADMISSIONS), ROUNDS, |round, _| {
        whole(round)
    });
    assert_eq!(spaces, [OF_SPACE; ROUNDS], "units of the space");
    // Each thread has an effect key of its own; only the units are shared.
    let effects = race(
        &server,
        ("effects", EFFECTS),
        1,
        |_, thread| json!({"effect_key": format!("call-{thread}"), "kind": "paid_call", "cost_units": 1}),
    );
    assert_eq!(effects, [OF_SPACE], "units of effects");
    let server = server.kill().shards(shards % 3 + 1).start();
    let lookup = json!({"operation": "lookup", "cost_units": 1});
    for (number, body) in [search(0), whole(0), lookup].iter().enumerate() {
        let again = server.post_once(ADMISSIONS, KEY, &format!("after-{number}"), body);
        assert_eq!(again.status, 409, "what was given is taken: {}", again.text);
    }
}

/// No durable write, no admission: what the failing disk did not take is answered 503 and is asked for
/// again under its key, and every unit that was answered is spent after the next start.
/// Pitfall 5.
#[test]
fn a_call_whose_record_is_not_written_is_not_admitted() {
    const UNITS: u32 = 1_000_000;
    let mut seed: Value = serde_json::from_str(SEED).expect("the seed is JSON");
    seed["spaces"][0]["coordination"]["paid"]["large"] =
        json!({"scope": "space", "limit_units": UNITS, "per_hours": 24, "call_ceiling": 1});
    let server = Setup::new()
        .seed(&seed.to_string())
        .test_clock("2026-01-05T12:00:00Z")
        .file_bytes_max(Some(2 * 1_024 * 1_024))
        .start();
    let call = |units: u32| json!({"operation": "large", "cost_units": units});
    let mut last = 0;
    let failed = loop {
        let answer = server.post_once(ADMISSIONS, KEY, &format!("call-{last}"), &call(1));
        if answer.status != 201 {
            break answer;
        }
        last += 1;
        assert!(last < 99_999, "the disk never failed");
    };
    assert_eq!(failed.status, 503, "{failed:?}");
    assert_eq!(failed.json()["code"], "coordination_unavailable");
    let setup = server.setup();
    server.ended();
    let server = setup.file_bytes_max(None).start();
    for _ in 0..2 {
        let again = server.post_once(ADMISSIONS, KEY, &format!("call-{last}"), &call(1));
        assert_eq!(again.status, 201, "{again:?}");
    }
    let look = server.post_once(ADMISSIONS, KEY, "look", &call(0));
    assert_eq!(look.json()["remaining"], UNITS - last - 1, "{look:?}");
}

/// How many requests of each round got units; the others are told the budget is exhausted.
fn race(
    server: &Server,
    (units, path): (&'static str, &'static str),
    rounds: usize,
    body: impl Fn(usize, usize) -> Value + Sync,
) -> Vec<usize> {
    let barrier = Barrier::new(THREADS);
    let won: Vec<AtomicUsize> = (0..rounds).map(|_| AtomicUsize::new(0)).collect();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (barrier, won, body) = (&barrier, &won, &body);
            scope.spawn(move || {
                let mut connection = Connection::new(server.url());
                for (round, won) in won.iter().enumerate() {
                    let body = body(round, thread);
                    let once = format!("{units}-{round}-{thread}");
                    let request = post(path, KEY, Some(&once), &body.to_string());
                    barrier.wait();
                    let (status, text) = connection.ask(&request).expect("an answer");
                    if status == 201 {
                        won.fetch_add(1, Ordering::Relaxed);
                    } else {
                        let answer: Value = serde_json::from_str(&text).expect("JSON");
                        assert_eq!(
                            (status, &answer["code"]),
                            (409, &json!("budget_exhausted")),
                            "{text}"
                        );
                    }
                }
            });
        }
    });
    won.into_iter().map(AtomicUsize::into_inner).collect()
}
