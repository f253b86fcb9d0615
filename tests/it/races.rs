//! Many at once for one thing: exactly one gets it, at every shard count.
//!
//! Here: 64 threads for one customer's last unit, for one effect key, for one customer under three
//! spellings of a phone, and batches with equal effect keys under different customers; then the
//! metrics, which show that every shard did its share and that entities were really lent. Rows B1 and
//! E3 at their own numbers, with what the others are told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use serde_json::{Value, json};

use crate::harness::{Server, Setup};
use crate::raw::{Connection, post};

const THREADS: usize = 64;
const ROUNDS: usize = 1_000;
/// How often one is asked that is not decided in time.
const ASKED_MAX: usize = 10;
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");

/// What the threads of a round ask, and how many units an answer got.
struct Race {
    name: &'static str,
    path: &'static str,
    body: fn(round: usize, thread: usize) -> Value,
    /// How many of the round's prizes the answer holds.
    won: fn(answer: &Value) -> usize,
}

fn check(fields: Value) -> Value {
    let mut check = json!({
        "agent": "racer", "intent": "follow_up", "direction": "outbound", "purpose": "service"
    });
    let fields = fields.as_object().expect("fields of a check").clone();
    check.as_object_mut().expect("a check").extend(fields);
    check
}

fn allowed(answer: &Value) -> usize {
    usize::from(answer["decision"] == "allow")
}

/// A mobile number of a round; `line` keeps the races apart.
fn phone(line: usize, round: usize) -> String {
    format!("+55119{line}{round:07}")
}

const RACES: [Race; 4] = [
    Race {
        name: "the last unit of one customer",
        path: "/v1/coordination/check",
        body: |round, thread| {
            // Each agent brings an object of its own: the customer is on loan to where it lives.
            check(json!({
                "purpose": "retention", "channel": "voice",
                "subject": {"type": "phone_e164", "value": phone(6, round)},
                "object": {"type": "ticket", "namespace": "race", "id": format!("{round}-{thread}")},
            }))
        },
        won: allowed,
    },
    Race {
        name: "one effect key",
        path: "/v1/coordination/check",
        body: |round, thread| {
            check(json!({
                "effect_key": format!("race-{round}"),
                "subject": {"type": "phone_e164", "value": phone(7, round * 64 + thread)},
            }))
        },
        won: allowed,
    },
    Race {
        name: "three spellings of one phone",
        path: "/v1/coordination/check",
        body: |round, thread| {
            let phone = phone(8, round);
            let digits = phone.trim_start_matches('+').to_owned();
            let subject = match thread % 3 {
                0 => json!({"type": "phone_e164", "value": phone}),
                1 => json!({"type": "wa_id", "value": digits}),
                _ => json!({"type": "wa_jid", "value": format!("{digits}@s.whatsapp.net")}),
            };
            check(json!({"purpose": "retention", "channel": "voice", "subject": subject}))
        },
        won: allowed,
    },
    Race {
        name: "batches with one effect key under different customers",
        path: "/v1/coordination/check/batch",
        body: |round, thread| {
            let item = |place: usize| {
                check(json!({
                    "effect_key": format!("batch-race-{round}"),
                    "subject": {
                        "type": "phone_e164", "value": phone(9, (round * 64 + thread) * 4 + place),
                    },
                }))
            };
            json!({"checks": [item(0), item(1), item(2), item(3)]})
        },
        // One winner, unless it is not the earliest item.
        won: |answer| {
            let results = answer["results"].as_array().expect("results");
            let winners: Vec<usize> = (0..results.len())
                .filter(|&place| results[place]["decision"] == "allow")
                .collect();
            let is_earliest = winners.is_empty() || winners == [0];
            if is_earliest { winners.len() } else { THREADS }
        },
    },
];

#[test]
fn races_have_one_winner_on_1_shard() {
    race_at(1);
}

#[test]
fn races_have_one_winner_on_2_shards() {
    race_at(2);
}

/// Pitfall 35.
#[test]
fn races_have_one_winner_on_5_shards() {
    race_at(5);
}

fn race_at(shards: u16) {
    let server = Setup::new().seed(SEED).shards(shards).start();
    for race in &RACES {
        run(&server, race);
    }
    shares(&server, shards);
}

/// Asks until it is decided. 503 says that nothing was recorded, and a round in which it was after
/// all has no winner.
fn ask(connection: &mut Connection, request: &[u8]) -> Result<String, String> {
    let mut last = String::new();
    for _ in 0..ASKED_MAX {
        match connection.ask(request) {
            Ok((200, text)) => return Ok(text),
            Ok((503, text)) => last = text,
            other => return Err(format!("{other:?}")),
        }
    }
    Err(last)
}

