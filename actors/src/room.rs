//! How much of the disk records may still take.
//!
//! Here: the two lines below which less is taken, the count that keeps a burst between two looks from
//! passing the lower one, and the words for an operator. Not here: looking (`commit_thread`), and what
//! is refused (`shard`, `meta_writer`). Below `free_bytes_min` nothing new is reserved; below the last
//! part of it ([`last_bytes`]) nothing that writes is taken, so that what was decided, history and
//! truncation find room, and a next start too. Below half of that no snapshot is begun either: nothing
//! is added that it would have to cover.

use std::sync::atomic::{AtomicU64, Ordering};

use interlock_storage::Log;

use crate::shard::Pressure;

/// What a start needs at least, with some to spare, in bytes.
const START_BYTES: u64 = 8 << 20;
/// What a byte of a record takes of the disk at most, for now: in the journal, in the engine's own
/// pages, and in parts that are only given back later.
const DISK_BYTES_A_BYTE: u64 = 8;
/// What a byte that history does not have yet takes there at most.
const HISTORY_BYTES_A_BYTE: u64 = 2;

/// Free bytes below which nothing that writes is taken: a quarter of `free_bytes_min`, or what a start
/// needs where that is more, but never more than half.
#[must_use]
pub fn last_bytes(free_bytes_min: u64) -> u64 {
    (free_bytes_min / 4).max(START_BYTES.min(free_bytes_min / 2))
}

/// Bytes of records: what all shards took, and up to where they may. Shards ask it before they write
/// a record, so they pass the bound by one record each at most.
#[derive(Debug)]
pub struct Room {
    taken: AtomicU64,
    bound: AtomicU64,
}

impl Default for Room {
    /// Without a bound.
    fn default() -> Self {
        Self {
            taken: AtomicU64::new(0),
            bound: AtomicU64::new(u64::MAX),
        }
    }
}

impl Room {
    /// May no further record be written?
    #[must_use]
    pub fn is_out(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.bound.load(Ordering::Relaxed)
    }

    /// Counts a record's bytes.
    pub fn take(&self, bytes: usize) {
        self.taken.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Sets the count of bytes from which on no record may be written; none is the largest number.
    pub fn set_bound(&self, bound: u64) {
        self.bound.store(bound, Ordering::Relaxed);
    }
}

/// What the committer's thread knows of the disk.
#[derive(Debug)]
pub(crate) struct DiskWatch {
    min: u64,
    last: u64,
    /// Bytes of records that are durable. What the shards took beyond them is on its way.
    durable: u64,
    /// The last part is reached.
    is_out: bool,
    lets_snapshots: bool,
}

impl DiskWatch {
    pub(crate) fn new(free_bytes_min: u64) -> Self {
        Self {
            min: free_bytes_min,
            last: last_bytes(free_bytes_min),
            durable: 0,
            is_out: false,
            lets_snapshots: true,
        }
    }

    /// Counts bytes of records that are durable now.
    pub(crate) const fn wrote(&mut self, records: usize) {
        self.durable += records as u64;
    }

    /// May a snapshot be begun or go on?
    pub(crate) const fn lets_snapshots(&self) -> bool {
        self.lets_snapshots
    }

    /// Judges what is free, and says what changed. `owed` is what history does not have yet.
    pub(crate) fn look(&mut self, pressure: &Pressure, free: Option<u64>, owed: usize) {
        // An engine without a disk has no bound.
        let Some(free) = free else { return };
        let Self { min, last, .. } = *self;
        self.lets_snapshots = free >= last / 2;
        let low = free < min;
        if pressure.disk_low.swap(low, Ordering::Relaxed) != low {
            if low {
                tracing::warn!(
                    free,
                    min,
                    "the disk is nearly full, below [storage] free_bytes_min: nothing new is \
                     reserved until it has room"
                );
            } else {
                tracing::info!(free, min, "the disk has room again");
            }
        }
        // Some more than the line ends it, so that the two do not alternate.
        let is_out = free < last + if self.is_out { last / 4 } else { 0 };
        if self.is_out != is_out {
            self.is_out = is_out;
            if is_out {
                tracing::error!(
                    free,
                    last,
                    "the disk is full but for its last part: nothing is recorded any more, only reads \
                     go on; make room, then all goes on by itself"
                );
            } else {
                tracing::info!(free, last, "decisions are recorded again");
            }
        }
        pressure.room.set_bound(self.bound(free, owed));
    }

