//! Rows W1 to W18 that are about these routes: keys, headers, bodies, repeats.

use interlock_domain::key::SpaceId;
use serde_json::{Value, json};

use crate::node::{
    BATCH, CHECK, CLAIMS, DECLARE, EFFECTS, KEY_A, KEY_B, KEY_C, KEY_OFF, KEY_OLD, KEY_OTHER,
    KEY_SECURITY, Node, PHONE, check, check_with, fresh, phone,
};
use crate::observed;

/// Every coordination route with a body it takes.
fn routes() -> Vec<(String, Value)> {
    let settle = format!("{EFFECTS}/{}/settle", "A".repeat(43));
    vec![
        (CHECK.to_owned(), check()),
        (BATCH.to_owned(), json!({"checks": [check()]})),
        (
            DECLARE.to_owned(),
            json!({"kind": "contact.made", "agent": "a",
                "detail": {"channel": "whatsapp", "purpose": "service"}}),
        ),
        (
            EFFECTS.to_owned(),
            json!({"effect_key": fresh("effect"), "kind": "delivery"}),
        ),
        (settle, json!({"attempt": 1, "state": "done"})),
        (
            CLAIMS.to_owned(),
            json!({"kind": "owner", "holder": fresh("holder"), "lease_s": 60,
                "subject": {"type": "system_id", "value": fresh("customer")}}),
        ),
        (
            format!("{CLAIMS}/0192e2a0-0000-7000-8000-000000000001/release"),
            json!({"epoch": 1}),
        ),
    ]
}

#[test]
fn w1_an_unknown_key_is_401_on_every_route() {
    let node = Node::start();
    for (path, body) in routes() {
        for key in ["nia_sk_test_local_acme_x_unknown", KEY_OLD, "x", ""] {
            node.post_as(key, &path, &body)
                .problem(401, "unauthenticated");
        }
        let bare = node
            .client()
            .send("POST", &path, &[], body.to_string().as_bytes());
        bare.problem(401, "unauthenticated");
    }
    let basic = [("Authorization", format!("Basic {KEY_A}"))];
    node.client()
        .send("POST", CHECK, &basic, b"{}")
        .problem(401, "unauthenticated");
}

#[test]
fn w2_a_key_without_the_scope_is_403() {
    let node = Node::start();
    for (path, body) in routes() {
        node.post_as(KEY_C, &path, &body).problem(403, "forbidden");
    }
}

#[test]
fn w3_a_space_without_the_feature_is_404() {
    let node = Node::start();
    for (path, body) in routes() {
        node.post_as(KEY_OFF, &path, &body)
            .problem(404, "not_found");
    }
}

#[test]
fn the_key_is_judged_before_the_scope_before_the_feature_before_the_body() {
    let node = Node::start();
    for (path, _) in routes() {
        let nonsense = json!({"nonsense": 1});
        node.post_as("x", &path, &nonsense)
            .problem(401, "unauthenticated");
        node.post_as(KEY_C, &path, &nonsense)
            .problem(403, "forbidden");
        node.post_as(KEY_OFF, &path, &nonsense)
            .problem(404, "not_found");
        node.post_as(KEY_A, &path, &nonsense)
            .problem(422, "invalid_input");
    }
}

#[test]
fn w4_a_member_the_contract_does_not_have_is_422() {
    let node = Node::start();
    for (path, mut body) in routes() {
        body["extra"] = json!(1);
        node.post(&path, &body).problem(422, "invalid_input");
    }
    let nested = check_with(&json!({"subject": {"type": "email", "value": "a@b.io", "x": 1}}));
    let problem = node.post(CHECK, &nested).problem(422, "invalid_input");
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .starts_with("`subject` has a member")
    );
}

#[test]
fn w5_w6_an_idempotency_key_is_needed_where_something_is_written() {
    let node = Node::start();
    let auth = ("Authorization", format!("Bearer {KEY_A}"));
    for (path, body) in routes() {
        let body = body.to_string();
        let optional = path == CHECK || path == BATCH;
        let bare = node
            .client()
            .send("POST", &path, std::slice::from_ref(&auth), body.as_bytes());
        if optional {
            bare.ok();
        } else {
            bare.problem(422, "invalid_input");
        }
        for wrong in [String::new(), "k".repeat(257), "é".to_owned()] {
            let headers = [auth.clone(), ("Idempotency-Key", wrong)];
            let answer = node.client().send("POST", &path, &headers, body.as_bytes());
            answer.problem(422, "invalid_input");
        }
        let twice = ["a", "b"].map(|key| ("Idempotency-Key", key.to_owned()));
        let headers = [std::slice::from_ref(&auth), &twice[..]].concat();
        let answer = node.client().send("POST", &path, &headers, body.as_bytes());
        answer.problem(422, "invalid_input");
    }
    let longest = [auth, ("Idempotency-Key", "k".repeat(256))];
    let (path, body) = routes().swap_remove(2);
    node.client()
        .send("POST", &path, &longest, body.to_string().as_bytes())
        .ok();
}

