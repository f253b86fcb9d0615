//! How long a request has taken.
//!
//! The one place of the edge that reads the monotonic clock. It bounds waits and feeds metrics; no
//! decision depends on it.

use std::time::{Duration, Instant};

/// Runs from the moment a request's head was read.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts one.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "the edge has no node clock to measure by"
    )]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long it has run.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// What is left of a deadline; zero when it has passed.
    #[must_use]
    pub fn left(self, deadline_ms: u64) -> Duration {
        Duration::from_millis(deadline_ms).saturating_sub(self.elapsed())
    }
}
