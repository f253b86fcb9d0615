//! `[deadlines]`: how long a request may wait. Read by `wiring`.

use super::setting::{integer, section};

section! {
    /// How long a request may wait before it is answered undecided. Monotonic time, from its first
    /// byte.
    Deadlines = "deadlines" {
        /// Milliseconds for one check.
        check_deadline_ms: u64 = integer(150, 10, 60_000),
        /// Milliseconds for a batch of checks; an item that is late is answered in its place.
        batch_deadline_ms: u64 = integer(2_000, 10, 60_000),
        /// Milliseconds for every other request.
        request_deadline_ms: u64 = integer(5_000, 10, 60_000),
        /// Milliseconds in which the head of a request must have arrived.
        head_read_ms_max: u64 = integer(5_000, 100, 120_000),
        /// Milliseconds in which its body must have arrived.
        body_read_ms_max: u64 = integer(5_000, 100, 120_000),
        /// Milliseconds for which a client may take nothing of an answer that waits for it; then its
        /// connection is closed.
        answer_stalled_ms_max: u64 = integer(60_000, 1_000, 3_600_000),
    }
}
