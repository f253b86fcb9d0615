//! `[history]`: what stays of decisions, and for how long. Read by `wiring`.

use super::setting::{integer, section};

section! {
    /// What stays of decisions after the journal is truncated, without handles.
    History = "history" {
        /// UTC days that are kept, today's included. Whole days go, within an hour of being over.
        keep_days: u64 = integer(90, 1, 3_650),
        /// Bytes of commits that wait to be written to history; above it commits wait, and so do
        /// answers.
        queue_bytes_max: u64 = integer(67_108_864, 1_048_576, 1_073_741_824),
        /// Milliseconds from one write of history to the next while little waits.
        write_interval_ms: u64 = integer(1_000, 10, 60_000),
    }
}
