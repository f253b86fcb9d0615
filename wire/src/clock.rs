//! `PUT /test/clock`: only for tests.

use crate::read::request;
use crate::value::Instant;

request! {
    /// The time a test wants.
    SetClock {
        /// The new time.
        now: required Instant,
    }
}
