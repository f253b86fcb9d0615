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
    /// Bytes of snapshot written in a second while the journal is below half its bound.
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

/// The snapshot that is being written.
#[derive(Clone, Copy, Debug)]
struct Current {
    partition: Partition,
    snapshot: u64,
    /// The slice that was asked for is not durable yet.
    outstanding: bool,
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

    /// What to ask for now.
    pub fn poll(&mut self, now: Monotonic, journal: JournalSize) -> Option<Order> {
        if let Some(current) = &mut self.current {
            if current.outstanding || now < current.next_at {
                return None;
            }
            current.outstanding = true;
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
            outstanding: true,
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
            Some(current) if current.outstanding => None,
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
            current.outstanding = false;
            current.next_at = Monotonic(now.0 + pause);
        }
    }
}
