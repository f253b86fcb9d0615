//! Events of `/v1/batch` that the space maps to ownership (§9).

use serde_json::{Value, json};

use crate::node::{Node, check_with, fresh, phone};
use crate::reports::{OVERVIEW, get, send};

/// An event of the panel, which the conformance space maps to ownership.
fn session(what: &str, value: &str, at: &str, fields: Value) -> Value {
    json!({"type": "event", "kind": "system_event", "idempotency_key": fresh("event"),
        "canonical_type": format!("panel.session_{what}"), "handles": [phone(value)],
        "occurred_at": at, "fields": fields})
}

#[test]
fn a_mapped_event_holds_a_customer_and_another_ends_it() {
    let node = Node::start();
    let value = "+5511922240010";
    let owner = || node.check(&check_with(&json!({"subject": phone(value)})))["owner"].clone();
    let opened = session(
        "opened",
        value,
        "2026-11-30T11:50:00Z",
        json!({"attendant": "maria"}),
    );
    assert_eq!(send(&node, std::slice::from_ref(&opened))["accepted"], 1);
    let held = owner();
    assert_eq!(held["holder"], "maria");
    assert_eq!(
        (&held["level"], &held["via"]),
        (&json!("human_active"), &json!("mapping"))
    );
    assert_eq!(
        held["valid_until"], "2026-11-30T12:30:00Z",
        "1800 s from now"
    );
    let row = json!([{"kind": "owner", "level": "human_active", "via": "mapping",
        "holder_kind": "human", "claims": 1, "holders": 1}]);
    assert_eq!(get(&node, OVERVIEW)["ownership"], row);
    // An older end changes nothing, a repeat is one, a newer end frees.
    send(
        &node,
        &[session("closed", value, "2026-11-30T11:40:00Z", json!({}))],
    );
    assert_eq!(owner()["holder"], "maria");
    let again = send(&node, std::slice::from_ref(&opened));
    assert_eq!(
        (&again["accepted"], &again["duplicates"]),
        (&json!(0), &json!(1))
    );
    send(
        &node,
        &[session("closed", value, "2026-11-30T11:55:00Z", json!({}))],
    );
    assert_eq!(owner(), Value::Null);
    // What began before the end and comes after it begins nothing.
    send(
        &node,
        &[session(
            "opened",
            value,
            "2026-11-30T11:54:00Z",
            json!({"attendant": "ana"}),
        )],
    );
    assert_eq!(owner(), Value::Null);
}

#[test]
fn an_event_about_an_object_holds_the_object() {
    let node = Node::start();
    let object = json!({"type": "deal", "namespace": "crm", "id": fresh("deal")});
    let mut opened = session(
        "opened",
        "",
        "2026-11-30T11:50:00Z",
        json!({"attendant": "maria"}),
    );
    opened["handles"] = json!([]);
    opened["object_refs"] = json!([object]);
    assert_eq!(send(&node, &[opened])["accepted"], 1);
    let members = json!({"subject": null, "object": object, "effect_key": fresh("effect")});
    let held = node.check(&check_with(&members));
    assert_eq!(held["decision"], "defer", "{held}");
    assert_eq!(
        (&held["owner"]["holder"], &held["owner"]["via"]),
        (&json!("maria"), &json!("mapping"))
    );
}

#[test]
fn an_event_that_is_not_mapped_is_taken_and_one_without_a_holder_is_told() {
    let node = Node::start();
    let value = "+5511922240011";
    let at = "2026-11-30T11:50:00Z";
    let entities = node.world.entities();
    let told = send(
        &node,
        &[
            session("moved", value, at, json!({})),
            session("opened", value, at, json!({"agent": "maria"})),
            session("opened", value, at, json!({"attendant": ""})),
        ],
    );
    assert_eq!(told["accepted"], 1);
    let places: Vec<&Value> = told["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| &error["index"])
        .collect();
    assert_eq!(places, [1, 2]);
    assert_eq!(node.world.entities(), entities, "nothing is kept");
}
