//! Rows E: effects over the routes.

use serde_json::{Value, json};

use crate::client::Answered;
use crate::node::{EFFECTS, KEY_A, KEY_B, KEY_OTHER, Node, check_with, fresh};

fn reserve(node: &Node, effect: &str) -> Answered {
    node.post(EFFECTS, &json!({"effect_key": effect, "kind": "delivery"}))
}

fn settle(node: &Node, effect: &Value, attempt: u32, state: &str) -> Answered {
    let path = format!("{EFFECTS}/{}/settle", effect["effect_id"].as_str().unwrap());
    node.post(&path, &json!({"attempt": attempt, "state": state}))
}

fn declare(node: &Node, effect: &str, attempt: u32, state: &str) -> Value {
    node.declare(
        "effect",
        &json!({"effect_key": effect, "attempt": attempt, "state": state}),
    )
}

fn check(node: &Node, effect: &str) -> Value {
    node.check(&check_with(&json!({"subject": null, "effect_key": effect})))
}

#[test]
fn e1_e2_a_done_effect_is_denied() {
    let node = Node::start();
    let effect = fresh("effect");
    assert_eq!(
        check(&node, &effect)["effect"],
        json!({"state": "none", "attempt": 1})
    );
    assert_eq!(check(&node, &effect)["effect"]["state"], "in_flight");
    assert_eq!(declare(&node, &effect, 1, "done")["accepted"], true);
    let denied = check(&node, &effect);
    assert_eq!(denied["reasons"], json!(["effect_done"]));
}

#[test]
fn e4_e5_an_unknown_outcome_opens_only_by_failed() {
    let node = Node::start();
    let effect = fresh("effect");
    check(&node, &effect);
    declare(&node, &effect, 1, "unknown_outcome");
    assert_eq!(check(&node, &effect)["effect"]["state"], "unknown_outcome");
    assert_eq!(declare(&node, &effect, 1, "failed")["accepted"], true);
    assert_eq!(
        check(&node, &effect)["effect"],
        json!({"state": "none", "attempt": 2})
    );
}

#[test]
fn e6_e7_a_lease_that_runs_out_is_an_unknown_outcome() {
    let node = Node::start();
    let effect = fresh("effect");
    check(&node, &effect);
    node.world.advance_s(61);
    assert_eq!(check(&node, &effect)["effect"]["state"], "unknown_outcome");
    assert_eq!(declare(&node, &effect, 1, "done")["accepted"], true);
    assert_eq!(check(&node, &effect)["reasons"], json!(["effect_done"]));
}

#[test]
fn e8_e9_e10_e11_reserve_and_settle() {
    let node = Node::start();
    let effect = fresh("effect");
    let first = reserve(&node, &effect);
    assert_eq!(first.status, 201);
    let first = first.ok();
    let id = first["effect_id"].as_str().unwrap();
    assert_eq!((id.len(), id.contains("effect")), (43, false));
    assert_eq!(first["state"], "reserved");
    assert_eq!(first["reserved_at"], "2026-11-30T12:00:00Z");
    reserve(&node, &effect).problem(409, "effect_in_flight");
    let unknown = settle(&node, &first, 1, "unknown_outcome").ok();
    assert_eq!(unknown["state"], "unknown_outcome");
    let nothing = reserve(&node, &effect);
    assert_eq!(nothing.status, 200);
    assert_eq!(nothing.ok()["state"], "unknown_outcome");
    settle(&node, &first, 1, "failed").ok();
    let second = reserve(&node, &effect);
    assert_eq!(second.status, 201);
    let second = second.ok();
    assert_eq!(second["attempt"], 2);
    assert_eq!(second["effect_id"], first["effect_id"]);
}

#[test]
fn e12_e13_e14_a_settlement_keeps_to_the_states() {
    let node = Node::start();
    let effect = fresh("effect");
    let first = reserve(&node, &effect).ok();
    settle(&node, &first, 1, "failed").ok();
    reserve(&node, &effect).ok();
    settle(&node, &first, 1, "done").problem(409, "stale_attempt");
    settle(&node, &first, 3, "done").problem(409, "stale_attempt");
    let done = settle(&node, &first, 2, "done").ok();
    node.world.advance_s(5);
    assert_eq!(
        settle(&node, &first, 2, "done").ok()["done_at"],
        done["done_at"]
    );
    settle(&node, &first, 2, "failed").problem(409, "invalid_transition");
    assert_eq!(check(&node, &effect)["effect"]["state"], "done");
}

#[test]
fn e15_an_effect_id_nobody_has_is_404() {
    let node = Node::start();
    let body = json!({"attempt": 1, "state": "done"});
    let long = "A".repeat(44);
    let ids = [
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "short",
        &long,
        "%zz",
        "%ff%fe",
        "a%2Fb",
        "%2e%2e",
        "A+AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "%00",
    ];
    for id in ids {
        node.post(&format!("{EFFECTS}/{id}/settle"), &body)
            .problem(404, "not_found");
    }
}

#[test]
fn e16_a_stale_declaration_is_not_accepted() {
    let node = Node::start();
    let effect = fresh("effect");
    check(&node, &effect);
    declare(&node, &effect, 1, "failed");
    check(&node, &effect);
    assert_eq!(declare(&node, &effect, 1, "done")["accepted"], false);
    assert_eq!(declare(&node, &effect, u32::MAX, "done")["accepted"], false);
}

#[test]
fn e17_a_key_is_free_again_after_its_days() {
    let node = Node::start();
    let effect = fresh("effect");
    let body = json!({"effect_key": effect, "kind": "paid_call"});
    let first = node.post(EFFECTS, &body).ok();
    settle(&node, &first, 1, "done").ok();
    node.world.advance_s(7 * 86_400 - 1);
    assert_eq!(node.post(EFFECTS, &body).status, 200);
    node.world.advance_s(1);
    let again = node.post(EFFECTS, &body);
    assert_eq!(again.status, 201);
    assert_eq!(again.ok()["attempt"], 1);
}

#[test]
fn e18_one_key_has_another_id_in_another_space() {
    let node = Node::start();
    let body = json!({"effect_key": fresh("effect"), "kind": "delivery"});
    let id = |key: &str| node.post_as(key, EFFECTS, &body).ok()["effect_id"].clone();
    assert_ne!(id(KEY_A), id(KEY_OTHER));
}

#[test]
fn only_the_source_that_reserved_settles() {
    let node = Node::start();
    let first = reserve(&node, &fresh("effect")).ok();
    let path = format!("{EFFECTS}/{}/settle", first["effect_id"].as_str().unwrap());
    let body = json!({"attempt": 1, "state": "done"});
    node.post_as(KEY_B, &path, &body)
        .problem(409, "stale_attempt");
    let escaped: String = path
        .chars()
        .map(|c| match c {
            '-' => "%2D".to_owned(),
            '_' => "%5f".to_owned(),
            other => other.to_string(),
        })
        .collect();
    assert_eq!(node.post(&escaped, &body).ok()["state"], "done");
}
