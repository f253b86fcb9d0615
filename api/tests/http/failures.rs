//! What a client sees when the node cannot, will not or must not decide.

use std::time::Duration;

use interlock_api::limits::ApiLimits;
use interlock_api::state::Readiness;
use serde_json::{Value, json};

use crate::node::{BATCH, CHECK, DECLARE, EFFECTS, KEY_A, Node, check, check_with, phone};
use crate::world::Mode;

fn contact_made() -> Value {
    json!({"kind": "contact.made", "agent": "a", "subject": phone("+5511944440000"),
        "detail": {"channel": "whatsapp", "purpose": "service"}})
}

#[test]
fn k5_a_failure_is_a_problem_that_says_what_to_do() {
    let node = Node::start();
    let cases = [
        (Mode::Late, 503, "coordination_unavailable", Some("1")),
        (Mode::Rebuilding, 503, "coordination_unavailable", Some("1")),
        (
            Mode::Unavailable,
            503,
            "coordination_unavailable",
            Some("1"),
        ),
        (Mode::Overloaded, 503, "coordination_unavailable", Some("2")),
        (Mode::Stopping, 503, "coordination_unavailable", Some("1")),
        (Mode::EntityBusy, 429, "rate_limited", Some("1")),
        (Mode::SpaceBusy, 429, "rate_limited", Some("3")),
        (Mode::Broken, 500, "internal", None),
    ];
    for (mode, status, code, retry_after) in cases {
        node.world.mode(mode);
        for (path, body) in [(DECLARE, contact_made()), (CHECK, check())] {
            let answer = node.post(path, &body);
            assert_eq!(answer.header("retry-after"), retry_after, "{mode:?}");
            answer.problem(status, code);
        }
    }
    assert_eq!(node.world.entities(), 0);
}

#[test]
fn f7_a_check_whose_purpose_fails_closed_is_deferred_while_state_is_rebuilt() {
    let node = Node::start();
    node.world.mode(Mode::Rebuilding);
    let deferred = node.check(&check_with(&json!({"purpose": "marketing"})));
    assert_eq!(deferred["decision"], "defer");
    assert_eq!(deferred["reasons"], json!(["rebuilding"]));
    assert_eq!(deferred["valid_for_s"], 0);
    let inbound = node.check(&check_with(&json!({"direction": "inbound"})));
    assert_eq!(inbound["decision"], "allow");
}

#[test]
fn a_late_check_whose_purpose_fails_closed_waits() {
    let node = Node::start();
    node.world.mode(Mode::Late);
    let deferred = node.check(&check_with(&json!({"purpose": "marketing"})));
    assert_eq!(deferred["reasons"], json!(["unavailable"]));
}

/// The answer that is kept under the key may be another one, and a 200 would be final.
#[test]
fn a_check_under_a_key_that_is_not_decided_is_503_and_can_be_repeated() {
    let node = Node::start();
    let key = crate::node::fresh("key");
    let marketing =
        check_with(&json!({"purpose": "marketing", "subject": phone("+5511944440009")}));
    let ask = || node.post_keyed(KEY_A, CHECK, &key, &marketing);
    let first = ask();
    assert_eq!(first.status, 200);
    for mode in [Mode::Late, Mode::Rebuilding] {
        node.world.mode(mode);
        let problem = ask();
        assert!(problem.header("retry-after").is_some());
        problem.problem(503, "coordination_unavailable");
    }
    node.world.mode(Mode::Decide);
    assert_eq!(ask().body, first.body);
}

