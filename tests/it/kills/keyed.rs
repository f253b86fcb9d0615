//! Requests with an Idempotency-Key, of every kind that changes something, and what each leaves behind.
//!
//! Here: one thread's requests until the server is gone, whether what was answered is still so after
//! the next start, and a part of it that is asked for after every later one. Not here: batches, and when
//! the server is killed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};

use super::kept::Even;
use super::{KEY, check};
use crate::harness::{Server, until};
use crate::raw::{Connection, post};

const CHECK: &str = "/v1/coordination/check";
const EFFECTS: &str = "/v1/coordination/effects";
const ADMISSIONS: &str = "/v1/coordination/admissions";
/// Units of a customer in the conformance space.
const UNITS: u32 = 10;

/// What a request does; its number says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    Reserve,
    Settle,
    Contact,
    Suppress,
    Claim,
    Release,
    Pay,
    HandOver,
}

impl Act {
    const ALL: [Self; 8] = [
        Self::Reserve,
        Self::Settle,
        Self::Contact,
        Self::Suppress,
        Self::Claim,
        Self::Release,
        Self::Pay,
        Self::HandOver,
    ];

    const fn of(number: u64) -> Self {
        Self::ALL[(number % Self::ALL.len() as u64) as usize]
    }
}

/// A keyed request and the bytes of its first answer.
#[derive(Clone)]
struct Keyed {
    act: Act,
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

/// What one thread was answered.
#[derive(Default)]
pub(super) struct Told {
    answers: Vec<Keyed>,
    claims: Vec<Claimed>,
    /// Requests whose state is looked at beside their answer.
    acts: Vec<(u64, Act)>,
}

impl Told {
    /// How many answers there were.
    pub(super) fn len(&self) -> usize {
        self.answers.len() + self.claims.len()
    }

    /// Claims, and those of them that were given back.
    pub(super) fn claims(&self) -> (usize, usize) {
        let released = |claim: &&Claimed| claim.released == Some(true);
        let released = self.claims.iter().filter(released).count();
        (self.claims.len(), released)
    }

    /// Acts of each kind.
    pub(super) fn acts(&self) -> [usize; 8] {
        Act::ALL.map(|act| self.acts.iter().filter(|(_, done)| *done == act).count())
    }
}

/// What is left of earlier kills' answers: of each act, and of claims those held and those given back.
#[derive(Default)]
pub(super) struct Kept {
    answers: BTreeMap<Act, Even<Keyed>>,
    claims: BTreeMap<bool, Even<Claimed>>,
    acts: BTreeMap<Act, Even<(u64, Act)>>,
}

impl Kept {
    /// Adds what a kill's thread was answered.
    pub(super) fn add(&mut self, told: Told) {
        for answer in told.answers {
            self.answers.entry(answer.act).or_default().add(answer);
        }
        for claim in told.claims {
            if let Some(released) = claim.released {
                self.claims.entry(released).or_default().add(claim);
            }
        }
        for (number, act) in told.acts {
            self.acts.entry(act).or_default().add((number, act));
        }
    }

    /// Acts with an answer, kinds of claims, and acts with a state.
    pub(super) fn kinds(&self) -> (usize, usize, usize) {
        (self.answers.len(), self.claims.len(), self.acts.len())
    }

    /// All of it, to be looked for.
    pub(super) fn told(&self) -> Told {
        Told {
            answers: self
                .answers
                .values()
                .flat_map(Even::iter)
                .cloned()
                .collect(),
            claims: self.claims.values().flat_map(Even::iter).copied().collect(),
            acts: self.acts.values().flat_map(Even::iter).copied().collect(),
        }
    }
}

/// Sends until the server is gone.
pub(super) fn send(server: &Server, next: &AtomicU64, stop: &AtomicBool) -> Told {
    let mut told = Told::default();
    let mut connection = Connection::new(server.url());
    while !stop.load(Ordering::Acquire) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if step(&mut connection, number, &mut told).is_none() {
            break;
        }
    }
    told
}

/// One act; `None` when the server went away.
fn step(connection: &mut Connection, number: u64, told: &mut Told) -> Option<()> {
    let act = Act::of(number);
    let (path, body) = request(number, act);
    let once = format!("once-{number}");
    let Some(answer) = send_once(connection, act, (&once, path), &body)? else {
        return Some(());
    };
    let first: Value = serde_json::from_str(&answer.text).expect("JSON");
    told.answers.push(answer);
    let then = format!("then-{number}");
    match act {
        Act::Claim | Act::Release => {
            let mut claim = Claimed {
                number,
                epoch: first["epoch"].as_u64().expect("a claim's epoch"),
                released: Some(false),
            };
            if act == Act::Release {
                let id = first["claim_id"].as_str().expect("a claim's id");
                let path = format!("/v1/coordination/claims/{id}/release");
                let body = json!({"epoch": claim.epoch});
                let Some(answer) = send_once(connection, act, (&then, &path), &body) else {
                    claim.released = None;
                    told.claims.push(claim);
                    return None;
                };
                claim.released = Some(answer.is_some());
                told.answers.extend(answer);
            }
            told.claims.push(claim);
        }
        Act::Settle => {
            let id = first["effect_id"].as_str().expect("an effect's id");
            let path = format!("{EFFECTS}/{id}/settle");
            let body = json!({"attempt": 1, "state": "done"});
            if let Some(answer) = send_once(connection, act, (&then, &path), &body)? {
                told.answers.push(answer);
                told.acts.push((number, act));
            }
        }
        Act::Reserve | Act::Contact | Act::Suppress | Act::Pay | Act::HandOver => {
            told.acts.push((number, act));
        }
    }
    Some(())
}

fn subject(number: u64) -> Value {
    json!({"type": "phone_e164", "value": format!("+55119{number:08}")})
}

