//! Metrics of the edge: names, labels, and `GET /metrics`.
//!
//! Labels are of bounded sets: route patterns, status classes. Never a space, key, customer or
//! request.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Bytes;
use actix_web::{HttpResponse, web};

use crate::state::AppState;
use crate::stopwatch::Stopwatch;

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
pub(crate) async fn get<D: 'static>(
    state: web::Data<AppState<D>>,
    page: Option<web::Data<Page>>,
) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"))
        .body(match page {
            Some(page) => page.text(&*state.metrics),
            None => (state.metrics)().into(),
        })
}

/// The text of `GET /metrics`, which needs no key and takes a while to make: after a burst the last
/// one is given again, [`PAGE_NS`] old at most.
pub(crate) struct Page {
    since: Stopwatch,
    made: Mutex<Made>,
}

struct Made {
    text: Bytes,
    /// Until when those that were made are spread at the rate, in nanoseconds of `since`.
    spread_until_ns: u64,
}

/// Nanoseconds between texts that are made anew, once a burst is over: sixteen a second.
const PAGE_NS: u64 = 1_000_000_000 / 16;
/// Texts that are made anew at once after a pause, so that whoever looks now and then sees the present.
const PAGES_AT_ONCE: u64 = 64;

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").finish_non_exhaustive()
    }
}

impl Page {
    /// One of which nothing is made.
    pub(crate) fn new() -> Self {
        let made = Made {
            text: Bytes::new(),
            spread_until_ns: 0,
        };
        Self {
            since: Stopwatch::start(),
            made: Mutex::new(made),
        }
    }

    fn text(&self, make: &dyn Fn() -> String) -> Bytes {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ns = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        made.at(now_ns, make)
    }
}

impl Made {
    fn at(&mut self, now_ns: u64, make: &dyn Fn() -> String) -> Bytes {
        let spread_ns = self.spread_until_ns.max(now_ns) + PAGE_NS;
        if spread_ns - now_ns <= PAGE_NS * PAGES_AT_ONCE {
            // Without the room that it grew into: clients that do not read keep it.
            self.text = make().into_boxed_str().into_boxed_bytes().into();
            self.spread_until_ns = spread_ns;
        }
        self.text.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn the_text_is_made_anew_until_a_burst_is_over_and_then_at_its_rate() {
        let count = Cell::new(0);
        let make = || {
            count.set(count.get() + 1);
            count.get().to_string()
        };
        let page = Page::new();
        let mut made = page.made.lock().unwrap();
        for number in 1..=PAGES_AT_ONCE {
            assert_eq!(made.at(0, &make), number.to_string());
        }
        for _ in 0..1_000 {
            assert_eq!(made.at(PAGE_NS - 1, &make), "64");
        }
        assert_eq!(made.at(PAGE_NS, &make), "65");
        assert_eq!(made.at(PAGE_NS, &make), "65");
        // A pause gives back a burst, not more.
        let later_ns = PAGE_NS * 1_000;
        for _ in 0..1_000 {
            made.at(later_ns, &make);
        }
        assert_eq!(count.get(), 65 + PAGES_AT_ONCE);
    }
}
