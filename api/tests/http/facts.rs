//! Keys that live as long as a fact, over HTTP (§8): the list of kinds, the tie, and its end.

use std::sync::Arc;

use interlock_domain::contact::fixture;
use interlock_domain::contact::policy::Policy;
use serde_json::{Value, json};

use crate::client::Answered;
use crate::node::{
    EFFECTS, KEY_A, KEY_ADMIN_ROLE, KEY_B, KEY_INTEGRATION, KEY_SECURITY, Node, fresh,
};
use crate::world::Mode;

const END: &str = "/v1/operator/facts/end";
const DAY_S: i64 = 86_400;

/// The conformance space, whose deliveries live as long as their fact.
fn start() -> Node {
    let node = Node::start();
    let mut document: Value = serde_json::from_str(fixture::CONFORMANCE).unwrap();
    document["effects"]["effect_key_of_fact"] = json!(["delivery"]);
    let policy = Policy::load(2, &document.to_string(), &fixture::vault()).unwrap();
    assert!(node.directory.set_policy(fixture::SPACE, Arc::new(policy)));
    node
}

fn matter(id: &str) -> Value {
    json!({"type": "matter", "namespace": "registry", "id": id})
}

fn reserve(node: &Node, key: &str, kind: &str, fact: &str) -> Answered {
    let body = json!({"effect_key": key, "kind": kind, "fact": matter(fact)});
    node.post(EFFECTS, &body)
}

/// Reserves a delivery and settles it; `reserved` leaves it open.
fn deliver(node: &Node, key: &str, fact: &str, state: &str) -> String {
    let effect = reserve(node, key, "delivery", fact);
    assert_eq!(effect.status, 201, "{effect:?}");
    let id = effect.json()["effect_id"].as_str().unwrap().to_owned();
    if state != "reserved" {
        let path = format!("{EFFECTS}/{id}/settle");
        node.post(&path, &json!({"attempt": 1, "state": state}))
            .ok();
    }
    id
}

fn end(node: &Node, fact: &str) -> Answered {
    node.post_as(KEY_INTEGRATION, END, &json!({"object": matter(fact)}))
}

#[test]
fn a_key_outlives_its_days_while_its_fact_lives_and_is_free_after_it() {
    let node = start();
    let (of_fact, by_days) = (fresh("effect"), fresh("effect"));
    deliver(&node, &of_fact, "m1", "done");
    node.post(EFFECTS, &json!({"effect_key": by_days, "kind": "delivery"}));
    let filing = fresh("effect");
    assert_eq!(reserve(&node, &filing, "filing", "m1").status, 201);
    node.world.advance_s(400 * DAY_S);
    let again = reserve(&node, &of_fact, "delivery", "m1");
    assert_eq!(
        (again.status, &again.json()["state"]),
        (200, &json!("done"))
    );
    assert_eq!(end(&node, "m2").ok(), json!({"freed": 0, "kept": 0}));
    assert_eq!(reserve(&node, &of_fact, "delivery", "m1").status, 200);
    assert_eq!(
        end(&node, "m1").ok(),
        json!({"freed": 1, "kept": 0}),
        "neither the key without a fact nor the filing"
    );
    let anew = reserve(&node, &of_fact, "delivery", "m1");
    assert_eq!((anew.status, &anew.json()["attempt"]), (201, &json!(1)));
}

#[test]
fn a_key_whose_outcome_nobody_knows_is_not_freed() {
    let node = start();
    let (unknown, lapsed, failed) = (fresh("effect"), fresh("effect"), fresh("effect"));
    let id = deliver(&node, &unknown, "m1", "unknown_outcome");
    deliver(&node, &lapsed, "m1", "reserved");
    deliver(&node, &failed, "m1", "failed");
    node.world.advance_s(61);
    assert_eq!(end(&node, "m1").ok(), json!({"freed": 1, "kept": 2}));
    node.world.advance_s(4_000 * DAY_S);
    for key in [&unknown, &lapsed] {
        let held = reserve(&node, key, "delivery", "m1");
        assert_eq!(
            (held.status, &held.json()["state"]),
            (200, &json!("unknown_outcome"))
        );
    }
    let settle = format!("/v1/operator/effects/{id}/settle");
    node.post_as(
        KEY_INTEGRATION,
        &settle,
        &json!({"state": "done", "by": "observation"}),
    )
    .ok();
    node.world.advance_s(30 * DAY_S - 1);
    assert_eq!(reserve(&node, &unknown, "delivery", "m1").status, 200);
    node.world.advance_s(1);
    assert_eq!(reserve(&node, &unknown, "delivery", "m1").status, 201);
}