fn request(number: u64, act: Act) -> (&'static str, Value) {
    let subject = subject(number);
    let declared = |kind: &str, detail: Value| {
        let body = json!({"kind": kind, "agent": "killer", "subject": subject, "detail": detail});
        ("/v1/coordination/declare", body)
    };
    match act {
        Act::Reserve | Act::Settle => (
            EFFECTS,
            json!({"effect_key": format!("keyed-{number}"), "kind": "filing"}),
        ),
        Act::Contact => declared(
            "contact.made",
            json!({"channel": "voice", "purpose": "retention"}),
        ),
        Act::Suppress => declared(
            "suppression.added",
            json!({"purpose": "marketing", "reason": "opt_out"}),
        ),
        Act::Claim | Act::Release => (
            "/v1/coordination/claims",
            json!({"kind": "case", "holder": "killer", "lease_s": 86_400, "subject": subject}),
        ),
        Act::Pay => (
            ADMISSIONS,
            json!({"operation": "registry_search", "cost_units": 1, "subject": subject}),
        ),
        Act::HandOver => (
            "/v1/handoffs",
            json!({"subject": subject, "target": "billing", "reason": "asks for it"}),
        ),
    }
}

/// Sends a keyed request. `None`: the server has gone. `Some(None)`: it was refused at the entrance.
fn send_once(
    connection: &mut Connection,
    act: Act,
    (once, path): (&str, &str),
    body: &Value,
) -> Option<Option<Keyed>> {
    let body = body.to_string();
    let (status, text) = connection.ask(&post(path, KEY, Some(once), &body)).ok()?;
    if status == 503 || status == 429 {
        return Some(None);
    }
    assert!(status == 200 || status == 201, "{status} {text}");
    Some(Some(Keyed {
        act,
        once: once.to_owned(),
        path: path.to_owned(),
        body,
        text,
    }))
}

/// The answer, once the journal's tail is short enough for one.
fn ask(connection: &mut Connection, request: &[u8]) -> (u16, String) {
    until("the journal's tail is short again", || {
        let (status, text) = connection.ask(request).expect("an answer");
        (status != 503).then_some((status, text))
    })
}

/// Everything that was answered is still so, and every key gets its first answer byte for byte. The
/// number of the start makes what is asked a request of its own: a repeat would be told what an earlier
/// start saw.
pub(super) fn verify(connection: &mut Connection, told: &Told, start: usize) {
    for claim in &told.claims {
        verify_claim(connection, claim);
    }
    for (number, act) in &told.acts {
        verify_act(connection, (*number, *act), start);
    }
    for Keyed {
        once,
        path,
        body,
        text,
        ..
    } in &told.answers
    {
        let (_, again) = ask(connection, &post(path, KEY, Some(once), body));
        assert_eq!(again, *text, "{path} with the key {once}");
    }
}

/// An acknowledged claim still stops others under its epoch, unless it was given back.
fn verify_claim(connection: &mut Connection, claim: &Claimed) {
    let answer = look(connection, claim.number, &[]);
    let held = answer["decision"] == "handoff_to" && answer["owner"]["epoch"] == claim.epoch;
    if let Some(released) = claim.released {
        assert_eq!(held, !released, "claim {}: {answer}", claim.number);
    }
}

fn verify_act(connection: &mut Connection, (number, act): (u64, Act), start: usize) {
    match act {
        Act::Reserve | Act::Settle => {
            let key = json!(format!("keyed-{number}"));
            let answer = look(connection, number, &[("effect_key", key)]);
            let state = if act == Act::Settle {
                "done"
            } else {
                "in_flight"
            };
            assert_eq!(answer["effect"]["state"], state, "{number}: {answer}");
        }
        Act::Contact => {
            let answer = look(connection, number, &[]);
            let left = &answer["contact_budget"]["retention"]["remaining"];
            assert_eq!(*left, 0, "{number}: {answer}");
        }
        Act::Suppress => {
            let answer = look(connection, number, &[("direction", json!("outbound"))]);
            assert_eq!(
                answer["reasons"],
                json!(["suppressed"]),
                "{number}: {answer}"
            );
        }
        Act::Pay => {
            let look = json!({"operation": "registry_search", "cost_units": 0,
                "subject": subject(number)});
            let request = post(
                ADMISSIONS,
                KEY,
                Some(&format!("look-{number}-{start}")),
                &look.to_string(),
            );
            let (status, text) = ask(connection, &request);
            let answer: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(
                (status, &answer["remaining"]),
                (201, &json!(UNITS - 1)),
                "{text}"
            );
        }
        Act::HandOver => {
            let answer = look(connection, number, &[]);
            assert_eq!(answer["owner"]["holder"], "billing", "{number}: {answer}");
        }
        Act::Claim | Act::Release => unreachable!("a claim is looked at under its epoch"),
    }
}

/// An inbound check that was not decided in time, on a machine that is busy, says so and nothing else.
pub(super) fn is_decided(answer: &Value) -> bool {
    answer["reasons"] != json!(["unavailable"])
}

/// What somebody else is told of the customer of a number; inbound, so that nothing is spent.
fn look(connection: &mut Connection, number: u64, members: &[(&str, Value)]) -> Value {
    let mut check = check(number, "inbound");
    check["agent"] = json!("somebody else");
    let map = check.as_object_mut().expect("a check");
    for own in ["effect_key", "object"] {
        map.remove(own);
    }
    for (name, value) in members {
        map.insert((*name).to_owned(), value.clone());
    }
    let request = post(CHECK, KEY, None, &check.to_string());
    until("a check is decided in time", || {
        let (status, text) = ask(connection, &request);
        assert_eq!(status, 200, "{text}");
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        is_decided(&answer).then_some(answer)
    })
}
