//! Data directories and exports of every format that was released, kept as they were written.
//!
//! Here: what `tests/golden` holds is opened, verified, answered from and imported; whoever changes a
//! format adds a folder and keeps the others. `INTERLOCK_WRITE_GOLDEN=N cargo test -p interlock
//! --test it golden::` writes folder N anew with the program of today. Not here: what a newer format
//! is refused with (`storage`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Server, Setup, until};
use crate::pages;
use crate::verbs::{facts, verb};

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const CHECK: &str = "/v1/coordination/check";
const CONFIG: &str = "[snapshots]\ninterval_ms = 100\n[journal]\njournal_bytes_max = 8_388_608\n";
/// Effects that are in flight when the directory is left.
const EFFECTS: usize = 60;
/// What an operator seals with.
const KEY_FILE: &str = "the bytes that seal the golden file's secret";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn check(number: usize, agent: &str) -> Value {
    json!({"agent": agent, "intent": "follow_up", "direction": "outbound", "purpose": "service",
        "effect_key": format!("golden-{number}"),
        "subject": {"type": "phone_e164", "value": format!("+55119551{number:05}")}})
}

/// What verifying a directory finds, but for the size of the engine's files and how much of the
/// journal snapshots have taken over, which are the engine's own.
fn verified(setup: &Setup) -> Value {
    let found = facts(setup, &["verify"]);
    let same = ["spaces", "keys", "entities"];
    same.map(|name| json!({name: found[name]})).into()
}

/// Takes the steps of the contact page, leaves effects in flight and a keyed answer, and is killed
/// with a part of it in snapshots.
fn fill(server: &Server) -> Value {
    pages::take_contact_steps(server);
    for number in 0..EFFECTS {
        assert_eq!(server.post(CHECK, KEY, &check(number, "first")).status, 200);
    }
    // Zero once snapshots have all of it; what comes after is in the journal.
    until("snapshots of everything", || {
        let text = server.get("/metrics", "").text;
        let age = |line: &str| line.starts_with("interlock_snapshot_age_seconds 0");
        text.lines().any(age).then_some(())
    });
    let keyed = server.post_once(CHECK, KEY, "golden", &check(EFFECTS, "keyed"));
    assert_eq!(keyed.status, 200, "{keyed:?}");
    json!({"keyed": keyed.text})
}

fn tar(words: &[&str]) {
    let output = Command::new("tar").args(words).output().expect("tar runs");
    assert!(output.status.success(), "{output:?}");
}

fn write(folder: &Path) {
    fs::create_dir_all(folder).expect("a directory");
    let server = Setup::new().seed(SEED).config(CONFIG).shards(2).start();
    let mut told = fill(&server);
    let setup = server.setup();
    setup.data().write_closed("key", KEY_FILE);
    let exported = facts(&setup, &["export", "--to", "export", "--seal-with", "key"]);
    told["at"] = exported["at"].clone();
    let setup = server.kill();
    told["verified"] = verified(&setup);
    let home = setup.data().home().display().to_string();
    let archive = folder.join("data.tar.gz").display().to_string();
    let leave = [
        "--exclude=reserve",
        "--exclude=admin.sock",
        "--exclude=snap.*.generating",
    ];
    let ours = [
        "--owner=0",
        "--group=0",
        "--mtime=2026-11-30",
        "--sort=name",
    ];
    tar(&[
        &["-C", &home, "-czf", &archive],
        &leave[..],
        &ours[..],
        &["data"],
    ]
    .concat());
    fs::copy(setup.data().home().join("export"), folder.join("export")).expect("a copy");
    let told = serde_json::to_string_pretty(&told).expect("it has text keys");
    fs::write(folder.join("told.json"), told + "\n").expect("a file");
}

/// Everything that was told when the folder was written is told again.
fn expect(setup: &Setup, told: &Value) {
    assert_eq!(verified(setup), told["verified"]);
    let server = setup.start();
    let keyed = server.post_once(CHECK, KEY, "golden", &check(EFFECTS, "keyed"));
    assert_eq!(
        (keyed.status, keyed.text.as_str()),
        (200, told["keyed"].as_str().expect("a text"))
    );
    let server = server.restart(|setup| setup.shards(3));
    for number in 0..=EFFECTS {
        let answer = server.post(CHECK, KEY, &check(number, "other"));
        assert_eq!(
            answer.json()["reasons"],
            json!(["effect_in_flight"]),
            "{number}: {answer:?}"
        );
    }
    let answer = server.post(CHECK, KEY, &check(EFFECTS + 1, "other"));
    assert_eq!(
        answer.json()["decision"],
        json!("allow"),
        "it goes on: {answer:?}"
    );
}

#[test]
fn every_released_format_is_opened_and_imported() {
    if let Some(number) = std::env::var_os("INTERLOCK_WRITE_GOLDEN") {
        write(&root().join(number));
    }
    let mut formats = 0;
    for folder in fs::read_dir(root()).expect("the golden folders") {
        let folder = folder.expect("an entry").path();
        let told = fs::read_to_string(folder.join("told.json")).expect("a file");
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let at = told["at"].as_str().expect("a time");
        let opened = Setup::new().config(CONFIG).test_clock(at);
        let home = opened.data().home().display().to_string();
        let archive = folder.join("data.tar.gz").display().to_string();
        tar(&["-C", &home, "-xzf", &archive]);
        expect(&opened, &told);
        let imported = Setup::new().config(CONFIG).test_clock(at);
        imported.data().write_closed("key", KEY_FILE);
        let from = folder.join("export").display().to_string();
        verb(
            &imported,
            &["import", "--from", &from, "--seal-with", "key"],
        )
        .done();
        expect(&imported, &told);
        formats += 1;
    }
    assert!(formats >= 1, "the format of today is there");
}
