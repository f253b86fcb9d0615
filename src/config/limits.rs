//! `[limits]`: what is refused at the entrance. Read by `wiring`.

use super::setting::{integer, section};

section! {
    /// What is refused at the entrance, with 413, 429 or 503.
    Limits = "limits" {
        /// Bytes of the body of any request but a batch, also after it is inflated.
        body_bytes_max: u64 = integer(65_536, 16_384, 16_777_216),
        /// Bytes of the body of a batch, also after it is inflated.
        batch_bytes_max: u64 = integer(2_097_152, 65_536, 67_108_864),
        /// Bytes of the bodies that all requests together hold at once.
        bodies_bytes_max: u64 = integer(268_435_456, 16_777_216, 17_179_869_184),
        /// Bytes of the bodies of batches that are worked on at once; further batches wait. A space may
        /// have all of it while no other asks for anything.
        batches_bytes_max: u64 = integer(2_097_152, 65_536, 1_073_741_824),
        /// The same for the batches of one space while another space asks too: small, so that the
        /// other's single checks wait little. A larger batch takes all of it.
        batches_bytes_per_space_max: u64 = integer(163_840, 16_384, 1_073_741_824),
        /// Batches of one space that wait for that; beyond it 429.
        batches_waiting_per_space_max: u64 = integer(64, 1, 65_536),
        /// Milliseconds after a request in which its space counts as one that asks.
        space_asks_ms: u64 = integer(1_000, 0, 3_600_000),
        /// Commands inside the node at once.
        commands_in_flight_max: u64 = integer(65_536, 512, 4_194_304),
        /// Commands inside the node at once of a space while no other has any. With others, each may
        /// have an equal part of all, and never less than 500.
        commands_in_flight_per_space_max: u64 = integer(32_768, 512, 4_194_304),
        /// Bytes of commands inside the node at once.
        bytes_in_flight_max: u64 = integer(268_435_456, 16_777_216, 17_179_869_184),
        /// Commands that one key may send a second on average; beyond it 429. A batch counts as many as
        /// it has checks. 0: as many as it likes.
        commands_per_key_per_s: u64 = integer(0, 0, 1_000_000),
        /// Seconds of that rate that a key may send at once after a pause. A batch that is larger goes
        /// when the key has nothing to wait for, and what it took is waited for afterwards.
        burst_per_key_s: u64 = integer(1, 1, 3_600),
        /// Outcomes of idempotency keys that the node keeps for one source of a space. Each is kept for
        /// 24 hours; above it requests with a new key are answered 429. Those that free something go
        /// on.
        receipts_per_source_max: u64 = integer(10_000_000, 1_000, 1_000_000_000),
        /// Notices kept in memory for readers of a stream; a reader that is further behind goes on
        /// from the log.
        notices_max: u64 = integer(65_536, 1_024, 4_194_304),
        /// Seconds a client is told to wait after 429 or 503.
        retry_after_s: u64 = integer(1, 1, 3_600),
    }
}
