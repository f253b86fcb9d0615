//! A server that listens before it is rebuilt, what is there after a kill, and the clock of a test.

use std::ops::Range;

use serde_json::{Value, json};

use crate::harness::{Client, Server, Setup};

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const EFFECTS: usize = 1_500;
const BATCH: &str = "/v1/coordination/check/batch";
const CHECK: &str = "/v1/coordination/check";

#[test]
fn not_ready_until_the_last_partition_is_rebuilt() {
    let server = Setup::new()
        .test_clock("2026-01-05T12:00:00Z")
        .argument("--recovery-hold")
        .argument("2")
        .start_listening();
    let answer = server.get("/readyz", "");
    assert_eq!(answer.status, 503);
    assert!(answer.text.contains("rebuilding"), "{answer:?}");
    assert!(answer.retry_after.is_some());
    assert!(server.line("ready ").contains("TEST CLOCK"));
    assert_eq!(server.get("/readyz", "").status, 200);
}

#[test]
fn a_test_clock_goes_forward_only_and_also_over_a_restart() {
    let setup = Setup::new().test_clock("2026-01-05T12:00:00Z");
    let server = setup.start();
    assert_eq!(
        server.get("/test/clock", "").json(),
        json!({"now": "2026-01-05T12:00:00Z"})
    );
    assert_eq!(server.set_clock("2026-01-05T13:00:00Z").status, 200);
    assert_eq!(server.set_clock("2026-01-05T12:30:00Z").status, 422);
    assert_eq!(
        server.get("/test/clock", "").json(),
        json!({"now": "2026-01-05T13:00:00Z"})
    );
    let server = Setup::new().start();
    assert_eq!(server.get("/test/clock", "").status, 404, "never otherwise");
}

/// Pitfall 4.
#[test]
fn what_was_answered_is_there_after_a_kill() {
    let server = Setup::new().seed(SEED).start();
    let effect = json!({"effect_key": "invoice-7", "kind": "external_action"});
    let path = "/v1/coordination/effects";
    let first = server.post_once(path, KEY, "once", &effect);
    assert_eq!(first.status, 201, "{first:?}");
    let server = server.kill().start();
    let again = server.post_once(path, KEY, "once", &effect);
    assert_eq!(again, first, "the repeat is answered, not done again");
    let other = server.post_once(path, KEY, "other", &effect);
    assert_eq!(other.status, 409, "{other:?}");
}

#[test]
fn a_clock_behind_the_last_record_needs_the_operators_word() {
    let effect = json!({"effect_key": "invoice-7", "kind": "external_action"});
    let path = "/v1/coordination/effects";
    let server = Setup::new()
        .seed(SEED)
        .test_clock("2126-01-05T12:00:00Z")
        .start();
    assert_eq!(server.post_once(path, KEY, "once", &effect).status, 201);
    let setup = server.kill().wall_clock();
    let ended = setup.start_refused();
    assert_eq!(ended.code, Some(8), "{ended:?}");
    assert!(
        ended.stderr.join(" ").contains("--accept-clock"),
        "{ended:?}"
    );
    let server = setup.argument("--accept-clock").start();
    assert_eq!(server.post_once(path, KEY, "once", &effect).status, 201);
}

/// Pitfall 12.
#[test]
fn a_disk_that_fails_ends_the_node_and_loses_nothing_it_answered() {
    const FILE_BYTES_MAX: u64 = 2 * 1024 * 1024;
    let path = "/v1/coordination/effects";
    let effect = |number: u32| {
        let key = format!("invoice-{number}");
        json!({"effect_key": key, "kind": "external_action"})
    };
    let server = Setup::new()
        .seed(SEED)
        .test_clock("2026-01-05T12:00:00Z")
        .file_bytes_max(Some(FILE_BYTES_MAX))
        .start();
    let mut answered = 0;
    let failed = loop {
        let once = answered.to_string();
        let answer = server.post_once(path, KEY, &once, &effect(answered));
        if answer.status != 201 {
            break answer;
        }
        answered += 1;
        assert!(answered < 100_000, "the disk never failed");
    };
    assert_eq!(failed.status, 503, "{failed:?}");
    assert_eq!(failed.json()["code"], "coordination_unavailable");
    let setup = server.setup();
    let ended = server.ended();
    assert_eq!(ended.code, Some(20), "{ended:?}");
    let server = setup.file_bytes_max(None).start();
    // It may have been recorded or not: under its key it is done once either way.
    let again = server.post_once(path, KEY, &answered.to_string(), &effect(answered));
    assert_eq!((again.status, &again.json()["attempt"]), (201, &json!(1)));
    for number in 0..=answered {
        let once = format!("other-{number}");
        let answer = server.post_once(path, KEY, &once, &effect(number));
        assert_eq!(answer.status, 409, "invoice {number}: {answer:?}");
        assert_eq!(answer.json()["code"], "effect_in_flight");
    }
}

#[test]
fn f6_a_declaration_survives_a_kill() {
    let path = "/v1/coordination/declare";
    let made = json!({
        "kind": "contact.made", "agent": "closing",
        "subject": {"type": "phone_e164", "value": "+5511987650001"},
        "detail": {"channel": "voice", "purpose": "retention"},
    });
    let check = json!({
        "agent": "closing", "intent": "follow_up", "direction": "outbound",
        "purpose": "retention", "channel": "voice",
        "subject": {"type": "phone_e164", "value": "+5511987650001"},
    });
    let server = Setup::new().seed(SEED).shards(2).start();
    let first = server.post_once(path, KEY, "declared", &made);
    assert_eq!(first.status, 200, "{first:?}");
    let server = server.kill().shards(3).start();
    let answer = server.post("/v1/coordination/check", KEY, &check).json();
    assert_eq!(answer["decision"], "deny", "{answer}");
    assert_eq!(answer["reasons"], json!(["budget_exhausted"]));
    let again = server.post_once(path, KEY, "declared", &made);
    assert_eq!(again, first, "the repeat is answered, not counted again");
}

