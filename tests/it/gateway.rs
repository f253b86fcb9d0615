//! `gateway-verify`: the check of a gateway in a shell.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::Setup;

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SPACE: &str = "0192f5a0-0000-7000-8000-00000000a004";
const NOON: &str = "2026-01-05T12:00:00Z";
const PHONE: &str = "+5511922250001";

/// Runs the verb in a folder with a token on standard input.
fn verify(folder: &Path, token: &str, words: &[&str]) -> Output {
    fs::write(folder.join("token"), token).expect("a file");
    let input = fs::File::open(folder.join("token")).expect("a file");
    Command::new(env!("CARGO_BIN_EXE_interlock"))
        .current_dir(folder)
        .arg("gateway-verify")
        .args(words)
        .stdin(Stdio::from(input))
        .output()
        .expect("the built program runs")
}

/// What `--json` prints, with the code.
fn said(output: &Output) -> (Option<i32>, Value) {
    let shown = serde_json::from_slice(&output.stdout);
    let shown = shown.unwrap_or_else(|_| panic!("{output:?}"));
    (output.status.code(), shown)
}

fn vectors() -> Vec<Value> {
    let folder = std::env::var_os("INTERLOCK_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/vectors"),
        PathBuf::from,
    );
    let text = fs::read_to_string(folder.join("contact-token.v0.json"))
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
fn t8_every_published_case_in_a_shell() {
    let home = tempfile::tempdir().expect("a folder");
    let cases = vectors();
    let verified = cases.iter().filter(|case| case["op"] == "verify");
    let mut count = 0;
    for case in verified {
        let id = text(case, "id");
        let folder = home.path().join(count.to_string());
        fs::create_dir(&folder).expect("a folder");
        let write = |name: &str, content: String| fs::write(folder.join(name), content).expect(id);
        write("keys.json", json!({ "keys": case["keys"] }).to_string());
        write("gateway.key", text(&case["gateway"], "key").to_owned());
        let seen = case["seen_jti"].as_array().expect("ids").iter();
        let seen = seen.map(|jti| format!("{} {}\n", i64::MAX, jti.as_str().expect("an id")));
        write("seen.txt", seen.collect());
        let destination = text(case, "destination").replacen("phone:", "phone_e164:", 1);
        let at = instant(case["now"].as_i64().expect("now"));
        let words = [
            "--space",
            text(&case["gateway"], "space"),
            "--gateway",
            text(&case["gateway"], "gateway_id"),
            "--channel",
            text(case, "channel"),
            "--destination",
            &destination,
            "--gateway-key-file",
            "gateway.key",
            "--keys",
            "keys.json",
            "--seen",
            "seen.txt",
            "--at",
            &at,
            "--json",
        ];
        let (code, shown) = said(&verify(&folder, text(case, "token"), &words));
        let expected = match case["expect"].get("error") {
            Some(error) => (Some(14), json!({ "accepted": false, "refusal": error })),
            None => {
                let claims = &case["expect"]["claims"];
                (Some(0), json!({ "accepted": true, "claims": claims }))
            }
        };
        assert_eq!((code, shown), expected, "{id}");
        count += 1;
    }
    assert!(count >= 15, "{count}");
}

/// An instant as the flag takes it.
fn instant(seconds: i64) -> String {
    let mut text = Vec::new();
    interlock_wire::time::push(&mut text, 1_000 * seconds);
    String::from_utf8(text).expect("ASCII")
}

