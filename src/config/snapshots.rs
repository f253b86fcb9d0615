//! `[snapshots]`: how the journal is kept short. Read by `wiring`.

use super::setting::{integer, section};

section! {
    /// How the journal is kept short.
    Snapshots = "snapshots" {
        /// Milliseconds from the start of one round of snapshots to the next.
        interval_ms: u64 = integer(300_000, 100, 86_400_000),
        /// Bytes a second that snapshots write while the journal is shorter than half of its soft bound;
        /// above, more, the longer it is.
        bytes_per_s: u64 = integer(10_485_760, 1_048_576, 1_073_741_824),
        /// Soft bound of the journal, in bytes, while less is live; else it is what is live. What the
        /// disk holds and a start reads stays near it while load allows.
        journal_bytes_soft: u64 = integer(335_544_320, 1_048_576, 1_099_511_627_776),
        /// Customers, objects and effects that one turn encodes for a snapshot.
        slice_entities_max: u64 = integer(500, 1, 10_000),
    }
}
