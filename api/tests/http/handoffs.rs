//! Rows H over HTTP: a customer is handed over, and what becomes of it.

use serde_json::{Value, json};

use crate::client::Answered;
use crate::node::{
    CLAIMS, DECLARE, EFFECTS, KEY_A, KEY_B, KEY_C, KEY_D, KEY_OTHER, Node, check_with, fresh, phone,
};

const HANDOFFS: &str = "/v1/handoffs";
const NOBODY: &str = "0192e2a0-0000-7000-8000-000000000001";

fn wanted(value: &str) -> Value {
    json!({"subject": phone(value), "target": "human_desk", "agent": "closing",
        "reason": "asked for a person"})
}

fn created(answer: &Answered) -> Value {
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn hand_over(node: &Node, value: &str) -> Value {
    created(&node.post(HANDOFFS, &wanted(value)))
}

fn path(handoff: &Value, step: &str) -> String {
    format!(
        "{HANDOFFS}/{}{step}",
        handoff["handoff_id"].as_str().unwrap()
    )
}

fn read(node: &Node, handoff: &Value) -> Value {
    node.get(&path(handoff, ""), Some(KEY_A)).ok()
}

fn accept(node: &Node, handoff: &Value) -> Answered {
    node.post(&path(handoff, "/accept"), &json!({}))
}

fn close(node: &Node, handoff: &Value, outcome: &str) -> Answered {
    let body = json!({"outcome": outcome});
    node.post(&path(handoff, "/outcome"), &body)
}

fn asked(value: &str, purpose: &str) -> Value {
    check_with(
        &json!({"subject": phone(value), "agent": "seller", "purpose": purpose,
        "channel": null}),
    )
}

fn decision(node: &Node, value: &str) -> Value {
    node.check(&asked(value, "service"))
}

/// How many handoffs the overview says expired.
fn expired(node: &Node) -> Value {
    let overview = node.get("/v1/coordination/overview", Some(KEY_D)).ok();
    overview["conflicts"]["handoffs_expired"].clone()
}

fn of<'a>(answer: &'a Value, members: [&str; 2]) -> [&'a Value; 2] {
    members.map(|member| &answer[member])
}

#[test]
fn h1_the_target_has_the_customer_and_the_package_says_what_is_known() {
    let node = Node::start();
    let value = "+5511944440001";
    let made = hand_over(&node, value);
    assert_eq!(
        of(&made, ["status", "created_at"]),
        [&json!("created"), &json!("2026-11-30T12:00:00Z")]
    );
    assert_eq!(
        made["expected_by"], "2026-12-01T12:00:00Z",
        "the space's wait"
    );
    let package = &made["package"];
    assert_eq!(
        (&package["spec"], &package["subject"], &package["level"]),
        (&json!("handoff-package.v0"), &phone(value), &json!("V0"))
    );
    assert_eq!(
        (
            &package["target"],
            &package["from_agent"],
            &package["reason"]
        ),
        (
            &json!("human_desk"),
            &json!("closing"),
            &json!("asked for a person")
        )
    );
    assert!(package["context"]["text"].is_string());
    assert_eq!(
        package["outcome"],
        json!({"expected_by": "2026-12-01T12:00:00Z",
            "vocabulary": ["resolved", "callback", "opt_out"]})
    );
    let other = decision(&node, value);
    assert_eq!(
        of(&other, ["decision", "reasons"]),
        [&json!("defer"), &json!(["owner_active"])]
    );
    assert_eq!(
        of(&other["owner"], ["holder", "level"]),
        [&json!("human_desk"), &json!("transfer_pending")]
    );
    let own = check_with(&json!({"subject": phone(value), "agent": "human_desk"}));
    assert_eq!(node.check(&own)["decision"], "allow");
    assert_eq!(read(&node, &made), made);
}

