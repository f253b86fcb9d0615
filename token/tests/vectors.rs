//! Every case of the published token vectors, and what they leave out.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use interlock_token::{
    Claims, Gateway, Identity, KeySet, MemorySeen, Message, NotLetThrough, Refusal, Seen, TokenKey,
    decode_32, keyed_hash,
};
use serde_json::{Value, json};

const SPACE: &str = "0192f5a0-0000-7000-8000-00000000a004";
const NOW: i64 = 1_790_000_010;

fn cases() -> Vec<Value> {
    let folder = std::env::var_os("INTERLOCK_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/vectors"),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(folder.join("contact-token.v0.json"))
        .expect("the vectors are missing; run `cargo xtask test`, which fetches them");
    let file: Value = serde_json::from_str(&text).expect("the vectors are JSON");
    file["cases"].as_array().expect("cases").clone()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name]
        .as_str()
        .unwrap_or_else(|| panic!("{name} in {value}"))
}

#[test]
fn t8_every_published_case_comes_out_as_it_says() {
    let cases = cases();
    assert!(cases.len() >= 18);
    for case in &cases {
        let id = text(case, "id");
        match text(case, "op") {
            "issue" => {
                let seed = decode_32(text(case, "seed")).expect("a seed");
                let claims: Claims =
                    serde_json::from_value(case["claims"].clone()).expect("claims");
                let token = TokenKey::from_seed(&seed).sign(&claims);
                assert_eq!(token, text(&case["expect"], "token"), "{id}");
            }
            "verify" => assert_eq!(verified(case), case["expect"], "{id}"),
            other => panic!("{id}: {other}"),
        }
    }
}

/// What a gateway makes of a case.
fn verified(case: &Value) -> Value {
    let gateway = &case["gateway"];
    let identity = Identity {
        gateway_id: text(gateway, "gateway_id").to_owned(),
        space: text(gateway, "space").to_owned(),
        key: decode_32(text(gateway, "key")).expect("a key"),
    };
    let document = json!({"keys": case["keys"]}).to_string().into_bytes();
    let now = case["now"].as_i64().expect("now");
    let mut seen = MemorySeen::new(10);
    for jti in case["seen_jti"].as_array().expect("ids") {
        let jti = jti.as_str().expect("an id");
        assert!(seen.first_time(jti, i64::MAX, now).expect("room"));
    }
    let mut gateway = Gateway::new(identity, move || Ok(document.clone()), seen);
    let message = Message {
        channel: text(case, "channel"),
        destination: text(case, "destination"),
    };
    match gateway.let_through(text(case, "token"), message, now) {
        Ok(claims) => json!({"claims": claims}),
        Err(NotLetThrough::Refused(refusal)) => json!({"error": refusal.code()}),
        Err(NotLetThrough::Unknown(error)) => panic!("{error}"),
    }
}

struct World {
    key: TokenKey,
    identity: Identity,
}

impl World {
    fn new() -> Self {
        Self {
            key: TokenKey::from_seed(&[1; 32]),
            identity: Identity {
                gateway_id: "wa_gateway".to_owned(),
                space: SPACE.to_owned(),
                key: [7; 32],
            },
        }
    }

    fn claims(&self) -> Claims {
        Claims {
            kid: "key_number_1".to_owned(),
            space: SPACE.to_owned(),
            jti: "0199a3b2-5c00-7a1e-8f3d-2b6c0e4a9d01".to_owned(),
            purpose: "marketing".to_owned(),
            channel: "whatsapp".to_owned(),
            rcpt: keyed_hash(&self.identity.key, "phone:+5511987654321"),
            gateway: "wa_gateway".to_owned(),
            iat: NOW,
            exp: NOW + 120,
        }
    }

    fn document(&self, more: &Value) -> Vec<u8> {
        let mut key = json!({"kid": "key_number_1", "kty": "OKP", "crv": "Ed25519",
            "x": self.key.public(), "space": SPACE, "status": "active"});
        let members = more.as_object().expect("members").clone();
        key.as_object_mut().expect("a key").extend(members);
        json!({"keys": [key]}).to_string().into_bytes()
    }

    fn verify(&self, token: &str, now: i64) -> Result<Claims, Refusal> {
        let keys = KeySet::read(&self.document(&json!({}))).expect("keys");
        interlock_token::verify(token, &keys, &self.identity, MESSAGE, now)
    }
}

const MESSAGE: Message<'static> = Message {
    channel: "whatsapp",
    destination: "phone:+5511987654321",
};

