//! Erasures and legal holds over HTTP: who may, what goes, what stays; rows S19 and W13.

use interlock_api::limits::ApiLimits;
use serde_json::{Value, json};

use crate::client::{Answered, Client};
use crate::node::{
    CLAIMS, KEY_A, KEY_ADMIN, KEY_ADMIN_ROLE, KEY_B, KEY_C, KEY_OFF_ADMIN, KEY_OTHER_ADMIN,
    KEY_SECURITY, Node, check_with, fresh, phone,
};

const FORGET: &str = "/v1/forget";
const HOLDS: &str = "/v1/legal-holds";
const LIVE: &str = "/v1/operator/legal-holds";
const NOBODY: &str = "0192e2a0-0000-7000-8000-000000000001";

fn of(value: &str) -> Value {
    json!({"target": "handle", "handle": phone(value)})
}

fn forget(node: &Node, value: &str) -> Answered {
    node.post_as(KEY_ADMIN, FORGET, &of(value))
}

fn hold(node: &Node, what: &Value) -> Answered {
    let mut body = what.clone();
    body["reason"] = json!("a lawsuit");
    node.post_as(KEY_SECURITY, HOLDS, &body)
}

fn release(node: &Node, hold: &Value) -> Answered {
    let id = hold["hold_id"].as_str().unwrap();
    let path = format!("{HOLDS}/{id}/release");
    node.post_as(KEY_SECURITY, &path, &json!({"reason": "it is over"}))
}

