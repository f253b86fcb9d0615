//! Node time and the monotonic clock.
//!
//! Here: the only place that reads a clock for decisions. Node time never goes back: between
//! readings of the wall clock it follows the monotonic clock, and a wall clock that jumps makes the
//! node suspect instead of moving node time. Shards merge the times of messages (`shard`).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use interlock_domain::time::Timestamp;

use crate::message::Monotonic;

/// Node and wall time may differ by this much, in milliseconds.
pub const SKEW_MS_MAX: i64 = 2_000;
/// A gap to the last record that a start takes as normal, in milliseconds: 30 days.
pub const GAP_MS_MAX: i64 = 30 * 24 * 3_600 * 1_000;

/// The node's clock; clones share it.
#[derive(Clone, Debug)]
pub struct NodeClock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    origin: Instant,
    /// The last node time given out, in milliseconds.
    node: AtomicI64,
    /// Node time minus monotonic time; unused with a test clock.
    offset: AtomicI64,
    /// What the operator accepted node time to be ahead of the wall clock.
    accepted: AtomicI64,
    test: bool,
}

/// Why a start refuses the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockRefused {
    /// The wall clock is behind the last record.
    #[error(
        "the wall clock is {behind_s} s behind the last record: set the clock, or start once with \
         --accept-clock to go on from the last record's time"
    )]
    Back {
        /// By how many seconds.
        behind_s: i64,
    },
    /// The wall clock is far ahead of the last record.
    #[error(
        "the wall clock is {days} days ahead of the last record: set the clock, or start once \
         with --accept-clock if the server really was off that long"
    )]
    Gap {
        /// By how many days.
        days: i64,
    },
}

/// Time would go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("time moves forward only")]
pub struct BackInTime;

impl NodeClock {
    /// A clock that follows the machine's.
    #[must_use]
    pub fn system() -> Self {
        Self::new(wall_ms(), false)
    }

    /// A clock that moves only by [`Self::set`]; deadlines stay on the monotonic clock.
    #[must_use]
    pub fn test(now: Timestamp) -> Self {
        Self::new(now.0, true)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the clocks"
    )]
    fn new(now: i64, test: bool) -> Self {
        let inner = Inner {
            origin: Instant::now(),
            node: AtomicI64::new(now),
            offset: AtomicI64::new(now),
            accepted: AtomicI64::new(0),
            test,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Does domain time move only by [`Self::set`]?
    #[must_use]
    pub fn is_test(&self) -> bool {
        self.inner.test
    }

    /// The monotonic clock.
    #[must_use]
    pub fn mono(&self) -> Monotonic {
        let nanos = self.inner.origin.elapsed().as_nanos();
        Monotonic(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Node time, advanced.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        if self.inner.test {
            return Timestamp(self.inner.node.load(Ordering::Acquire));
        }
        let mono = i64::try_from(self.mono().0 / 1_000_000).unwrap_or(i64::MAX);
        let candidate = self
            .inner
            .offset
            .load(Ordering::Acquire)
            .saturating_add(mono);
        let before = self.inner.node.fetch_max(candidate, Ordering::AcqRel);
        Timestamp(before.max(candidate))
    }

    /// Begins after the last record's time.
    ///
    /// # Errors
    /// When the wall clock disagrees with it by more than a start takes as normal.
    pub fn begin(&self, last: Timestamp, accept: bool) -> Result<(), ClockRefused> {
        if last == Timestamp(0) || self.inner.test {
            self.inner.node.fetch_max(last.0, Ordering::AcqRel);
            return Ok(());
        }
        let ahead = last.0.saturating_sub(self.now().0);
        if !accept && ahead > SKEW_MS_MAX {
            return Err(ClockRefused::Back {
                behind_s: ahead / 1_000,
            });
        }
        if !accept && -ahead > GAP_MS_MAX {
            return Err(ClockRefused::Gap {
                days: -ahead / (24 * 3_600 * 1_000),
            });
        }
        if ahead > 0 {
            self.inner.offset.fetch_add(ahead, Ordering::AcqRel);
            if ahead > SKEW_MS_MAX {
                self.inner.accepted.store(ahead, Ordering::Release);
            }
        }
        self.inner.node.fetch_max(last.0, Ordering::AcqRel);
        Ok(())
    }

    /// Compares node time with the wall clock: follows a small difference, and answers how far
    /// apart they are, in milliseconds.
    #[must_use]
    pub fn compare(&self) -> i64 {
        if self.inner.test {
            return 0;
        }
        self.follow(wall_ms())
    }

    fn follow(&self, wall: i64) -> i64 {
        let wall = wall.saturating_add(self.inner.accepted.load(Ordering::Acquire));
        let skew = wall.saturating_sub(self.now().0);
        if skew.abs() <= SKEW_MS_MAX {
            self.inner.offset.fetch_add(skew, Ordering::AcqRel);
        }
        skew
    }

    /// Moves a test clock.
    ///
    /// # Errors
    /// When it would go back.
    pub fn set(&self, now: Timestamp) -> Result<(), BackInTime> {
        debug_assert!(self.inner.test, "only a test clock is set");
        let before = self.inner.node.fetch_max(now.0, Ordering::AcqRel);
        if before > now.0 {
            Err(BackInTime)
        } else {
            Ok(())
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the clocks"
)]
fn wall_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pitfall 1.
    #[test]
    fn a_step_back_of_the_wall_clock_never_moves_node_time_back() {
        let clock = NodeClock::system();
        let before = clock.now();
        assert!(clock.follow(before.0 - 3_600_000) < -SKEW_MS_MAX);
        assert!(clock.now() >= before);
        assert!(clock.follow(before.0 - 1_500) >= -SKEW_MS_MAX);
        assert!(clock.now() >= before);
    }

    /// Pitfall 3.
    #[test]
    fn a_large_step_forward_is_not_followed() {
        let clock = NodeClock::system();
        let before = clock.now();
        assert!(clock.follow(before.0 + 3_600_000) > SKEW_MS_MAX);
        assert!(clock.now().since(before) < 60_000);
    }

    #[test]
    fn a_start_refuses_what_the_operator_has_not_accepted() {
        let clock = NodeClock::system();
        let now = clock.now();
        assert!(matches!(
            clock.begin(now.plus_s(60), false),
            Err(ClockRefused::Back { .. })
        ));
        assert!(matches!(
            clock.begin(now.plus_s(-31 * 86_400), false),
            Err(ClockRefused::Gap { .. })
        ));
        assert_eq!(clock.begin(now.plus_s(-29 * 86_400), false), Ok(()));
        assert_eq!(clock.begin(now.plus_s(60), true), Ok(()));
        assert!(clock.now() >= now.plus_s(60));
        assert!(
            clock.compare().abs() <= SKEW_MS_MAX,
            "the accepted difference is no suspicion"
        );
    }

    #[test]
    fn a_test_clock_moves_only_when_set() {
        let clock = NodeClock::test(Timestamp(5));
        assert_eq!(clock.now(), Timestamp(5));
        assert_eq!(clock.set(Timestamp(4)), Err(BackInTime));
        assert_eq!(clock.set(Timestamp(9)), Ok(()));
        assert_eq!(clock.now(), Timestamp(9));
    }
}
