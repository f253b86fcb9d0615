//! Rows S and K that are about the declarations this server takes.

use serde_json::json;

use crate::node::{DECLARE, KEY_A, KEY_B, Node, check_with, fresh, phone};

#[test]
fn k1_each_of_the_twelve_kinds_is_taken() {
    let node = Node::start();
    let value = "+5511933330000";
    let effect = fresh("effect");
    node.check(&check_with(&json!({"subject": null, "effect_key": effect})));
    let cases = [
        (
            "contact.made",
            json!({"channel": "whatsapp", "purpose": "service", "unchecked": true}),
        ),
        (
            "effect",
            json!({"effect_key": effect, "attempt": 1, "state": "done"}),
        ),
        (
            "suppression.added",
            json!({"purpose": "marketing", "reason": "opt_out"}),
        ),
        ("suppression.lifted", json!({"purpose": "marketing"})),
        (
            "case.opened",
            json!({"lease_s": 60, "intents": ["support"]}),
        ),
        ("lease", json!({"lease_s": 60, "level": "soft_pause"})),
        (
            "commitment.made",
            json!({"commitment_id": effect, "type": "offer", "score": 1.0,
                "terms": {"off": 10}, "valid_until": "2026-12-01T00:00:00Z"}),
        ),
        (
            "commitment.decided",
            json!({"commitment_id": effect, "outcome": "accepted"}),
        ),
        ("commitment.withdrawn", json!({"commitment_id": effect})),
        (
            "handoff",
            json!({"handoff_id": "crm-1", "status": "closed", "outcome": "resolved"}),
        ),
    ];
    for (kind, detail) in cases {
        assert_eq!(
            node.declare_for(value, kind, &detail).ok()["accepted"],
            true,
            "{kind}"
        );
    }
    // Two need something of their own: a task is a record's, and a case closes by what it was given.
    let task = json!({"kind": "task_lock", "agent": "closing", "detail": {"lease_s": 60, "task": "t"},
        "object": {"type": "lawsuit", "namespace": "court_system", "id": effect}});
    assert_eq!(node.post(DECLARE, &task).ok()["accepted"], true);
    let case = node
        .declare_for("+5511933330009", "case.opened", &json!({"lease_s": 60}))
        .ok();
    let detail = json!({"claim_id": case["claim_id"], "epoch": case["epoch"]});
    let closed = node.declare_for("+5511933330009", "case.closed", &detail);
    assert_eq!(closed.ok()["accepted"], true);
}

#[test]
fn a_contact_made_answers_the_decision_it_was_recorded_under() {
    let node = Node::start();
    let value = "+5511933330001";
    let check = check_with(&json!({"purpose": "retention", "subject": phone(value)}));
    let decided = node.check(&check);
    let detail = json!({"channel": "whatsapp", "purpose": "retention",
        "decision_id": decided["decision_id"]});
    let told = node.declare_for(value, "contact.made", &detail).ok();
    assert_eq!(told["decision_id"], decided["decision_id"]);
    let bare = json!({"channel": "whatsapp", "purpose": "service"});
    let told = node.declare("contact.made", &bare);
    assert_eq!(told["accepted"], true);
    assert!(told["decision_id"].is_string());
}

#[test]
fn s4_s5_only_its_own_source_lifts_a_suppression() {
    let node = Node::start();
    let value = "+5511933330002";
    let marketing = check_with(&json!({"purpose": "marketing", "subject": phone(value)}));
    let lift = json!({"kind": "suppression.lifted", "agent": "a", "subject": phone(value),
        "detail": {"purpose": "marketing"}});
    node.declare_for(
        value,
        "suppression.added",
        &json!({"purpose": "marketing", "reason": "opt_out"}),
    )
    .ok();
    assert_eq!(node.check(&marketing)["decision"], "deny");
    assert_eq!(node.post_as(KEY_B, DECLARE, &lift).ok()["accepted"], false);
    assert_eq!(node.check(&marketing)["decision"], "deny");
    assert_eq!(node.post_as(KEY_A, DECLARE, &lift).ok()["accepted"], true);
    assert_eq!(node.check(&marketing)["decision"], "allow");
}

#[test]
fn s6_a_window_defers_inside_its_hours() {
    let node = Node::start();
    let value = "+5511933330003";
    let window = json!({"from": "11:00", "to": "13:30", "tz": "UTC", "days": [1]});
    let detail =
        json!({"purpose": "any", "reason": "opt_out", "channel": "voice", "window": window});
    node.declare_for(value, "suppression.added", &detail).ok();
    let on = |channel: &str| {
        node.check(&check_with(
            &json!({"channel": channel, "subject": phone(value)}),
        ))
    };
    let deferred = on("voice");
    assert_eq!(deferred["reasons"], json!(["contact_window"]));
    assert_eq!(deferred["contact_window_until"], "2026-11-30T13:30:00Z");
    assert_eq!(on("whatsapp")["decision"], "allow");
}

