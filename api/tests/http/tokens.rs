//! Rows T1 to T7, T9, T10 and W14 to W16 over HTTP: contact tokens, and the keys that verify them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use interlock_api::signing::{KeyTimes, SigningKeys};
use interlock_domain::contact::fixture;
use interlock_domain::time::Timestamp;
use interlock_token::{
    Claims, Gateway, Identity, MemorySeen, Message, NotLetThrough, Refusal, keyed_hash,
};
use serde_json::{Value, json};

use crate::node::{BATCH, CHECK, Node, check_with, fresh, phone};

const SPACE: &str = "07070707-0707-0707-0707-070707070707";
/// 2026-11-30T12:00:00Z, when a node starts, in seconds.
const NOW: i64 = 1_796_040_000;

fn keys(space: &str) -> String {
    format!("/.well-known/niadra-contact-keys.json?space={space}")
}

fn gateway(node: &Node) -> Gateway<impl interlock_token::KeySource, MemorySeen> {
    let identity = Identity {
        gateway_id: "wa_gateway".to_owned(),
        space: SPACE.to_owned(),
        key: [b'k'; 32],
    };
    let document = node.get(&keys(SPACE), None);
    assert_eq!(document.status, 200, "{document:?}");
    Gateway::new(
        identity,
        move || Ok(document.body.clone()),
        MemorySeen::new(100),
    )
}

fn marketing(value: &str) -> Value {
    check_with(&json!({"subject": phone(value), "purpose": "marketing",
        "gateway_id": "wa_gateway"}))
}

const TO: Message<'static> = Message {
    channel: "whatsapp",
    destination: "phone:+5511922250001",
};