    /// Up to which count of bytes records may go: what is on its way, and what history will write,
    /// also find room above the last part.
    fn bound(&self, free: u64, owed: usize) -> u64 {
        if self.is_out {
            return 0;
        }
        let history = (owed as u64).saturating_mul(HISTORY_BYTES_A_BYTE);
        let room = free.saturating_sub(self.last).saturating_sub(history);
        self.durable.saturating_add(room / DISK_BYTES_A_BYTE)
    }
}

/// Why the log failed, and what to do where the disk is full.
pub(crate) fn told(log: &dyn Log, cause: String) -> String {
    match log.free_bytes() {
        Some(free) if free < START_BYTES => {
            format!("{cause}; the disk has {free} bytes left: make room, then start again")
        }
        Some(_) | None => cause,
    }
}

#[cfg(test)]
mod tests {
    use interlock_storage::MemoryLog;

    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_last_part_is_a_quarter_and_enough_for_a_start() {
        for (min, last) in [(256, 64), (64, 16), (32, 8), (20, 8), (16, 8), (8, 4)] {
            assert_eq!(last_bytes(min * MIB), last * MIB, "{min} MiB");
        }
        assert_eq!(last_bytes(0), 0, "no bound, no part of it");
    }

    #[test]
    fn between_the_lines_records_are_written_and_below_the_last_none() {
        let (pressure, mut disk) = (Pressure::default(), DiskWatch::new(64 * MIB));
        let low = |pressure: &Pressure| pressure.disk_low.load(Ordering::Relaxed);
        for (free, is_low, is_out, snapshots) in [
            (64, false, false, true),
            (63, true, false, true),
            (17, true, false, true),
            (15, true, true, true),
            (7, true, true, false),
            // A little more is not enough to go on.
            (16, true, true, true),
            (19, true, true, true),
            (20, true, false, true),
            (64, false, false, true),
        ] {
            disk.look(&pressure, Some(free * MIB), 0);
            let seen = (
                low(&pressure),
                pressure.room.is_out(),
                disk.lets_snapshots(),
            );
            assert_eq!(seen, (is_low, is_out, snapshots), "{free} MiB");
        }
        let (pressure, mut disk) = (Pressure::default(), DiskWatch::new(64 * MIB));
        disk.look(&pressure, None, 0);
        assert!(!low(&pressure) && !pressure.room.is_out());
    }

    /// Whatever comes between two looks, what is taken fits above the last part.
    #[test]
    fn a_burst_between_two_looks_stays_above_the_last_part() {
        let (pressure, mut disk) = (Pressure::default(), DiskWatch::new(64 * MIB));
        disk.look(&pressure, Some(24 * MIB), 0);
        let burst = |pressure: &Pressure| {
            let mut taken = 0;
            while !pressure.room.is_out() {
                pressure.room.take(1_000);
                taken += 1_000;
            }
            taken
        };
        let first = burst(&pressure);
        assert_eq!(
            first,
            (MIB / 1_000 + 1) * 1_000,
            "8 MiB, and 8 for each byte"
        );
        // None of it is durable: another look gives no more.
        disk.look(&pressure, Some(24 * MIB), 0);
        assert_eq!(burst(&pressure), 0);
        // What is durable has taken its part, and history is owed another.
        disk.wrote(usize::try_from(first).expect("it is small"));
        disk.look(
            &pressure,
            Some(20 * MIB),
            usize::try_from(MIB).expect("small"),
        );
        let second = burst(&pressure);
        assert_eq!(
            second,
            (MIB / 4 / 1_000 + 1) * 1_000,
            "4 MiB less 2 of history"
        );
    }

    #[test]
    fn a_failure_on_a_full_disk_says_what_to_do() {
        let log = MemoryLog::new();
        assert_eq!(told(&log, "why".to_owned()), "why");
        log.set_free_bytes(1_000);
        let told = told(&log, "why".to_owned());
        assert_eq!(
            told,
            "why; the disk has 1000 bytes left: make room, then start again"
        );
    }
}