#[test]
fn h1_a_package_shows_owner_offers_promises_suppressions_and_effects() {
    let node = Node::start();
    let value = "+5511944440002";
    let offer = json!({"commitment_id": fresh("offer"), "type": "offer", "terms": {"off": 5}});
    node.declare_for(value, "commitment.made", &offer).ok();
    let opted_out = json!({"purpose": "retention", "reason": "opt_out"});
    node.declare_for(value, "suppression.added", &opted_out)
        .ok();
    let promise = json!({"subject": phone(value), "promise_id": "call-back", "owner": "desk",
        "due": "2026-12-02T12:00:00Z", "state": "open"});
    node.post_as(crate::node::KEY_ADMIN, "/v1/operator/promises", &promise)
        .ok();
    let [done, flying, failed] = ["done", "flying", "failed"].map(fresh);
    for key in [&done, &flying, &failed] {
        let body = check_with(&json!({"subject": phone(value), "effect_key": key,
            "effect_kind": "document"}));
        assert_eq!(node.check(&body)["decision"], "allow");
    }
    for (key, state) in [(&done, "done"), (&failed, "failed")] {
        let detail = json!({"effect_key": key, "attempt": 1, "state": state});
        assert_eq!(node.declare("effect", &detail)["accepted"], true);
    }
    let owner = json!({"kind": "owner", "holder": "closing", "lease_s": 600,
        "subject": phone(value)});
    created(&node.post(CLAIMS, &owner));
    let package = hand_over(&node, value)["package"].clone();
    assert_eq!(package["owner"]["holder"], "closing");
    assert_eq!(
        of(&package["commitments_active"][0], ["id", "type"]),
        [&offer["commitment_id"], &json!("offer")]
    );
    assert_eq!(
        package["promises_open"],
        json!([{"id": "call-back", "owner": "desk", "due": "2026-12-02T12:00:00Z"}])
    );
    assert_eq!(package["suppressions"], json!(["retention"]));
    let effects = package["effects"].as_array().unwrap();
    let states: Vec<_> = effects.iter().map(|seen| &seen["state"]).collect();
    assert_eq!(
        states,
        [&json!("reserved"), &json!("done")],
        "the newest first, and none that failed"
    );
    assert_eq!(effects[1]["kind"], "document");
    let id = effects[0]["effect_id"].as_str().unwrap();
    let settle = json!({"attempt": 1, "state": "done"});
    node.post(&format!("{EFFECTS}/{id}/settle"), &settle).ok();
}

#[test]
fn h2_accept_outcome_the_same_again_and_another() {
    let node = Node::start();
    let value = "+5511944440003";
    let made = hand_over(&node, value);
    let accepted = accept(&node, &made).ok();
    assert_eq!(accepted["status"], "accepted");
    assert_eq!(accept(&node, &made).ok(), accepted, "again it is unchanged");
    assert_eq!(decision(&node, value)["decision"], "defer");
    let closed = close(&node, &made, "resolved").ok();
    assert_eq!(
        of(&closed, ["status", "outcome"]),
        [&json!("closed"), &json!("resolved")]
    );
    assert_eq!(closed["package"], made["package"]);
    assert_eq!(decision(&node, value)["decision"], "allow");
    assert_eq!(close(&node, &made, "resolved").ok(), closed);
    close(&node, &made, "callback").problem(409, "handoff_closed");
    accept(&node, &made).problem(409, "handoff_closed");
    assert_eq!(read(&node, &made), closed);
    // From created straight to closed.
    let second = hand_over(&node, value);
    assert_eq!(close(&node, &second, "callback").ok()["status"], "closed");
}

#[test]
fn h3_an_outcome_outside_the_vocabulary_is_refused() {
    let node = Node::start();
    let made = hand_over(&node, "+5511944440004");
    for outcome in ["outcome_nobody_declared", "Resolved"] {
        let problem = close(&node, &made, outcome).problem(422, "invalid_input");
        assert!(
            problem["detail"].as_str().unwrap().contains("outcome"),
            "{problem}"
        );
    }
    assert_eq!(read(&node, &made)["status"], "created");
}

#[test]
fn h4_past_its_time_it_is_expired_and_holds_nobody() {
    let node = Node::start();
    let value = "+5511944440005";
    let mut soon = wanted(value);
    soon["expected_by"] = json!("2026-11-30T13:00:00Z");
    let made = created(&node.post(HANDOFFS, &soon));
    let late = hand_over(&node, "+5511944440006");
    accept(&node, &late).ok();
    assert_eq!(expired(&node), 0);
    node.world.advance_s(3_599);
    assert_eq!(read(&node, &made)["status"], "created");
    assert_eq!(decision(&node, value)["decision"], "defer");
    node.world.advance_s(1);
    assert_eq!(expired(&node), 1);
    assert_eq!(read(&node, &made)["status"], "expired");
    assert_eq!(decision(&node, value)["decision"], "allow");
    for outcome in ["resolved", "callback"] {
        close(&node, &made, outcome).problem(409, "handoff_expired");
    }
    accept(&node, &made).problem(409, "handoff_expired");
    assert_eq!(read(&node, &late)["status"], "accepted");
    node.world.advance_s(86_400);
    assert_eq!(read(&node, &late)["status"], "expired");
    // Ninety days after its end nothing is left of it.
    node.world.advance_s(91 * 86_400);
    node.get(&path(&made, ""), Some(KEY_A))
        .problem(404, "not_found");
}

