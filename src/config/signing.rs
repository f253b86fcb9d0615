//! `[signing]`: how the keys that sign contact tokens change. Read by `rotation` and the verbs.

use super::setting::{integer, section};

section! {
    /// How the keys that sign contact tokens change. Each space has its own.
    Signing = "signing" {
        /// Days after which a space's next key follows by itself; 0: only when an operator asks.
        rotate_days: u64 = integer(90, 0, 3_650),
        /// Seconds that a next key is published before it signs. Gateways read the keys every hour.
        publish_s: u64 = integer(3_600, 60, 604_800),
    }
}
