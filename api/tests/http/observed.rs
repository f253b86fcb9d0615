//! What an operator sees of all tests of this process: the log and the metrics.

use std::io::Write;
use std::sync::{LazyLock, Mutex};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::node::{CHECK, EFFECTS, KEY_A, Node, check, fresh};

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
