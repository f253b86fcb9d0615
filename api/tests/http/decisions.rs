//! Rows D: what a check and a batch of checks answer.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::node::{BATCH, KEY_A, KEY_B, Node, check, check_with, fresh, phone};
use crate::world::Mode;

/// Every code a server may give as a reason.
const REASONS: [&str; 13] = [
    "effect_done",
    "effect_in_flight",
    "effect_unknown_outcome",
    "suppressed",
    "contact_window",
    "owner_active",
    "lock_held",
    "budget_exhausted",
    "budget_paced",
    "quiet_hours",
    "template_required",
    "rebuilding",
    "unavailable",
];

fn results(answer: &Value) -> &Vec<Value> {
    answer["results"].as_array().unwrap()
}

#[test]
fn d1_d2_a_check_is_allowed_and_named() {
    let node = Node::start();
    let first = node.check(&check());
    let second = node.check(&check());
    assert_eq!(first["decision"], "allow");
    assert_eq!(first["valid_for_s"], 60);
    for absent in [
        "contact_token",
        "owner",
        "locks",
        "suppressions",
        "effect",
        "holder",
    ] {
        assert!(first.get(absent).is_none(), "{absent}");
    }
    assert_ne!(first["decision_id"], second["decision_id"]);
}

#[test]
fn d3_a_check_without_a_subject_is_about_its_effect() {
    let node = Node::start();
    let check = check_with(&json!({"subject": null, "effect_key": fresh("effect")}));
    let first = node.check(&check);
    let second = node.check(&check);
    assert_eq!(first["decision"], "allow");
    assert_eq!(first["effect"], json!({"state": "none", "attempt": 1}));
    assert_eq!(second["decision"], "deny");
    assert_eq!(second["effect"]["state"], "in_flight");
}

#[test]
fn d4_d6_the_first_step_that_decides_gives_the_one_reason() {
    let node = Node::start();
    let value = "+5511922220000";
    let added = json!({"purpose": "any", "reason": "opt_out"});
    assert_eq!(
        node.declare_for(value, "suppression.added", &added).ok()["accepted"],
        true
    );
    let marketing = check_with(&json!({"purpose": "marketing", "subject": phone(value)}));
    let denied = node.check(&marketing);
    assert_eq!(denied["reasons"], json!(["suppressed"]));
    assert_eq!(denied["suppressions"], json!(["any"]));
    let effect = fresh("effect");
    node.check(&check_with(&json!({"subject": null, "effect_key": effect})));
    node.declare(
        "effect",
        &json!({"effect_key": effect, "attempt": 1, "state": "done"}),
    );
    let both = node.check(&check_with(
        &json!({"subject": phone(value), "effect_key": effect}),
    ));
    assert_eq!(both["reasons"], json!(["effect_done"]));
}

#[test]
fn d9_a_check_that_is_not_allowed_reserves_nothing() {
    let node = Node::start();
    let effect = fresh("effect");
    let quiet = check_with(&json!({"channel": "always_quiet", "effect_key": effect}));
    let deferred = node.check(&quiet);
    assert_eq!(deferred["reasons"], json!(["quiet_hours"]));
    assert!(
        deferred["channel"]["quiet_until"]
            .as_str()
            .unwrap()
            .ends_with("T00:00:00Z")
    );
    assert!(deferred.get("effect").is_none());
    let allowed = node.check(&check_with(&json!({"effect_key": effect})));
    assert_eq!(allowed["effect"], json!({"state": "none", "attempt": 1}));
}

#[test]
fn d11_d13_d14_an_inbound_check_is_allowed_and_spends_nothing() {
    let node = Node::start();
    let value = "+5511922220001";
    node.declare_for(
        value,
        "suppression.added",
        &json!({"purpose": "any", "reason": "opt_out"}),
    )
    .ok();
    let effect = fresh("effect");
    node.check(&check_with(&json!({"subject": null, "effect_key": effect})));
    node.declare(
        "effect",
        &json!({"effect_key": effect, "attempt": 1, "state": "done"}),
    );
    let inbound = node.check(&check_with(&json!({
        "direction": "inbound", "purpose": "marketing", "gateway_id": "wa_gateway",
        "subject": phone(value), "effect_key": effect,
    })));
    assert_eq!(inbound["decision"], "allow");
    assert_eq!(inbound["effect"]["state"], "done");
    assert!(inbound.get("contact_token").is_none());
    let left = &inbound["contact_budget"]["marketing"];
    assert_eq!(left["remaining"], 3);
}

