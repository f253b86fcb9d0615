//! Linearizable across kills: what clients saw of a server that is killed and started again, under
//! other shard counts, could have happened one call after the other.
//!
//! Here: threads that go on over restarts, one history for each target of a round: a task lock
//! (claims, releases, checks), an effect key (reservations, settlements), a customer's budget
//! (checks). A request with an Idempotency-Key is sent again until it is answered, as clients are told
//! to; its call lasts from the first sending to the answer. A check is not, so one without an answer
//! may have happened or not. 503 says that nothing was recorded, so such a call did not happen. Not
//! here: single requests lost or done twice (`kills`).

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Server, Setup, Until, count, figure};
use crate::linear::search::{NEVER, explain};
use crate::linear::{budget, checker, effects};
use crate::raw::{Connection, post};

const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");
const CHECK: &str = "/v1/coordination/check";
const CLAIMS: &str = "/v1/coordination/claims";
const EFFECTS: &str = "/v1/coordination/effects";
const THREADS: usize = 6;
const OPS: usize = 6;
/// Seconds of a run in the gate; `INTERLOCK_LINEAR_S` asks for more.
const SECONDS: usize = 120;

/// Where the server is, for clients that outlive it.
struct Place {
    url: String,
    /// Orders all calls and answers.
    clock: AtomicU64,
    /// Requests that were sent again, and checks without an answer.
    again: AtomicUsize,
    unknown: AtomicUsize,
}

/// What a request came to: between which readings of the clock, status, body.
type Answered = (u64, u64, u16, Value);

impl Place {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// One try. `None` when the server went away.
    fn try_once(
        &self,
        connection: &mut Option<Connection>,
        request: &[u8],
    ) -> Option<(u16, Value)> {
        let mut open = connection
            .take()
            .or_else(|| Connection::try_new(&self.url))?;
        let (status, text) = open.ask(request).ok()?;
        *connection = Some(open);
        Some((status, serde_json::from_str(&text).expect("JSON")))
    }

    /// Sends it under its key until it is answered.
    fn keyed(
        &self,
        connection: &mut Option<Connection>,
        path: &str,
        once: &str,
        body: &Value,
    ) -> Answered {
        let request = post(path, KEY, Some(once), &body.to_string());
        let called = self.now();
        let give_up = Until::after(PATIENCE);
        loop {
            if let Some((status, answer)) = self.try_once(connection, &request)
                && status != 503
            {
                return (called, self.now(), status, answer);
            }
            assert!(!give_up.is_over(), "never answered: {path} {body}");
            self.again.fetch_add(1, Ordering::Relaxed);
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }

    /// Sends a check once it can be sent. The status is 0 when no answer came.
    fn check(&self, connection: &mut Option<Connection>, body: &Value) -> Answered {
        let request = post(CHECK, KEY, None, &body.to_string());
        let give_up = Until::after(PATIENCE);
        loop {
            assert!(!give_up.is_over(), "no server");
            if connection.is_none() {
                *connection = Connection::try_new(&self.url);
                if connection.is_none() {
                    std::thread::park_timeout(Duration::from_millis(2));
                    continue;
                }
            }
            let called = self.now();
            let Some((status, answer)) = self.try_once(connection, &request) else {
                self.unknown.fetch_add(1, Ordering::Relaxed);
                return (called, NEVER, 0, Value::Null);
            };
            if status == 503 {
                std::thread::park_timeout(Duration::from_millis(2));
                continue;
            }
            assert_eq!(status, 200, "{answer}");
            // Not decided in time: nothing was recorded either.
            if answer["reasons"] == json!(["unavailable"]) {
                continue;
            }
            return (called, self.now(), status, answer);
        }
    }
}

/// One thread of a round.
struct Client<'a> {
    place: &'a Place,
    connection: Option<Connection>,
    round: usize,
    name: String,
    asked: usize,
    lock: Option<(String, u64)>,
    attempt: Option<(String, u64)>,
}

/// What a round's clients saw, by target.
#[derive(Default)]
struct Histories {
    lock: Vec<checker::Event>,
    effect: Vec<effects::Event>,
    budget: Vec<budget::Event>,
}

