//! Effects that people and systems of record settle (§8, rows 3, 5 and 6 of its table).

use serde_json::{Value, json};

use crate::client::Answered;
use crate::node::{
    EFFECTS, KEY_A, KEY_ADMIN_ROLE, KEY_B, KEY_D, KEY_INTEGRATION, KEY_OTHER, KEY_SECURITY, Node,
    fresh,
};
use crate::world::Mode;

const AWAITING: &str = "/v1/operator/effects/awaiting";

/// Reserves an effect and leaves it in a state.
fn effect_in(node: &Node, state: &str) -> String {
    let body = json!({"effect_key": fresh("effect"), "kind": "filing"});
    let effect = node.post(EFFECTS, &body).ok();
    let id = effect["effect_id"].as_str().unwrap().to_owned();
    match state {
        "reserved" => {}
        "lapsed" => node.world.advance_s(61),
        state => {
            let path = format!("{EFFECTS}/{id}/settle");
            node.post(&path, &json!({"attempt": 1, "state": state}))
                .ok();
        }
    }
    id
}

fn settle(node: &Node, id: &str, body: &Value) -> Answered {
    let path = format!("/v1/operator/effects/{id}/settle");
    node.post_as(KEY_INTEGRATION, &path, body)
}

fn awaiting(node: &Node) -> Value {
    node.get(AWAITING, Some(KEY_SECURITY)).ok()
}

/// Whether a short name is that of an effect id; its last character has bits of its own.
fn names(short: &Value, id: &str) -> bool {
    short.as_str().and_then(|short| short.get(..21)) == id.get(..21)
}

/// What a settlement by somebody who does not hold the attempt comes to: the state, or the refusal.
fn comes_to(from: &str, by: &str, to: &str) -> &'static str {
    match (from, by, to) {
        ("reserved", "observation", "done")
        | ("lapsed" | "unknown_outcome", _, "done")
        | ("failed", "observation", "done")
        | ("done", _, "done") => "done",
        ("reserved", "observation", "failed")
        | ("lapsed" | "unknown_outcome" | "failed", _, "failed") => "failed",
        _ => "invalid_transition",
    }
}

#[test]
fn the_whole_table_by_people_and_observations() {
    let node = Node::start();
    for from in ["reserved", "lapsed", "unknown_outcome", "failed", "done"] {
        for by in ["person", "observation"] {
            for to in ["done", "failed"] {
                let id = effect_in(&node, from);
                let answer = settle(&node, &id, &json!({"state": to, "by": by}));
                match comes_to(from, by, to) {
                    refusal @ "invalid_transition" => {
                        answer.problem(409, refusal);
                    }
                    state => {
                        let effect = answer.ok();
                        assert_eq!(effect["state"], state, "{from} by {by} to {to}");
                        assert_eq!(effect.get("done_at").is_some(), state == "done");
                        assert!(names(&effect["short_id"], &id));
                    }
                }
            }
        }
    }
}

#[test]
fn only_a_settlement_to_failed_opens_the_key_again() {
    let node = Node::start();
    let key = fresh("effect");
    let reserve = || node.post(EFFECTS, &json!({"effect_key": key, "kind": "filing"}));
    let effect = reserve().ok();
    let id = effect["effect_id"].as_str().unwrap();
    node.world.advance_s(61);
    assert_eq!(reserve().status, 200, "nobody knows, so nobody acts");
    settle(
        &node,
        id,
        &json!({"state": "failed", "by": "person", "reason": "the post lost it"}),
    )
    .ok();
    let next = reserve();
    assert_eq!((next.status, &next.json()["attempt"]), (201, &json!(2)));
    // The attempt that was looked at is not the current one any more.
    settle(
        &node,
        id,
        &json!({"state": "done", "by": "observation", "attempt": 1}),
    )
    .problem(409, "stale_attempt");
    settle(
        &node,
        id,
        &json!({"state": "done", "by": "observation", "attempt": 2}),
    )
    .ok();
}

