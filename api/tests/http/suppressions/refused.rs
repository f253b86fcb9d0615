//! Who may read and change the list, and what is refused.

use std::sync::Arc;

use interlock_domain::contact::fixture;
use interlock_domain::contact::policy::Policy;
use serde_json::{Value, json};

use super::{LIST, SALT, add, asked, items, lift_as, next, page};
use crate::node::{KEY_A, KEY_ADMIN, KEY_B, KEY_C, KEY_OFF, KEY_OTHER, KEY_SECURITY, Node, phone};

const PEOPLE: &str = "/v1/operator/suppressions";

#[test]
fn what_is_no_cursor_or_limit_is_refused() {
    let node = Node::start();
    add(&node, "+5511944440014", &json!({"purpose": "any"}));
    let cursor = next(&page(&node, KEY_A, None, 200).ok());
    assert!(cursor.len() <= 200);
    let refused = |key: &str, query: &str| {
        let answer = node.get(&format!("{LIST}?{query}"), Some(key));
        let problem = answer.problem(422, "invalid_input");
        problem["detail"].as_str().unwrap().to_owned()
    };
    for query in [
        "cursor=1",
        "cursor=%00",
        &format!("cursor={}", "A".repeat(201)),
    ] {
        assert!(refused(KEY_A, query).contains("`cursor`"), "{query}");
    }
    assert!(refused(KEY_B, &format!("cursor={cursor}")).contains("this source"));
    assert!(refused(KEY_OTHER, &format!("cursor={cursor}")).contains("this source"));
    let twice = format!("cursor={cursor}&cursor={cursor}");
    assert!(refused(KEY_A, &twice).contains("once"));
    for query in ["limit=0", "limit=201", "limit=x", "limit=", "limit=-1"] {
        assert!(refused(KEY_A, query).contains("`limit`"), "{query}");
    }
    for query in ["limits=7", "limit=7&since=1"] {
        assert!(
            refused(KEY_A, query).contains("takes `cursor` and `limit`"),
            "{query}"
        );
    }
    let whole = node.get(&format!("{LIST}?cursor="), Some(KEY_A)).ok();
    assert_eq!(items(&whole).len(), 1, "an empty cursor is none");
}

#[test]
fn who_may_read_the_list() {
    let node = Node::start();
    for path in [LIST, SALT] {
        node.get(path, None).problem(401, "unauthenticated");
        node.get(path, Some(KEY_C)).problem(403, "forbidden");
        node.get(path, Some(KEY_OFF)).problem(404, "not_found");
    }
}

#[test]
fn a_list_that_is_not_whole_answers_nobody() {
    let limits = interlock_api::limits::ApiLimits {
        request_deadline_ms: 50,
        ..interlock_api::limits::ApiLimits::default()
    };
    let node = Node::with(limits, true);
    let list = node.world.list();
    list.set_complete(false);
    let answer = node.get(LIST, Some(KEY_A));
    assert_eq!(answer.header("retry-after"), Some("1"));
    answer.problem(503, "coordination_unavailable");
    assert_eq!(
        node.get(SALT, Some(KEY_A)).status,
        200,
        "the salt needs no list"
    );
    list.set_complete(true);
    assert_eq!(node.get(LIST, Some(KEY_A)).status, 200);
}

