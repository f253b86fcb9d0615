//! The largest batch: all of its records fit one commit, whatever its checks say.
//!
//! Here: what it takes of the journal. Not here: what is decided of it, and how many checks it may have
//! (`api/tests/http/decisions.rs`).

use interlock_storage::COMMIT_BYTES_MAX;
use serde_json::{Value, json};

use crate::harness::{Server, Setup};

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
/// Nothing leaves the journal while it is weighed.
const CONFIG: &str = "[snapshots]\ninterval_ms = 86_400_000\n";

/// A check whose texts are as long as they may be.
fn check(number: usize) -> Value {
    let long = |count: usize| format!("{number:04}{}", "x".repeat(count - 4));
    json!({
        "agent": long(256), "intent": "follow_up", "direction": "outbound", "purpose": "marketing",
        "channel": "voice", "task": "t".repeat(40), "effect_key": long(512), "effect_kind": "filing",
        "subject": {"type": "phone_e164", "value": format!("+551197{number:07}")},
        "object": {"type": "lawsuit", "namespace": "court", "id": long(256)},
    })
}

fn journal_bytes(server: &Server) -> usize {
    let text = server.get("/metrics", "").text;
    let mut lines = text.lines();
    let bytes = lines.find_map(|line| line.strip_prefix("interlock_journal_bytes "));
    let bytes: f64 = bytes.and_then(|it| it.parse().ok()).expect("the metric");
    bytes as usize
}

/// Pitfall 32.
#[test]
fn pitfall_32_the_largest_batch_fits_one_commit() {
    let server = Setup::new().seed(SEED).config(CONFIG).start();
    let before = journal_bytes(&server);
    let checks: Vec<Value> = (0..500).map(check).collect();
    let answer = server.post(
        "/v1/coordination/check/batch",
        KEY,
        &json!({"checks": checks}),
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    let results = answer["results"].as_array().expect("results");
    let allowed = results.iter().filter(|it| it["decision"] == "allow");
    assert_eq!(allowed.count(), 500, "each leaves a record: {answer}");
    // Written in one commit or in several: a commit of all of it is within the log's bound.
    let taken = journal_bytes(&server) - before;
    assert!(
        taken > 500 * 100 && taken < COMMIT_BYTES_MAX,
        "{taken} bytes of 500 checks"
    );
}
