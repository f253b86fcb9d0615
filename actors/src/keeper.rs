//! The keeper: which partition is snapshotted next, how fast, and what may be truncated.
//!
//! Here: pacing over plain numbers. Not here: writing (`committer`) and encoding (`partition`).
//! One partition at a time; a slice is asked for when the last one is durable and its bytes have
//! been paid for at the pace, so that frames always go before chunks.
//!
//! The pace follows the journal. While it is short, it is the one of the settings. Then slices are paid for
//! by what is committed, up to two bytes of them for one of records, the more the longer the journal is.
//! So snapshots settle at the speed that keeps it as long as it is, in proportion to the load and spread
//! over all its commits.
//!
//! Two lengths count. From half of the soft bound on commits pay, and at the soft bound they pay most. It
//! is what is live, but no less than a setting: to write the live state anew costs the same however long
//! the journal is, so a small one is worth it early and a large one late. Where a node is so busy that
//! what commits pay is not enough, the journal goes on to grow: from a quarter of the hard bound commits
//! pay too, and at half of it slices are written as fast as they can be: intake, which stops at the bound,
//! hardly ever meets it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use interlock_storage::{Commit, Coverage, JournalSize, Partition, Positions, Sequence};

use crate::message::Monotonic;

/// Bounds and paces.
#[derive(Clone, Copy, Debug)]
pub struct KeeperOptions {
    /// Least time between the starts of two rounds over the partitions, in milliseconds.
    pub snapshot_interval_ms: u64,
    /// Bytes of snapshot written in a second while the journal is short; above, more.
    pub snapshot_bytes_per_s: u64,
    /// Least soft bound of the journal's tail.
    pub journal_bytes_soft: u64,
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

/// Most slices that are asked for at once.
const SLICES_MAX: u32 = 8;
/// Bytes of slices that a byte of records pays for where it is most urgent.
const PAID_MOST: u64 = 2;
/// What a slice is taken for at least before it is written: most of what is paid for in advance.
const SLICE_BYTES: u64 = 32_768;
/// That much urgent is what cannot wait at all.
const URGENT: u64 = 1_000;

/// The snapshot that is being written.
#[derive(Clone, Copy, Debug)]
struct Current {
    partition: Partition,
    snapshot: u64,
    /// Slices that were asked for and are not durable yet.
    outstanding: u32,
    /// Bytes of its slices so far.
    bytes: u64,
}

/// What was last written of each partition: about what is live. Nothing of what an earlier start wrote, so
/// a node that was just started takes its state for small and writes it anew somewhat early.
#[derive(Debug, Default)]
struct Live {
    bytes: BTreeMap<Partition, u64>,
    sum: u64,
}

impl Live {
    fn is(&mut self, partition: Partition, bytes: u64) {
        let before = self.bytes.insert(partition, bytes).unwrap_or(0);
        self.sum = self.sum - before + bytes;
    }
}

/// What is to be paid for before the next slice.
#[derive(Clone, Copy, Debug)]
struct Written {
    /// When the last slice was written, and its bytes.
    at: Monotonic,
    bytes: u64,
    /// Bytes of records since the keeper was last asked.
    records: u64,
    /// Bytes of slices that records have paid for and that were not written yet.
    paid: u64,
}

impl Written {
    /// When the last slice is paid for by the time that went by.
    fn paid_at(self, bytes_per_s: u64) -> Monotonic {
        let pause = self.bytes.saturating_mul(1_000_000_000) / bytes_per_s.max(1);
        Monotonic(self.at.0.saturating_add(pause))
    }

    /// What the next slice is taken for.
    const fn next(self) -> u64 {
        if self.bytes > SLICE_BYTES {
            self.bytes
        } else {
            SLICE_BYTES
        }
    }

    /// Lets what was committed pay, for no more than can be asked for at once.
    fn pay(&mut self, urgency: u64) {
        let records = std::mem::take(&mut self.records);
        let paid = records.saturating_mul(PAID_MOST * urgency) / URGENT;
        let most = self.next().saturating_mul(u64::from(SLICES_MAX));
        self.paid = self.paid.saturating_add(paid).min(most);
    }

    /// How many slices records have paid for.
    fn slices(self) -> u32 {
        u32::try_from(self.paid / self.next()).unwrap_or(u32::MAX)
    }
}

/// Snapshot pacing of one node.
#[derive(Debug)]
pub struct Keeper {
    options: KeeperOptions,
    coverage: Coverage,
    round: VecDeque<Partition>,
    round_from: Option<Monotonic>,
    current: Option<Current>,
    written: Written,
    live: Live,
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
    pub fn new(options: KeeperOptions, coverage: Coverage, epoch: u64) -> Self {
        Self {
            options,
            coverage,
            round: VecDeque::new(),
            round_from: None,
            current: None,
            written: Written {
                at: Monotonic(0),
                bytes: 0,
                records: 0,
                paid: 0,
            },
            live: Live::default(),
            next_snapshot: epoch << 32,
            truncation_due: false,
            sealed: 0,
            sealed_at: Monotonic(0),
        }
    }