#[test]
fn a_batch_never_fails_for_one_item() {
    let node = Node::start();
    let inbound = check_with(&json!({"direction": "inbound"}));
    let body = json!({"checks": [check(), check(), inbound]});
    for mode in [
        Mode::OnlyFirst,
        Mode::Late,
        Mode::Rebuilding,
        Mode::Broken,
        Mode::EntityBusy,
    ] {
        node.world.mode(mode);
        let headers = [("Authorization", format!("Bearer {KEY_A}"))];
        let answer = node
            .client()
            .send("POST", BATCH, &headers, body.to_string().as_bytes());
        let answer = answer.ok();
        let results = answer["results"].as_array().unwrap();
        assert_eq!(results.len(), 3);
        let expected = if mode == Mode::OnlyFirst {
            "allow"
        } else {
            "defer"
        };
        assert_eq!(results[0]["decision"], expected, "{mode:?}");
        assert_eq!(results[1]["decision"], "defer", "{mode:?}");
        assert_eq!(results[1]["valid_for_s"], 0);
        assert_eq!(results[2]["decision"], "allow");
        assert_ne!(results[1]["decision_id"], results[2]["decision_id"]);
    }
    node.world.mode(Mode::Unavailable);
    node.post(BATCH, &body)
        .problem(503, "coordination_unavailable");
}

#[test]
fn readiness_is_asked_apart_from_life() {
    let node = Node::start();
    assert_eq!(node.get("/readyz", None).ok()["status"], "ready");
    *node.readiness.lock().unwrap() = Readiness::NotReady("rebuilding");
    let problem = node
        .get("/readyz", None)
        .problem(503, "coordination_unavailable");
    assert!(problem["detail"].as_str().unwrap().contains("rebuilding"));
    assert_eq!(node.get("/healthz", None).ok()["status"], "ok");
}

/// Balancers probe with `HEAD`: the status and the head are those of `GET`, and the body is left out.
#[test]
fn a_probe_may_ask_with_head() {
    let node = Node::start();
    let mut client = node.client();
    for (path, why, status) in [
        ("/healthz", Readiness::Ready, 200),
        ("/readyz", Readiness::Ready, 200),
        ("/healthz", Readiness::NotReady("stopping"), 200),
        ("/readyz", Readiness::NotReady("stopping"), 503),
    ] {
        *node.readiness.lock().unwrap() = why;
        // On one connection: a body that was sent would be read as the next answer.
        let head = client.send("HEAD", path, &[], b"");
        assert_eq!((head.status, head.body.len()), (status, 0), "{head:?}");
        let get = client.send("GET", path, &[], b"");
        assert_eq!(get.status, status);
        for name in ["content-type", "retry-after"] {
            assert_eq!(head.header(name), get.header(name), "{path} {name}");
        }
    }
}

