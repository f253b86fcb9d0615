//! The keeper: which partition is snapshotted next, how fast, and what may be truncated.
//!
//! Here: pacing over plain numbers. Not here: writing (`committer`) and encoding (`partition`).
//! One partition at a time; a slice is asked for when the last one is durable and its bytes have
//! been paid for at the pace, so that frames always go before chunks.

use std::collections::VecDeque;
use std::time::Duration;

use interlock_storage::{Commit, Coverage, JournalSize, Partition, Positions, Sequence};

use crate::message::Monotonic;

/// Bounds and paces.
#[derive(Clone, Copy, Debug)]
pub struct KeeperOptions {
    /// Least time between the starts of two rounds over the partitions, in milliseconds.
    pub snapshot_interval_ms: u64,
    /// Bytes of snapshot written in a second while the journal is below half its bound; above, as
    /// fast as they can be written.
    pub snapshot_bytes_per_s: u64,
    /// Bound of the journal's tail; intake slows above it.
    pub journal_bytes_max: u64,
}

/// What the keeper asks of the shard that owns a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Begin a snapshot.
    Begin {
        /// Of this partition.
        partition: Partition,
        /// Under this name.
        snapshot: u64,
        /// At this position.
        position: Sequence,
    },
    /// Write the next slice.
    Slice(Partition),
}

/// Slices asked for at once while the journal is above half its bound.
const SLICES_PRESSED: u32 = 8;

/// The snapshot that is being written.
#[derive(Clone, Copy, Debug)]
struct Current {
    partition: Partition,
    snapshot: u64,
    /// Slices that were asked for and are not durable yet.
    outstanding: u32,
    /// When the next slice may be asked for.
    next_at: Monotonic,
}

/// Snapshot pacing of one node.
#[derive(Debug)]
pub struct Keeper {
    options: KeeperOptions,
    coverage: Coverage,
    round: VecDeque<Partition>,
    round_from: Option<Monotonic>,
    current: Option<Current>,
    next_snapshot: u64,
    truncation_due: bool,
    sealed: u64,
    /// When the last snapshot was completed; zero before the first.
    sealed_at: Monotonic,
}

impl Keeper {
    /// A keeper over what the log has; `epoch` makes this start's snapshot names larger than those
    /// of every earlier start, finished or not.
    #[must_use]
    pub const fn new(options: KeeperOptions, coverage: Coverage, epoch: u64) -> Self {
        Self {
            options,
            coverage,
            round: VecDeque::new(),
            round_from: None,
            current: None,
            next_snapshot: epoch << 32,
            truncation_due: false,
            sealed: 0,
            sealed_at: Monotonic(0),
        }
    }

    /// What to ask for now; to be called until it answers nothing. While the journal is below half
    /// its bound, one slice at a time and at the pace; above, several and as fast as they are
    /// written, for the bound would otherwise stop intake.
    pub fn poll(&mut self, now: Monotonic, journal: JournalSize) -> Option<Order> {
        let pressed = journal.bytes > self.options.journal_bytes_max / 2;
        if let Some(current) = &mut self.current {
            let (most, paid) = match pressed {
                true => (SLICES_PRESSED, true),
                false => (1, now >= current.next_at),
            };
            if current.outstanding >= most || !paid {
                return None;
            }
            current.outstanding += 1;
            return Some(Order::Slice(current.partition));
        }
        if self.round.is_empty() && self.round_is_due(now, journal) {
            self.round = self
                .coverage
                .uncovered()
                .map(|(partition, _)| partition)
                .collect();
            self.round_from = Some(now);
        }
        let partition = self.round.pop_front()?;
        let snapshot = self.next_snapshot;
        self.next_snapshot += 1;
        self.current = Some(Current {
            partition,
            snapshot,
            outstanding: 1,
            next_at: now,
        });
        let position = self.coverage.last(partition.group());
        Some(Order::Begin {
            partition,
            snapshot,
            position,
        })
    }

    /// When [`Self::poll`] should be called again though nothing was committed.
    #[must_use]
    pub fn wake_at(&self) -> Option<Monotonic> {
        match &self.current {
            Some(current) if current.outstanding > 0 => None,
            Some(current) => Some(current.next_at),
            None => self.round_from.map(|from| self.next_round(from)),
        }
    }

    /// Notes what a commit holds.
    pub fn committed(&mut self, commit: &Commit, now: Monotonic) {
        for append in &commit.appends {
            self.coverage
                .appended(append.group, append.sequence, &append.partitions);
        }
        for slice in &commit.slices {
            self.slice_written(slice.partition, slice.snapshot, slice.bytes.len(), now);
        }
        for seal in &commit.seals {
            self.coverage.sealed(seal.partition, seal.position);
            self.truncation_due = true;
            self.sealed += 1;
            self.sealed_at = now;
            if self
                .current
                .is_some_and(|current| current.snapshot == seal.snapshot)
            {
                self.current = None;
            }
        }
    }

