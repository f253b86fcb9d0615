//! The log ends too early and the file that would tell is damaged too: nothing that was acknowledged
//! goes unsaid.
//!
//! Here: damage to the log and to its mark at once. Not here: one damaged file at a time (`damage`).

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::damage::copy;
use crate::harness::{Server, Setup};
use crate::verbs::verb;

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const BATCH: &str = "/v1/coordination/check/batch";
const NOW: &str = "2026-01-05T12:00:00Z";

fn checks(batch: usize) -> Value {
    let check = |number: usize| {
        json!({"agent": "a", "intent": "follow_up", "direction": "outbound",
            "purpose": "service", "effect_key": format!("e-{batch}-{number}"),
            "subject": {"type": "phone_e164", "value": format!("+551196{batch:03}{number:04}")}})
    };
    let checks: Vec<Value> = (0..500).map(check).collect();
    json!({"checks": checks})
}

fn ask(server: &Server, batch: usize) -> Value {
    let answer = server.post(BATCH, KEY, &checks(batch));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// A server that acknowledged six batches.
fn answered() -> Server {
    let server = Setup::new().seed(SEED).test_clock(NOW).start();
    for batch in 0..6 {
        ask(&server, batch);
    }
    server
}

/// The mark as each kind of damage leaves it.
fn spoil(run: &Path, how: usize) {
    let bytes = fs::read(run).expect("a mark");
    match how {
        0 => fs::remove_file(run).expect("a mark"),
        1 => fs::write(run, b"").expect("a mark"),
        2 => fs::write(run, &bytes[..60]).expect("a mark"),
        _ => {
            let text = String::from_utf8(bytes).expect("a text");
            // Less than the log still has.
            fs::write(run, text.replace("appended ", "appended 0.")).expect("a mark");
        }
    }
}

/// Cuts what a database was written last.
fn cut(db: &Path) {
    let mut bytes = fs::read(db).expect("a database");
    let written = bytes.iter().rposition(|byte| *byte != 0).expect("bytes");
    bytes.truncate(written - 4_729);
    fs::write(db, bytes).expect("a database");
}

fn expect_place_and_remedy(told: &str) {
    for part in [
        "data/log/db",
        "Put a copy of the data directory",
        "interlock import",
        "--accept-truncation",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_log_that_ends_too_early_is_refused_also_when_its_mark_is_damaged() {
    let whole = answered().kill();
    for how in 0..4 {
        let setup = Setup::new().seed(SEED).test_clock(NOW);
        copy(&whole.data().path(), &setup.data().path());
        let run = setup.data().path().join("run");
        cut(&setup.data().path().join("log/db"));
        spoil(&run, how);
        let look = verb(&setup, &["verify"]);
        expect_place_and_remedy(look.last_line(6));
        assert!(look.stdout.contains("commits in the journal"), "{look:?}");
        assert!(!look.stdout.contains("is well"), "{look:?}");
        // It is refused until somebody accepts what is lost.
        for _ in 0..2 {
            let ended = setup.start_refused();
            assert_eq!(ended.code, Some(6), "{how}: {ended:?}");
            expect_place_and_remedy(ended.refusal());
        }
        let compact = verb(&setup, &["compact"]);
        expect_place_and_remedy(compact.line(6));
        let server = setup.clone().argument("--accept-truncation").start();
        let said = server.line("log: it is taken as it is");
        assert!(said.contains("appends"), "{said}");
        ask(&server, 7);
        assert_eq!(server.terminate().code, Some(0));
        setup.start();
    }
}

/// A mark that counts less than the log has, as a power cut may leave it, refuses nothing.
#[test]
fn a_stale_mark_refuses_nothing() {
    let server = Setup::new().seed(SEED).test_clock(NOW).start();
    ask(&server, 0);
    let stale = fs::read(server.data().path().join("run")).expect("a mark");
    ask(&server, 1);
    let setup = server.kill();
    fs::write(setup.data().path().join("run"), stale).expect("a mark");
    verb(&setup, &["verify"]).done();
    let server = setup.start();
    let again = ask(&server, 1);
    assert_eq!(again["results"][0]["reasons"], json!(["effect_in_flight"]));
}

/// A day of history that lost its end, or is gone, is told at the start and by `verify`.
#[test]
fn history_that_ends_too_early_is_refused() {
    let server = answered();
    let whole = server.setup();
    // What history has not taken yet at a kill is in the log.
    assert_eq!(server.terminate().code, Some(0));
    let day = "log/history/2026-01-05";
    let wanted = verb(&whole, &["verify"]).done();
    for how in 0..4 {
        let setup = Setup::new().seed(SEED).test_clock(NOW);
        copy(&whole.data().path(), &setup.data().path());
        let path = setup.data().path().join(day);
        match how {
            0 => cut(&path.join("db")),
            1 => fs::write(path.join("db"), b"").expect("a day"),
            2 => fs::write(path.join("db"), [0xa5; 90_000]).expect("a day"),
            _ => fs::remove_dir_all(&path).expect("a day"),
        }
        let look = verb(&setup, &["verify"]);
        let place = format!("./data/{day}");
        assert!(look.last_line(6).contains(&place), "{look:?}");
        let look = verb(&setup, &["verify", "--json"]);
        let found: Value = serde_json::from_str(&look.stdout).expect("one JSON document");
        let fault = found["faults"][0].as_str().unwrap_or_default();
        assert!(look.code == Some(6) && fault.contains(&place), "{look:?}");
        let ended = setup.start_refused();
        assert_eq!(ended.code, Some(6), "{how}: {ended:?}");
        for part in [day, "only reports of that day", "--accept-truncation"] {
            assert!(ended.refusal().contains(part), "{ended:?}");
        }
        // It is given up, once, and nothing else is.
        let server = setup.clone().argument("--accept-truncation").start();
        assert!(server.line("history: ").contains(day));
        let again = ask(&server, 5);
        assert_eq!(again["results"][0]["reasons"], json!(["effect_in_flight"]));
        assert_eq!(server.terminate().code, Some(0));
        verb(&setup, &["verify"]).done();
        setup.start();
    }
    assert_eq!(verb(&whole, &["verify"]).done(), wanted);
}