#[test]
fn the_clock_of_a_test_only_goes_forward() {
    let node = Node::start();
    let put = |body: &str| {
        node.client()
            .send("PUT", "/test/clock", &[], body.as_bytes())
    };
    assert_eq!(
        node.get("/test/clock", None).ok()["now"],
        "2026-11-30T12:00:00Z"
    );
    let moved = put(r#"{"now":"2026-11-30T13:00:00Z"}"#).ok();
    assert_eq!(moved["now"], "2026-11-30T13:00:00Z");
    put(r#"{"now":"2026-11-30T12:59:59Z"}"#).problem(422, "invalid_input");
    put(r#"{"now":"soon"}"#).problem(422, "invalid_input");
    put("").problem(400, "invalid_input");
    let production = Node::with(ApiLimits::default(), false);
    production
        .get("/test/clock", None)
        .problem(404, "not_found");
}

#[test]
fn f3_a_client_that_has_gone_gets_nothing_decided() {
    let node = Node::start();
    node.world.mode(Mode::Silent);
    let headers = [("Authorization", format!("Bearer {KEY_A}"))];
    for leave in [true, false] {
        let (asked, dropped) = node.world.silent();
        let mut client = node.client();
        client.write("POST", CHECK, &headers, check().to_string().as_bytes());
        wait_for(|| node.world.silent().0 == asked + 1);
        if leave {
            drop(client);
        } else {
            client.close_writing();
        }
        wait_for(|| node.world.silent().1 == dropped + 1);
    }
}

#[test]
fn a_body_that_does_not_arrive_is_not_waited_for() {
    let limits = ApiLimits {
        body_read_ms_max: 50,
        ..ApiLimits::default()
    };
    let node = Node::with(limits, true);
    let mut client = node.client();
    let head = format!(
        "POST {CHECK} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY_A}\r\nContent-Length: 10\r\n\r\n{{"
    );
    client.write_raw(head.as_bytes());
    client
        .read_answer("POST", CHECK)
        .problem(408, "request_timeout");
}

/// Pitfall 30.
#[test]
fn bodies_are_bounded_together() {
    let limits = ApiLimits {
        bodies_bytes_max: 50_000,
        ..ApiLimits::default()
    };
    let node = Node::with(limits, true);
    let mut slow = node.client();
    let head = format!(
        "POST {CHECK} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY_A}\r\nContent-Length: 40000\r\n\r\n"
    );
    slow.write_raw(head.as_bytes());
    slow.write_raw(&[b' '; 30_000]);
    let body = [check().to_string().into_bytes(), vec![b' '; 30_000]].concat();
    let headers = [("Authorization", format!("Bearer {KEY_A}"))];
    let send = || node.client().send("POST", CHECK, &headers, &body);
    wait_for(|| send().status == 503);
    send().problem(503, "coordination_unavailable");
    drop(slow);
    wait_for(|| send().status == 200);
}

#[test]
fn what_is_full_refuses_only_what_is_new() {
    let node = Node::start();
    let reserve =
        |effect: &str| node.post(EFFECTS, &json!({"effect_key": effect, "kind": "delivery"}));
    let held = reserve("held").ok();
    node.world.mode(Mode::Full);
    let refused = reserve("new");
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused.problem(503, "capacity");
    let deferred = node.check(&check_with(&json!({"purpose": "marketing"})));
    assert_eq!(deferred["reasons"], json!(["unavailable"]));
    let settle = format!("{EFFECTS}/{}/settle", held["effect_id"].as_str().unwrap());
    node.post(&settle, &json!({"attempt": 1, "state": "done"}))
        .ok();
}

/// What has no record is no answer, but for the customer's own message and what fails closed.
#[test]
fn where_nothing_can_be_recorded_the_disk_is_named() {
    let node = Node::start();
    node.world.mode(Mode::NoRoom);
    let reserve = json!({"effect_key": "new", "kind": "delivery"});
    for refused in [node.post(EFFECTS, &reserve), node.post(CHECK, &check())] {
        assert_eq!(refused.header("retry-after"), Some("1"));
        let problem = refused.problem(503, "coordination_unavailable");
        let detail = problem["detail"].as_str().expect("a sentence");
        assert!(detail.contains("make room on the disk"), "{detail}");
    }
    let marketing = || check_with(&json!({"purpose": "marketing"}));
    let inbound = || check_with(&json!({"direction": "inbound"}));
    for (asked, decision) in [(marketing(), "defer"), (inbound(), "allow")] {
        let answer = node.check(&asked);
        assert_eq!(answer["decision"], decision, "{answer}");
        assert_eq!(answer["reasons"], json!(["unavailable"]));
    }
    let batch = |checks: Value| {
        let headers = [
            ("Authorization", format!("Bearer {KEY_A}")),
            ("Content-Type", "application/json".to_owned()),
        ];
        let body = json!({ "checks": checks }).to_string();
        let mut client = node.client();
        client.send("POST", BATCH, &headers, body.as_bytes())
    };
    batch(json!([check(), check()])).problem(503, "coordination_unavailable");
    let mixed = batch(json!([check(), inbound()])).ok();
    let decisions = ["defer", "allow"];
    for (at, decision) in decisions.into_iter().enumerate() {
        assert_eq!(mixed["results"][at]["decision"], decision, "{mixed}");
    }
}

#[test]
fn a_name_that_newer_rules_drop_is_422() {
    let node = Node::start();
    node.world.mode(Mode::Undeclared);
    let problem = node.post(CHECK, &check()).problem(422, "invalid_input");
    assert_eq!(
        problem["detail"],
        "`purpose` must be one the space declares"
    );
    node.post(DECLARE, &contact_made())
        .problem(422, "invalid_input");
}

/// Waits until something is so; gives up loudly.
fn wait_for(so: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if so() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    panic!("it did not come");
}
