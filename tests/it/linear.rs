//! Claims, locks and checks that race are linearizable: what clients saw over HTTP could have
//! happened one after the other.
//!
//! Here: threads that claim, release, lock and check one customer, one object or one task at once,
//! at several shard counts, so that the claim and the check are decided on different shards; each
//! history goes to the model in `linear/checker`. Not here: the same with kills (`crashes`).

pub(crate) mod budget;
pub(crate) mod checker;
pub(crate) mod effects;
pub(crate) mod search;

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::harness::{Server, Setup, figure};
use crate::raw::{Connection, post};
use checker::{By, Call, Event, Seen, State};
use search::explain;

const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");
const CLAIMS: &str = "/v1/coordination/claims";

const THREADS: usize = 6;
const OPS: usize = 6;
const ROUNDS: usize = 60;
/// How often a call is made that is not decided in time.
const ASKED_MAX: usize = 10;

/// What is raced for.
#[derive(Clone, Copy, Debug)]
enum Prize {
    /// A customer; checks bring objects of their own, so the customer is lent.
    Customer,
    /// An object; checks bring customers and effect keys of their own.
    Object,
    /// A task of an object.
    Task,
}

/// One client: what it holds, and whom it speaks for.
struct Client<'a> {
    connection: Connection,
    prize: Prize,
    round: usize,
    holder: String,
    held: Option<(String, u64)>,
    clock: &'a AtomicU64,
    asked: usize,
}

#[test]
fn claims_and_checks_are_linearizable_on_1_shard() {
    at(1);
}

#[test]
fn claims_and_checks_are_linearizable_on_2_shards() {
    at(2);
}

/// Pitfall 18.
#[test]
fn claims_and_checks_are_linearizable_on_5_shards() {
    at(5);
}

fn at(shards: u16) {
    let server = Setup::new().seed(SEED).shards(shards).start();
    let (mut allowed, mut stopped, mut refused) = (0, 0, 0);
    let mut calls = 0;
    for prize in [Prize::Customer, Prize::Object, Prize::Task] {
        for round in 0..ROUNDS {
            let history = play(&server, prize, round);
            if let Err(why) = explain::<State>(&history) {
                panic!("{prize:?}, round {round}, {shards} shards: {why}\n{history:#?}");
            }
            calls += history.len();
            for event in &history {
                match &event.seen {
                    Some(Seen::Free) => allowed += 1,
                    Some(Seen::StoppedBy { .. }) => stopped += 1,
                    Some(Seen::HeldBy { .. }) => refused += 1,
                    Some(Seen::Taken { .. } | Seen::Released | Seen::Stale) | None => {}
                }
            }
        }
    }
    figure(format_args!(
        "{calls} claims, releases and checks that raced on {shards} shards in {} rounds are linearizable",
        3 * ROUNDS
    ));
    let least = ROUNDS as u64;
    assert!(
        allowed > least && stopped > least && refused > least,
        "the race was no race: {allowed} allowed, {stopped} stopped, {refused} refused"
    );
}

/// One round: every thread does a few things at once with the others.
fn play(server: &Server, prize: Prize, round: usize) -> Vec<Event> {
    let clock = AtomicU64::new(0);
    let together = Barrier::new(THREADS);
    let mut history: Vec<Event> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (clock, together) = (&clock, &together);
                scope.spawn(move || {
                    let mut client = Client {
                        connection: Connection::new(server.url()),
                        prize,
                        round,
                        holder: format!("holder {thread}"),
                        held: None,
                        clock,
                        asked: 0,
                    };
                    together.wait();
                    (0..OPS)
                        .map(|op| client.step((thread + op + round) % 3))
                        .collect::<Vec<Event>>()
                })
            })
            .collect();
        let histories = threads.into_iter().map(|thread| thread.join());
        histories
            .flat_map(|history| history.expect("a client"))
            .collect()
    });
    history.sort_unstable_by_key(|event| event.called);
    history
}