#[test]
fn d15_a_batch_of_500_is_answered_in_order() {
    let node = Node::start();
    let done: Vec<String> = (0..5).map(|_| fresh("done")).collect();
    for effect in &done {
        node.check(&check_with(&json!({"subject": null, "effect_key": effect})));
        node.declare(
            "effect",
            &json!({"effect_key": effect, "attempt": 1, "state": "done"}),
        );
    }
    let checks: Vec<Value> = (0..500)
        .map(|index| {
            let effect = match index % 100 {
                7 => done[index / 100].clone(),
                _ => fresh("effect"),
            };
            check_with(&json!({"subject": null, "effect_key": effect}))
        })
        .collect();
    let answer = node.post(BATCH, &json!({"checks": checks})).ok();
    let results = results(&answer);
    assert_eq!(results.len(), 500);
    for (index, result) in results.iter().enumerate() {
        let expected = if index % 100 == 7 { "deny" } else { "allow" };
        assert_eq!(result["decision"], expected, "{index}");
    }
    let ids: BTreeSet<_> = results
        .iter()
        .map(|result| result["decision_id"].to_string())
        .collect();
    assert_eq!(ids.len(), 500);
}

/// Pitfall 32: the bound is what the served document says, and one below, at and above it are tried.
#[test]
fn d16_a_batch_has_1_to_500_checks() {
    let node = Node::start();
    let document = node.get("/openapi.json", None).ok();
    let checks = &document["components"]["schemas"]["CheckBatchRequest"]["properties"]["checks"];
    let bound = |name: &str| {
        let bound = checks[name].as_u64().expect("the document has the bound");
        usize::try_from(bound).unwrap()
    };
    let (least, most) = (bound("minItems"), bound("maxItems"));
    assert_eq!((least, most), (1, 500));
    let batch = |count: usize| json!({"checks": vec![check(); count]});
    for count in [least - 1, most + 1] {
        node.post(BATCH, &batch(count))
            .problem(422, "invalid_input");
    }
    for count in [least, most - 1, most] {
        let answered = node.post(BATCH, &batch(count)).ok();
        assert_eq!(results(&answered).len(), count);
    }
}

#[test]
fn d17_two_checks_of_one_batch_compete_in_order() {
    let node = Node::start();
    let retention =
        check_with(&json!({"purpose": "retention", "subject": phone("+5511922220002")}));
    let answer = node
        .post(BATCH, &json!({"checks": [retention, retention]}))
        .ok();
    let results = results(&answer);
    assert_eq!(results[0]["decision"], "allow");
    assert_eq!(results[1]["decision"], "deny");
    assert_eq!(results[1]["reasons"], json!(["budget_exhausted"]));
    let left = &results[1]["contact_budget"]["retention"];
    assert_eq!(left["remaining"], 0);
    assert_eq!(left["next_allowed_at"], "2026-12-01T12:00:00Z");
}

#[test]
fn d18_one_invalid_check_refuses_the_batch_and_spends_nothing() {
    let node = Node::start();
    let good = check_with(&json!({"effect_key": fresh("effect")}));
    for bad in [
        json!({"purpose": "parties"}),
        json!({"intent": "Bad Intent"}),
    ] {
        let before = node.world.entities();
        let body = json!({"checks": [good, check_with(&bad)]});
        let problem = node.post(BATCH, &body).problem(422, "invalid_input");
        assert!(
            problem["detail"].as_str().unwrap().contains("checks[1]"),
            "{problem}"
        );
        assert_eq!(node.world.entities(), before);
    }
}

#[test]
fn d19_every_reason_is_of_the_list_and_a_refusal_has_one() {
    let node = Node::start();
    let value = "+5511922220003";
    let effect = fresh("effect");
    let mut checks = Vec::new();
    for purpose in ["service", "marketing", "retention", "collection"] {
        for channel in ["whatsapp", "voice", "sms", "always_quiet"] {
            for direction in ["outbound", "inbound"] {
                for intent in ["follow_up", "reminder", "first_notice"] {
                    checks.push(check_with(&json!({
                        "purpose": purpose, "channel": channel, "direction": direction,
                        "intent": intent, "subject": phone(value), "effect_key": effect,
                    })));
                    checks.push(check_with(&json!({
                        "purpose": purpose, "channel": channel, "direction": direction,
                        "intent": intent, "subject": phone(value),
                    })));
                }
            }
        }
    }
    let answer = node.post(BATCH, &json!({"checks": checks})).ok();
    let mut seen = BTreeSet::new();
    for result in results(&answer) {
        let none = Vec::new();
        let reasons = result
            .get("reasons")
            .map_or(&none, |reasons| reasons.as_array().unwrap());
        if result["decision"] != "allow" {
            assert_eq!(reasons.len(), 1, "{result}");
        }
        for reason in reasons {
            assert!(REASONS.contains(&reason.as_str().unwrap()), "{reason}");
            seen.insert(reason.as_str().unwrap().to_owned());
        }
    }
    for expected in [
        "effect_in_flight",
        "quiet_hours",
        "budget_exhausted",
        "template_required",
    ] {
        assert!(seen.contains(expected), "{expected} was not seen");
    }
}

