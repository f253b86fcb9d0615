//! Metrics of the edge: names, labels, and `GET /metrics`.
//!
//! Labels are of bounded sets: route patterns, status classes. Never a space, key, customer or
//! request.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpResponse, web};

use crate::state::AppState;

/// How long requests took, in seconds, by route and class of status.
pub const REQUEST_SECONDS: &str = "interlock_http_request_seconds";

/// Requests refused because their key sent more than its rate.
pub const RATE_LIMITED: &str = "interlock_rate_limited_total";

/// Batches refused because their space had too many waiting, or their turn did not come in time.
pub const BATCHES_REFUSED: &str = "interlock_batches_refused_total";

/// Batches that wait in their space's line.
pub const BATCHES_WAITING: &str = "interlock_batches_waiting";

/// Says what each name means, as `/metrics` shows it.
pub(crate) fn describe() {
    metrics::describe_histogram!(
        REQUEST_SECONDS,
        "Seconds from a request to its answer, by route pattern and class of status."
    );
    metrics::describe_counter!(
        RATE_LIMITED,
        "Requests refused because their key sent more than [limits] commands_per_key_per_s."
    );
    metrics::describe_counter!(
        BATCHES_REFUSED,
        "Batches refused because too many of their space waited, or their turn did not come in time."
    );
    metrics::describe_gauge!(
        BATCHES_WAITING,
        "Batches that wait until earlier ones of their space are done with."
    );
    // Shown from the start, so that an alert on it has something to look at.
    metrics::counter!(RATE_LIMITED).increment(0);
    metrics::counter!(BATCHES_REFUSED).increment(0);
    metrics::gauge!(BATCHES_WAITING).increment(0.0);
}

/// Counts a request that its key's rate refused.
pub(crate) fn rate_limited() {
    metrics::counter!(RATE_LIMITED).increment(1);
}

/// Counts a batch that its space's line refused.
pub(crate) fn batch_refused() {
    metrics::counter!(BATCHES_REFUSED).increment(1);
}

/// Counts a batch that begins to wait.
pub(crate) fn batch_waits() {
    metrics::gauge!(BATCHES_WAITING).increment(1.0);
}

/// Counts one that does so no more.
pub(crate) fn batch_waited() {
    metrics::gauge!(BATCHES_WAITING).decrement(1.0);
}

/// Counts an answer.
pub(crate) fn answered(route: &str, status: StatusCode, took: Duration) {
    let class = match status.as_u16() {
        0..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    };
    metrics::histogram!(REQUEST_SECONDS, "route" => route.to_owned(), "status" => class)
        .record(took.as_secs_f64());
}

/// `GET /metrics`.
pub(crate) async fn get<D: 'static>(state: web::Data<AppState<D>>) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"))
        .body((state.metrics)())
}