#[test]
fn w8_w9_a_name_the_space_does_not_declare_is_422() {
    let node = Node::start();
    for (member, value) in [
        ("purpose", "parties"),
        ("channel", "pigeon"),
        ("gateway_id", "porthole"),
    ] {
        let problem = node.post(CHECK, &check_with(&json!({member: value})));
        let problem = problem.problem(422, "invalid_input");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains(member) && !detail.contains(value),
            "{detail}"
        );
    }
}

#[test]
fn w10_w11_a_member_that_breaks_its_rule_is_422() {
    let node = Node::start();
    let cases = [
        json!({"intent": "Follow-Up"}),
        json!({"intent": null}),
        json!({"effect_key": "k".repeat(513)}),
        json!({"effect_key": ""}),
        json!({"agent": "a".repeat(257)}),
        json!({"task": "Task"}),
        json!({"destination_hash": "A".repeat(42)}),
        json!({"destination_hash": "+".repeat(43)}),
        json!({"effect_kind": "party"}),
        json!({"direction": "sideways"}),
        json!({"subject": {"type": "phone_e164", "value": "1".repeat(321)}}),
        json!({"subject": {"type": "fax", "value": "1"}}),
        json!({"object": {"type": "deal", "namespace": "crm"}}),
    ];
    for case in cases {
        node.post(CHECK, &check_with(&case))
            .problem(422, "invalid_input");
    }
    node.check(&check_with(
        &json!({"effect_key": "é".repeat(512), "subject": null}),
    ));
}

#[test]
fn w13_no_problem_repeats_what_was_sent() {
    let node = Node::start();
    let secrets = ["SECRETPHONE5511", "SECRETKEY", "SECRETMEMBER", "secretname"];
    let bodies = [
        check_with(&json!({"subject": {"type": secrets[0], "value": secrets[0]}})),
        check_with(&json!({"effect_key": [secrets[1]]})),
        check_with(&json!({secrets[2]: secrets[2]})),
        check_with(&json!({"purpose": secrets[3]})),
        check_with(&json!({"channel": secrets[3], "intent": secrets[1]})),
        json!({"kind": secrets[2], "agent": secrets[1], "detail": {}}),
        json!({"kind": "contact.made", "agent": secrets[1], "detail": {secrets[2]: secrets[1]}}),
        json!({"kind": "suppression.added", "agent": "a", "subject": phone(secrets[0]),
            "detail": {"purpose": "any", "reason": secrets[3]}}),
        json!({"kind": "suppression.added", "agent": "a", "subject": phone(PHONE),
            "detail": {"purpose": "any", "reason": "opt_out",
                "window": {"from": "08:00", "to": "09:00", "tz": secrets[0]}}}),
        json!({"effect_key": secrets[1], "kind": secrets[2]}),
        json!({"attempt": secrets[1], "state": secrets[2]}),
    ];
    for (path, _) in routes() {
        for body in &bodies {
            let answer = node.post_keyed(KEY_A, &path, &fresh("SECRETKEY"), body);
            if answer.status == 200 || answer.status == 201 {
                continue;
            }
            let text = String::from_utf8(answer.body).unwrap();
            for secret in secrets {
                assert!(!text.contains(secret), "{path} {body} answered {text}");
            }
        }
    }
    let log = observed::log();
    assert!(log.contains("refused"), "the log tells of refusals");
    for secret in secrets.into_iter().chain([PHONE, KEY_A]) {
        assert!(!log.contains(secret), "the log holds {secret}");
    }
}