#[test]
fn s11_s13_an_entry_holds_for_every_spelling_until_it_ends() {
    let node = Node::start();
    let until =
        json!({"purpose": "any", "reason": "complaint", "until": "2026-11-30T09:00:10-03:00"});
    node.declare_for("+5511933330004", "suppression.added", &until)
        .ok();
    let same = json!({"type": "wa_id", "value": "5511933330004"});
    let check = check_with(&json!({"subject": same}));
    assert_eq!(node.check(&check)["decision"], "deny");
    node.world.advance_s(11);
    assert_eq!(node.check(&check)["decision"], "allow");
}

#[test]
fn s15_s16_a_suppression_needs_a_reason_and_a_destination() {
    let node = Node::start();
    let detail = |reason: &str| json!({"purpose": "any", "reason": reason});
    let body = |subject, detail| json!({"kind": "suppression.added", "agent": "a", "subject": subject, "detail": detail});
    let system = json!({"type": "system_id", "value": "42"});
    let cases = [
        body(phone("+5511933330005"), detail("because")),
        body(system.clone(), detail("opt_out")),
        body(json!(null), detail("opt_out")),
        body(phone("call me"), detail("opt_out")),
        json!({"kind": "suppression.lifted", "agent": "a", "subject": system,
            "detail": {"purpose": "any"}}),
    ];
    for case in cases {
        node.post(DECLARE, &case).problem(422, "invalid_input");
    }
}

#[test]
fn a_window_that_is_none_is_422() {
    let node = Node::start();
    let windows = [
        json!({"from": "09:00", "to": "09:00", "tz": "UTC"}),
        json!({"from": "9:00", "to": "10:00", "tz": "UTC"}),
        json!({"from": "09:00", "to": "10:00", "tz": "Mars/Base"}),
        json!({"from": "09:00", "to": "10:00", "tz": "UTC", "days": []}),
        json!({"from": "09:00", "to": "10:00", "tz": "UTC", "days": [8]}),
        json!({"from": "09:00", "tz": "UTC"}),
    ];
    for window in windows {
        let detail = json!({"purpose": "any", "reason": "opt_out", "window": window});
        let answer = node.declare_for("+5511933330006", "suppression.added", &detail);
        let problem = answer.problem(422, "invalid_input");
        let place = problem["detail"].as_str().unwrap();
        assert!(place.starts_with("`detail.window"), "{place}");
    }
}

#[test]
fn m1_m2_commitments_hold_by_the_rule_of_their_type() {
    let node = Node::start();
    let value = "+5511933330009";
    let made = |id: &str, kind: &str, score: Option<f64>| {
        let detail = json!({"commitment_id": id, "type": kind, "score": score,
            "terms": {"for": "+5511933330009", "off": 10}});
        node.declare_for(value, "commitment.made", &detail).ok()
    };
    let active = |node: &Node| {
        let answer = node.check(&check_with(&json!({"subject": phone(value)})));
        let active = answer["commitments_active"].as_array().cloned();
        let ids = active.unwrap_or_default().into_iter();
        ids.map(|one| one["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let (a, b, c) = (fresh("offer"), fresh("offer"), fresh("contract"));
    made(&a, "offer", Some(1.0));
    made(&b, "offer", Some(2.0));
    assert_eq!(active(&node), std::slice::from_ref(&b));
    made(&c, "contract", None);
    assert_eq!(active(&node), std::slice::from_ref(&c));
    let decided = json!({"commitment_id": c, "outcome": "declined"});
    // Without a subject the id leads to the customer.
    assert_eq!(
        node.declare("commitment.decided", &decided)["accepted"],
        true
    );
    assert!(active(&node).is_empty());
    let elsewhere = json!({"commitment_id": a, "type": "offer"});
    let other = node
        .declare_for("+5511933330010", "commitment.made", &elsewhere)
        .ok();
    assert_eq!(other["accepted"], false, "an id is unique in the space");
    let nobody = json!({"kind": "commitment.made", "agent": "a",
        "detail": {"commitment_id": fresh("offer"), "type": "offer"}});
    node.post(DECLARE, &nobody).problem(422, "invalid_input");
    let undeclared = json!({"commitment_id": fresh("offer"), "type": "unheard_of"});
    let problem = node.declare_for(value, "commitment.made", &undeclared);
    let problem = problem.problem(422, "invalid_input");
    assert!(problem["detail"].as_str().unwrap().contains("`type`"));
}
