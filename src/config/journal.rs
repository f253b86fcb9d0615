//! `[journal]`: how decisions reach the disk. Read by `wiring`.

use super::setting::{integer, section};

section! {
    /// How decisions reach the disk.
    Journal = "journal" {
        /// Bytes of records that one sync covers at most.
        commit_bytes_max: u64 = integer(1_048_576, 65_536, 33_554_432),
        /// Bytes of the journal that no snapshot covers yet; above it requests are answered 503 until
        /// snapshots have caught up. Bounds the time a start takes.
        journal_bytes_max: u64 = integer(2_147_483_648, 4_194_304, 1_099_511_627_776),
    }
}
