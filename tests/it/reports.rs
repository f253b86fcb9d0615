//! Shadow runs and the overview on a real node: over kills, restarts and shards.
//!
//! Here: that a run outlives its process, and that counts come from the log. Not here: the rules
//! (`domain`) and the answers' form (`api`).

use serde_json::{Value, json};

use crate::harness::{Server, Setup, until};

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const ROLES: &str = "nia_sk_test_br1_conformance_d_rolesecret000001";

fn phone(value: &str) -> Value {
    json!({"type": "phone_e164", "value": value})
}

fn sent(value: &str, agent: &str, at: &str) -> Value {
    json!({"type": "event", "kind": "message", "idempotency_key": format!("{value} {agent}"),
        "channel": "voice", "handles": [phone(value)], "direction": "outbound",
        "speaker": {"role": "ai_agent", "id": agent}, "occurred_at": at})
}

fn get(server: &Server, path: &str) -> Value {
    let answer = server.get(path, ROLES);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// The newest run, once it has ended.
fn ended(server: &Server) -> Value {
    until("the end of a shadow run", || {
        let newest = get(server, "/v1/coordination/reports")["items"][0].clone();
        (newest["status"] != "pending").then_some(newest)
    })
}

#[test]
fn a_run_outlives_its_process_and_counts_the_same_over_restarts() {
    let setup = Setup::new().seed(SEED).shards(2);
    let server = setup.test_clock("2026-01-05T12:00:00Z").start();
    let customers: Vec<String> = (0..20).map(|n| format!("+55119876512{n:02}")).collect();
    let mut items = Vec::new();
    for customer in &customers {
        items.push(sent(customer, "closing", "2026-01-05T08:00:00Z"));
        items.push(sent(customer, "retention", "2026-01-05T09:00:00Z"));
    }
    let told = server.post("/v1/batch", KEY, &json!({"items": items}));
    assert_eq!(told.json()["accepted"], 40, "{told:?}");
    let mut asked = Vec::new();
    let mut server = server;
    for shards in [3, 1] {
        let run = server.post("/v1/coordination/shadow", ROLES, &json!({"days": 7}));
        assert_eq!(run.status, 202, "{run:?}");
        asked.push(run.json()["report_id"].clone());
        // Wherever the run is now, what was answered outlives the process.
        server = server.kill().shards(shards).start();
        let report = ended(&server);
        assert_eq!(report["report_id"], asked[asked.len() - 1]);
        assert_eq!(report["status"], "done");
        let summary = &report["summary"];
        assert_eq!(
            (&summary["messages"], &summary["customers"]),
            (&json!(40), &json!(20))
        );
        assert_eq!(summary["conflicts"]["concurrent_agents"]["count"], 20);
        assert!(!report.to_string().contains("9876512"), "{report}");
    }
    let items = get(&server, "/v1/coordination/reports")["items"].clone();
    let ids: Vec<_> = items
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["report_id"].clone())
        .collect();
    assert_eq!(ids, [asked[1].clone(), asked[0].clone()], "newest first");
}

/// History is read oldest first, and the newest row is older than the end of what is read.
#[test]
fn the_progress_of_a_run_that_is_done_is_one() {
    let setup = Setup::new().seed(SEED);
    let server = setup.test_clock("2026-01-05T12:00:00Z").start();
    let item = sent("+5511987651400", "closing", "2026-01-05T08:00:00Z");
    let told = server.post("/v1/batch", KEY, &json!({"items": [item]}));
    assert_eq!(told.json()["accepted"], 1, "{told:?}");
    let run = server.post("/v1/coordination/shadow", ROLES, &json!({"days": 7}));
    assert_eq!(run.status, 202, "{run:?}");
    assert_eq!(ended(&server)["status"], "done");
    let metrics = server.get("/metrics", "").text;
    let shown = metrics
        .lines()
        .find_map(|line| line.strip_prefix("interlock_shadow_progress "));
    assert_eq!(shown, Some("1"));
}

#[test]
fn an_overview_adds_up_all_shards_and_outlives_a_kill() {
    let setup = Setup::new().seed(SEED).shards(2);
    let server = setup.test_clock("2026-01-05T12:00:00Z").start();
    for n in 0..10 {
        let subject = phone(&format!("+55119876513{n:02}"));
        let check = json!({"agent": "closing", "intent": "winback", "direction": "outbound",
            "purpose": "retention", "channel": "voice", "subject": subject});
        let answer = server.post("/v1/coordination/check", KEY, &check);
        assert_eq!(answer.json()["decision"], "allow", "{answer:?}");
        let holder = format!("agent-{}", n % 2);
        let claim = json!({"kind": "owner", "holder": holder, "lease_s": 600, "subject": subject});
        let once = format!("claim {n}");
        let answer = server.post_once("/v1/coordination/claims", KEY, &once, &claim);
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    let before = get(&server, "/v1/coordination/overview");
    let held = json!([{"kind": "owner", "level": "agent_active", "via": "declaration",
        "holder_kind": "agent", "claims": 10, "holders": 2}]);
    assert_eq!(before["ownership"], held);
    let contacts = json!([{"direction": "outbound", "purpose": "retention", "state": "reserved",
        "contacts": 10}]);
    assert_eq!(before["contacts"], contacts);
    let server = server.kill().shards(3).start();
    assert_eq!(get(&server, "/v1/coordination/overview"), before);
}