/// Signs a payload that no claims can express.
fn forged(payload: &str) -> String {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use ed25519_dalek::{Signer, SigningKey};
    let signed = format!("nct1.{}", URL_SAFE_NO_PAD.encode(payload));
    let signature = SigningKey::from_bytes(&[1; 32]).sign(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
}

#[test]
fn the_borders_of_a_life() {
    let world = World::new();
    let token = world.key.sign(&world.claims());
    let borders = [
        (NOW - 6, Err(Refusal::NotYetValid)),
        (NOW - 5, Ok(())),
        (NOW + 124, Ok(())),
        (NOW + 125, Err(Refusal::Expired)),
        (i64::MIN, Err(Refusal::NotYetValid)),
        (i64::MAX, Err(Refusal::Expired)),
    ];
    for (now, wanted) in borders {
        assert_eq!(world.verify(&token, now).map(drop), wanted, "{now}");
    }
    for (iat, exp) in [
        (NOW, NOW),
        (NOW, NOW + 121),
        (NOW + 1, NOW),
        (i64::MIN, i64::MAX),
    ] {
        let claims = Claims {
            iat,
            exp,
            ..world.claims()
        };
        let refused = world.verify(&world.key.sign(&claims), NOW);
        assert_eq!(refused, Err(Refusal::LifetimeTooLong), "{iat} {exp}");
    }
}

#[test]
fn a_payload_that_is_not_exactly_the_nine_members_is_malformed() {
    let world = World::new();
    let valid = serde_json::to_string(&world.claims()).expect("JSON");
    assert!(world.verify(&forged(&valid), NOW).is_ok());
    let with = |name: &str, value: Value| {
        let mut claims = serde_json::to_value(world.claims()).expect("JSON");
        claims[name] = value;
        claims.to_string()
    };
    let mut without = serde_json::to_value(world.claims()).expect("JSON");
    without.as_object_mut().expect("members").remove("jti");
    let twice = valid.replacen("\"iat\"", "\"exp\":1,\"iat\"", 1);
    let bad = [
        with("extra", json!(1)),
        without.to_string(),
        twice,
        with("iat", json!(true)),
        with("iat", json!(1.0)),
        with("iat", json!("1790000000")),
        with("exp", json!(u64::MAX)),
        with("kid", json!("short")),
        with("space", json!(SPACE.to_uppercase())),
        with("jti", json!("0199a3b25c007a1e8f3d2b6c0e4a9d01")),
        with("purpose", json!("Marketing")),
        with("channel", json!("")),
        with("rcpt", json!("a".repeat(42))),
        with("gateway", json!("a-b")),
        "[]".to_owned(),
        "null".to_owned(),
        format!("{valid} x"),
    ];
    for payload in bad {
        let token = forged(&payload);
        assert_eq!(
            world.verify(&token, NOW),
            Err(Refusal::Malformed),
            "{payload}"
        );
    }
}

#[test]
fn what_is_no_token_is_malformed_and_never_a_panic() {
    let world = World::new();
    let token = world.key.sign(&world.claims());
    let long = format!("{token}{}", "A".repeat(1_024));
    let bad = [
        "",
        ".",
        "..",
        "...",
        "nct1",
        "nct1..",
        "nct1.a",
        "nct1.a.b",
        "nct1.é.ü",
        long.as_str(),
    ];
    for text in bad {
        assert_eq!(world.verify(text, NOW), Err(Refusal::Malformed), "{text}");
    }
    let spaced = format!(" {token}");
    assert_eq!(world.verify(&spaced, NOW), Err(Refusal::UnsupportedVersion));
    for at in 0..token.len() {
        let cut = token.get(..at).unwrap_or_default();
        assert!(world.verify(cut, NOW).is_err());
    }
}

#[test]
fn a_retired_key_verifies_until_its_end_and_a_bad_one_never() {
    let world = World::new();
    let token = world.key.sign(&world.claims());
    let verify = |more: Value, now| {
        let keys = KeySet::read(&world.document(&more)).expect("keys");
        interlock_token::verify(&token, &keys, &world.identity, MESSAGE, now).map(drop)
    };
    // NOW is 2026-09-21T14:13:30Z.
    let ends = json!({"status": "retiring", "not_after": "2026-09-21T14:13:40Z"});
    assert_eq!(verify(ends.clone(), NOW + 9), Ok(()));
    assert_eq!(verify(ends, NOW + 10), Err(Refusal::UnknownKey));
    for bad in [
        json!({"not_after": "soon"}),
        json!({"kty": "EC"}),
        json!({"crv": "X25519"}),
        json!({"x": "AAAA"}),
        json!({"kid": "other_key_1"}),
        json!({"space": "0192f5a0-0000-7000-8000-00000000b004"}),
    ] {
        assert_eq!(verify(bad.clone(), NOW), Err(Refusal::UnknownKey), "{bad}");
    }
    for document in ["", "[]", "{}", r#"{"keys": 1}"#] {
        assert!(KeySet::read(document.as_bytes()).is_err(), "{document}");
    }
}

#[test]
fn keys_are_read_hourly_and_for_an_unknown_key_once_a_minute() {
    let world = World::new();
    let reads = Rc::new(RefCell::new(Vec::new()));
    let answer = Rc::new(RefCell::new(Ok(br#"{"keys": []}"#.to_vec())));
    let clock = Rc::new(RefCell::new(NOW));
    let source = {
        let (reads, answer, clock) = (Rc::clone(&reads), Rc::clone(&answer), Rc::clone(&clock));
        move || {
            reads.borrow_mut().push(*clock.borrow());
            answer.borrow().clone().map_err(|()| "out of reach".into())
        }
    };
    let mut gateway = Gateway::new(world.identity.clone(), source, MemorySeen::new(1_000));
    let mut ask = |now: i64, jti: u32| {
        *clock.borrow_mut() = now;
        let claims = Claims {
            jti: format!("0199a3b2-5c00-7a1e-8f3d-{jti:012x}"),
            iat: now,
            exp: now + 120,
            ..world.claims()
        };
        gateway
            .let_through(&world.key.sign(&claims), MESSAGE, now)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    assert!(ask(NOW, 1).is_err());
    assert!(ask(NOW + 59, 2).is_err());
    assert_eq!(*reads.borrow(), [NOW]);
    *answer.borrow_mut() = Ok(world.document(&json!({})));
    assert_eq!(ask(NOW + 60, 3), Ok(()), "a key published since is found");
    for second in 61..3_660 {
        assert_eq!(
            ask(NOW + second, 1_000 + u32::try_from(second).expect("few")),
            Ok(())
        );
    }
    assert_eq!(*reads.borrow(), [NOW, NOW + 60]);
    *answer.borrow_mut() = Err(());
    assert_eq!(ask(NOW + 3_660, 4), Ok(()), "the last copy stays in use");
    // A set that a key may have left is not relied on for another hour.
    assert_eq!(ask(NOW + 3_719, 5), Ok(()));
    assert_eq!(ask(NOW + 3_720, 6), Ok(()));
    *answer.borrow_mut() = Ok(br#"{"keys": []}"#.to_vec());
    assert_eq!(ask(NOW + 3_779, 7), Ok(()));
    let refused = Err("the token is refused: unknown_key".to_owned());
    assert_eq!(ask(NOW + 3_780, 8), refused);
    let later = [3_660, 3_720, 3_780].map(|second| NOW + second);
    assert_eq!(reads.borrow()[2..], later);
}

#[test]
fn t2_a_token_goes_once_and_a_full_memory_lets_nothing_through() {
    let world = World::new();
    let document = world.document(&json!({}));
    let source = move || Ok(document.clone());
    let mut gateway = Gateway::new(world.identity.clone(), source, MemorySeen::new(2));
    let token = |jti: u32| {
        world.key.sign(&Claims {
            jti: format!("0199a3b2-5c00-7a1e-8f3d-{jti:012x}"),
            ..world.claims()
        })
    };
    assert!(gateway.let_through(&token(1), MESSAGE, NOW).is_ok());
    let again = gateway.let_through(&token(1), MESSAGE, NOW);
    assert!(matches!(
        again,
        Err(NotLetThrough::Refused(Refusal::Replayed))
    ));
    // A refusal does not use a token up.
    let elsewhere = Message {
        channel: "sms",
        ..MESSAGE
    };
    assert!(gateway.let_through(&token(2), elsewhere, NOW).is_err());
    assert!(gateway.let_through(&token(2), MESSAGE, NOW).is_ok());
    let full = gateway.let_through(&token(3), MESSAGE, NOW);
    assert!(matches!(full, Err(NotLetThrough::Unknown(_))));
    let mut seen = MemorySeen::new(1);
    assert!(seen.first_time("a", 10, 0).expect("room"));
    assert!(!seen.first_time("a", 10, 9).expect("room"));
    assert!(
        seen.first_time("b", 20, 10)
            .expect("what is over makes room")
    );
    assert_eq!(seen.len(), 1);
}
