//! Paid operations over HTTP (§7): admissions, their settlements, calls that are effects.

use std::sync::Arc;

use interlock_domain::contact::fixture;
use interlock_domain::contact::policy::Policy;
use serde_json::{Value, json};

use crate::client::Answered;
use crate::node::{EFFECTS, KEY_A, KEY_B, KEY_C, KEY_OFF, KEY_OTHER, Node, fresh, phone};
use crate::world::Mode;

const ADMISSIONS: &str = "/v1/coordination/admissions";
const NOBODY: &str = "0192e2a0-0000-7000-8000-000000000001";

/// The conformance space with an operation of each scope; effects draw on the space's.
fn start() -> Node {
    let node = Node::start();
    let mut document: Value = serde_json::from_str(fixture::CONFORMANCE).unwrap();
    document["paid"]["reread"] =
        json!({"scope": "object", "limit_units": 10, "per_hours": 1, "call_ceiling": 10});
    document["paid"]["lookup"] =
        json!({"scope": "space", "limit_units": 5, "per_hours": 24, "call_ceiling": 3});
    document["effects"]["paid_call_operation"] = json!("lookup");
    let policy = Policy::load(2, &document.to_string(), &fixture::vault()).unwrap();
    assert!(node.directory.set_policy(fixture::SPACE, Arc::new(policy)));
    node
}

/// Asks for a call of `registry_search`, whose ten units a day are each customer's.
fn search(node: &Node, value: &str, cost_units: impl Into<Option<u32>>) -> Answered {
    let mut body = json!({"operation": "registry_search", "subject": phone(value)});
    if let Some(units) = cost_units.into() {
        body["cost_units"] = json!(units);
    }
    node.post(ADMISSIONS, &body)
}