fn created(answer: &Answered) -> Value {
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn asked(value: &str, purpose: &str) -> Value {
    check_with(&json!({"subject": phone(value), "purpose": purpose, "channel": null}))
}

/// A customer of whom everything is known.
fn known(node: &Node, value: &str) -> Value {
    let owner =
        json!({"kind": "owner", "holder": "closing", "lease_s": 600, "subject": phone(value)});
    let claim = created(&node.post(CLAIMS, &owner));
    assert_eq!(node.check(&asked(value, "marketing"))["decision"], "allow");
    let terms = json!({"commitment_id": fresh("offer"), "type": "offer", "terms": {"for": value}});
    node.declare_for(value, "commitment.made", &terms).ok();
    let opted_out = json!({"purpose": "retention", "reason": "opt_out"});
    node.declare_for(value, "suppression.added", &opted_out)
        .ok();
    claim
}

fn handed_over(node: &Node, value: &str, talk: &str) -> Value {
    let body = json!({"subject": phone(value), "target": "desk", "reason": "r",
        "conversation_id": talk});
    created(&node.post("/v1/handoffs", &body))
}

/// A hold on a conversation is a hold on its handoffs.
#[test]
fn a_held_conversation_keeps_its_handoffs_from_erasure() {
    let node = Node::start();
    let (value, other) = ("+5511933330010", "+5511933330011");
    let handoff = handed_over(&node, value, "talk-of-the-lawsuit");
    handed_over(&node, other, "another-talk");
    let held = hold(&node, &json!({"conversation_id": "talk-of-the-lawsuit"}));
    let held = created(&held);
    forget(&node, value).problem(409, "under_legal_hold");
    assert_eq!(forget(&node, other).ok()["erased"]["handoffs"], 1);
    let path = format!("/v1/handoffs/{}", handoff["handoff_id"].as_str().unwrap());
    node.world.advance_s(200 * 86_400);
    let kept = node.get(&path, Some(KEY_A)).ok();
    assert_eq!(
        kept["status"], "expired",
        "its 90 days are over, and it stays"
    );
    // By now the customer knows it no more.
    handed_over(&node, value, "a-later-talk");
    forget(&node, value).problem(409, "under_legal_hold");
    release(&node, &held).ok();
    node.get(&path, Some(KEY_A)).problem(404, "not_found");
}

/// A customer forgets all but the newest 64 offers that ended; an erasure takes what is left of them.
#[test]
fn an_erasure_takes_the_terms_of_offers_that_were_forgotten() {
    let node = Node::start();
    let (value, other) = ("+5511933330020", "+5511933330021");
    for value in [value, other] {
        for _ in 0..70 {
            let id = json!(fresh("offer"));
            let made = json!({"commitment_id": id, "type": "offer", "terms": {"for": value}});
            node.declare_for(value, "commitment.made", &made).ok();
            let ended = json!({ "commitment_id": id });
            node.declare_for(value, "commitment.withdrawn", &ended).ok();
            node.world.advance_s(1);
        }
    }
    let taken = |value| {
        let erased = &forget(&node, value).ok()["erased"];
        (
            erased["commitments"].clone(),
            erased["commitment_terms"].clone(),
        )
    };
    assert_eq!(taken(value), (json!(64), json!(70)), "all terms went");
    assert_eq!(taken(value), (json!(0), json!(0)));
    assert_eq!(taken(other), (json!(64), json!(70)), "nobody else's did");
}

#[test]
fn s19_an_erased_customer_is_still_suppressed() {
    let node = Node::start();
    let value = "+5511933330001";
    let claim = known(&node, value);
    let list = |key| node.get("/v1/suppressions?limit=200", Some(key)).ok()["items"].clone();
    let before = list(KEY_A);
    let answer = forget(&node, value).ok();
    assert_eq!(
        answer["erased"],
        json!({"claims": 1, "commitment_terms": 1, "commitments": 1, "contacts": 1, "effects": 0,
            "handoffs": 0, "messages": 0, "paid_units": 0, "promises": 0, "tokens": 0})
    );
    assert_eq!(
        (
            &answer["status"],
            &answer["target_kind"],
            &answer["suppressions_kept"]
        ),
        (&json!("completed"), &json!("handle"), &json!(1))
    );
    // The list goes on with the entry, for readers of before and for a new one.
    assert_eq!(list(KEY_A), before);
    let new = list(KEY_B);
    assert_eq!(new.as_array().map(Vec::len), Some(1), "{new}");
    assert_eq!(new[0]["purpose"], "retention");
    assert_eq!(new[0]["removed"], false, "{new}");
    // A client that never saw the customer asks.
    let asked_by_b = |purpose: &str| {
        let headers = [
            ("Authorization", format!("Bearer {KEY_B}")),
            ("Content-Type", "application/json".to_owned()),
        ];
        let body = asked(value, purpose).to_string();
        let sent = node
            .client()
            .send("POST", crate::node::CHECK, &headers, body.as_bytes());
        sent.ok()
    };
    let refused = asked_by_b("retention");
    assert_eq!(
        (&refused["decision"], &refused["reasons"]),
        (&json!("deny"), &json!(["suppressed"]))
    );
    let fresh = asked_by_b("marketing");
    assert_eq!(fresh["decision"], "allow");
    assert_eq!(fresh["contact_budget"]["marketing"]["remaining"], 2);
    assert!(fresh.get("owner").is_none() && fresh.get("commitments_active").is_none());
    // The erased claim's id leads to nothing, and the next claim has a higher epoch.
    let path = format!("{CLAIMS}/{}/release", claim["claim_id"].as_str().unwrap());
    node.post(&path, &json!({"epoch": claim["epoch"]}))
        .problem(404, "not_found");
    let owner =
        json!({"kind": "owner", "holder": "closing", "lease_s": 600, "subject": phone(value)});
    let next = created(&node.post(CLAIMS, &owner));
    assert!(next["epoch"].as_u64() > claim["epoch"].as_u64());
}

#[test]
fn an_erasure_is_found_by_its_id_in_its_space_and_repeated_by_its_key() {
    let node = Node::start();
    let value = "+5511933330002";
    known(&node, value);
    let key = fresh("key");
    let first = node.post_keyed(KEY_ADMIN, FORGET, &key, &of(value)).ok();
    let again = node.post_keyed(KEY_ADMIN, FORGET, &key, &of(value)).ok();
    assert_eq!(first, again, "a repeat erases nothing anew");
    let other = node.post_keyed(KEY_ADMIN, FORGET, &key, &of("+5511933330003"));
    other.problem(409, "idempotency_conflict");
    let path = format!("{FORGET}/{}", first["request_id"].as_str().unwrap());
    assert_eq!(node.get(&path, Some(KEY_SECURITY)).ok(), first);
    node.get(&path, Some(KEY_OTHER_ADMIN))
        .problem(404, "not_found");
    for id in [NOBODY, "not-an-id", "%2B5511"] {
        let path = format!("{FORGET}/{id}");
        node.get(&path, Some(KEY_ADMIN)).problem(404, "not_found");
    }
    // A claim's id is no erasure's.
    let claim = known(&node, value);
    let path = format!("{FORGET}/{}", claim["claim_id"].as_str().unwrap());
    node.get(&path, Some(KEY_ADMIN)).problem(404, "not_found");
    node.world.advance_s(401 * 86_400);
    let path = format!("{FORGET}/{}", first["request_id"].as_str().unwrap());
    node.get(&path, Some(KEY_ADMIN)).problem(404, "not_found");
}

#[test]
fn a_handle_of_any_spelling_is_one_customer() {
    let node = Node::start();
    known(&node, "+5511933330004");
    let handle = json!({"type": "wa_jid", "value": "5511933330004@s.whatsapp.net"});
    let body = json!({"target": "handle", "handle": handle});
    let answer = node.post_as(KEY_ADMIN, FORGET, &body).ok();
    assert_eq!(answer["erased"]["claims"], 1);
}

#[test]
fn who_may_erase_and_hold() {
    let node = Node::start();
    let value = "+5511933330005";
    let body = json!({"handle": phone(value), "reason": "a lawsuit"});
    for key in [KEY_ADMIN, KEY_ADMIN_ROLE, KEY_SECURITY] {
        node.post_as(key, FORGET, &of(value)).ok();
        let hold = created(&node.post_as(key, HOLDS, &body));
        node.get(LIVE, Some(key)).ok();
        let path = format!("{HOLDS}/{}/release", hold["hold_id"].as_str().unwrap());
        node.post_as(key, &path, &json!({"reason": "over"})).ok();
    }
    let release = format!("{HOLDS}/{NOBODY}/release");
    let erasure = format!("{FORGET}/{NOBODY}");
    let refused = [
        (KEY_A, 403, "forbidden"),
        (KEY_C, 403, "forbidden"),
        ("nia_sk_test_local_acme_x_unknown", 401, "unauthenticated"),
        (KEY_OFF_ADMIN, 404, "not_found"),
    ];
    for (key, status, code) in refused {
        for path in [FORGET, HOLDS, release.as_str()] {
            node.post_as(key, path, &json!({})).problem(status, code);
        }
        for path in [LIVE, erasure.as_str()] {
            node.get(path, Some(key)).problem(status, code);
        }
    }
    for path in [LIVE, erasure.as_str()] {
        node.get(path, None).problem(401, "unauthenticated");
    }
}

#[test]
fn what_an_erasure_must_not_say() {
    let node = Node::start();
    let before = node.world.entities();
    let value = phone("+5511933330006");
    let bad = [
        (json!({}), "target"),
        (json!({"target": "handle"}), "handle"),
        (json!({"target": "everybody", "handle": value}), "target"),
        (json!({"target": "profile", "profile_id": "p_1"}), "handles"),
        (
            json!({"target": "conversation", "conversation_id": "c"}),
            "handles",
        ),
        (
            json!({"target": "handle", "handle": value, "profile_id": "p"}),
            "profile_id",
        ),
        (
            json!({"target": "handle", "handle": {"type": "phone_e164"}}),
            "handle.value",
        ),
        (
            json!({"target": "handle", "handle": value, "why": 1}),
            "contract",
        ),
    ];
    for (body, word) in bad {
        let problem = node.post_as(KEY_ADMIN, FORGET, &body);
        let problem = problem.problem(422, "invalid_input");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(word), "{body}: {detail}");
    }
    let headers = [
        ("Authorization", format!("Bearer {KEY_ADMIN}")),
        ("Content-Type", "application/json".to_owned()),
    ];
    let body = json!({"target": "handle", "handle": value}).to_string();
    let sent = node
        .client()
        .send("POST", FORGET, &headers, body.as_bytes());
    sent.problem(422, "invalid_input");
    assert_eq!(node.world.entities(), before);
}