    /// What to ask for now; to be called until it answers nothing. One slice at a time, several where
    /// more are paid for or nothing but the hard bound counts.
    pub fn poll(&mut self, now: Monotonic, journal: JournalSize) -> Option<Order> {
        self.written.pay(self.urgency(journal));
        let by_time = u32::from(now >= self.paid_at());
        let most = match self.pressed(journal) {
            URGENT => SLICES_MAX,
            _ => self.written.slices().max(by_time).min(SLICES_MAX),
        };
        if let Some(current) = &mut self.current {
            if current.outstanding >= most {
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
        if most == 0 {
            return None;
        }
        let partition = self.round.pop_front()?;
        let snapshot = self.next_snapshot;
        self.next_snapshot += 1;
        self.current = Some(Current {
            partition,
            snapshot,
            outstanding: 1,
            bytes: 0,
        });
        let position = self.coverage.last(partition.group());
        Some(Order::Begin {
            partition,
            snapshot,
            position,
        })
    }

    /// When [`Self::poll`] should be called again though nothing was committed. The journal's length
    /// counts for nothing here: while nothing is committed nobody waits for snapshots.
    #[must_use]
    pub fn wake_at(&self) -> Option<Monotonic> {
        match &self.current {
            Some(current) if current.outstanding > 0 => None,
            None if self.round.is_empty() => self.round_from.map(|from| self.next_round(from)),
            Some(_) | None => Some(self.paid_at()),
        }
    }

    /// Notes what a commit holds.
    pub fn committed(&mut self, commit: &Commit, now: Monotonic) {
        for append in &commit.appends {
            self.coverage
                .appended(append.group, append.sequence, &append.partitions);
            self.written.records += append.records.len() as u64;
        }
        for slice in &commit.slices {
            self.slice_written(slice.partition, slice.snapshot, slice.bytes.len(), now);
        }
        for seal in &commit.seals {
            self.coverage.sealed(seal.partition, seal.position);
            self.truncation_due = true;
            self.sealed += 1;
            self.sealed_at = now;
            let of = |current: &mut Current| current.snapshot == seal.snapshot;
            if let Some(whole) = self.current.take_if(of) {
                self.live.is(whole.partition, whole.bytes);
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

    /// Is the journal's bound so near that whatever keeps truncation back is in a hurry?
    #[must_use]
    pub const fn is_pressed(&self, journal: JournalSize) -> bool {
        self.pressed(journal) > 0
    }

    /// How urgent snapshots are, up to [`URGENT`], by whichever bound is nearer.
    fn urgency(&self, journal: JournalSize) -> u64 {
        let soft = self.options.journal_bytes_soft;
        let soft = soft.max(self.live.sum);
        rising(journal, soft / 2).max(self.pressed(journal))
    }

    /// How urgent snapshots are by the hard bound.
    const fn pressed(&self, journal: JournalSize) -> u64 {
        rising(journal, self.options.journal_bytes_max / 4)
    }

    fn paid_at(&self) -> Monotonic {
        self.written.paid_at(self.options.snapshot_bytes_per_s)
    }

    fn round_is_due(&self, now: Monotonic, journal: JournalSize) -> bool {
        self.urgency(journal) > 0
            || self
                .round_from
                .is_none_or(|from| now >= self.next_round(from))
    }

    const fn next_round(&self, from: Monotonic) -> Monotonic {
        Monotonic(from.0 + self.options.snapshot_interval_ms * 1_000_000)
    }

    fn slice_written(&mut self, partition: Partition, snapshot: u64, bytes: usize, now: Monotonic) {
        let Some(current) = &mut self.current else {
            return;
        };
        if current.partition == partition && current.snapshot == snapshot {
            current.outstanding = current.outstanding.saturating_sub(1);
            current.bytes = current.bytes.saturating_add(bytes as u64);
            self.written.at = now;
            self.written.bytes = bytes as u64;
            self.written.paid = self.written.paid.saturating_sub(bytes as u64);
        }
    }
}

/// From nothing at a length to [`URGENT`] at twice that length.
const fn rising(journal: JournalSize, from: u64) -> u64 {
    let above = journal.bytes.saturating_sub(from);
    let Some(urgency) = above.saturating_mul(URGENT).checked_div(from) else {
        return URGENT;
    };
    if urgency < URGENT { urgency } else { URGENT }
}

#[cfg(test)]
mod tests;