#[test]
fn b12_one_number_in_many_spellings_is_one_customer() {
    let node = Node::start();
    let spellings = [
        json!({"type": "phone_e164", "value": "+55 (11) 98765-0001"}),
        json!({"type": "wa_id", "value": "5511987650001"}),
        json!({"type": "wa_jid", "value": "5511987650001:7@s.whatsapp.net"}),
        json!({"type": "phone_e164", "value": "tel:+551187650001"}),
        json!({"type": "phone_e164", "value": "011 98765.0001"}),
        json!({"type": "phone_e164", "value": "+5511987650001"}),
    ];
    let ask = |subject: &Value| {
        node.check(&check_with(
            &json!({"purpose": "retention", "subject": subject}),
        ))
    };
    assert_eq!(ask(&spellings[0])["decision"], "allow");
    for subject in &spellings {
        assert_eq!(
            ask(subject)["reasons"],
            json!(["budget_exhausted"]),
            "{subject}"
        );
    }
    let stranger = json!({"type": "system_id", "value": "5511987650001"});
    assert_eq!(ask(&stranger)["decision"], "allow");
    let scoped = json!({"type": "system_id", "value": "5511987650001", "scope": "crm"});
    assert_eq!(ask(&scoped)["decision"], "allow");
    assert_eq!(ask(&scoped)["decision"], "deny");
}

#[test]
fn a_keyed_batch_can_be_fetched_again_for_ten_minutes() {
    let node = Node::start();
    let key = fresh("key");
    let checks: Vec<Value> = (0..3)
        .map(|_| check_with(&json!({"subject": null, "effect_key": fresh("effect")})))
        .collect();
    let body = json!({"checks": checks});
    let first = node.post_keyed(KEY_A, BATCH, &key, &body).ok();
    assert_eq!(node.post_keyed(KEY_A, BATCH, &key, &body).ok(), first);
    let longer = json!({"checks": [checks[0], checks[1], checks[2], check_with(&json!(
        {"subject": null, "effect_key": "surplus"}))]});
    node.post_keyed(KEY_A, BATCH, &key, &longer)
        .problem(409, "idempotency_conflict");
    let free = node.check(&check_with(
        &json!({"subject": null, "effect_key": "surplus"}),
    ));
    assert_eq!(
        free["effect"]["state"], "none",
        "the other batch reserved nothing"
    );
    node.world.advance_s(601);
    let after = node.post_keyed(KEY_A, BATCH, &key, &body).ok();
    assert_eq!(results(&after)[0]["decision"], "deny");
    assert_eq!(node.post_keyed(KEY_B, BATCH, &key, &longer).status, 200);
}

/// The receipt of its first check holds a batch's key. Where that was not decided nothing else of it is,
/// or another batch under the key would have its first check decided, and the first could not be asked
/// for again.
#[test]
fn a_keyed_batch_whose_first_check_is_not_decided_decides_nothing() {
    for mode in [
        Mode::Late,
        Mode::Rebuilding,
        Mode::NoRoom,
        Mode::Full,
        Mode::EntityBusy,
        Mode::Broken,
        Mode::Undeclared,
    ] {
        let node = Node::start();
        let key = fresh("key");
        let effects = [fresh("effect"), fresh("effect"), fresh("effect")];
        let one = |effect: &String| check_with(&json!({"subject": null, "effect_key": effect}));
        let batch =
            |effects: &[String]| json!({"checks": effects.iter().map(one).collect::<Vec<_>>()});
        node.world.once(mode, Mode::Decide);
        let first = node.post_keyed(KEY_A, BATCH, &key, &batch(&effects[..2]));
        if first.status == 200 {
            for result in results(&first.ok()) {
                assert_eq!(result["reasons"], json!(["unavailable"]), "{mode:?}");
            }
        } else {
            first.problem(503, "coordination_unavailable");
        }
        let state = |effect| node.check(&one(effect))["effect"]["state"].clone();
        assert_eq!(state(&effects[1]), "none", "{mode:?} reserved nothing");
        let other = node
            .post_keyed(KEY_A, BATCH, &key, &batch(&effects[2..]))
            .ok();
        assert_eq!(results(&other)[0]["decision"], "allow", "{mode:?}");
        node.post_keyed(KEY_A, BATCH, &key, &batch(&effects[..2]))
            .problem(409, "idempotency_conflict");
    }
}
