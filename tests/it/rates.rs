//! What a key may send, as the settings say it: the rule itself is shown in `api`.

use serde_json::json;

use crate::harness::Setup;

const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");

#[test]
fn a_key_beyond_the_rate_of_the_settings_waits() {
    let settings = "[limits]\ncommands_per_key_per_s = 1\nburst_per_key_s = 2\n";
    // Domain time stands still, and the rate does not go by it.
    let server = Setup::new()
        .config(settings)
        .seed(SEED)
        .test_clock("2026-01-05T12:00:00Z")
        .start();
    let check = json!({
        "agent": "closing", "intent": "follow_up", "direction": "outbound",
        "purpose": "service", "channel": "whatsapp",
        "subject": {"type": "phone_e164", "value": "+5511987654321"},
    });
    let batch = json!({ "checks": vec![check.clone(); 500] });
    let taken = server.post("/v1/coordination/check/batch", KEY, &batch);
    assert_eq!(taken.status, 200, "{taken:?}");
    assert_eq!(server.set_clock("2026-01-05T13:00:00Z").status, 200);
    let refused = server.post("/v1/coordination/check", KEY, &check);
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(refused.json()["code"], "rate_limited");
    let wait_s: u64 = refused
        .retry_after
        .as_deref()
        .and_then(|wait| wait.parse().ok())
        .expect("whole seconds");
    assert!((1..=499).contains(&wait_s), "{refused:?}");
}
