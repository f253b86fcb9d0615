//! T10 against the built server: one signing key follows another (`docs/spec/contact.md` §13.4).

use interlock_token::{Gateway, Identity, MemorySeen, Message, NotLetThrough, Refusal};
use serde_json::{Value, json};

use crate::harness::{Server, Setup, until};
use crate::verbs::{facts, verb};

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SPACE: &str = "0192f5a0-0000-7000-8000-00000000a004";
const CHECK: &str = "/v1/coordination/check";
const NOON: &str = "2026-01-05T12:00:00Z";
const PHONE: &str = "+5511922250001";
const TO: Message<'static> = Message {
    channel: "whatsapp",
    destination: "phone:+5511922250001",
};

fn published(server: &Server) -> Vec<u8> {
    let path = format!("/.well-known/niadra-contact-keys.json?space={SPACE}");
    let answer = server.get(&path, KEY);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json().to_string().into_bytes()
}

/// The ids of the published keys with their states, in the order of the answer.
fn keys(server: &Server) -> Vec<(String, String)> {
    let document: Value = serde_json::from_slice(&published(server)).expect("JSON");
    let text = |key: &Value, name: &str| key[name].as_str().expect("a text").to_owned();
    let keys = document["keys"].as_array().expect("a list");
    let shown = keys.iter().map(|key| {
        let retiring = key["status"] == "retiring";
        assert_eq!(key.get("not_after").is_some(), retiring, "{key}");
        (text(key, "kid"), text(key, "status"))
    });
    shown.collect()
}

fn question() -> Value {
    json!({
        "agent": "closing", "intent": "follow_up", "direction": "outbound",
        "purpose": "marketing", "channel": "whatsapp", "gateway_id": "wa_gateway",
        "subject": {"type": "phone_e164", "value": PHONE},
    })
}

fn token(server: &Server) -> String {
    let answer = server.post(CHECK, KEY, &question()).json();
    answer["contact_token"]
        .as_str()
        .expect("a token")
        .to_owned()
}

/// What a gateway that reads the keys now says of a token, at so many seconds after noon.
fn verdict(server: &Server, token: &str, seconds: i64) -> Result<String, Refusal> {
    let identity = Identity {
        gateway_id: "wa_gateway".to_owned(),
        space: SPACE.to_owned(),
        key: [b'k'; 32],
    };
    let document = published(server);
    let mut gateway = Gateway::new(identity, || Ok(document.clone()), MemorySeen::new(10));
    let noon = 1_767_614_400;
    match gateway.let_through(token, TO, noon + seconds) {
        Ok(claims) => Ok(claims.kid),
        Err(NotLetThrough::Refused(refusal)) => Err(refusal),
        Err(NotLetThrough::Unknown(error)) => panic!("{error}"),
    }
}

fn started() -> (Server, Setup) {
    let server = Setup::new().seed(SEED).test_clock(NOON).start();
    let setup = server.setup();
    (server, setup)
}

const ROTATE: [&str; 4] = ["keys", "rotate-signing", "--space", "conformance"];

#[test]
fn t10_a_key_is_published_before_it_signs_and_retires_after_it_did() {
    let (server, setup) = started();
    let old = keys(&server)[0].0.clone();
    let before = token(&server);
    let said = facts(&setup, &ROTATE);
    assert_eq!(said["spaces"][0]["signs_from"], "2026-01-05T13:00:00Z");
    assert_eq!(said["spaces"][0]["old_until"], "2026-01-05T14:02:05Z");
    let both = keys(&server);
    let states = |keys: &[(String, String)]| -> Vec<String> {
        keys.iter().map(|(_, state)| state.clone()).collect()
    };
    assert_eq!(states(&both), ["active", "active"]);
    let new = both[1].0.clone();
    assert_ne!(new, old);
    assert_eq!(verdict(&server, &before, 10), Ok(old.clone()));
    let again = verb(&setup, &ROTATE);
    assert!(again.line(13).contains("published already"), "{again:?}");
    // A kill in the middle changes nothing; the next start goes on at the time of the last one.
    let keyed = |server: &Server| {
        let answer = server.post_once(CHECK, KEY, "t10", &question());
        answer.json()["contact_token"].clone()
    };
    server.set_clock("2026-01-05T12:59:50Z");
    let last = keyed(&server);
    let text = last.as_str().expect("a token");
    let server = server.kill().test_clock("2026-01-05T12:59:50Z").start();
    assert_eq!(keys(&server), both);
    server.set_clock("2026-01-05T13:00:00Z");
    assert_eq!(
        keys(&server),
        [
            (old.clone(), "retiring".to_owned()),
            (new.clone(), "active".to_owned())
        ]
    );
    // Signed before the switch, checked after it; a new one; a repeat of one from before.
    assert_eq!(verdict(&server, text, 3_600), Ok(old));
    assert_eq!(verdict(&server, &token(&server), 3_600), Ok(new.clone()));
    assert_eq!(keyed(&server), last, "a repeat signs the same bytes");
    server.set_clock("2026-01-05T14:02:05Z");
    assert_eq!(keys(&server), [(new, "active".to_owned())]);
    assert_eq!(verdict(&server, text, 7_325), Err(Refusal::UnknownKey));
}

#[test]
fn t10_a_leaked_key_leaves_at_once() {
    let (server, setup) = started();
    let old = keys(&server);
    let leaked = token(&server);
    let said = verb(&setup, &["keys", "rotate-signing", "--now"]);
    assert_eq!(
        said.code,
        Some(2),
        "only for a space that is named: {said:?}"
    );
    let said = verb(&setup, &["keys", "rotate-signing", "--all", "--now"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert_eq!(keys(&server), old);
    let words: Vec<&str> = ROTATE.into_iter().chain(["--now"]).collect();
    verb(&setup, &words).done();
    let now = keys(&server);
    assert_eq!(now.len(), 1);
    assert_ne!(now, old);
    assert_eq!(verdict(&server, &leaked, 1), Err(Refusal::UnknownKey));
    assert_eq!(verdict(&server, &token(&server), 1), Ok(now[0].0.clone()));
    let server = server.restart(|setup| setup);
    assert_eq!(keys(&server), now);
}

#[test]
fn t10_of_every_space_only_when_all_are_asked_for() {
    let (server, setup) = started();
    let old = keys(&server);
    let said = verb(&setup, &["keys", "rotate-signing"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    let words = &said.stderr;
    assert!(
        words.contains("--space") && words.contains("--all"),
        "{words}"
    );
    let both = [&ROTATE[..], &["--all"]].concat();
    assert_eq!(verb(&setup, &both).code, Some(2));
    assert_eq!(keys(&server), old, "nothing changed");
    let said = facts(&setup, &["keys", "rotate-signing", "--all"]);
    let spaces = said["spaces"].as_array().expect("a list");
    assert!(spaces.iter().any(|row| row["space"] == "conformance"));
    assert_eq!(keys(&server).len(), 2);
}

#[test]
fn t10_the_schedule_rotates_by_itself() {
    let (server, _setup) = started();
    let first = keys(&server);
    server.set_clock("2026-04-05T11:59:59Z");
    assert_eq!(keys(&server), first);
    server.set_clock("2026-04-05T12:00:00Z");
    let both = until("the next key", || {
        let keys = keys(&server);
        (keys.len() == 2).then_some(keys)
    });
    assert_eq!(both[0], first[0]);
    server.set_clock("2026-04-05T13:30:00Z");
    assert_eq!(keys(&server)[0].1, "retiring");
}
