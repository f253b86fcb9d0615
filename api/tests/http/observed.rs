//! What an operator sees of all tests of this process: the log and the metrics.

use std::io::Write;
use std::sync::{LazyLock, Mutex};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use serde_json::json;

use crate::node::{CHECK, EFFECTS, KEY_A, Node, check, check_with, fresh, phone};

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static METRICS: LazyLock<PrometheusHandle> =
    LazyLock::new(|| PrometheusBuilder::new().install_recorder().unwrap());
static SUBSCRIBER: LazyLock<()> = LazyLock::new(|| {
    // Everything of ours, and of others what an operator would ever turn on.
    tracing_subscriber::fmt()
        .with_env_filter("debug,interlock_api=trace")
        .with_writer(|| Tee)
        .init();
});

struct Tee;

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Begins to observe; once per process.
pub(crate) fn begin() {
    LazyLock::force(&SUBSCRIBER);
    LazyLock::force(&METRICS);
}

/// The log of all tests so far.
pub(crate) fn log() -> String {
    String::from_utf8_lossy(&LOG.lock().unwrap()).into_owned()
}

/// The metrics of all tests so far.
pub(crate) fn metrics() -> String {
    METRICS.render()
}

/// Pitfall 26: labels are of bounded sets, whatever is asked for.
#[test]
fn metrics_carry_route_patterns_and_never_paths() {
    let node = Node::start();
    node.post(CHECK, &check()).ok();
    let path = fresh("/SECRETPATH");
    node.get(&path, Some(KEY_A)).problem(404, "not_found");
    let settle = format!("{EFFECTS}/SECRETID/settle");
    node.post(&settle, &check()).problem(404, "not_found");
    let answered = node.get("/metrics", None);
    let text = String::from_utf8(answered.body).unwrap();
    assert!(!text.contains("SECRET"), "{text}");
    for label in [
        "route=\"/v1/coordination/check\",status=\"2xx\"",
        "route=\"/v1/coordination/effects/{effect_id}/settle\",status=\"4xx\"",
        "route=\"none\",status=\"4xx\"",
    ] {
        assert!(text.contains(label), "{label} is not in {text}");
    }
}

/// Pitfall 26: nor is what was sent, which names somebody and is another text each time, in a metric, a
/// line of the log or a problem, whether it was taken or refused.
#[test]
fn pitfall_26_what_was_sent_is_in_no_metric_log_or_problem() {
    let node = Node::start();
    // No other test sends these.
    let (digits, object) = ("5511926262626", "zq26-object-0001");
    let (effect, once) = ("zq26-effect-0002", "zq26-once-0003");
    let sent = |purpose: &str| {
        check_with(
            &json!({"subject": phone(&format!("+{digits}")), "effect_key": effect,
            "purpose": purpose, "object": {"type": "ticket", "namespace": "crm", "id": object}}),
        )
    };
    let taken = node.post_keyed(KEY_A, CHECK, once, &sent("service"));
    assert_eq!(taken.status, 200, "{taken:?}");
    let mut refused = vec![
        node.post_keyed(KEY_A, CHECK, once, &sent("marketing"))
            .problem(409, "idempotency_conflict"),
        node.post(CHECK, &sent("nobody_declared_it"))
            .problem(422, "invalid_input"),
        node.post_as("nobody", CHECK, &sent("service"))
            .problem(401, "unauthenticated"),
    ];
    let mut wrong = sent("service");
    wrong["subject"] = json!({"type": object, "value": [digits, effect]});
    refused.push(node.post(CHECK, &wrong).problem(422, "invalid_input"));
    let page = String::from_utf8(node.get("/metrics", None).body).unwrap();
    let problems: Vec<String> = refused.iter().map(ToString::to_string).collect();
    for seen in [page, metrics(), log(), problems.join("\n")] {
        assert!(!seen.is_empty());
        for value in [digits, object, effect, once] {
            let line = seen.lines().find(|line| line.contains(value));
            assert_eq!(line, None, "{value}");
        }
    }
}