#[test]
fn h5_a_stricter_claim_keeps_the_customer() {
    let node = Node::start();
    let value = "+5511944440007";
    let person = json!({"kind": "owner", "holder": "ana", "lease_s": 600, "level": "human_active",
        "subject": phone(value)});
    created(&node.post(CLAIMS, &person));
    let made = hand_over(&node, value);
    assert_eq!(made["package"]["owner"]["holder"], "ana");
    let holder = |node: &Node| decision(node, value)["owner"]["holder"].clone();
    assert_eq!(holder(&node), "ana");
    close(&node, &made, "resolved").ok();
    assert_eq!(holder(&node), "ana", "the outcome ends only the hold");
}

#[test]
fn h6_an_opt_out_suppresses_the_customer_for_marketing() {
    let node = Node::start();
    let value = "+5511944440008";
    assert_eq!(node.check(&asked(value, "marketing"))["decision"], "allow");
    let made = hand_over(&node, value);
    close(&node, &made, "opt_out").ok();
    let refused = node.check(&asked(value, "marketing"));
    assert_eq!(
        of(&refused, ["decision", "reasons"]),
        [&json!("deny"), &json!(["suppressed"])]
    );
    assert_eq!(decision(&node, value)["decision"], "allow");
    // A repeat adds nothing to what was lifted since.
    node.declare_for(
        value,
        "suppression.lifted",
        &json!({"purpose": "marketing"}),
    )
    .ok();
    close(&node, &made, "opt_out").ok();
    assert_eq!(node.check(&asked(value, "marketing"))["decision"], "allow");
}

#[test]
fn h7_one_key_makes_one_handoff_and_answers_the_same_bytes() {
    let node = Node::start();
    let value = "+5511944440009";
    let key = fresh("key");
    let send = |body: &Value| node.post_keyed(KEY_A, HANDOFFS, &key, body);
    let first = send(&wanted(value));
    let entities = node.world.entities();
    let again = send(&wanted(value));
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(node.world.entities(), entities, "one handoff");
    // What becomes of it later does not change what was answered.
    close(&node, &first.json(), "resolved").ok();
    assert_eq!(send(&wanted(value)).body, first.body);
    let mut other = wanted(value);
    other["target"] = json!("back_office");
    send(&other).problem(409, "idempotency_conflict");
}

#[test]
fn h7_accept_and_outcome_are_answered_again_as_they_were() {
    let node = Node::start();
    let made = hand_over(&node, "+5511944440010");
    let (taken, ended) = (fresh("key"), fresh("key"));
    let steps = [
        ("/accept", &taken, json!({})),
        ("/outcome", &ended, json!({"outcome": "resolved"})),
    ];
    let send = || {
        let sent = steps
            .iter()
            .map(|(step, key, body)| node.post_keyed(KEY_A, &path(&made, step), key, body));
        sent.map(|answer| (answer.status, answer.body)).collect()
    };
    let first: Vec<(u16, Vec<u8>)> = send();
    let again: Vec<(u16, Vec<u8>)> = send();
    assert_eq!(first, again);
    assert_eq!(first[0].0, 200);
}

#[test]
fn who_hands_over_is_the_key_when_nobody_is_named() {
    let node = Node::start();
    let body = json!({"subject": phone("+5511944440011"), "target": "human_desk"});
    let package = created(&node.post(HANDOFFS, &body))["package"].clone();
    assert_eq!(package["from_agent"], "agents");
    assert!(package.get("reason").is_none_or(Value::is_null));
}

#[test]
fn the_handle_is_shown_as_it_was_told() {
    let node = Node::start();
    let handle = json!({"type": "wa_jid", "value": "5511944440012@s.whatsapp.net"});
    let body = json!({"subject": handle, "target": "human_desk", "level": "V2",
        "conversation_id": "talk-1"});
    let package = created(&node.post(HANDOFFS, &body))["package"].clone();
    assert_eq!(of(&package, ["subject", "level"]), [&handle, &json!("V2")]);
    // It is the customer of the same number all the same.
    assert_eq!(decision(&node, "+5511944440012")["decision"], "defer");
}