#[test]
fn what_is_not_rebuilt_defers_or_waits_and_the_rest_is_decided() {
    let server = Setup::new()
        .seed(SEED)
        .test_clock("2026-01-05T12:00:00Z")
        .argument("--recovery-hold")
        .argument("5")
        .start_listening();
    let check = |number: usize, purpose: &str| {
        json!({
            "agent": "early", "intent": "follow_up", "direction": "outbound",
            "purpose": purpose, "channel": "voice",
            "subject": {"type": "phone_e164", "value": format!("+55119{number:08}")},
        })
    };
    let path = "/v1/coordination/check/batch";
    let mut waiting = None;
    for batch in 0..6 {
        let numbers = batch * 500..(batch + 1) * 500;
        let checks: Vec<_> = numbers
            .clone()
            .map(|number| check(number, "marketing"))
            .collect();
        let answer = server.post(path, KEY, &json!({"checks": checks}));
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        for (number, result) in numbers.zip(answer["results"].as_array().expect("results")) {
            if result["decision"] == "allow" {
                continue;
            }
            assert_eq!(result["reasons"], json!(["rebuilding"]), "{result}");
            assert_eq!(
                (&result["decision"], &result["valid_for_s"]),
                (&json!("defer"), &json!(0))
            );
            waiting = Some(number);
        }
    }
    // One in 256 customers lives in the partition that is held back.
    let number = waiting.expect("one of 3,000 customers waits");
    assert_eq!(server.get("/readyz", "").status, 503);
    let answer = server.post("/v1/coordination/check", KEY, &check(number, "service"));
    assert_eq!(
        answer.status, 503,
        "its purpose fails open, so it waits in vain: {answer:?}"
    );
    assert!(answer.retry_after.is_some());
    server.line("ready ");
    let answer = server.post("/v1/coordination/check", KEY, &check(number, "marketing"));
    assert_eq!(
        answer.json()["decision"],
        "allow",
        "nothing was spent meanwhile"
    );
}

/// A check that says farewell once, by its number.
fn farewell(number: usize, purpose: &str) -> Value {
    json!({
        "agent": "early", "intent": "follow_up", "direction": "outbound",
        "purpose": purpose, "channel": "voice",
        "effect_key": format!("farewell-{number}"),
    })
}

fn farewells(numbers: Range<usize>) -> Value {
    let checks: Vec<Value> = numbers.map(|number| farewell(number, "service")).collect();
    json!({"checks": checks})
}

/// Has every farewell done: 10 clients at once, as a settlement is one declaration.
fn do_all(server: &Server) {
    for start in (0..EFFECTS).step_by(500) {
        let answer = server.post(BATCH, KEY, &farewells(start..start + 500));
        assert_eq!(answer.status, 200);
    }
    let settle = |client: &Client, number: usize| {
        let declared = json!({
            "kind": "effect", "agent": "early",
            "detail": {"effect_key": format!("farewell-{number}"), "attempt": 1, "state": "done"},
        });
        let once = format!("done-{number}");
        let answer = client.post_once("/v1/coordination/declare", KEY, &once, &declared);
        assert_eq!(answer.json()["accepted"], true, "{answer:?}");
    };
    std::thread::scope(|scope| {
        for thread in 0..10 {
            let client = server.client();
            scope.spawn(move || {
                for number in (thread..EFFECTS).step_by(10) {
                    settle(&client, number);
                }
            });
        }
    });
}

/// The number of a farewell whose partition is still rebuilt; all others are denied at once.
fn waiting(server: &Server) -> usize {
    for start in (0..EFFECTS).step_by(500) {
        let answer = server.post(BATCH, KEY, &farewells(start..start + 500));
        let answer = answer.json();
        let mut waiting = Vec::new();
        for (number, result) in (start..).zip(answer["results"].as_array().expect("results")) {
            assert_ne!(result["decision"], "allow", "{number}: {result}");
            if result["reasons"] != json!(["effect_done"]) {
                assert_eq!(result["reasons"], json!(["unavailable"]), "{result}");
                waiting.push(number);
            }
        }
        let waits = waiting.len();
        assert!(waits < 50, "{waits} of 500 wait for one partition of 256");
        if let Some(number) = waiting.last() {
            return *number;
        }
    }
    panic!("none of {EFFECTS} effects waits, though one partition of 256 is held back")
}

/// An effect that is done stays done for whoever asks too early: it is denied, or not answered.
#[test]
fn f7_while_state_is_rebuilt_a_closed_purpose_is_deferred_and_a_done_effect_waits() {
    let server = Setup::new()
        .seed(SEED)
        .test_clock("2026-01-05T12:00:00Z")
        .start();
    do_all(&server);
    let held = server.kill().argument("--recovery-hold").argument("10");
    let server = held.start_listening();
    let number = waiting(&server);
    assert_eq!(server.get("/readyz", "").status, 503);
    let closed = server.post(CHECK, KEY, &farewell(number, "marketing"));
    let closed = closed.json();
    assert_eq!(closed["decision"], "defer", "{closed}");
    assert_eq!(closed["reasons"], json!(["rebuilding"]));
    let open = server.post(CHECK, KEY, &farewell(number, "service"));
    assert_eq!(open.status, 503, "{open:?}");
    assert!(open.retry_after.is_some());
    server.line("ready ");
    let answer = server.post(CHECK, KEY, &farewell(number, "service")).json();
    assert_eq!(answer["reasons"], json!(["effect_done"]), "{answer}");
}
