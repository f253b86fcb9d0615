//! `--seed`: spaces from a file, made once.

use serde_json::json;

use crate::harness::Setup;

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const QUIET: &str = "nia_sk_test_br1_quiet_a_agentssecret000000001";

fn check() -> serde_json::Value {
    json!({
        "agent": "closing", "intent": "follow_up", "direction": "outbound",
        "purpose": "service", "channel": "whatsapp",
        "subject": {"type": "phone_e164", "value": "+5511987654321"},
    })
}

#[test]
fn a_seed_makes_its_spaces_once() {
    let server = Setup::new().seed(SEED).start();
    let made = server.stdout();
    let line = "seed: space `conformance` (0192f5a0-0000-7000-8000-00000000a004) made";
    assert_eq!(made[0], line);
    assert_eq!(
        made[1],
        "seed: space `quiet` (0192f5a0-0000-7000-8000-00000000a005) made"
    );
    assert!(
        !made.iter().any(|line| line.contains("first start")),
        "{made:?}"
    );
    let path = "/v1/coordination/check";
    assert_eq!(server.post(path, KEY, &check()).json()["decision"], "allow");
    assert_eq!(server.post(path, QUIET, &check()).status, 404);
    let server = server.restart(|setup| setup);
    let again = server.stdout();
    assert!(
        again[0].ends_with("exists and is left as it is"),
        "{again:?}"
    );
    assert!(
        again[1].ends_with("exists and is left as it is"),
        "{again:?}"
    );
    assert!(
        server
            .line("found ")
            .starts_with("found ./data: 2 spaces, 5 keys, ")
    );
    assert_eq!(server.post(path, KEY, &check()).json()["decision"], "allow");
}

#[test]
fn no_key_of_a_seed_is_printed() {
    let server = Setup::new().seed(SEED).start();
    let ended = server.terminate();
    let all = ended.stdout.join("\n") + &ended.stderr.join("\n");
    assert!(!all.contains("agentssecret"), "{all}");
}

#[test]
fn a_seed_that_is_wrong_is_refused_before_anything_is_made() {
    let setup = Setup::new().seed(&SEED.replace("\"closed\"", "\"shut\""));
    let refused = setup.start_refused();
    assert_eq!(refused.code, Some(11), "{refused:?}");
    assert!(!setup.data().path().exists(), "nothing was made");
    let refused = Setup::new().seed("{\"spaces\": 3}").start_refused();
    assert_eq!(refused.code, Some(11), "{refused:?}");
    assert!(
        refused.refusal().contains("seed.json: spaces: "),
        "{refused:?}"
    );
    let setup = Setup::new().seed(&SEED.replace("\"vault\"", "\"volt\""));
    let refused = setup.start_refused();
    assert_eq!(refused.code, Some(11), "{refused:?}");
    assert!(refused.refusal().contains("volt"), "{refused:?}");
    assert!(!setup.data().path().exists(), "nothing was made");
}
