//! Rows C2 to C4 over HTTP: customers' messages open the free-form window.

use serde_json::{Value, json};

use crate::node::{KEY_A, KEY_B, KEY_OFF, Node, check_with, fresh, phone};

const MESSAGES: &str = "/v1/batch";

fn message(value: &str, at: &str) -> Value {
    json!({"type": "event", "kind": "message", "idempotency_key": fresh("message"),
        "channel": "whatsapp", "handles": [phone(value)], "speaker": {"role": "customer"},
        "content": {"type": "text", "text": "Oi, ainda tem?"}, "occurred_at": at,
        "visibility": "public", "conversation_id": "c"})
}

fn window(node: &Node, value: &str) -> Value {
    node.check(&check_with(&json!({"subject": phone(value)})))["channel"].clone()
}

fn send(node: &Node, items: &[Value]) -> Value {
    node.post_as(KEY_B, MESSAGES, &json!({"items": items})).ok()
}

#[test]
fn c1_c2_c4_the_newest_inbound_message_opens_the_window() {
    let node = Node::start();
    let value = "+5511922230001";
    assert_eq!(window(&node, value), json!({"template_required": true}));
    let told = send(&node, &[message(value, "2026-11-30T11:00:00Z")]);
    assert_eq!(told, json!({"accepted": 1, "duplicates": 0, "errors": []}));
    let open = json!({"free_form_until": "2026-12-01T11:00:00Z", "template_required": false});
    assert_eq!(window(&node, value), open);
    send(&node, &[message(value, "2026-11-30T10:00:00-00:00")]);
    assert_eq!(window(&node, value), open, "an older one changes nothing");
}

#[test]
fn c3_the_window_closes_after_a_day() {
    let node = Node::start();
    let value = "+5511922230011";
    send(&node, &[message(value, "2026-11-30T12:00:00Z")]);
    node.world.advance_s(24 * 3_600 - 1);
    assert_eq!(window(&node, value)["template_required"], false);
    node.world.advance_s(1);
    assert_eq!(window(&node, value), json!({"template_required": true}));
}

/// What a check over a channel comes to: decision, reasons, until when it is quiet.
fn over(node: &Node, channel: &str, direction: &str) -> (Value, Value, Value) {
    let check = check_with(&json!({"channel": channel, "direction": direction,
        "subject": phone("+5511922230012")}));
    let answer = node.check(&check);
    let member = |name: &str| answer[name].clone();
    let quiet = answer["channel"]["quiet_until"].clone();
    (member("decision"), member("reasons"), quiet)
}

#[test]
fn c5_c6_quiet_hours_hold_what_goes_out_until_they_end() {
    let node = Node::start();
    let held = |until: &str| (json!("defer"), json!(["quiet_hours"]), json!(until));
    assert_eq!(
        over(&node, "always_quiet", "outbound"),
        held("2026-12-01T00:00:00Z")
    );
    assert_eq!(over(&node, "always_quiet", "inbound").0, "allow");
    // From 21:00 to 08:00 in Sao Paulo, which is three hours behind UTC; it is noon UTC.
    let night = "2026-12-01T11:00:00Z";
    for (seconds, quiet) in [
        (12 * 3_600 - 1, false),
        (1, true),
        (11 * 3_600 - 1, true),
        (1, false),
    ] {
        node.world.advance_s(seconds);
        let answer = over(&node, "sms", "outbound");
        let now = node.world.now();
        if quiet {
            assert_eq!(answer, held(night), "{now:?}");
        } else {
            assert_eq!(answer.0, "allow", "{now:?}: {answer:?}");
        }
    }
}

#[test]
fn what_is_no_message_of_a_customer_is_taken_and_changes_nothing() {
    let node = Node::start();
    let value = "+5511922230002";
    let at = "2026-11-30T11:00:00Z";
    let mut outbound = message(value, at);
    outbound["direction"] = json!("outbound");
    let mut agent = message(value, at);
    agent["speaker"] = json!({"role": "ai_agent", "id": "closing"});
    let mut elsewhere = message(value, at);
    elsewhere["channel"] = json!("carrier_pigeon");
    let mut event = message(value, at);
    event["kind"] = json!("system_event");
    let items = [
        outbound,
        agent,
        elsewhere,
        event,
        json!({"type": "identify", "handles": [phone(value), phone("+5511922230003")]}),
        json!({"type": "conversation.ended", "conversation_id": "c"}),
        json!({"type": "heartbeat", "window_start": at, "sent": 3}),
        json!({"type": "handoff", "conversation_id": "c", "target": "human"}),
    ];
    let entities = node.world.entities();
    assert_eq!(send(&node, &items)["accepted"], items.len());
    // The two that went are noted, and only their receipts are kept.
    assert_eq!(node.world.entities(), entities + 2);
    // `direction` speaks before the speaker's role.
    let mut inbound = message(value, at);
    inbound["speaker"] = json!({"role": "ai_agent"});
    inbound["direction"] = json!("inbound");
    send(&node, &[inbound]);
    assert_eq!(window(&node, value)["template_required"], false);
}

#[test]
fn one_bad_item_never_fails_the_batch() {
    let node = Node::start();
    let value = "+5511922230004";
    let mut no_channel = message(value, "2026-11-30T11:00:00Z");
    no_channel.as_object_mut().unwrap().remove("channel");
    let items = [
        json!({"type": "unheard_of"}),
        json!(7),
        no_channel,
        message(value, "yesterday"),
        message(value, "2026-11-30T11:00:00Z"),
    ];
    let answer = node.post_as(KEY_B, MESSAGES, &json!({"items": items}));
    assert_eq!(answer.status, 207);
    let told = answer.json();
    assert_eq!(told["accepted"], 1);
    let places: Vec<&Value> = told["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| &error["index"])
        .collect();
    assert_eq!(places, [0, 1, 2, 3]);
    assert!(!answer.json().to_string().contains("yesterday"));
    assert_eq!(window(&node, value)["template_required"], false);
}

#[test]
fn a_repeat_is_taken_once_and_the_envelope_is_judged() {
    let node = Node::start();
    let value = "+5511922230005";
    let item = message(value, "2026-11-30T11:00:00Z");
    send(&node, std::slice::from_ref(&item));
    let entities = node.world.entities();
    let told = send(&node, std::slice::from_ref(&item));
    assert_eq!(told, json!({"accepted": 0, "duplicates": 1, "errors": []}));
    assert_eq!(node.world.entities(), entities);
    let post = |key, body: &Value| node.post_as(key, MESSAGES, body);
    post(KEY_A, &json!({"items": [item]})).problem(403, "forbidden");
    post(KEY_OFF, &json!({"items": [item]})).ok();
    for body in [
        json!({}),
        json!({"items": []}),
        json!([]),
        json!({"items": vec![1; 501]}),
    ] {
        post(KEY_B, &body).problem(422, "invalid_input");
    }
}