fn refused(answer: Result<Claims, NotLetThrough>) -> Refusal {
    match answer {
        Err(NotLetThrough::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn t1_t2_t4_a_token_passes_the_gateway_once() {
    let node = Node::start();
    let answer = node.check(&marketing("+5511922250001"));
    let token = answer["contact_token"].as_str().expect("a token");
    let mut gateway = gateway(&node);
    let claims = gateway.let_through(token, TO, NOW).expect("it is ours");
    assert_eq!(claims.jti, answer["decision_id"].as_str().unwrap());
    assert_eq!((claims.iat, claims.exp), (NOW, NOW + 120));
    assert_eq!(claims.space, SPACE);
    assert_eq!(
        refused(gateway.let_through(token, TO, NOW)),
        Refusal::Replayed
    );
}

#[test]
fn t3_a_token_is_for_one_destination_and_channel() {
    let node = Node::start();
    let answer = node.check(&marketing("+5511922250001"));
    let token = answer["contact_token"].as_str().expect("a token");
    let mut gateway = gateway(&node);
    let other = Message {
        destination: "phone:+5511922250009",
        ..TO
    };
    assert_eq!(
        refused(gateway.let_through(token, other, NOW)),
        Refusal::WrongRecipient
    );
    let other = Message {
        channel: "sms",
        ..TO
    };
    assert_eq!(
        refused(gateway.let_through(token, other, NOW)),
        Refusal::WrongChannel
    );
    gateway
        .let_through(token, TO, NOW)
        .expect("it was not used up");
}

#[test]
fn t5_t6_no_token_where_none_is_due() {
    let node = Node::start();
    let with = |members: &Value| {
        let mut check = marketing(&format!("+55119222{:05}", fresh("n").len() + 60_000));
        for (name, value) in members.as_object().unwrap() {
            check[name] = value.clone();
        }
        node.check(&check)
    };
    let without = [
        json!({"purpose": "service"}),
        json!({"gateway_id": null}),
        json!({"channel": null}),
        json!({"subject": {"type": "system_id", "value": fresh("customer")}}),
        json!({"direction": "inbound"}),
    ];
    for members in without {
        let answer = with(&members);
        assert_eq!(answer["decision"], "allow", "{members}");
        assert!(answer.get("contact_token").is_none(), "{members}: {answer}");
    }
}

#[test]
fn t7_a_destination_hash_replaces_the_handle() {
    let node = Node::start();
    let mut check = marketing("+5511922250001");
    check["subject"] = json!({"type": "system_id", "value": fresh("customer")});
    check["destination_hash"] = json!(keyed_hash(&[b'k'; 32], TO.destination));
    let answer = node.check(&check);
    let token = answer["contact_token"].as_str().expect("a token");
    gateway(&node)
        .let_through(token, TO, NOW)
        .expect("it is ours");
}

/// The text of the payload in a check's token.
fn payload_of(answer: &Value) -> String {
    let token = answer["contact_token"].as_str().expect("a token");
    let payload = token.split('.').nth(1).unwrap();
    let payload = URL_SAFE_NO_PAD.decode(payload).unwrap();
    String::from_utf8(payload).unwrap()
}

/// Also one whose last character no encoder would write: gateways compare texts.
#[test]
fn t7_a_destination_hash_is_signed_as_it_was_written() {
    let node = Node::start();
    for last in ["A", "B", "_", "9", "w"] {
        let hash = format!("{}{last}", "B".repeat(42));
        let mut check = marketing("+5511922250003");
        check["subject"] = json!({"type": "system_id", "value": fresh("customer")});
        check["destination_hash"] = json!(hash);
        let payload: Value = serde_json::from_str(&payload_of(&node.check(&check))).unwrap();
        assert_eq!(payload["rcpt"], json!(hash));
    }
}

#[test]
fn t9_the_payload_is_compact_and_in_order() {
    let node = Node::start();
    let text = payload_of(&node.check(&marketing("+5511922250002")));
    let members = [
        "kid", "space", "jti", "purpose", "channel", "rcpt", "gateway", "iat", "exp",
    ];
    let mut rest = text.as_str();
    for member in members {
        let place = rest.find(&format!("\"{member}\":")).expect(member);
        rest = rest.get(place + 1..).unwrap();
    }
    assert!(!text.contains(' '));
    let payload: Value = serde_json::from_str(&text).unwrap();
    let known = payload.as_object().unwrap().len();
    assert_eq!(known, members.len(), "and no other: {text}");
    assert!(
        !text.contains("5511922250002"),
        "no personal data in a token"
    );
}

#[test]
fn a_batch_signs_each_allow_and_a_repeat_signs_the_same_bytes() {
    let node = Node::start();
    let checks: Vec<Value> = (0..3)
        .map(|number| marketing(&format!("+551192225010{number}")))
        .collect();
    let body = json!({"checks": checks});
    let key = fresh("key");
    let ask = || node.post_keyed(crate::node::KEY_A, BATCH, &key, &body).ok();
    let first = ask();
    let mut gateway = gateway(&node);
    for (number, result) in first["results"].as_array().unwrap().iter().enumerate() {
        let destination = format!("phone:+551192225010{number}");
        let message = Message {
            destination: &destination,
            ..TO
        };
        let token = result["contact_token"].as_str().expect("a token");
        gateway
            .let_through(token, message, NOW)
            .expect("it is ours");
    }
    node.world.advance_s(30);
    assert_eq!(ask(), first);
    let single = fresh("key");
    let ask = || {
        let check = marketing("+5511922250103");
        node.post_keyed(crate::node::KEY_A, CHECK, &single, &check)
            .ok()
    };
    let first = ask();
    node.world.advance_s(30);
    assert_eq!(ask()["contact_token"], first["contact_token"]);
}

#[test]
fn w14_w15_w16_the_keys_are_public() {
    let node = Node::start();
    let document = node.get(&keys(SPACE), None);
    let keys_of = document.ok()["keys"].as_array().unwrap().clone();
    assert_eq!(keys_of.len(), 1);
    let key = &keys_of[0];
    assert_eq!(
        (&key["kty"], &key["crv"], &key["status"], &key["space"]),
        (
            &json!("OKP"),
            &json!("Ed25519"),
            &json!("active"),
            &json!(SPACE)
        )
    );
    // A space that does not coordinate looks like one that is not there.
    for space in [
        "08080808-0808-0808-0808-080808080808",
        "0192f5a0-0000-7000-8000-00000000ffff",
    ] {
        node.get(&keys(space), None).problem(404, "not_found");
    }
    let twice = format!("{}&space={SPACE}", keys(SPACE));
    for path in [
        keys("abc"),
        keys(""),
        twice,
        "/.well-known/niadra-contact-keys.json".to_owned(),
    ] {
        node.get(&path, None).problem(422, "invalid_input");
    }
    // The SDK sends its key there too.
    node.get(&keys(SPACE), Some("nonsense")).ok();
}

#[test]
fn t10_which_key_signs_is_a_matter_of_time() {
    let node = Node::start();
    let times = |number, publish, signs, end: Option<i64>| KeyTimes {
        number,
        publish_at: Timestamp(1_000 * (NOW + publish)),
        signs_from: Timestamp(1_000 * (NOW + signs)),
        not_after: end.map(|end| Timestamp(1_000 * (NOW + end))),
    };
    let mut entry = (*node.directory.space(fixture::SPACE).unwrap()).clone();
    let rows = [times(1, -90, -90, Some(4_325)), times(2, 0, 600, None)];
    entry.signing = SigningKeys::new(entry.secret.prepared(), &rows);
    node.directory.put_space(entry);
    let signed = |node: &Node| {
        let answer = node.check(&marketing("+5511922250001"));
        let token = answer["contact_token"].as_str().expect("a token");
        token.to_owned()
    };
    let states = |node: &Node| {
        let document = node.get(&keys(SPACE), None).ok();
        let keys = document["keys"].as_array().unwrap().clone();
        let shown = keys
            .iter()
            .map(|key| key["status"].as_str().unwrap().to_owned());
        shown.collect::<Vec<_>>()
    };
    let pass = |node: &Node, token: &str, after: i64| {
        let answer = gateway(node).let_through(token, TO, NOW + after);
        answer.map(|claims| claims.kid)
    };
    assert_eq!(states(&node), ["active", "active"]);
    let before = signed(&node);
    let old = pass(&node, &before, 0).expect("it is ours");
    node.world.advance_s(599);
    let last = signed(&node);
    assert_eq!(pass(&node, &last, 599).expect("it is ours"), old);
    node.world.advance_s(1);
    assert_eq!(states(&node), ["retiring", "active"]);
    assert_eq!(pass(&node, &last, 600).expect("signed before"), old);
    let new = pass(&node, &signed(&node), 600).expect("it is ours");
    assert_ne!(new, old);
    node.world.advance_s(3_724);
    assert_eq!(states(&node), ["retiring", "active"]);
    node.world.advance_s(1);
    assert_eq!(states(&node), ["active"]);
    let refusal = gateway(&node).let_through(&last, TO, NOW + 4_325);
    assert_eq!(refused(refusal), Refusal::UnknownKey);
}