impl Client<'_> {
    fn once(&mut self) -> String {
        self.asked += 1;
        format!("{} {} {}", self.round, self.name, self.asked)
    }

    fn lock_event(
        &self,
        (called, answered): (u64, u64),
        call: checker::Call,
        seen: impl Into<Option<checker::Seen>>,
    ) -> checker::Event {
        let who = self.name.clone();
        checker::Event {
            called,
            answered,
            call: checker::By { who, call },
            seen: seen.into(),
        }
    }

    fn step_lock(&mut self, choice: usize) -> checker::Event {
        use checker::{Call, Seen};
        let object = json!({"type": "ticket", "namespace": "crash", "id": self.round.to_string()});
        let once = self.once();
        if choice == 0 {
            let body = json!({"kind": "task_lock", "holder": self.name, "lease_s": 600,
                "object": object, "task": "summary"});
            let (called, answered, status, answer) =
                self.place.keyed(&mut self.connection, CLAIMS, &once, &body);
            let seen = match status {
                201 => {
                    let epoch = answer["epoch"].as_u64().expect("an epoch");
                    let id = answer["claim_id"].as_str().expect("an id").to_owned();
                    self.lock = Some((id, epoch));
                    Seen::Taken { epoch }
                }
                409 => Seen::HeldBy {
                    holder: answer["holder"].as_str().expect("a holder").to_owned(),
                },
                _ => panic!("{status}: {answer}"),
            };
            return self.lock_event((called, answered), Call::Claim, seen);
        }
        if choice == 1
            && let Some((id, epoch)) = self.lock.take()
        {
            let path = format!("{CLAIMS}/{id}/release");
            let body = json!({"epoch": epoch});
            let (called, answered, status, answer) =
                self.place.keyed(&mut self.connection, &path, &once, &body);
            let seen = match status {
                200 => Seen::Released,
                409 => Seen::Stale,
                _ => panic!("{status}: {answer}"),
            };
            return self.lock_event((called, answered), Call::Release { epoch }, seen);
        }
        let body = json!({"agent": self.name, "intent": "follow_up", "direction": "outbound",
            "purpose": "service", "channel": "voice", "object": object, "task": "summary",
            "effect_key": format!("own {once}")});
        let (called, answered, status, answer) = self.place.check(&mut self.connection, &body);
        let seen = match (status, answer["decision"].as_str()) {
            (0, _) => None,
            (_, Some("allow")) => Some(Seen::Free),
            (_, Some("defer")) => Some(Seen::StoppedBy {
                holder: answer["locks"][0]["holder"]
                    .as_str()
                    .expect("a holder")
                    .to_owned(),
                epoch: None,
            }),
            _ => panic!("{answer}"),
        };
        self.lock_event((called, answered), Call::Check, seen)
    }

    fn step_effect(&mut self, choice: usize) -> effects::Event {
        use effects::{Call, Seen};
        let once = self.once();
        if choice > 0
            && let Some((id, attempt)) = self.attempt.take()
        {
            let done = choice == 2 && attempt > 1;
            let body = json!({"attempt": attempt, "state": if done { "done" } else { "failed" }});
            let path = format!("{EFFECTS}/{id}/settle");
            let (called, answered, status, answer) =
                self.place.keyed(&mut self.connection, &path, &once, &body);
            let seen = match status {
                200 => Seen::Settled,
                409 => Seen::Refused,
                _ => panic!("{status}: {answer}"),
            };
            let call = Call::Settle { attempt, done };
            return effects::Event {
                called,
                answered,
                call,
                seen: Some(seen),
            };
        }
        let body =
            json!({"effect_key": format!("crash-{}", self.round), "kind": "external_action"});
        let (called, answered, status, answer) =
            self.place
                .keyed(&mut self.connection, EFFECTS, &once, &body);
        let seen = match (status, answer["state"].as_str()) {
            (201, _) => {
                let attempt = answer["attempt"].as_u64().expect("a number");
                let id = answer["effect_id"].as_str().expect("an id").to_owned();
                self.attempt = Some((id, attempt));
                Seen::Reserved { attempt }
            }
            (200, Some("done")) => Seen::Done,
            (409, _) => Seen::InFlight,
            _ => panic!("{status}: {answer}"),
        };
        effects::Event {
            called,
            answered,
            call: Call::Reserve,
            seen: Some(seen),
        }
    }

    fn step_budget(&mut self) -> budget::Event {
        let body = json!({"agent": self.name, "intent": "follow_up", "direction": "outbound",
            "purpose": "marketing", "channel": "voice",
            "subject": {"type": "phone_e164", "value": format!("+551194{:07}", self.round)}});
        let (called, answered, status, answer) = self.place.check(&mut self.connection, &body);
        let spent = match (status, answer["decision"].as_str()) {
            (0, _) => None,
            (_, Some("allow")) => Some(true),
            (_, Some("deny")) => {
                assert_eq!(answer["reasons"], json!(["budget_exhausted"]));
                Some(false)
            }
            _ => panic!("{answer}"),
        };
        let left = answer["contact_budget"]["marketing"]["remaining"].as_u64();
        budget::Event {
            called,
            answered,
            call: (),
            seen: spent.map(|spent| budget::Seen { spent, left }),
        }
    }
}