#[test]
fn a_hold_keeps_a_customer_from_erasure_until_its_release() {
    let node = Node::start();
    let value = "+5511933330007";
    known(&node, value);
    let held = created(&hold(&node, &json!({"handle": phone(value)})));
    assert_eq!(
        (&held["scope"], &held["status"], &held["created_at"]),
        (
            &json!("handle"),
            &json!("active"),
            &json!("2026-11-30T12:00:00Z")
        )
    );
    assert!(held.get("released_at").is_none());
    let problem = forget(&node, value).problem(409, "under_legal_hold");
    let detail = problem["detail"].as_str().unwrap();
    for part in ["release the hold", "interlock show", LIVE] {
        assert!(detail.contains(part), "{part}: {detail}");
    }
    let live = node.get(LIVE, Some(KEY_SECURITY)).ok();
    assert_eq!(live["items"], json!([held]));
    node.world.advance_s(60);
    let ended = release(&node, &held).ok();
    assert_eq!(
        (&ended["hold_id"], &ended["status"], &ended["released_at"]),
        (
            &held["hold_id"],
            &json!("released"),
            &json!("2026-11-30T12:01:00Z")
        )
    );
    node.world.advance_s(60);
    assert_eq!(
        release(&node, &held).ok(),
        ended,
        "again it changes nothing"
    );
    assert_eq!(node.get(LIVE, Some(KEY_SECURITY)).ok()["items"], json!([]));
    assert_eq!(forget(&node, value).ok()["erased"]["claims"], 1);
}