#[test]
fn each_role_says_what_it_may() {
    let node = Node::start();
    let person = json!({"state": "failed", "by": "person"});
    let observation = json!({"state": "failed", "by": "observation"});
    let say = |key: &str, body: &Value| {
        let id = effect_in(&node, "unknown_outcome");
        node.post_as(key, &format!("/v1/operator/effects/{id}/settle"), body)
    };
    for (key, body) in [
        (KEY_SECURITY, &person),
        (KEY_INTEGRATION, &person),
        (KEY_INTEGRATION, &observation),
    ] {
        say(key, body).ok();
    }
    for (key, body) in [
        (KEY_SECURITY, &observation),
        (KEY_A, &person),
        (KEY_B, &person),
        (KEY_ADMIN_ROLE, &person),
    ] {
        say(key, body).problem(403, "forbidden");
    }
    node.get(AWAITING, Some(KEY_D)).ok();
    for key in [KEY_A, KEY_INTEGRATION] {
        node.get(AWAITING, Some(key)).problem(403, "forbidden");
    }
    node.get(AWAITING, None).problem(401, "unauthenticated");
}

#[test]
fn a_settlement_names_a_known_effect_and_a_state_it_may() {
    let node = Node::start();
    let id = effect_in(&node, "unknown_outcome");
    let done = json!({"state": "done", "by": "person"});
    for unknown in ["A".repeat(43), "A".repeat(22), "a".to_owned()] {
        settle(&node, &unknown, &done).problem(404, "not_found");
    }
    for wrong in [
        json!({"state": "unknown_outcome", "by": "person"}),
        json!({"state": "done", "by": "holder"}),
        json!({"state": "done"}),
        json!({"state": "done", "by": "person", "attempt": 0}),
        json!({"state": "done", "by": "person", "reason": ""}),
        json!({"state": "done", "by": "person", "reason": "a".repeat(501)}),
    ] {
        settle(&node, &id, &wrong).problem(422, "invalid_input");
    }
    assert_eq!(awaiting(&node)["awaiting"], 1, "nothing of it was taken");
}

#[test]
fn what_awaits_a_decision_is_listed_oldest_first_and_settled_by_its_short_id() {
    let node = Node::start();
    assert_eq!(
        awaiting(&node),
        json!({"items": [], "awaiting": 0, "left_out": 0})
    );
    let lapsed = effect_in(&node, "lapsed");
    node.world.advance_s(10);
    let declared = effect_in(&node, "unknown_outcome");
    effect_in(&node, "reserved");
    effect_in(&node, "done");
    // Another space's is not shown.
    let body = json!({"effect_key": fresh("effect"), "kind": "filing"});
    node.post_as(KEY_OTHER, EFFECTS, &body).ok();
    node.world.advance_s(5);
    let listed = awaiting(&node);
    assert_eq!(
        (&listed["awaiting"], &listed["left_out"]),
        (&json!(2), &json!(0))
    );
    let shown = |place: usize, member: &str| listed["items"][place][member].clone();
    assert!(names(&shown(0, "short_id"), &lapsed));
    assert!(names(&shown(1, "short_id"), &declared));
    assert_eq!(
        (shown(0, "because"), shown(1, "because")),
        (json!("lease_over"), json!("declared"))
    );
    assert_eq!(
        (shown(0, "age_s"), shown(1, "age_s")),
        (json!(16), json!(5))
    );
    assert_eq!(
        (shown(0, "kind"), shown(0, "attempt")),
        (json!("filing"), json!(1))
    );
    assert_eq!(shown(0, "unknown_since"), "2026-11-30T12:01:00Z");
    settle(
        &node,
        shown(0, "short_id").as_str().unwrap(),
        &json!({"state": "done", "by": "person"}),
    )
    .ok();
    assert_eq!(awaiting(&node)["awaiting"], 1);
}

#[test]
fn a_list_is_not_made_of_half_the_effects() {
    let node = Node::start();
    node.world.mode(Mode::Rebuilding);
    let answer = node.get(AWAITING, Some(KEY_SECURITY));
    assert!(answer.header("retry-after").is_some());
    answer.problem(503, "coordination_unavailable");
}
