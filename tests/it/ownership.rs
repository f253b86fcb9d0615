//! Claims over time and over restarts: they end by themselves, and an epoch never comes back.
//!
//! Here: a server with a test clock, purges and kills. Not here: races (`linear`) and the rules
//! themselves (`domain`).

use serde_json::{Value, json};

use crate::harness::{Server, Setup};

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const CLAIMS: &str = "/v1/coordination/claims";

fn subject() -> Value {
    json!({"type": "phone_e164", "value": "+5511987651234"})
}

fn lawsuit() -> Value {
    json!({"type": "lawsuit", "namespace": "court", "id": "7"})
}

fn claim(server: &Server, once: &str) -> Value {
    let body = json!({"kind": "owner", "holder": "bot", "lease_s": 60, "subject": subject()});
    let answer = server.post_once(CLAIMS, KEY, once, &body);
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn lock(server: &Server, once: &str) -> Value {
    let body = json!({"kind": "task_lock", "holder": "bot", "lease_s": 60, "object": lawsuit(),
        "task": "summary"});
    let answer = server.post_once(CLAIMS, KEY, once, &body);
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn decision(server: &Server) -> Value {
    let check = json!({"agent": "seller", "intent": "follow_up", "direction": "outbound",
        "purpose": "service", "channel": "voice", "subject": subject()});
    server.post("/v1/coordination/check", KEY, &check).json()["decision"].clone()
}

/// Entities of a kind, as the metrics have them.
fn entities(server: &Server, kind: &str) -> u64 {
    let metrics = server.get("/metrics", KEY).text;
    let wanted = format!("kind=\"{kind}\"");
    metrics
        .lines()
        .filter(|line| line.starts_with("interlock_entities{") && line.contains(&wanted))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

#[test]
fn o9_a_claim_ends_by_itself_and_o8_epochs_grow_over_purges_and_kills() {
    let setup = Setup::new().seed(SEED).shards(2);
    let mut server = setup.test_clock("2026-01-05T12:00:00Z").start();
    let (mut epoch, mut lock_epoch) = (0, 0);
    for (round, day) in [5, 7, 9, 11].into_iter().enumerate() {
        let made = claim(&server, &format!("claim-{round}"));
        let locked = lock(&server, &format!("lock-{round}"));
        for (made, last) in [(&made, &mut epoch), (&locked, &mut lock_epoch)] {
            let new = made["epoch"].as_u64().expect("an epoch");
            assert!(new > *last, "round {round}: {made} after {last}");
            *last = new;
        }
        assert_eq!(decision(&server), "defer");
        let minute = format!("2026-01-{day:02}T12:00:59.999Z");
        assert_eq!(server.set_clock(&minute).status, 200);
        assert_eq!(decision(&server), "defer", "until its last instant");
        assert_eq!(
            server
                .set_clock(&format!("2026-01-{day:02}T12:01:00Z"))
                .status,
            200
        );
        assert_eq!(decision(&server), "allow", "round {round}");
        // Two days on, nothing about the two is left to remember: not even the entities.
        let later = format!("2026-01-{:02}T12:00:00Z", day + 2);
        assert_eq!(server.set_clock(&later).status, 200);
        assert_eq!(entities(&server, "customer"), 0);
        assert_eq!(entities(&server, "object"), 0);
        if round % 2 == 1 {
            server = server.kill().test_clock(&later).start();
        }
    }
}

#[test]
fn a_release_waits_until_what_its_id_leads_to_is_rebuilt() {
    let server = Setup::new()
        .seed(SEED)
        .test_clock("2026-01-05T12:00:00Z")
        .start();
    let made = claim(&server, "once");
    let server = server
        .kill()
        .argument("--recovery-hold")
        .argument("1")
        .start_listening();
    let path = format!(
        "{CLAIMS}/{}/release",
        made["claim_id"].as_str().expect("an id")
    );
    let answer = server.post_once(&path, KEY, "over", &json!({"epoch": made["epoch"]}));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(decision(&server), "allow");
}
