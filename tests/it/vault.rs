//! `vault set`: a gateway's key is replaced from standard input and shown nowhere.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use interlock_token::keyed_hash;
use serde_json::{Value, json};

use crate::harness::{Server, Setup};
use crate::verbs::facts;

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const NOON: &str = "2026-01-05T12:00:00Z";
const NEW: [u8; 32] = *b"another key of a gateway, it is.";

fn set(setup: &Setup, name: &str, value: &[u8]) -> Output {
    let home = setup.data().home();
    fs::write(home.join("value"), value).expect("a file");
    let input = fs::File::open(home.join("value")).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_interlock"))
        .current_dir(home)
        .args(["vault", "set", "--space", "conformance", name])
        .stdin(Stdio::from(input))
        .output()
        .expect("the built program runs");
    fs::remove_file(home.join("value")).expect("it is there");
    output
}

/// Whether a new token of some customer has its recipient under this key.
fn is_under(server: &Server, key: [u8; 32], customer: u32) -> bool {
    let phone = format!("+551192225000{customer}");
    let question = json!({
        "agent": "closing", "intent": "follow_up", "direction": "outbound",
        "purpose": "marketing", "channel": "whatsapp", "gateway_id": "wa_gateway",
        "subject": {"type": "phone_e164", "value": phone},
    });
    let answer = server.post("/v1/coordination/check", KEY, &question).json();
    let token = answer["contact_token"].as_str().expect("a token");
    let payload = token.split('.').nth(1).expect("a payload");
    let payload = URL_SAFE_NO_PAD.decode(payload).expect("base64url");
    let claims: Value = serde_json::from_slice(&payload).expect("JSON");
    claims["rcpt"] == keyed_hash(&key, &format!("phone:{phone}"))
}

/// Whether any file below a folder has the bytes.
fn holds(folder: &Path, bytes: &[u8]) -> bool {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .any(|path| {
            if path.is_dir() {
                return holds(&path, bytes);
            }
            // A socket is no file.
            let content = fs::read(&path).unwrap_or_default();
            content.windows(bytes.len()).any(|part| part == bytes)
        })
}

#[test]
fn a_gateways_key_is_replaced_and_never_shown() {
    let server = Setup::new().seed(SEED).test_clock(NOON).start();
    let setup = server.setup();
    assert!(is_under(&server, [b'k'; 32], 1));
    let url_safe = URL_SAFE_NO_PAD.encode(NEW);
    let done = set(&setup, "wa_gateway", format!("{url_safe}\n").as_bytes());
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(is_under(&server, NEW, 2));
    let history = facts(&setup, &["spaces", "history", "conformance"]);
    let last = &history["versions"][0];
    assert_eq!(last["reason"], "the vault value `wa_gateway` is set");
    assert_eq!(
        (&last["version"], &last["by"]),
        (&json!(2), &json!("operator"))
    );
    // A new name beside it, for a change without a gap: no version of the rules, and said so.
    let beside = set(&setup, "wa_2", url_safe.as_bytes());
    assert_eq!(beside.status.code(), Some(0), "{beside:?}");
    let said = String::from_utf8_lossy(&beside.stdout).into_owned();
    assert!(said.contains("no rule uses it yet"), "{said}");
    let history = facts(&setup, &["spaces", "history", "conformance"]);
    assert_eq!(history["versions"][0]["version"], 2, "{history}");
    for name in ["wa gateway", "Wa", "", "2wa", &"a".repeat(41)] {
        let refused = set(&setup, name, url_safe.as_bytes());
        assert_eq!(refused.status.code(), Some(13), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("^[a-z][a-z0-9_]{0,39}$"), "{said}");
    }
    for bad in [
        "",
        "short",
        &format!("A{url_safe}"),
        &format!("{url_safe}="),
    ] {
        let refused = set(&setup, "wa_gateway", bad.as_bytes());
        assert_eq!(refused.status.code(), Some(13), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(bad.is_empty() || !said.contains(bad), "{said}");
    }
    assert!(is_under(&server, NEW, 3));
    let server = server.restart(|setup| setup);
    assert!(is_under(&server, NEW, 4));
    let logged = [server.stdout(), server.stderr()].concat().join("\n");
    let data = server.data().path();
    assert!(
        holds(&data, b"wa_gateway"),
        "the search finds what is there"
    );
    for form in [
        &NEW[..],
        url_safe.as_bytes(),
        STANDARD_NO_PAD.encode(NEW).as_bytes(),
    ] {
        assert!(!holds(&data, form));
        let form = String::from_utf8_lossy(form);
        assert!(!logged.contains(&*form));
    }
}