#[test]
fn w17_k4_a_repeat_under_one_key_is_answered_and_not_done_again() {
    let node = Node::start();
    let retention =
        check_with(&json!({"purpose": "retention", "subject": phone("+5511911110000")}));
    let first = node.check(&retention);
    let body = json!({"kind": "contact.made", "agent": "a", "subject": phone("+5511911110001"),
        "detail": {"channel": "whatsapp", "purpose": "collection"}});
    let key = fresh("key");
    let told: Vec<_> = (0..3)
        .map(|_| node.post_keyed(KEY_A, DECLARE, &key, &body).ok())
        .collect();
    assert_eq!(told[0]["accepted"], true);
    assert!(told.iter().all(|answer| *answer == told[0]));
    // Of the four contacts the declaration took one, however often it came; the check looks and, being
    // inbound, takes none.
    let look = check_with(&json!({"purpose": "service", "direction": "inbound",
        "subject": phone("+5511911110001")}));
    let left = node.check(&look);
    assert_eq!(left["contact_budget"]["collection"]["remaining"], 3);
    assert_eq!(first["decision"], "allow");
}

/// Pitfall 7.
#[test]
fn w18_another_request_under_one_key_is_409() {
    let node = Node::start();
    for (path, body) in routes() {
        let key = fresh("key");
        let first = node.post_keyed(KEY_A, &path, &key, &body);
        let mut other = body.clone();
        match path.as_str() {
            BATCH => other["checks"][0]["agent"] = json!("other"),
            EFFECTS => other["effect_key"] = json!("other"),
            CHECK | DECLARE => other["agent"] = json!("other"),
            CLAIMS => other["holder"] = json!("other"),
            _ => {
                other["attempt"] = json!(2);
                other["epoch"] = json!(2);
                let sent = body.as_object().unwrap();
                other
                    .as_object_mut()
                    .unwrap()
                    .retain(|name, _| sent.contains_key(name));
            }
        }
        let second = node.post_keyed(KEY_A, &path, &key, &other);
        if first.status == 404 {
            // Nothing is stored for what was never done, so the key is still free.
            second.problem(404, "not_found");
        } else {
            second.problem(409, "idempotency_conflict");
        }
    }
}