#[test]
fn nobody_elses_handoff_is_found() {
    let node = Node::start();
    let made = hand_over(&node, "+5511944440013");
    node.get(&path(&made, ""), Some(KEY_OTHER))
        .problem(404, "not_found");
    for (step, body) in [
        ("/accept", json!({})),
        ("/outcome", json!({"outcome": "resolved"})),
    ] {
        node.post_as(KEY_OTHER, &path(&made, step), &body)
            .problem(404, "not_found");
    }
    for id in [NOBODY, "not-an-id", "%2B5511"] {
        let one = format!("{HANDOFFS}/{id}");
        node.get(&one, Some(KEY_A)).problem(404, "not_found");
        node.post(&format!("{one}/accept"), &json!({}))
            .problem(404, "not_found");
        let outcome = json!({"outcome": "resolved"});
        node.post(&format!("{one}/outcome"), &outcome)
            .problem(404, "not_found");
    }
    // Another source of the space reads it.
    assert_eq!(node.get(&path(&made, ""), Some(KEY_B)).ok(), made);
    node.get(&path(&made, ""), Some(KEY_C))
        .problem(403, "forbidden");
}

#[test]
fn a_bad_handoff_says_which_member_is_wrong() {
    let node = Node::start();
    let value = "+5511944440014";
    let with = |name: &str, member: Value| {
        let mut body = wanted(value);
        body[name] = member;
        body
    };
    let cases = [
        (
            "expected_by",
            with("expected_by", json!("2026-11-30T12:00:00Z")),
        ),
        ("expected_by", with("expected_by", json!("soon"))),
        ("reason", with("reason", json!(""))),
        ("reason", with("reason", json!("x".repeat(501)))),
        ("target", with("target", Value::Null)),
        ("level", with("level", json!("V9"))),
        (
            "subject",
            with("subject", json!({"type": "fax", "value": "1"})),
        ),
    ];
    for (member, body) in cases {
        let problem = node.post(HANDOFFS, &body).problem(422, "invalid_input");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(member), "{member}: {detail}");
    }
    assert_eq!(decision(&node, value)["decision"], "allow");
}

#[test]
fn a_customer_has_at_most_sixteen_open_handoffs() {
    let node = Node::start();
    let value = "+5511944440015";
    let all: Vec<Value> = (0..16).map(|_| hand_over(&node, value)).collect();
    node.post(HANDOFFS, &wanted(value))
        .problem(409, "target_full");
    close(&node, &all[3], "resolved").ok();
    hand_over(&node, value);
}

#[test]
fn a_declared_handoff_does_what_the_routes_do() {
    let node = Node::start();
    let value = "+5511944440016";
    let made = hand_over(&node, value);
    let told = |id: &Value, status: &str, outcome: Option<&str>| {
        let detail = json!({"handoff_id": id, "status": status, "outcome": outcome});
        node.declare("handoff", &detail)["accepted"].clone()
    };
    let id = &made["handoff_id"];
    assert_eq!(told(id, "created", None), true);
    assert_eq!(told(id, "accepted", None), true);
    assert_eq!(read(&node, &made)["status"], "accepted");
    assert_eq!(told(id, "closed", None), false, "it needs an outcome");
    assert_eq!(told(id, "closed", Some("opt_out")), true);
    assert_eq!(read(&node, &made)["outcome"], "opt_out");
    assert_eq!(
        node.check(&asked(value, "marketing"))["reasons"],
        json!(["suppressed"])
    );
    assert_eq!(told(id, "closed", Some("resolved")), false);
    let unknown = json!({"kind": "handoff", "agent": "a",
        "detail": {"handoff_id": id, "status": "closed", "outcome": "nobody_declared"}});
    node.post(DECLARE, &unknown).problem(422, "invalid_input");
    let before = node.world.entities();
    for id in [json!("crm-17"), json!(NOBODY)] {
        for status in ["created", "accepted", "closed"] {
            assert_eq!(told(&id, status, Some("resolved")), true, "{id} {status}");
        }
    }
    // Six receipts, and nothing besides.
    assert_eq!(node.world.entities(), before + 6);
}

#[test]
fn a_declared_handoff_of_another_customer_is_turned_down() {
    let node = Node::start();
    let (value, other) = ("+5511944440017", "+5511944440018");
    let made = hand_over(&node, value);
    let told = |value: &str, status: &str| {
        let detail =
            json!({"handoff_id": made["handoff_id"], "status": status, "outcome": "opt_out"});
        node.declare_for(value, "handoff", &detail).ok()["accepted"].clone()
    };
    for status in ["accepted", "closed"] {
        assert_eq!(told(other, status), false, "{status}");
    }
    assert_eq!(read(&node, &made), made, "nothing changed");
    for value in [value, other] {
        let answer = node.check(&asked(value, "marketing"));
        assert_ne!(answer["reasons"], json!(["suppressed"]), "{value}");
    }
    assert_eq!(told(value, "accepted"), true);
    assert_eq!(told("+55 11 94444-0017", "closed"), true, "in any spelling");
    assert_eq!(read(&node, &made)["outcome"], "opt_out");
    assert_eq!(told(other, "closed"), false, "it stays another's");
}