#[test]
fn t1_t2_t3_a_token_of_the_server_passes_once_and_for_its_recipient() {
    let server = Setup::new().seed(SEED).test_clock(NOON).start();
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    let path = format!("/.well-known/niadra-contact-keys.json?space={SPACE}");
    let keys = server.get(&path, KEY).json().to_string();
    fs::write(folder.join("keys.json"), keys).expect("a file");
    fs::write(folder.join("gateway.key"), [b'k'; 32]).expect("a file");
    let question = json!({
        "agent": "closing", "intent": "follow_up", "direction": "outbound",
        "purpose": "marketing", "channel": "whatsapp", "gateway_id": "wa_gateway",
        "subject": {"type": "phone_e164", "value": PHONE},
    });
    let answer = server.post("/v1/coordination/check", KEY, &question).json();
    let token = text(&answer, "contact_token");
    let common = [
        "--space",
        SPACE,
        "--gateway",
        "wa_gateway",
        "--keys",
        "keys.json",
        "--at",
        NOON,
    ];
    let run = |words: &[&str]| {
        let words: Vec<&str> = common.iter().chain(words).copied().collect();
        verify(folder, token, &words)
    };
    let named = |value: &str| format!("phone_e164:{value}");
    let to = |value: &str, channel: &str, more: &[&str]| {
        let destination = named(value);
        let words = [
            "--destination",
            &destination,
            "--gateway-key-file",
            "gateway.key",
        ];
        let words = [&words[..], &["--channel", channel], more].concat();
        run(&words)
    };
    let line = |output: &Output| {
        assert_eq!(output.status.code(), Some(14), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        String::from_utf8(output.stderr.clone()).expect("text")
    };
    let wrong = line(&to("+5511922250002", "whatsapp", &["--seen", "seen.txt"]));
    assert!(
        wrong.contains("wrong_recipient: ") && !wrong.contains("92225"),
        "{wrong}"
    );
    assert!(line(&to(PHONE, "sms", &[])).contains("wrong_channel: "));
    let accepted = to(PHONE, "whatsapp", &["--seen", "seen.txt"]);
    let shown = String::from_utf8_lossy(&accepted.stdout);
    assert_eq!(accepted.status.code(), Some(0), "{accepted:?}");
    assert!(shown.contains(text(&answer, "decision_id")), "{shown}");
    let again = line(&to(PHONE, "whatsapp", &["--seen", "seen.txt"]));
    assert!(again.contains("replayed: "), "{again}");
    // Hashed already, and without the gateway's key.
    let (_, json) = said(&to(PHONE, "whatsapp", &["--json"]));
    let hash = text(&json["claims"], "rcpt");
    let words = ["--channel", "whatsapp", "--destination-hash", hash];
    assert_eq!(run(&words).status.code(), Some(0));
    let other = "A".repeat(43);
    let words = ["--channel", "whatsapp", "--destination-hash", &other];
    assert!(line(&run(&words)).contains("wrong_recipient: "));
}

#[test]
fn what_is_not_a_question_is_told_apart_from_a_refusal() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    fs::write(folder.join("keys.json"), r#"{"keys": []}"#).expect("a file");
    fs::write(folder.join("short"), "secret").expect("a file");
    let hash = "A".repeat(43);
    let common = [
        "--space",
        SPACE,
        "--gateway",
        "g",
        "--channel",
        "c",
        "--keys",
    ];
    let code = |keys: &str, words: &[&str]| {
        let words = common
            .iter()
            .copied()
            .chain([keys])
            .chain(words.iter().copied());
        let output = verify(folder, "no token", &words.collect::<Vec<_>>());
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !line.contains("secret") && !line.contains("+5511"),
            "{line}"
        );
        output.status.code()
    };
    let hashed = ["--destination-hash", &*hash];
    assert_eq!(code("keys.json", &hashed), Some(14), "malformed");
    assert_eq!(code("gone.json", &hashed), Some(13));
    assert_eq!(code("short", &hashed), Some(13), "no key set");
    assert_eq!(code("keys.json", &[]), Some(2), "no recipient");
    let both = [
        "--destination",
        "email:a@b.example",
        "--destination-hash",
        &*hash,
    ];
    assert_eq!(code("keys.json", &both), Some(2));
    let keyless = ["--destination", "phone_e164:+5511987654321"];
    assert_eq!(code("keys.json", &keyless), Some(2), "no key file");
    for (destination, key) in [
        ("phone_e164:+5511987654321", "short"),
        ("system_id:+5511987654321", "key"),
        ("phone_e164:+5511", "key"),
        ("+5511987654321", "key"),
    ] {
        fs::write(folder.join("key"), [1; 32]).expect("a file");
        let words = ["--destination", destination, "--gateway-key-file", key];
        assert_eq!(code("keys.json", &words), Some(13), "{destination}");
    }
    assert_eq!(code("keys.json", &["--destination-hash", "AAA"]), Some(13));
}