    /// The positions to truncate to, once after each seal.
    pub(crate) fn take_truncation(&mut self) -> Option<Positions> {
        std::mem::take(&mut self.truncation_due).then(|| self.coverage.positions())
    }

    /// Truncation stopped at its bound: it goes on in the next step.
    pub(crate) const fn truncate_again(&mut self) {
        self.truncation_due = true;
    }

    /// Is there something to truncate?
    #[must_use]
    pub const fn truncation_due(&self) -> bool {
        self.truncation_due
    }

    /// Snapshots completed since the start.
    #[must_use]
    pub const fn sealed(&self) -> u64 {
        self.sealed
    }

    /// How long ago the last snapshot was completed, or the node started; zero while snapshots cover
    /// everything.
    #[must_use]
    pub fn age(&self, now: Monotonic) -> Duration {
        if self.coverage.uncovered().next().is_none() {
            return Duration::ZERO;
        }
        Duration::from_nanos(now.0.saturating_sub(self.sealed_at.0))
    }

    /// A snapshot is being written.
    #[must_use]
    pub const fn in_snapshot(&self) -> bool {
        self.current.is_some()
    }

    /// What snapshots do not cover yet.
    #[must_use]
    pub const fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    fn round_is_due(&self, now: Monotonic, journal: JournalSize) -> bool {
        journal.bytes > self.options.journal_bytes_max / 2
            || self
                .round_from
                .is_none_or(|from| now >= self.next_round(from))
    }

    const fn next_round(&self, from: Monotonic) -> Monotonic {
        Monotonic(from.0 + self.options.snapshot_interval_ms * 1_000_000)
    }

    fn slice_written(&mut self, partition: Partition, snapshot: u64, bytes: usize, now: Monotonic) {
        let rate = self.options.snapshot_bytes_per_s.max(1);
        let Some(current) = &mut self.current else {
            return;
        };
        if current.partition == partition && current.snapshot == snapshot {
            let pause = (bytes as u64).saturating_mul(1_000_000_000) / rate;
            current.outstanding = current.outstanding.saturating_sub(1);
            current.next_at = Monotonic(now.0 + pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use interlock_storage::{Append, Epoch, Group, SnapshotSlice};

    use super::*;

    const OPTIONS: KeeperOptions = KeeperOptions {
        snapshot_interval_ms: 1_000,
        snapshot_bytes_per_s: 1_000,
        journal_bytes_max: 1_000,
    };

    fn keeper() -> Keeper {
        let mut keeper = Keeper::new(OPTIONS, Coverage::default(), 1);
        let append = Append {
            group: Group(0),
            epoch: Epoch(1),
            sequence: Sequence(1),
            partitions: vec![Partition(3)],
            records: vec![0],
        };
        let commit = Commit {
            appends: vec![append],
            ..Commit::default()
        };
        keeper.committed(&commit, Monotonic(0));
        keeper
    }

    fn slice(snapshot: u64, index: u32) -> Commit {
        let slice = SnapshotSlice {
            partition: Partition(3),
            snapshot,
            index,
            bytes: vec![0; 500],
        };
        Commit {
            slices: vec![slice],
            ..Commit::default()
        }
    }

    #[test]
    fn a_short_journal_is_snapshotted_at_the_pace() {
        let short = JournalSize {
            commits: 1,
            bytes: 400,
        };
        let mut keeper = keeper();
        let Some(Order::Begin {
            snapshot, position, ..
        }) = keeper.poll(Monotonic(0), short)
        else {
            panic!("a partition is not covered");
        };
        assert_eq!(position, Sequence(1));
        assert_eq!(
            keeper.poll(Monotonic(0), short),
            None,
            "its first slice is on its way"
        );
        keeper.committed(&slice(snapshot, 0), Monotonic(0));
        assert_eq!(
            keeper.poll(Monotonic(499_999_999), short),
            None,
            "500 bytes take 0.5 s"
        );
        let at = Monotonic(500_000_000);
        assert_eq!(keeper.wake_at(), Some(at));
        assert_eq!(keeper.poll(at, short), Some(Order::Slice(Partition(3))));
    }

    #[test]
    fn a_long_journal_is_snapshotted_as_fast_as_it_goes() {
        let long = JournalSize {
            commits: 1,
            bytes: 501,
        };
        let mut keeper = keeper();
        assert!(matches!(
            keeper.poll(Monotonic(0), long),
            Some(Order::Begin { .. })
        ));
        let asked = std::iter::from_fn(|| keeper.poll(Monotonic(0), long)).count();
        assert_eq!(asked as u32 + 1, SLICES_PRESSED);
    }
}