#[test]
fn w17_order_spaces_and_spelled_out_defaults_make_no_other_request() {
    let node = Node::start();
    let key = fresh("key");
    let headers = |key: &str| {
        [
            ("Authorization", format!("Bearer {KEY_A}")),
            ("Idempotency-Key", key.to_owned()),
        ]
    };
    let effect = fresh("effect");
    let one = format!(r#"{{"effect_key":"{effect}","kind":"delivery"}}"#);
    let other = format!(
        "{{ \"kind\" : \"deliver\\u0079\", \"fact\": null, \"cost_units\": 0,\n \"effect_key\": \"{effect}\" }}"
    );
    let first = node
        .client()
        .send("POST", EFFECTS, &headers(&key), one.as_bytes());
    let second = node
        .client()
        .send("POST", EFFECTS, &headers(&key), other.as_bytes());
    assert_eq!((first.status, second.status), (201, 201));
    assert_eq!(first.body, second.body);
}

/// Pitfall 9.
#[test]
fn a_key_counts_for_one_source_and_one_route() {
    let node = Node::start();
    let key = fresh("key");
    let body = json!({"effect_key": fresh("effect"), "kind": "delivery"});
    assert_eq!(node.post_keyed(KEY_A, EFFECTS, &key, &body).status, 201);
    node.post_keyed(KEY_B, EFFECTS, &key, &body)
        .problem(409, "effect_in_flight");
    let declared = json!({"kind": "contact.made", "agent": "a",
        "detail": {"channel": "whatsapp", "purpose": "service"}});
    node.post_keyed(KEY_A, DECLARE, &key, &declared).ok();
}

/// A source of another space with the same number, the same key, route and body: none of the answers is
/// the other's, whatever either asks next.
#[test]
fn pitfall_9_a_key_counts_for_one_space() {
    let node = Node::start();
    let (key, effect) = (fresh("key"), fresh("effect"));
    let of = |name: &str| json!({"effect_key": name, "kind": "delivery"});
    let ask = |who: &str, body: &Value| node.post_keyed(who, EFFECTS, &key, body);
    let own = ask(KEY_A, &of(&effect));
    assert_eq!(own.status, 201);
    let theirs = ask(KEY_OTHER, &of(&effect));
    assert_eq!(theirs.status, 201, "nobody has it in that space");
    assert_ne!(own.json()["effect_id"], theirs.json()["effect_id"]);
    for (who, first) in [(KEY_A, &own), (KEY_OTHER, &theirs)] {
        assert_eq!(ask(who, &of(&effect)).body, first.body, "each its own");
        ask(who, &of("another")).problem(409, "idempotency_conflict");
    }
    // Under a key that only the other space has used, anything is new.
    let key = fresh("key");
    let first = node.post_keyed(KEY_A, EFFECTS, &key, &of(&fresh("effect")));
    let other = node.post_keyed(KEY_OTHER, EFFECTS, &key, &of(&fresh("effect")));
    assert_eq!((first.status, other.status), (201, 201));
}

/// Whoever is suppressed under one spelling of an address is under every other.
#[test]
fn pitfall_20_one_address_is_one_customer_however_it_is_spelled() {
    let node = Node::start();
    let email = |value: &str| json!({"type": "email", "value": value});
    let added = json!({"kind": "suppression.added", "agent": "a",
        "subject": email("Ana.Silva@Example.com"),
        "detail": {"purpose": "marketing", "reason": "opt_out"}});
    assert_eq!(node.post(DECLARE, &added).ok()["accepted"], true);
    let asked = |value: &str| {
        let check = json!({"subject": email(value), "purpose": "marketing"});
        node.check(&check_with(&check))["decision"].clone()
    };
    for spelling in ["ana.silva@example.com", " ANA.SILVA@EXAMPLE.COM "] {
        assert_eq!(asked(spelling), "deny", "{spelling}");
    }
    assert_eq!(asked("ana.silva@example.org"), "allow");
}

/// A channel that the document does not declare is refused by its member on every route that takes one,
/// and nothing is decided.
#[test]
fn pitfall_24_an_undeclared_channel_is_refused_where_it_is_named() {
    let node = Node::start();
    let value = "+5511955550024";
    let declared = |kind: &str, detail: Value| json!({"kind": kind, "agent": "a", "subject": phone(value), "detail": detail});
    let check = check_with(&json!({"channel": "fax", "subject": phone(value)}));
    let contact = json!({"channel": "fax", "purpose": "service"});
    let entry = json!({"channel": "fax", "purpose": "marketing", "reason": "opt_out"});
    let by_people = json!({"action": "added", "subject": phone(value), "purpose": "marketing",
        "channel": "fax", "reason": "opt_out"});
    let refused = [
        (KEY_A, CHECK, check.clone()),
        (KEY_A, DECLARE, declared("contact.made", contact)),
        (KEY_A, DECLARE, declared("suppression.added", entry)),
        (KEY_SECURITY, "/v1/operator/suppressions", by_people),
    ];
    for (key, path, body) in refused {
        let problem = node.post_as(key, path, &body).problem(422, "invalid_input");
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(detail.contains("channel`"), "{path}: {detail}");
    }
    let both = json!({"checks": [check, check_with(&json!({"subject": phone(value)}))]});
    let problem = node.post(BATCH, &both).problem(422, "invalid_input");
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("`checks[0]`: `channel`"), "{detail}");
    assert_eq!(node.world.entities(), 0, "nothing was decided");
}

#[test]
fn a_request_keeps_its_id_when_it_is_one() {
    let node = Node::start();
    let id = "0192e2a0-0000-7000-8000-000000000001";
    let sent = |id: &str| {
        let headers = [("X-Request-Id", id.to_owned())];
        node.client()
            .send("GET", "/nowhere", &headers, b"")
            .problem(404, "not_found")
    };
    assert_eq!(sent(id)["request_id"], id);
    assert_ne!(sent("+5511987654321")["request_id"], "+5511987654321");
}

#[test]
fn a_change_of_the_directory_counts_for_the_next_request() {
    let node = Node::start();
    node.check(&check());
    assert!(node.directory.revoke("a"));
    node.post(CHECK, &check()).problem(401, "unauthenticated");
    assert!(node.directory.space(SpaceId([1; 16])).is_none());
}

#[test]
fn what_a_key_is_can_be_asked() {
    let node = Node::start();
    let profile = node.get("/v1/sdk/profile", Some(KEY_A)).ok();
    assert_eq!(
        profile,
        json!({"features": ["coordination"], "valid_for_s": 300})
    );
    let off = node.get("/v1/sdk/profile", Some(KEY_OFF)).ok();
    assert_eq!(off["features"], json!([]));
    let me = node.get("/v1/sources/me", Some(KEY_A)).ok();
    assert_eq!(me["scopes"], json!(["coordinate"]));
    assert_eq!(me["space_id"], "07070707-0707-0707-0707-070707070707");
    node.get("/v1/sources/me", None)
        .problem(401, "unauthenticated");
}