impl Client<'_> {
    fn step(&mut self, choice: usize) -> Event {
        match (choice, self.held.take()) {
            (0, held) => {
                self.held = held;
                self.claim()
            }
            (1, Some((id, epoch))) => self.release(&id, epoch),
            (_, held) => {
                self.held = held;
                self.check()
            }
        }
    }

    /// Sends, between two readings of the one clock that orders all calls and answers.
    fn send(&mut self, path: &str, keyed: bool, body: &Value) -> (u64, u64, u16, Value) {
        self.asked += 1;
        let Self {
            prize,
            round,
            holder,
            asked,
            ..
        } = &*self;
        let once = format!("{prize:?} {round} {holder} {asked}");
        let once = keyed.then_some(once.as_str());
        let request = post(path, KEY, once, &body.to_string());
        // 503 says that nothing was recorded: such a call did not happen, and is made again.
        for _ in 0..ASKED_MAX {
            let called = self.clock.fetch_add(1, Ordering::SeqCst);
            let (status, text) = self.connection.ask(&request).expect("an answer");
            let answered = self.clock.fetch_add(1, Ordering::SeqCst);
            if status != 503 {
                let answer = serde_json::from_str(&text).expect("JSON");
                return (called, answered, status, answer);
            }
        }
        panic!("not decided in time: {body}");
    }

    fn event(&self, (called, answered): (u64, u64), call: Call, seen: Seen) -> Event {
        Event {
            called,
            answered,
            call: By {
                who: self.holder.clone(),
                call,
            },
            seen: Some(seen),
        }
    }

    fn claim(&mut self) -> Event {
        let (round, prize) = (self.round, self.prize);
        let mut body = json!({"kind": "owner", "holder": self.holder, "lease_s": 600});
        match prize {
            Prize::Customer => body["subject"] = customer(round),
            Prize::Object => body["object"] = object(prize, round),
            Prize::Task => {
                body["kind"] = json!("task_lock");
                body["object"] = object(prize, round);
                body["task"] = json!("summary");
            }
        }
        let (called, answered, status, answer) = self.send(CLAIMS, true, &body);
        let seen = match status {
            201 => {
                let id = answer["claim_id"].as_str().expect("an id").to_owned();
                let epoch = answer["epoch"].as_u64().expect("an epoch");
                self.held = Some((id, epoch));
                Seen::Taken { epoch }
            }
            409 => Seen::HeldBy {
                holder: answer["holder"].as_str().expect("a holder").to_owned(),
            },
            _ => panic!("{status}: {answer}"),
        };
        self.event((called, answered), Call::Claim, seen)
    }

    fn release(&mut self, id: &str, epoch: u64) -> Event {
        let path = format!("{CLAIMS}/{id}/release");
        let body = json!({"epoch": epoch});
        let (called, answered, status, answer) = self.send(&path, true, &body);
        let seen = match status {
            200 => Seen::Released,
            409 => Seen::Stale,
            _ => panic!("{status}: {answer}"),
        };
        self.event((called, answered), Call::Release { epoch }, seen)
    }

    fn check(&mut self) -> Event {
        let (round, prize, asked) = (self.round, self.prize, self.asked);
        let mut body = json!({"agent": self.holder, "intent": "follow_up",
            "direction": "outbound", "purpose": "service", "channel": "voice"});
        let own = format!("{prize:?}-{round}-{}-{asked}", self.holder);
        match prize {
            Prize::Customer => {
                body["subject"] = customer(round);
                body["object"] = json!({"type": "own", "namespace": "linear", "id": own});
            }
            Prize::Object => {
                body["object"] = object(prize, round);
                body["subject"] = json!({"type": "system_id", "value": own});
                body["effect_key"] = json!(own);
            }
            Prize::Task => {
                body["object"] = object(prize, round);
                body["task"] = json!("summary");
                body["effect_key"] = json!(own);
            }
        }
        let path = "/v1/coordination/check";
        let (called, answered, status, answer) = self.send(path, false, &body);
        assert_eq!(status, 200, "{answer}");
        let seen = match (answer["decision"].as_str(), prize) {
            (Some("allow"), _) => Seen::Free,
            (Some("defer"), Prize::Task) => {
                let locks = answer["locks"].as_array().expect("locks");
                assert_eq!(locks.len(), 1, "one holder of a task: {answer}");
                let holder = locks[0]["holder"].as_str().expect("a holder");
                Seen::StoppedBy {
                    holder: holder.to_owned(),
                    epoch: None,
                }
            }
            (Some("defer"), Prize::Customer | Prize::Object) => {
                let owner = &answer["owner"];
                Seen::StoppedBy {
                    holder: owner["holder"].as_str().expect("a holder").to_owned(),
                    epoch: owner["epoch"].as_u64(),
                }
            }
            _ => panic!("{answer}"),
        };
        self.event((called, answered), Call::Check, seen)
    }
}

fn customer(round: usize) -> Value {
    json!({"type": "phone_e164", "value": format!("+551195{round:07}")})
}

fn object(prize: Prize, round: usize) -> Value {
    json!({"type": "ticket", "namespace": "linear", "id": format!("{prize:?}-{round}")})
}
