//! `[memory]`: how much the node may remember. Read by `wiring`.

use super::setting::{integer, section};

section! {
    /// How much the node may remember. Above it nothing new is reserved; settles, releases and lifts
    /// go on.
    Memory = "memory" {
        /// Bytes of the whole process. 0 takes 60 % of what the machine or its container has.
        memory_bytes_max: u64 = integer(0, 0, 1_125_899_906_842_624),
        /// Customers, objects, effects and the like of one space.
        entities_per_space_max: u64 = integer(100_000_000, 1_000, 10_000_000_000),
    }
}