#[test]
fn people_add_and_lift_their_own_entries() {
    let node = Node::start();
    let value = "+5511944440016";
    let of = |action: &str, reason: Option<&str>| {
        let mut body = json!({"action": action, "subject": phone(value), "purpose": "marketing"});
        if let Some(reason) = reason {
            body["reason"] = json!(reason);
        }
        body
    };
    let added = node.post_as(KEY_SECURITY, PEOPLE, &of("added", Some("complaint")));
    assert_eq!(added.ok()["accepted"], true);
    assert_eq!(
        asked(&node, value, "marketing", "voice")["reasons"],
        json!(["suppressed"])
    );
    assert_eq!(items(&page(&node, KEY_A, None, 200).ok()).len(), 1);
    assert!(
        !lift_as(&node, KEY_A, value, "marketing"),
        "no source lifts it"
    );
    add(&node, value, &json!({"purpose": "marketing"}));
    assert_eq!(items(&page(&node, KEY_A, None, 200).ok()).len(), 2);
    let lifted = node.post_as(KEY_SECURITY, PEOPLE, &of("lifted", None));
    assert_eq!(lifted.ok()["accepted"], true);
    assert_eq!(
        asked(&node, value, "marketing", "voice")["decision"],
        "deny"
    );
    let again = node.post_as(KEY_SECURITY, PEOPLE, &of("lifted", None));
    assert_eq!(again.ok()["accepted"], false);
    assert!(lift_as(&node, KEY_A, value, "marketing"));
    assert_eq!(
        asked(&node, value, "marketing", "voice")["decision"],
        "allow"
    );
}

#[test]
fn a_persons_request_is_refused_by_its_rules() {
    let node = Node::start();
    let value = "+5511944440017";
    let good =
        json!({"action": "added", "subject": phone(value), "purpose": "any", "reason": "opt_out"});
    for key in [KEY_A, KEY_ADMIN] {
        node.post_as(key, PEOPLE, &good).problem(403, "forbidden");
    }
    let window = json!({"from": "09:00", "to": "09:00", "tz": "UTC"});
    let cases = [
        ("reason", json!(null), "`reason`"),
        ("reason", json!("because"), "`reason`"),
        ("action", json!("lifted"), "`reason`"),
        ("action", json!("removed"), "`action`"),
        ("purpose", json!("unknown"), "`purpose`"),
        (
            "subject",
            json!({"type": "system_id", "value": "42"}),
            "`subject.type`",
        ),
        ("window", window, "`window.to`"),
    ];
    for (member, wrong, named) in cases {
        let mut body = good.clone();
        body[member] = wrong;
        if body[member].is_null() {
            body.as_object_mut().unwrap().remove(member);
        }
        let answer = node.post_as(KEY_SECURITY, PEOPLE, &body);
        let problem = answer.problem(422, "invalid_input");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains(named) && !detail.contains(value),
            "{detail}"
        );
    }
    let keyed = |body: &Value| node.post_keyed(KEY_SECURITY, PEOPLE, "one key", body);
    assert_eq!(keyed(&good).ok()["accepted"], true);
    assert_eq!(keyed(&good).ok()["accepted"], true, "a repeat");
    assert_eq!(items(&page(&node, KEY_A, None, 200).ok()).len(), 1);
    let mut other = good;
    other["purpose"] = json!("marketing");
    keyed(&other).problem(409, "idempotency_conflict");
}

/// One source's windows end with a clear refusal, and keep nobody's opt-out from being taken.
#[test]
fn windows_without_number_leave_room_for_opt_outs() {
    let node = Node::start();
    let value = "+5511944440099";
    let within = |minute: usize| {
        json!({"purpose": "service", "reason": "opt_out",
            "window": {"from": format!("{:02}:{:02}", minute / 60, minute % 60), "to": "23:59",
                "tz": "UTC"}})
    };
    let declared = |minute| {
        let answer = node.declare_for(value, "suppression.added", &within(minute));
        answer.ok()["accepted"] == true
    };
    assert_eq!((0..100).filter(|minute| declared(*minute)).count(), 64);
    add(&node, value, &json!({"purpose": "marketing"}));
    let mut wanted = within(0);
    wanted["action"] = json!("added");
    wanted["subject"] = phone(value);
    wanted["window"] = Value::Null;
    wanted["purpose"] = json!("any");
    let added = node.post_as(KEY_SECURITY, PEOPLE, &wanted).ok();
    assert_eq!(added["accepted"], true);
    for minute in 0..64 {
        wanted["window"] = within(minute)["window"].clone();
        node.post_as(KEY_SECURITY, PEOPLE, &wanted).ok();
    }
    wanted["window"] = within(64)["window"].clone();
    let refused = node.post_as(KEY_SECURITY, PEOPLE, &wanted);
    refused.problem(409, "target_full");
}

