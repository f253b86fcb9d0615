//! Wall clocks that disagree: one for each shard, skewed, stepping back and forth, and one
//! monotonic clock for all.
//!
//! A real node hands all shards one time; here they differ, so that only what travels with the
//! messages can keep a decision from being earlier than its entities.

use interlock_actors::message::Monotonic;
use interlock_domain::time::Timestamp;

use crate::random::Random;

/// The first instant of every run: 2026-01-01T00:00:00Z.
const START_MS: i64 = 1_767_225_600_000;

/// The clocks of a run.
#[derive(Debug)]
pub struct Clocks {
    base_ms: i64,
    skews_ms: Vec<i64>,
    skew_max_ms: u64,
    jumps: bool,
    mono: Monotonic,
}

impl Clocks {
    /// Clocks for at most `shards` shards, no two of which differ by more than `skew_max_ms`.
    #[must_use]
    pub fn new(shards: usize, skew_max_ms: u64, jumps: bool) -> Self {
        Self {
            base_ms: START_MS,
            skews_ms: vec![0; shards],
            skew_max_ms,
            jumps,
            mono: Monotonic(1),
        }
    }

    /// A moment passes.
    pub fn pass(&mut self, random: &mut Random) {
        let nanoseconds = random.below(4_000_000);
        self.mono.0 += nanoseconds;
        self.base_ms += i64::try_from(nanoseconds / 1_000_000).unwrap_or(0);
    }

    /// Somebody turns a clock.
    pub fn turn(&mut self, random: &mut Random) {
        match random.below(8) {
            // All of them a little, as when nothing happens for a while.
            0..3 => {
                let idle = random.range(1..=3_000);
                self.mono.0 += idle * 1_000_000;
                self.base_ms += i64::try_from(idle).unwrap_or(0);
            }
            3 if self.jumps => {
                let hours = random.range(1..=20);
                self.base_ms += i64::try_from(hours * 3_600_000).unwrap_or(0);
            }
            // One of them, forth or back.
            _ => {
                let at = random.index(self.skews_ms.len());
                let skew = random.below(self.skew_max_ms + 1);
                self.skews_ms[at] = i64::try_from(skew).unwrap_or(0);
            }
        }
    }

    /// What a shard's wall clock shows.
    #[must_use]
    pub fn wall(&self, shard: usize) -> Timestamp {
        Timestamp(self.base_ms + self.skews_ms[shard % self.skews_ms.len()])
    }

    /// No shard's wall clock has ever shown a later time.
    #[must_use]
    pub fn latest(&self) -> Timestamp {
        let skew = i64::try_from(self.skew_max_ms).unwrap_or(i64::MAX);
        Timestamp(self.base_ms + skew)
    }

    /// The monotonic clock.
    #[must_use]
    pub const fn mono(&self) -> Monotonic {
        self.mono
    }
}
