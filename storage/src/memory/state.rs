//! What the memory engine holds, and how it changes.
//!
//! Here: the stand-in for a disk, with the steps that the faulty engine needs one by one (apply,
//! tear, undo). Not here: handles and locks. Called by `memory.rs` and `faulty.rs`.

use std::collections::BTreeMap;

use crate::book::{Book, Entry};
use crate::log::{
    Append, Commit, Group, HistoryDay, LogError, Partition, Positions, Replayed, Row, Sequence,
};
use crate::pin::Pin;

/// A commit's appends; `Err` where a test damaged it.
pub(super) type Stored = Result<Vec<Replayed>, ()>;
/// The slices of a snapshot.
pub(super) type Slices = Vec<Vec<u8>>;

/// What a disk would hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) book: Book,
    /// Commits by number.
    pub(super) commits: BTreeMap<u64, Stored>,
    pub(super) slices: BTreeMap<(Partition, u64), Slices>,
    pub(super) meta: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) days: BTreeMap<HistoryDay, BTreeMap<Vec<u8>, Vec<u8>>>,
    pub(super) pin: Pin,
}

/// What one truncation took away, for [`State::undo`].
#[derive(Debug, Default)]
pub(crate) struct Removed {
    commits: Vec<(Entry, Stored)>,
    snapshots: Vec<((Partition, u64), Slices)>,
}

impl State {
    /// Takes in a commit that passed [`Book::check`], under the next number.
    pub(crate) fn apply(&mut self, commit: &Commit) {
        let number = self.book.last_number + 1;
        let appends: Vec<Replayed> = commit.appends.iter().map(replayed).collect();
        let bytes = appends.iter().map(|append| append.records.len() as u64);
        self.book.commit(number, bytes.sum(), 1, commit);
        self.commits.insert(number, Ok(appends));
        for slice in &commit.slices {
            self.slices
                .entry((slice.partition, slice.snapshot))
                .or_default()
                .push(slice.bytes.clone());
        }
        for (key, value) in &commit.meta {
            match value {
                Some(value) => self.meta.insert(key.clone(), value.clone()),
                None => self.meta.remove(key),
            };
        }
    }

    /// What a restart does: removes a damaged last commit, leaving its number unused, and refuses
    /// one in the middle.
    pub(crate) fn recover(&mut self, accept_truncation: bool) -> Result<(), LogError> {
        let bad = self
            .commits
            .iter()
            .find(|(_, appends)| appends.is_err())
            .map(|(&number, _)| number);
        if let Some(bad) = bad {
            if bad != self.book.last_number && !accept_truncation {
                return Err(LogError::Corrupt(format!(
                    "journal commit {bad} is damaged and commits after it are not; \
                     `--accept-truncation` gives up commit {bad} and all after it"
                )));
            }
            self.cut(bad);
        }
        for gone in self.book.forget_building() {
            self.slices.remove(&gone);
        }
        Ok(())
    }

    /// Rebuilds the book as it was before a commit, except for numbers and epochs.
    fn cut(&mut self, from: u64) {
        let given_up = self.commits.split_off(&from);
        let mut book = Book::default();
        book.epochs = self.book.epochs.clone();
        book.garbage = self.book.garbage.clone();
        book.history = self.book.history.clone();
        // What was truncated lies before everything that is left.
        for group in (0..crate::GROUPS).map(Group) {
            let first = self
                .book
                .entries()
                .flat_map(|entry| entry.appends.iter())
                .find(|append| append.0 == group)
                .map(|append| append.1.0 - 1);
            let last = first.unwrap_or(self.book.coverage.last(group).0);
            book.raise(group, Sequence(last));
        }
        for entry in self.book.entries().filter(|entry| entry.number < from) {
            book.push(entry.clone());
            if let Some(Ok(appends)) = self.commits.get(&entry.number) {
                for append in appends {
                    book.coverage
                        .appended(append.group, append.sequence, &append.partitions);
                }
            }
        }
        // Sequences that were acknowledged once are not used again. A commit adds at most one to a
        // group, which bounds those of commits that cannot be read.
        if given_up.len() > 1 {
            for group in (0..crate::GROUPS).map(Group) {
                let last = book.coverage.last(group).0 + given_up.len() as u64;
                book.raise(group, Sequence(last));
            }
            for append in given_up.into_values().flatten().flatten() {
                book.raise(append.group, append.sequence);
            }
        }
        for info in self.book.sealed.values() {
            book.raise(info.partition.group(), info.position);
            book.seal(info.clone());
        }
        book.last_number = self.book.last_number;
        self.book = book;
    }

    /// Leaves the number of a commit that did not survive unused.
    pub(crate) fn skip_number(&mut self) {
        self.book.last_number += 1;
    }

    /// See [`crate::Log::truncate`]; also answers what went.
    pub(crate) fn truncate(
        &mut self,
        upto: &Positions,
        limit: usize,
    ) -> Result<(bool, Removed), LogError> {
        self.book.check_truncate(upto)?;
        let mut removed = Removed::default();
        if self.pin.keeps(self.book.size().bytes) {
            return Ok((false, removed));
        }
        for entry in self.book.take_oldest(upto, limit.max(1)) {
            if let Some(appends) = self.commits.remove(&entry.number) {
                removed.commits.push((entry, appends));
            }
        }
        while removed.commits.len() + removed.snapshots.len() < limit.max(1) {
            let Some(gone) = self.book.garbage.pop_first() else {
                break;
            };
            let slices = self.slices.remove(&gone).unwrap_or_default();
            removed.snapshots.push((gone, slices));
        }
        let left = !self.book.garbage.is_empty() || self.book.oldest_may_go(upto);
        Ok((left, removed))
    }

    /// Takes a truncation back.
    pub(crate) fn undo(&mut self, removed: Removed) {
        for (entry, appends) in removed.commits.into_iter().rev() {
            self.commits.insert(entry.number, appends);
            self.book.put_back(entry);
        }
        for (gone, slices) in removed.snapshots {
            self.slices.insert(gone, slices);
            self.book.garbage.insert(gone);
        }
    }

    /// See [`crate::Log::history_append`].
    pub(crate) fn history_append(
        &mut self,
        day: HistoryDay,
        rows: &[Row],
        position: Option<&Positions>,
    ) {
        if !rows.is_empty() {
            let day = self.days.entry(day).or_default();
            day.extend(rows.iter().cloned());
        }
        if let Some(position) = position {
            let taken = self.book.history.get_or_insert_default();
            for (&group, &sequence) in position {
                let entry = taken.entry(group).or_default();
                *entry = sequence.max(*entry);
            }
        }
    }

    /// The next commits after a number that hold something wanted.
    pub(super) fn page(&self, from: u64, after: &Positions, limit: usize) -> Vec<(u64, Stored)> {
        let wanted = self.book.wanted(from, after, limit);
        let read = |number: u64| Some((number, self.commits.get(&number)?.clone()));
        wanted.into_iter().filter_map(read).collect()
    }
}

fn replayed(append: &Append) -> Replayed {
    Replayed {
        group: append.group,
        epoch: append.epoch,
        sequence: append.sequence,
        partitions: append.partitions.clone(),
        records: append.records.clone(),
    }
}