fn run(server: &Server, race: &Race) {
    let barrier = Barrier::new(THREADS);
    let won: Vec<AtomicUsize> = (0..ROUNDS).map(|_| AtomicUsize::new(0)).collect();
    // In which round, and why. All end before the next one: a thread that ended alone would leave
    // the others waiting for it.
    let failed: Mutex<Option<(usize, String)>> = Mutex::default();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (barrier, won, failed) = (&barrier, &won, &failed);
            scope.spawn(move || {
                let mut connection = Connection::new(server.url());
                for (round, won) in won.iter().enumerate() {
                    let body = (race.body)(round, thread).to_string();
                    let request = post(race.path, KEY, None, &body);
                    barrier.wait();
                    let before = failed.lock().expect("nobody panics with it").clone();
                    if before.is_some_and(|(failed, _)| failed < round) {
                        return;
                    }
                    match ask(&mut connection, &request) {
                        Ok(text) => {
                            let answer = serde_json::from_str(&text).expect("JSON");
                            won.fetch_add((race.won)(&answer), Ordering::Relaxed);
                        }
                        Err(why) => {
                            let mut failed = failed.lock().expect("nobody panics with it");
                            failed.get_or_insert((round, why));
                        }
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("nobody panicked with it");
    assert_eq!(failed, None, "{}", race.name);
    for (round, won) in won.iter().enumerate() {
        assert_eq!(
            won.load(Ordering::Relaxed),
            1,
            "{}, round {round}",
            race.name
        );
    }
}

/// Every shard decided its share, 1/N ± 30 %, and entities travelled and were waited for.
fn shares(server: &Server, shards: u16) {
    let metrics = server.get("/metrics", KEY).text;
    let of = |name: &str, shard: u16| -> u64 {
        let start = format!("{name}{{shard=\"{shard}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&start));
        line.unwrap_or_else(|| panic!("{start} in {metrics}"))
            .parse()
            .expect("a count")
    };
    let decided: Vec<u64> = (0..shards)
        .map(|shard| of("interlock_shard_decisions_total", shard))
        .collect();
    let total: u64 = decided.iter().sum();
    assert!(total >= (4 * ROUNDS * THREADS) as u64, "{total} decisions");
    for (shard, &count) in decided.iter().enumerate() {
        let fair = total / u64::from(shards);
        assert!(
            count * 10 >= fair * 7 && count * 10 <= fair * 13,
            "shard {shard} decided {count} of {total}: {decided:?}"
        );
    }
    let sum = |name: &str| (0..shards).map(|shard| of(name, shard)).sum::<u64>();
    let (loans, waits) = (sum("interlock_loans_total"), sum("interlock_waits_total"));
    if shards == 1 {
        assert_eq!((loans, waits), (0, 0), "one shard lends to nobody");
    } else {
        assert!(loans > 0 && waits > 0, "{loans} loans, {waits} waits");
    }
}

/// Everybody's answer to a check they send at once.
fn answers(server: &Server, agents: usize, body: impl Fn(usize) -> Value + Sync) -> Vec<Value> {
    let together = Barrier::new(agents);
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..agents)
            .map(|agent| {
                let (together, body) = (&together, &body);
                scope.spawn(move || {
                    let text = body(agent).to_string();
                    let request = post("/v1/coordination/check", KEY, None, &text);
                    let mut connection = Connection::new(server.url());
                    together.wait();
                    let text = ask(&mut connection, &request).expect("an answer");
                    serde_json::from_str(&text).expect("JSON")
                })
            })
            .collect();
        let ended = asked.into_iter().map(|agent| agent.join().expect("ended"));
        ended.collect()
    })
}

/// One of them is allowed, the others are denied for this reason.
fn one_of(answers: &[Value], reason: &str) {
    let allowed = answers.iter().filter(|it| it["decision"] == "allow");
    let denied = answers
        .iter()
        .filter(|it| it["decision"] == "deny" && it["reasons"] == json!([reason]));
    assert_eq!(
        (allowed.count(), denied.count()),
        (1, answers.len() - 1),
        "{answers:#?}"
    );
}

#[test]
fn e3_of_sixteen_agents_at_once_one_gets_the_effect() {
    for shards in [1, 2, 5] {
        let server = Setup::new().seed(SEED).shards(shards).start();
        for round in 0..50 {
            let check = |agent: usize| {
                let subject = json!({"type": "phone_e164", "value": phone(7, round * 64 + agent)});
                check(
                    json!({"agent": format!("agent-{agent}"), "subject": subject,
                    "effect_key": format!("at-once-{round}")}),
                )
            };
            one_of(&answers(&server, 16, check), "effect_in_flight");
        }
    }
}

/// Pitfall 18.
#[test]
fn b1_of_twenty_one_agents_at_once_one_gets_the_last_unit() {
    for shards in [1, 2, 5] {
        let server = Setup::new().seed(SEED).shards(shards).start();
        for round in 0..50 {
            let check = |agent: usize| {
                check(
                    json!({"agent": format!("agent-{agent}"), "purpose": "retention",
                    "channel": "voice",
                    "subject": {"type": "phone_e164", "value": phone(6, round)}}),
                )
            };
            one_of(&answers(&server, 21, check), "budget_exhausted");
        }
    }
}

#[test]
fn one_of_many_reserves_an_effect() {
    let server = Setup::new().seed(SEED).shards(3).start();
    let effect = json!({"effect_key": "invoice-7", "kind": "external_action"});
    let together = Barrier::new(THREADS);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..THREADS)
            .map(|number| {
                let client = server.client();
                let (together, effect) = (&together, &effect);
                scope.spawn(move || {
                    together.wait();
                    let once = format!("client-{number}");
                    let path = "/v1/coordination/effects";
                    client.post_once(path, KEY, &once, effect).status
                })
            })
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    let reserved = statuses.iter().filter(|status| **status == 201).count();
    let refused = statuses.iter().filter(|status| **status == 409).count();
    assert_eq!((reserved, refused), (1, THREADS - 1), "{statuses:?}");
}
