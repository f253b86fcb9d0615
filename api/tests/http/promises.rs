//! Promises over HTTP: what an operator's feed tells, and where it is shown.

use serde_json::{Value, json};

use crate::node::{
    KEY_A, KEY_ADMIN, KEY_ADMIN_ROLE, KEY_B, KEY_OTHER_ADMIN, KEY_SECURITY, Node, check_with,
    fresh, phone,
};

const PROMISES: &str = "/v1/operator/promises";

fn word(value: &str, id: &str, due: Option<&str>, state: &str) -> Value {
    let mut body = json!({"subject": phone(value), "promise_id": id, "owner": "desk",
        "state": state});
    if let Some(due) = due {
        body["due"] = json!(due);
    }
    body
}

fn tell(node: &Node, body: &Value) -> Value {
    node.post_as(KEY_ADMIN, PROMISES, body).ok()
}

fn shown(node: &Node, value: &str) -> Value {
    let asked = check_with(&json!({"subject": phone(value)}));
    node.check(&asked)["promises_open"].clone()
}

#[test]
fn an_open_promise_is_shown_until_it_is_kept_or_withdrawn() {
    let node = Node::start();
    let value = "+5511955550001";
    let answer = tell(
        &node,
        &word(value, "later", Some("2026-12-09T12:00:00Z"), "open"),
    );
    assert_eq!(
        answer,
        json!({"promise_id": "later", "owner": "desk", "due": "2026-12-09T12:00:00Z",
            "state": "open"})
    );
    tell(&node, &word(value, "some-day", None, "open"));
    let soon = word(value, "soon", Some("2026-12-01T12:00:00Z"), "open");
    tell(&node, &soon);
    let ids = |shown: &Value| -> Vec<String> {
        let all = shown.as_array().unwrap().iter();
        all.map(|one| one["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&shown(&node, value)), ["soon", "later", "some-day"]);
    // A promise stays owed past its time.
    node.world.advance_s(30 * 86_400);
    tell(&node, &word(value, "later", None, "kept"));
    tell(&node, &word(value, "some-day", None, "withdrawn"));
    assert_eq!(ids(&shown(&node, value)), ["soon"]);
    let other = shown(&node, "+5511955550002");
    assert!(other.as_array().is_none_or(Vec::is_empty), "{other}");
}

#[test]
fn the_advice_block_shows_what_is_owed() {
    let node = Node::start();
    let value = "+5511955550003";
    tell(&node, &word(value, "call-back", None, "open"));
    let context = json!({"subject": phone(value), "include": ["coordination"]});
    let block = node.post_as(KEY_B, "/v1/context", &context).ok();
    assert_eq!(
        block["coordination"]["promises_open"],
        json!([{"id": "call-back", "owner": "desk"}])
    );
}

#[test]
fn a_word_needs_its_role_its_key_and_its_members() {
    let node = Node::start();
    let value = "+5511955550004";
    let open = word(value, "call-back", None, "open");
    for key in [KEY_A, KEY_SECURITY] {
        node.post_as(key, PROMISES, &open).problem(403, "forbidden");
    }
    node.post_as(KEY_ADMIN_ROLE, PROMISES, &open).ok();
    node.post_as(
        KEY_OTHER_ADMIN,
        PROMISES,
        &word(value, "theirs", None, "open"),
    )
    .ok();
    assert_eq!(shown(&node, value).as_array().unwrap().len(), 1);
    let headers = [
        ("Authorization", format!("Bearer {KEY_ADMIN}")),
        ("Content-Type", "application/json".to_owned()),
    ];
    let body = open.to_string();
    let bare = node
        .client()
        .send("POST", PROMISES, &headers, body.as_bytes());
    bare.problem(422, "invalid_input");
    for (member, wrong) in [
        ("state", json!("broken")),
        ("owner", json!("")),
        ("due", json!("tomorrow")),
        ("promise_id", Value::Null),
    ] {
        let mut body = open.clone();
        body[member] = wrong;
        let problem = node
            .post_as(KEY_ADMIN, PROMISES, &body)
            .problem(422, "invalid_input");
        assert!(
            problem["detail"].as_str().unwrap().contains(member),
            "{problem}"
        );
    }
}

#[test]
fn one_promise_too_many_is_refused_and_a_repeat_is_answered_again() {
    let node = Node::start();
    let value = "+5511955550005";
    for index in 0..32 {
        tell(&node, &word(value, &format!("p{index}"), None, "open"));
    }
    let more = word(value, "one-more", None, "open");
    node.post_as(KEY_ADMIN, PROMISES, &more)
        .problem(409, "target_full");
    let key = fresh("key");
    let kept = word(value, "p0", None, "kept");
    let first = node.post_keyed(KEY_ADMIN, PROMISES, &key, &kept).ok();
    tell(&node, &more);
    tell(&node, &word(value, "p1", None, "withdrawn"));
    tell(&node, &word(value, "p0", None, "open"));
    let again = node.post_keyed(KEY_ADMIN, PROMISES, &key, &kept).ok();
    assert_eq!(first, again);
    assert_eq!(
        shown(&node, value).as_array().unwrap().len(),
        32,
        "a repeat changes nothing"
    );
}
