//! Row A1 over HTTP: advice for a turn.

use serde_json::{Value, json};

use crate::node::{CLAIMS, KEY_A, KEY_B, KEY_C, KEY_OFF, Node, check_with, phone};

const CONTEXT: &str = "/v1/context";

fn read(node: &Node, body: &Value) -> Value {
    node.post_as(KEY_B, CONTEXT, body).ok()
}

#[test]
fn a1_advice_shows_owner_suppressions_and_whole_budgets_and_spends_nothing() {
    let node = Node::start();
    let value = "+5511922240001";
    let ask = json!({"subject": phone(value), "view": "chat", "verification": "V0",
        "delta": false, "include": ["coordination"]});
    let nothing = json!({"suppressions": [], "commitments_active": [], "contact_budget": {
        "collection": {"remaining": 4}, "marketing": {"remaining": 3},
        "retention": {"remaining": 1}}});
    assert_eq!(read(&node, &ask)["coordination"], nothing);
    let marketing = json!({"purpose": "marketing", "reason": "opt_out"});
    node.declare_for(value, "suppression.added", &marketing)
        .ok();
    node.check(&check_with(
        &json!({"subject": phone(value), "purpose": "retention"}),
    ));
    let claim = json!({"kind": "owner", "holder": "specialist", "lease_s": 600,
        "subject": phone(value)});
    node.post(CLAIMS, &claim).ok();
    let entities = node.world.entities();
    for _ in 0..2 {
        let answer = read(&node, &ask);
        let block = &answer["coordination"];
        assert_eq!(block["owner"]["holder"], "specialist");
        assert_eq!(block["suppressions"], json!(["marketing"]));
        assert_eq!(
            block["contact_budget"]["retention"],
            json!({"remaining": 0, "next_allowed_at": "2026-12-01T12:00:00Z"})
        );
        assert_eq!(
            block["contact_budget"]["marketing"],
            json!({"remaining": 3})
        );
        assert_eq!(answer["text"], "");
    }
    assert_eq!(node.world.entities(), entities);
    let object = json!({"type": "lawsuit", "namespace": "court", "id": "1"});
    let of_object = read(
        &node,
        &json!({"object": object, "include": ["coordination"]}),
    );
    assert_eq!(of_object["coordination"]["contact_budget"], json!({}));
}

#[test]
fn a_read_without_the_block_needs_no_feature_and_a_bad_one_is_told() {
    let node = Node::start();
    let subject = phone("+5511922240002");
    let plain = json!({"subject": subject});
    assert!(read(&node, &plain).get("coordination").is_none());
    node.post_as(KEY_OFF, CONTEXT, &plain).ok();
    let block = json!({"subject": subject, "include": ["coordination"]});
    node.post_as(KEY_OFF, CONTEXT, &block)
        .problem(404, "not_found");
    node.post_as(KEY_A, CONTEXT, &block)
        .problem(403, "forbidden");
    let object = json!({"type": "a", "namespace": "b", "id": "c"});
    for body in [
        json!({}),
        json!({"subject": subject, "object": object}),
        json!({"subject": {"type": "phone"}}),
        json!({"subject": subject, "include": ["a", "b", "c", "d", "e"]}),
        json!([]),
    ] {
        node.post_as(KEY_B, CONTEXT, &body)
            .problem(422, "invalid_input");
    }
}

#[test]
fn w1_a_route_about_what_is_not_there_still_knows_its_callers() {
    let node = Node::start();
    let get = |key: &str, path: &str| node.get(path, Some(key));
    let handoff = "/v1/handoffs/some";
    get("nia_sk_test_local_none_k9_wrong", handoff).problem(401, "unauthenticated");
    get(KEY_C, handoff).problem(403, "forbidden");
    get(KEY_A, handoff).problem(404, "not_found");
    node.post_as(KEY_A, "/v1/handoffs/some/accept", &json!({}))
        .problem(404, "not_found");
}