/// A document that drops a purpose or a channel leaves entries behind; whoever added one lifts it.
#[test]
fn what_was_added_under_a_name_that_is_gone_is_lifted() {
    let node = Node::start();
    let rules = |wide: bool| {
        let mut document: Value = serde_json::from_str(fixture::CONFORMANCE).unwrap();
        if wide {
            document["purposes"]["seasonal"] = json!({"fails": "open"});
            document["channels"]["fax"] = json!({});
        }
        let policy = Policy::load(2, &document.to_string(), &fixture::vault()).unwrap();
        assert!(node.directory.set_policy(fixture::SPACE, Arc::new(policy)));
    };
    let value = "+5511944440019";
    let by_people = |action: &str, reason: Option<&str>| {
        let mut body = json!({"action": action, "subject": phone(value), "purpose": "marketing",
            "channel": "fax"});
        if let Some(reason) = reason {
            body["reason"] = json!(reason);
        }
        node.post_as(KEY_SECURITY, PEOPLE, &body)
    };
    rules(true);
    add(&node, value, &json!({"purpose": "seasonal"}));
    assert_eq!(by_people("added", Some("opt_out")).ok()["accepted"], true);
    rules(false);
    let refused = |purpose: &str, channel: Option<&str>| {
        let detail = json!({"purpose": purpose, "channel": channel});
        let answer = node.declare_for(value, "suppression.lifted", &detail);
        let problem = answer.problem(422, "invalid_input");
        problem["detail"].as_str().unwrap().to_owned()
    };
    assert!(refused("unheard_of", None).contains("`purpose`"));
    assert!(refused("marketing", Some("fax")).contains("`channel`"));
    let listed = || {
        let page = page(&node, KEY_A, None, 200).ok();
        let live = items(&page).iter().filter(|item| item["removed"] != true);
        live.count()
    };
    assert_eq!(listed(), 2);
    assert!(lift_as(&node, KEY_A, value, "seasonal"));
    assert_eq!(by_people("lifted", None).ok()["accepted"], true);
    assert_eq!(listed(), 0);
    assert!(!lift_as(&node, KEY_A, value, "seasonal"), "it is lifted");
    let again = node.declare_for(
        value,
        "suppression.added",
        &json!({"purpose": "seasonal", "reason": "opt_out"}),
    );
    again.problem(422, "invalid_input");
}

/// The published SDK reads no zone with a digit before its first `/`: its copy would not hold the entry.
#[test]
fn a_window_whose_zone_the_copies_cannot_read_is_refused() {
    let node = Node::start();
    let value = "+5511944440019";
    let declared = |tz: &str| {
        let window = json!({"from": "10:00", "to": "14:00", "tz": tz});
        let detail = json!({"purpose": "any", "reason": "opt_out", "window": window});
        let body = json!({"kind": "suppression.added", "agent": "crm", "subject": phone(value),
            "detail": detail});
        node.post("/v1/coordination/declare", &body)
    };
    for tz in [
        "GMT0",
        "GMT+0",
        "GMT-0",
        "PST8PDT",
        "EST5EDT",
        "CST6CDT",
        "MST7MDT",
        "Mars/",
        "/Mars",
        "Europe/Lis bon",
        "Mars",
    ] {
        let answer = declared(tz);
        let problem = answer.problem(422, "invalid_input");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("`detail.window.tz`"), "{tz}: {detail}");
    }
    assert_eq!(items(&page(&node, KEY_A, None, 200).ok()).len(), 0);
    for tz in [
        "UTC",
        "GMT",
        "Etc/GMT+3",
        "Etc/GMT0",
        "America/Port-au-Prince",
        "Brazil/East",
    ] {
        assert_eq!(declared(tz).ok()["accepted"], true, "{tz}");
    }
}