#[test]
fn only_those_who_settle_for_others_end_a_fact() {
    let node = start();
    let body = json!({"object": matter("m1")});
    for key in [KEY_A, KEY_B, KEY_ADMIN_ROLE] {
        node.post_as(key, END, &body).problem(403, "forbidden");
    }
    for key in [KEY_SECURITY, KEY_INTEGRATION] {
        node.post_as(key, END, &body).ok();
    }
    for wrong in [
        json!({}),
        json!({"object": "m1"}),
        json!({"object": {"type": "matter", "namespace": "registry"}}),
        json!({"object": matter("m1"), "subject": 1}),
    ] {
        node.post_as(KEY_SECURITY, END, &wrong)
            .problem(422, "invalid_input");
    }
}

#[test]
fn the_end_of_a_fact_is_answered_again_under_its_key() {
    let node = start();
    deliver(&node, &fresh("effect"), "m1", "done");
    let key = fresh("key");
    let say = |fact: &str| {
        let body = json!({"object": matter(fact)});
        node.post_keyed(KEY_SECURITY, END, &key, &body)
    };
    let once = say("m1").ok();
    assert_eq!(once, json!({"freed": 1, "kept": 0}));
    // A key that is tied since is not touched by a repeat.
    let later = fresh("effect");
    deliver(&node, &later, "m1", "done");
    assert_eq!(say("m1").ok(), once);
    assert_eq!(reserve(&node, &later, "delivery", "m1").status, 200);
    say("m2").problem(409, "idempotency_conflict");
}

#[test]
fn a_full_object_takes_no_key_more() {
    let node = start();
    for _ in 0..256 {
        let effect = reserve(&node, &fresh("effect"), "delivery", "m1");
        assert_eq!(effect.status, 201, "{effect:?}");
    }
    let more = fresh("effect");
    let refused = reserve(&node, &more, "delivery", "m1");
    refused.problem(409, "target_full");
    assert_eq!(reserve(&node, &more, "delivery", "m2").status, 201);
    assert_eq!(end(&node, "m1").ok(), json!({"freed": 0, "kept": 256}));
    let next = reserve(&node, &fresh("effect"), "delivery", "m1");
    assert_eq!(next.status, 201);
}

#[test]
fn a_legal_hold_on_the_object_keeps_its_keys() {
    let node = start();
    let key = fresh("effect");
    deliver(&node, &key, "m1", "done");
    let hold = json!({"object": matter("m1"), "reason": "a suit"});
    let hold = node.post_as(KEY_SECURITY, "/v1/legal-holds", &hold);
    assert_eq!(hold.status, 201, "{hold:?}");
    end(&node, "m1").problem(409, "under_legal_hold");
    assert_eq!(reserve(&node, &key, "delivery", "m1").status, 200);
    let id = hold.json()["hold_id"].as_str().unwrap().to_owned();
    let release = format!("/v1/legal-holds/{id}/release");
    node.post_as(KEY_SECURITY, &release, &json!({"reason": "it ended"}))
        .ok();
    assert_eq!(end(&node, "m1").ok(), json!({"freed": 1, "kept": 0}));
}

#[test]
fn an_end_that_is_not_recorded_frees_nothing() {
    let node = start();
    let key = fresh("effect");
    deliver(&node, &key, "m1", "done");
    for mode in [Mode::Unavailable, Mode::Late, Mode::Rebuilding] {
        node.world.mode(mode);
        end(&node, "m1").problem(503, "coordination_unavailable");
    }
    node.world.mode(Mode::Full);
    assert_eq!(end(&node, "m1").ok(), json!({"freed": 1, "kept": 0}));
    node.world.mode(Mode::Decide);
    assert_eq!(reserve(&node, &key, "delivery", "m1").status, 201);
}