fn admitted(answer: &Answered) -> Value {
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn settle(node: &Node, admission: &Value, body: &Value) -> Answered {
    let id = admission["admission_id"].as_str().unwrap();
    node.post(&format!("{ADMISSIONS}/{id}/settle"), body)
}

fn pay(node: &Node, effect: &str, cost_units: u64) -> Answered {
    node.post(
        EFFECTS,
        &json!({"effect_key": effect, "kind": "paid_call", "cost_units": cost_units}),
    )
}

#[test]
fn an_admission_reserves_units_until_the_cap_and_says_when_there_are_more() {
    let node = start();
    let value = "+5511922220001";
    let first = admitted(&search(&node, value, 4));
    assert_eq!(
        (&first["operation"], &first["state"], &first["units"]),
        (&json!("registry_search"), &json!("reserved"), &json!(4))
    );
    assert_eq!(
        (&first["remaining"], &first["expires_at"]),
        (&json!(6), &json!("2026-11-30T12:01:00Z"))
    );
    node.world.advance_s(3_600);
    assert_eq!(admitted(&search(&node, value, 4))["remaining"], 2);
    let problem = search(&node, value, 3).problem(409, "budget_exhausted");
    assert_eq!(problem["next_allowed_at"], "2026-12-01T12:00:00Z");
    let other = "+5511922220002";
    assert_eq!(admitted(&search(&node, other, 4))["remaining"], 6);
    node.world.advance_s(23 * 3_600 - 1);
    search(&node, value, 3).problem(409, "budget_exhausted");
    node.world.advance_s(1);
    assert_eq!(admitted(&search(&node, value, 3))["remaining"], 3);
}

#[test]
fn a_call_above_the_ceiling_is_refused_whatever_is_left() {
    let node = start();
    let value = "+5511922220003";
    let problem = search(&node, value, 5).problem(409, "over_call_ceiling");
    assert!(problem.get("next_allowed_at").is_none());
    assert_eq!(admitted(&search(&node, value, 4))["remaining"], 6);
}

#[test]
fn an_unknown_cost_reserves_the_ceiling_and_later_the_highest_cost_measured() {
    let node = start();
    let first = admitted(&search(&node, "+5511922220004", None));
    assert_eq!(first["units"], 4);
    settle(&node, &first, &json!({"state": "done", "cost_units": 2})).ok();
    // What was measured is the operation's, whoever the customer.
    let second = admitted(&search(&node, "+5511922220005", None));
    assert_eq!(second["units"], 2);
    settle(&node, &second, &json!({"state": "done", "cost_units": 1})).ok();
    let third = admitted(&search(&node, "+5511922220006", None));
    assert_eq!(third["units"], 2, "the highest one, not the last one");
}

#[test]
fn done_charges_what_it_cost_failed_keeps_it_and_skipped_gives_it_back() {
    let node = start();
    let value = "+5511922220007";
    let call = || admitted(&search(&node, value, 4));
    let done = settle(&node, &call(), &json!({"state": "done", "cost_units": 1})).ok();
    assert_eq!(
        (&done["state"], &done["units"], &done["remaining"]),
        (&json!("done"), &json!(1), &json!(9))
    );
    let failed = settle(&node, &call(), &json!({"state": "failed"})).ok();
    assert_eq!(
        (&failed["units"], &failed["remaining"]),
        (&json!(4), &json!(5))
    );
    let skipped = settle(&node, &call(), &json!({"state": "skipped"})).ok();
    assert_eq!(
        (&skipped["units"], &skipped["remaining"]),
        (&json!(0), &json!(5))
    );
    // It was spent, so it counts, although it is more than was left.
    let dear = settle(&node, &call(), &json!({"state": "done", "cost_units": 9})).ok();
    assert_eq!((&dear["units"], &dear["remaining"]), (&json!(9), &json!(0)));
    search(&node, value, 1).problem(409, "budget_exhausted");
}

#[test]
fn an_admission_is_settled_once_and_late_for_a_day() {
    let node = start();
    let call = admitted(&search(&node, "+5511922220008", 4));
    let skipped = settle(&node, &call, &json!({"state": "skipped"})).ok();
    assert_eq!(
        settle(&node, &call, &json!({"state": "skipped"})).ok(),
        skipped
    );
    settle(&node, &call, &json!({"state": "failed"})).problem(409, "invalid_transition");
    let late = admitted(&search(&node, "+5511922220009", 4));
    node.world.advance_s(60 + 86_399);
    settle(&node, &late, &json!({"state": "done", "cost_units": 1})).ok();
    node.world.advance_s(1);
    settle(&node, &late, &json!({"state": "done", "cost_units": 1})).problem(404, "not_found");
    let nobody = json!({"admission_id": NOBODY});
    settle(&node, &nobody, &json!({"state": "failed"})).problem(404, "not_found");
    let nothing = json!({"admission_id": "seven"});
    settle(&node, &nothing, &json!({"state": "failed"})).problem(404, "not_found");
}

#[test]
fn an_admission_of_another_space_or_source_is_not_there() {
    let node = start();
    let call = admitted(&search(&node, "+5511922220010", 4));
    let id = call["admission_id"].as_str().unwrap();
    let path = format!("{ADMISSIONS}/{id}/settle");
    let body = json!({"state": "skipped"});
    for key in [KEY_OTHER, KEY_B] {
        node.post_as(key, &path, &body).problem(404, "not_found");
    }
    node.post_as(KEY_A, &path, &body).ok();
}

#[test]
fn a_repeated_request_is_answered_and_reserves_nothing_anew() {
    let node = start();
    let body = json!({"operation": "registry_search", "subject": phone("+5511922220011"),
        "cost_units": 4});
    let key = fresh("key");
    let first = node.post_keyed(KEY_A, ADMISSIONS, &key, &body);
    let again = node.post_keyed(KEY_A, ADMISSIONS, &key, &body);
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.body, again.body);
    let mut other = body.clone();
    other["cost_units"] = json!(3);
    node.post_keyed(KEY_A, ADMISSIONS, &key, &other)
        .problem(409, "idempotency_conflict");
    assert_eq!(admitted(&node.post(ADMISSIONS, &body))["remaining"], 2);
    // What was refused stays refused under its key.
    let key = fresh("key");
    let ask = || node.post_keyed(KEY_A, ADMISSIONS, &key, &body);
    let refused = ask().problem(409, "budget_exhausted");
    node.world.advance_s(3_600);
    let again = ask().problem(409, "budget_exhausted");
    assert_eq!(again["next_allowed_at"], refused["next_allowed_at"]);
}