/// One round: every thread does a few things to each target, at once with the others.
fn play(place: &Place, round: usize) -> Histories {
    let together = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let together = &together;
                scope.spawn(move || {
                    let mut client = Client {
                        place,
                        connection: None,
                        round,
                        name: format!("agent {thread}"),
                        asked: 0,
                        lock: None,
                        attempt: None,
                    };
                    let mut seen = Histories::default();
                    together.wait();
                    for op in 0..OPS {
                        let choice = (thread + op + round) % 3;
                        seen.lock.push(client.step_lock(choice));
                        seen.effect.push(client.step_effect(choice));
                        seen.budget.push(client.step_budget());
                    }
                    seen
                })
            })
            .collect();
        let mut all = Histories::default();
        for thread in threads {
            let mut seen = thread.join().expect("a client");
            all.lock.append(&mut seen.lock);
            all.effect.append(&mut seen.effect);
            all.budget.append(&mut seen.budget);
        }
        all
    })
}

/// Kills and starts again until it is told to stop; how often.
fn kill(mut server: Server, setup: &Setup, stop: &AtomicBool) -> (usize, Server) {
    let mut kills = 0;
    while !stop.load(Ordering::Acquire) {
        // Between 40 and 240 ms of life: in mid-commit, in mid-snapshot, in recovery.
        std::thread::park_timeout(Duration::from_millis(40 + (kills as u64 * 67) % 200));
        server.kill();
        kills += 1;
        server = setup.clone().shards([2, 5, 1, 3, 4][kills % 5]).start();
    }
    (kills, server)
}

#[test]
fn what_clients_see_is_linearizable_across_kills() {
    let first = Setup::new()
        .seed(SEED)
        .config("[snapshots]\ninterval_ms = 100\n")
        .shards(3)
        .start();
    let url = first.url().to_owned();
    let setup = first.setup().listen(url.trim_start_matches("http://"));
    let place = Place {
        url,
        clock: AtomicU64::new(0),
        again: AtomicUsize::new(0),
        unknown: AtomicUsize::new(0),
    };
    let stop = AtomicBool::new(false);
    let until = Until::after(Duration::from_secs(
        count("INTERLOCK_LINEAR_S", SECONDS) as u64
    ));
    let (rounds, kills) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| kill(first, &setup, &stop));
        let mut rounds = 0;
        while !until.is_over() {
            let seen = play(&place, rounds);
            let judged = explain::<checker::State>(&seen.lock)
                .and_then(|()| explain::<effects::State>(&seen.effect))
                .and_then(|()| explain::<budget::State>(&seen.budget));
            if let Err(why) = judged {
                stop.store(true, Ordering::Release);
                panic!("round {rounds}: {why}");
            }
            rounds += 1;
        }
        stop.store(true, Ordering::Release);
        (rounds, killer.join().expect("the killer").0)
    });
    let calls = rounds * THREADS * OPS * 3;
    let (again, unknown) = (place.again.into_inner(), place.unknown.into_inner());
    figure(format_args!(
        "{calls} calls in {rounds} rounds over {kills} kills are linearizable; {again} sendings \
         again, {unknown} checks without an answer"
    ));
    assert!(kills > 3 && unknown > 0, "{kills} kills, {unknown} unknown");
}
