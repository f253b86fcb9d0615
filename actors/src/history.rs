//! History: what stays of every decision after the journal is truncated.
//!
//! A record's note (the decision receipt of `docs/spec/contact.md` §21) vanishes with its commit.
//! Here is the projection that keeps it: a writer behind the committer packs the notes of durable
//! commits into rows (`row`), by UTC day, and tells how far it has come, which truncation never
//! passes (`projector`, `queue`, `writer`); and the way to find a note again (`find`). Not here:
//! what a note says (the product), how rows lie on disk (`storage`). Called by `node`, by offline
//! verbs and by the simulator.

mod find;
mod projector;
mod queue;
mod row;
mod writer;

use std::time::Duration;

use interlock_domain::time::Timestamp;
use interlock_storage::HistoryDay;

pub use self::find::{Receipt, between, find};
pub use self::projector::{Projector, Wrote};
pub use self::queue::{Feed, Lost};
pub(crate) use self::queue::{Intake, Waiting, queue};
pub(crate) use self::writer::{Writer, lasts};

/// Bounds and paces of history.
#[derive(Clone, Copy, Debug)]
pub struct HistoryOptions {
    /// UTC days that are kept, today's included.
    pub keep_days: u32,
    /// Bytes of commits that may wait for the writer; above it the committer waits.
    pub queue_bytes_max: usize,
    /// Least time between two writes while fewer bytes wait than make a write worth its syncs.
    pub write_interval: Duration,
}

/// Milliseconds of a UTC day.
const DAY_MS: i64 = 24 * 3_600 * 1_000;

/// The UTC day an instant lies in.
#[must_use]
pub fn day_of(time: Timestamp) -> HistoryDay {
    let day = time.0.div_euclid(DAY_MS);
    HistoryDay(i32::try_from(day).unwrap_or(if day < 0 { i32::MIN } else { i32::MAX }))
}

/// The first day that `keep_days` keeps at `now`; those before it go.
#[must_use]
pub fn first_kept(now: Timestamp, keep_days: u32) -> HistoryDay {
    let before = i32::try_from(keep_days.saturating_sub(1)).unwrap_or(i32::MAX);
    HistoryDay(day_of(now).0.saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn today_is_one_of_the_days_kept() {
        let now = Timestamp(20_000 * DAY_MS + 5);
        assert_eq!(first_kept(now, 1), HistoryDay(20_000));
        assert_eq!(first_kept(now, 90), HistoryDay(19_911));
        assert_eq!(day_of(Timestamp(-1)), HistoryDay(-1));
        assert_eq!(day_of(Timestamp(i64::MAX)), HistoryDay(i32::MAX));
    }
}