/// The SDK sends no Idempotency-Key with a release.
#[test]
fn a_release_needs_no_idempotency_key() {
    let node = Node::start();
    let object = json!({"type": "lawsuit", "namespace": "court", "id": "1"});
    let held = created(&hold(&node, &json!({"object": object})));
    let headers = [
        ("Authorization", format!("Bearer {KEY_SECURITY}")),
        ("Content-Type", "application/json".to_owned()),
    ];
    let path = format!("{HOLDS}/{}/release", held["hold_id"].as_str().unwrap());
    let send = |body: &Value| {
        let body = body.to_string();
        node.client().send("POST", &path, &headers, body.as_bytes())
    };
    send(&json!({})).problem(422, "invalid_input");
    let ended = send(&json!({"reason": "over"})).ok();
    assert_eq!(
        (&ended["scope"], &ended["status"]),
        (&json!("object"), &json!("released"))
    );
    let other = node.post_as(KEY_OTHER_ADMIN, &path, &json!({"reason": "over"}));
    other.problem(404, "not_found");
    for id in [NOBODY, "no-hold"] {
        let path = format!("{HOLDS}/{id}/release");
        let answer = node.post_as(KEY_SECURITY, &path, &json!({"reason": "over"}));
        answer.problem(404, "not_found");
    }
}

#[test]
fn a_hold_is_on_one_thing_and_repeated_by_its_key() {
    let node = Node::start();
    let handle = phone("+5511933330008");
    let object = json!({"type": "lawsuit", "namespace": "court", "id": "2"});
    let bad = [
        json!({"reason": "r"}),
        json!({"reason": "r", "handle": handle, "object": object}),
        json!({"reason": "r", "handle": handle, "conversation_id": "c"}),
        json!({"handle": handle}),
        json!({"handle": handle, "reason": ""}),
        json!({"handle": handle, "reason": "x".repeat(501)}),
        json!({"handle": handle, "reason": "r", "scope": "handle"}),
    ];
    for body in bad {
        let answer = node.post_as(KEY_SECURITY, HOLDS, &body);
        answer.problem(422, "invalid_input");
    }
    let key = fresh("key");
    let body = json!({"conversation_id": "talk", "reason": "r"});
    let send = |body: &Value| node.post_keyed(KEY_SECURITY, HOLDS, &key, body);
    let first = created(&send(&body));
    assert_eq!(first["scope"], "conversation");
    assert_eq!(created(&send(&body)), first);
    send(&json!({"conversation_id": "another", "reason": "r"}))
        .problem(409, "idempotency_conflict");
    assert_eq!(
        node.get(LIVE, Some(KEY_SECURITY)).ok()["items"],
        json!([first])
    );
}

