//! Instants and spans as whole milliseconds.
//!
//! Here: arithmetic that cannot overflow. Not here: any clock; time is always an argument.

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The instant `milliseconds` later; saturates.
    #[must_use]
    pub const fn plus_ms(self, milliseconds: i64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }

    /// The instant `seconds` later; saturates.
    #[must_use]
    pub const fn plus_s(self, seconds: i64) -> Self {
        self.plus_ms(seconds.saturating_mul(1_000))
    }

    /// Milliseconds since `earlier`, 0 when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        let elapsed = self.0.saturating_sub(earlier.0);
        if elapsed < 0 { 0 } else { elapsed }
    }
}