#[test]
fn each_scope_asks_for_its_own_and_nothing_else() {
    let node = start();
    let object = json!({"type": "ticket", "namespace": "crm", "id": "7"});
    let subject = phone("+5511922220012");
    let asked = |operation: &str, members: &Value| {
        let mut body = json!({"operation": operation, "cost_units": 1});
        for (name, value) in members.as_object().unwrap() {
            body[name] = value.clone();
        }
        node.post(ADMISSIONS, &body)
    };
    let none = json!({});
    let of_customer = json!({"subject": subject});
    let of_object = json!({"object": object});
    let of_both = json!({"subject": subject, "object": object});
    for (operation, right) in [
        ("registry_search", &of_customer),
        ("reread", &of_object),
        ("lookup", &none),
    ] {
        for members in [&none, &of_customer, &of_object, &of_both] {
            let answer = asked(operation, members);
            if members == right {
                admitted(&answer);
            } else {
                answer.problem(422, "invalid_input");
            }
        }
    }
    asked("unheard_of", &none).problem(422, "invalid_input");
    let settled = |body: &Value| {
        let call = admitted(&asked("reread", &of_object));
        settle(&node, &call, body)
    };
    settled(&json!({"state": "done"})).problem(422, "invalid_input");
    settled(&json!({"state": "failed", "cost_units": 1})).problem(422, "invalid_input");
    settled(&json!({"state": "reserved"})).problem(422, "invalid_input");
    for wrong in [json!(-1), json!(1.5), json!("1"), json!(4_294_967_297_u64)] {
        let body = json!({"operation": "lookup", "cost_units": wrong});
        node.post(ADMISSIONS, &body).problem(422, "invalid_input");
    }
}

#[test]
fn only_a_key_that_coordinates_is_admitted() {
    let node = start();
    let body = json!({"operation": "lookup"});
    node.post_as(KEY_C, ADMISSIONS, &body)
        .problem(403, "forbidden");
    node.post_as(KEY_OFF, ADMISSIONS, &body)
        .problem(404, "not_found");
    let headers = [("Authorization", format!("Bearer {KEY_A}"))];
    let text = body.to_string();
    let answer = node
        .client()
        .send("POST", ADMISSIONS, &headers, text.as_bytes());
    answer.problem(422, "invalid_input");
}

#[test]
fn nothing_is_admitted_that_is_not_recorded() {
    let node = start();
    let value = "+5511922220013";
    for mode in [Mode::Unavailable, Mode::Late, Mode::Rebuilding] {
        node.world.mode(mode);
        search(&node, value, 4).problem(503, "coordination_unavailable");
        pay(&node, &fresh("effect"), 1).problem(503, "coordination_unavailable");
    }
    node.world.mode(Mode::Full);
    search(&node, value, 4).problem(503, "capacity");
    assert_eq!(node.world.entities(), 0);
    node.world.mode(Mode::Decide);
    assert_eq!(admitted(&search(&node, value, 4))["remaining"], 6);
}

#[test]
fn a_paid_call_reserves_effect_and_units_together_or_neither() {
    let node = start();
    let lookup = || {
        let body = json!({"operation": "lookup", "cost_units": 0});
        admitted(&node.post(ADMISSIONS, &body))["remaining"].clone()
    };
    let (first, second) = (fresh("effect"), fresh("effect"));
    let effect = admitted(&pay(&node, &first, 3));
    assert_eq!(
        (&effect["state"], &effect["attempt"]),
        (&json!("reserved"), &json!(1))
    );
    assert_eq!(lookup(), 2);
    pay(&node, &first, 3).problem(409, "effect_in_flight");
    pay(&node, &second, 4).problem(409, "over_call_ceiling");
    pay(&node, &second, u64::MAX).problem(409, "over_call_ceiling");
    let problem = pay(&node, &second, 3).problem(409, "budget_exhausted");
    assert_eq!(problem["next_allowed_at"], "2026-12-01T12:00:00Z");
    assert_eq!(lookup(), 2, "a refusal takes nothing");
    // The refused key is free: its first attempt is the first one.
    let cheap = admitted(&pay(&node, &second, 2));
    assert_eq!((&cheap["attempt"], lookup()), (&json!(1), json!(0)));
    let path = format!("{EFFECTS}/{}/settle", effect["effect_id"].as_str().unwrap());
    node.post(&path, &json!({"attempt": 1, "state": "done"}))
        .ok();
    assert_eq!(pay(&node, &first, 3).status, 200, "a done key takes none");
    assert_eq!(lookup(), 0);
}

#[test]
fn a_cost_of_another_kind_caps_nothing() {
    let node = start();
    let body = json!({"effect_key": fresh("effect"), "kind": "filing", "cost_units": 100});
    assert_eq!(node.post(EFFECTS, &body).status, 201);
}
