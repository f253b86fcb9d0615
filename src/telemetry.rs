//! What the node says about itself: log lines on standard error, metrics as Prometheus text.
//!
//! Here: the subscriber and the recorder. Not here: what is logged or counted. Called by `serve`
//! once. No label is ever a handle, a key or an id of a client, so the number of series is bounded.

use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::Telemetry;
use crate::exit::{Exit, Stop};

/// Seconds: from what a decision in memory takes to what a stuck disk takes.
const SECONDS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5,
    1.0, 2.5, 5.0, 10.0,
];
/// Bytes: from a chunk to the largest commit.
const BYTES: &[f64] = &[
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
/// Counts of things in a batch, a turn or a queue.
const COUNTS: &[f64] = &[
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0, 4_096.0, 16_384.0,
];

/// How often what was counted is put in order, so that it does not grow while nobody reads it.
const UPKEEP: Duration = Duration::from_secs(5);

/// Starts logging.
///
/// # Errors
/// When the filter of the settings makes no sense.
pub(crate) fn start_log(settings: &Telemetry) -> Result<(), Stop> {
    let filter = EnvFilter::try_new(&settings.log_filter).map_err(|error| {
        let message = format!("[telemetry] log_filter: {error}");
        Stop::new(Exit::Config, message)
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(true);
    let started = if settings.log_format == "json" {
        // A line's members stand at the top, so that `jq .request_id` finds them.
        builder.json().flatten_event(true).try_init()
    } else {
        builder.with_ansi(false).try_init()
    };
    started.map_err(|error| Stop::new(Exit::Bug, format!("the log cannot start: {error}")))
}

/// Starts counting; the handle renders what was counted.
///
/// # Errors
/// When something else counts already: a bug.
pub(crate) fn start_metrics() -> Result<PrometheusHandle, Stop> {
    let fixed = |builder: PrometheusBuilder, suffix: &str, buckets: &[f64]| {
        builder.set_buckets_for_metric(Matcher::Suffix(suffix.to_owned()), buckets)
    };
    PrometheusBuilder::new()
        .set_buckets(COUNTS)
        .and_then(|builder| fixed(builder, "_seconds", SECONDS))
        .and_then(|builder| fixed(builder, "_bytes", BYTES))
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(|error| Stop::new(Exit::Bug, format!("metrics cannot start: {error}")))
}

/// Keeps the counts in order for as long as the runtime runs.
pub(crate) fn keep_metrics(handle: PrometheusHandle) {
    let upkeep = actix_web::rt::spawn(async move {
        let mut tick = actix_web::rt::time::interval(UPKEEP);
        loop {
            tick.tick().await;
            handle.run_upkeep();
        }
    });
    // It ends with the runtime it runs on.
    drop(upkeep);
}
