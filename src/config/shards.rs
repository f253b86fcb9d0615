//! `[shards]`: the threads that decide. Read by `wiring`.

use super::setting::{integer, section};

section! {
    /// The threads that decide. A change needs a restart and nothing else.
    Shards = "shards" {
        /// How many. 0 takes one less than the machine has cores, at least 1, at most 16.
        count: u64 = integer(0, 0, 256),
        /// Commands decided in one turn before their answers are handed to the disk.
        turn_commands_max: u64 = integer(128, 1, 4_096),
        /// Commands that wait for one customer, object or effect; beyond it 429.
        queue_per_entity_max: u64 = integer(1_024, 1, 65_536),
        /// Milliseconds from one sweep for what has ended (leases, claims, kept keys) to the next.
        sweep_interval_ms: u64 = integer(1_000, 10, 60_000),
        /// Customers, objects and effects that one sweep looks at in one turn.
        sweep_entities_max: u64 = integer(256, 1, 65_536),
    }
}
