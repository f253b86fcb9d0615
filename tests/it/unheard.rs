//! Answers that nobody heard: a crash between a decision and its client, with the same key afterwards.
//!
//! Here: keyed reservations whose server is killed before the client has read the answer. Not here: what
//! was answered and must be there (`kills`), clients that leave a server that goes on (`gone`).

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::harness::{Server, Setup, figure, until};
use crate::raw::{Connection, post};

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const CHECK: &str = "/v1/coordination/check";
const EFFECTS: &str = "/v1/coordination/effects";
const NOON: &str = "2026-01-05T12:00:00Z";
const THREADS: usize = 8;

fn effect(name: &str) -> Value {
    json!({"effect_key": name, "kind": "filing"})
}

fn subject() -> Value {
    json!({"type": "phone_e164", "value": "+5511955550012"})
}

/// A customer whom nobody may contact, so that a check with it reads an effect and reserves nothing.
fn suppress(server: &Server) {
    let added = json!({"kind": "suppression.added", "agent": "reader", "subject": subject(),
        "detail": {"purpose": "marketing", "reason": "opt_out"}});
    let answer = server.post_once("/v1/coordination/declare", KEY, "suppressed", &added);
    assert_eq!(answer.json()["accepted"], true, "{answer:?}");
}

/// Why an act under the effect's key is denied; `suppressed` when nobody has the effect.
fn state(server: &Server, name: &str) -> Value {
    let check = json!({"agent": "reader", "intent": "i", "direction": "outbound",
        "purpose": "marketing", "subject": subject(), "effect_key": name});
    let answer = server.post(CHECK, KEY, &check);
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["decision"], "deny", "{answer}");
    answer["reasons"][0].clone()
}

/// Sends a keyed reservation and reads nothing of its answer.
fn send_unheard(server: &Server, once: &str, name: &str) -> TcpStream {
    let address = server.url().strip_prefix("http://").expect("in the clear");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = post(EFFECTS, KEY, Some(once), &effect(name).to_string());
    stream.write_all(&request).expect("it is sent");
    stream
}

/// The commit is on disk and its answer was never read. The same request under the same key gets the
/// answer that was missed, not a conflict; under another key, or as another request, it is none.
#[test]
fn pitfall_12_a_commit_nobody_heard_of_is_answered_to_the_same_key() {
    let server = Setup::new().seed(SEED).shards(2).start();
    suppress(&server);
    let names: Vec<String> = (0..20).map(|number| format!("unheard-{number}")).collect();
    let unread: Vec<TcpStream> = names
        .iter()
        .map(|name| send_unheard(&server, name, name))
        .collect();
    // Another client sees it only once it is durable.
    for name in &names {
        until("the reservation", || {
            (state(&server, name) == "effect_in_flight").then_some(())
        });
    }
    let setup = server.kill();
    drop(unread);
    let server = setup.shards(3).start();
    for name in &names {
        let first = server.post_once(EFFECTS, KEY, name, &effect(name));
        assert_eq!(first.status, 201, "{name}: {first:?}");
        let answer = first.json();
        assert_eq!(
            (&answer["state"], &answer["attempt"]),
            (&json!("reserved"), &json!(1))
        );
        assert_eq!(server.post_once(EFFECTS, KEY, name, &effect(name)), first);
        let other = server.post_once(EFFECTS, KEY, &format!("{name}-other"), &effect(name));
        assert_eq!(
            (other.status, &other.json()["code"]),
            (409, &json!("effect_in_flight"))
        );
        let another = server.post_once(EFFECTS, KEY, name, &effect("something else"));
        let code = &another.json()["code"];
        assert_eq!(
            (another.status, code),
            (409, &json!("idempotency_conflict"))
        );
    }
}

/// Reserves until the server is gone; what was not answered then.
fn reserve(server: &Server, thread: usize, answered: &AtomicUsize) -> String {
    let mut connection = Connection::new(server.url());
    for number in 0.. {
        let name = format!("crash-{thread}-{number}");
        let request = post(EFFECTS, KEY, Some(&name), &effect(&name).to_string());
        match connection.ask(&request) {
            Ok((status, text)) => {
                assert_eq!(status, 201, "{text}");
                answered.fetch_add(1, Ordering::AcqRel);
            }
            Err(_) => return name,
        }
    }
    unreachable!("numbers do not end")
}

/// Killed in the middle of many: a request without an answer was done or was not, and under its key it
/// is done now, in both cases with the first attempt. No key is left in progress.
#[test]
fn pitfall_10_12_a_crash_leaves_no_key_in_progress() {
    let server = Setup::new().seed(SEED).shards(2).test_clock(NOON).start();
    suppress(&server);
    let answered = AtomicUsize::new(0);
    let unheard: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (server, answered) = (&server, &answered);
                scope.spawn(move || reserve(server, thread, answered))
            })
            .collect();
        until("answers", || {
            (answered.load(Ordering::Acquire) >= 200).then_some(())
        });
        server.signal_kill();
        let threads = threads.into_iter();
        threads
            .map(|thread| thread.join().expect("a client"))
            .collect()
    });
    let server = server.kill().shards(3).start();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &unheard {
        let was = state(&server, name);
        let was = if was == "suppressed" {
            "lost"
        } else {
            "landed"
        };
        *counts.entry(was).or_default() += 1;
        let answer = server.post_once(EFFECTS, KEY, name, &effect(name));
        assert_eq!(answer.status, 201, "{name} had {was}: {answer:?}");
        assert_eq!(answer.json()["attempt"], 1, "{name} had {was}");
    }
    figure(format_args!(
        "{} without an answer: {counts:?}",
        unheard.len()
    ));
    // Nor is an effect without its holder held for ever: after its lease its outcome is asked for, and
    // whoever holds the attempt may still say it.
    assert_eq!(server.set_clock("2026-01-05T12:01:01Z").status, 200);
    for name in &unheard {
        assert_eq!(state(&server, name), "effect_unknown_outcome", "{name}");
        let reserved = server.post_once(EFFECTS, KEY, name, &effect(name)).json();
        let id = reserved["effect_id"].as_str().expect("an id");
        let done = json!({"attempt": 1, "state": "done"});
        let path = format!("{EFFECTS}/{id}/settle");
        let settled = server.post_once(&path, KEY, &format!("{name}-done"), &done);
        assert_eq!(settled.status, 200, "{settled:?}");
        assert_eq!(state(&server, name), "effect_done", "{name}");
    }
}