/// Nothing that was sent comes back in an answer or a problem (W13, here for these routes).
#[test]
fn answers_about_erasures_and_holds_name_nobody() {
    let node = Node::start();
    let value = "+5511933330009";
    known(&node, value);
    let reason = "because of Ana Souza";
    let body = json!({"handle": phone(value), "reason": reason});
    let mut said = vec![node.post_as(KEY_SECURITY, HOLDS, &body)];
    said.push(forget(&node, value));
    said.push(release(&node, &said[0].json()));
    said.push(forget(&node, value));
    said.push(node.get(LIVE, Some(KEY_SECURITY)));
    for answer in said {
        let text = format!("{answer:?}");
        assert!(
            !text.contains("933330009") && !text.contains("Souza"),
            "{text}"
        );
    }
}

#[test]
fn s19_an_erasure_takes_handoffs_and_promises() {
    let node = Node::start();
    let value = "+5511933330019";
    let body = json!({"subject": phone(value), "target": "human_desk", "reason": "asks"});
    let handoff = created(&node.post("/v1/handoffs", &body));
    let promise = json!({"subject": phone(value), "promise_id": "call", "owner": "desk",
        "state": "open"});
    node.post_as(KEY_ADMIN, "/v1/operator/promises", &promise)
        .ok();
    let erased = forget(&node, value).ok()["erased"].clone();
    assert_eq!(
        (&erased["handoffs"], &erased["promises"]),
        (&json!(1), &json!(1))
    );
    let path = format!("/v1/handoffs/{}", handoff["handoff_id"].as_str().unwrap());
    node.get(&path, Some(KEY_A)).problem(404, "not_found");
    node.post(&format!("{path}/outcome"), &json!({"outcome": "resolved"}))
        .problem(404, "not_found");
    let asked = node.check(&asked(value, "service"));
    assert_eq!(asked["decision"], "allow");
    assert!(asked.get("owner").is_none() && asked.get("promises_open").is_none());
}

/// The requests that are sent together, each on a connection of its own.
fn holds_at_once(node: &Node, count: usize) -> Vec<Client> {
    let send = |place: usize| {
        let mut client = node.client();
        let headers = [
            ("Authorization", format!("Bearer {KEY_SECURITY}")),
            ("Content-Type", "application/json".to_owned()),
            ("Idempotency-Key", fresh("hold")),
        ];
        let body = json!({"conversation_id": format!("talk-{place}"), "reason": "a lawsuit"});
        client.write("POST", HOLDS, &headers, body.to_string().as_bytes());
        client
    };
    (0..count).map(send).collect()
}

#[test]
fn holds_that_come_together_wait_for_their_turn() {
    let node = Node::start();
    node.world.hold_scans(true);
    let clients = holds_at_once(&node, 12);
    // Round trips of the one worker: by then it has all of them.
    for _ in 0..12 {
        node.get("/healthz", None).ok();
    }
    node.world.hold_scans(false);
    for mut client in clients {
        created(&client.read_answer("POST", HOLDS));
    }
    let live = node.get(LIVE, Some(KEY_SECURITY)).ok();
    assert_eq!(live["items"].as_array().unwrap().len(), 12);
}

#[test]
fn a_hold_that_has_no_turn_in_time_comes_again() {
    let limits = ApiLimits {
        request_deadline_ms: 100,
        ..ApiLimits::default()
    };
    let node = Node::with(limits, true);
    node.world.hold_scans(true);
    for mut client in holds_at_once(&node, 3) {
        let answer = client.read_answer("POST", HOLDS);
        assert_eq!(answer.header("retry-after"), Some("1"));
        let problem = answer.problem(503, "coordination_unavailable");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("looked at in time"), "{detail}");
    }
    assert_eq!(node.world.scans(), 1, "one look goes on, no second began");
    let object = json!({"object": {"type": "lawsuit", "namespace": "court", "id": "3"}});
    created(&hold(&node, &object));
    node.world.hold_scans(false);
    while node.world.scans() > 0 {
        std::thread::yield_now();
    }
    let live = node.get(LIVE, Some(KEY_SECURITY)).ok();
    assert_eq!(live["items"].as_array().unwrap().len(), 1);
}
