//! What an engine knows about its log without reading it: epochs, positions, the list of commits,
//! snapshots and what may be removed.
//!
//! Here: the rules of the trait (which commit is refused and why, what truncation may take), once
//! for all engines. Not here: IO and bytes. Called by the engines only, under their own locks.
//! Keeps: a commit passes [`Book::check`] before a byte is written, and [`Book::commit`] only after
//! it is durable.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use crate::log::{
    AppendError, COMMIT_BYTES_MAX, Commit, Epoch, GROUPS, Group, HEADER_BYTES_MAX, JournalSize,
    KEY_BYTES_MAX, Owned, Partition, Positions, Row, SLICE_BYTES_MAX, Sequence, SnapshotInfo,
    SnapshotSeal, SnapshotSlice, VALUE_BYTES_MAX,
};
use crate::{Coverage, LogError};

/// One commit of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its number; grows, with gaps only where recovery recorded one.
    pub(crate) number: u64,
    /// Size of its journal part.
    pub(crate) bytes: u64,
    /// How many keys the journal part takes.
    pub(crate) keys: u32,
    /// Its appends.
    pub(crate) appends: Box<[(Group, Sequence)]>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    pub(crate) epochs: BTreeMap<Group, Epoch>,
    pub(crate) coverage: Coverage,
    /// The current snapshot of each partition.
    pub(crate) sealed: BTreeMap<Partition, SnapshotInfo>,
    /// The snapshot being written for a partition, and its next slice.
    building: BTreeMap<Partition, (u64, u32)>,
    /// Snapshots that were replaced or given up; truncation removes their chunks.
    pub(crate) garbage: BTreeSet<(Partition, u64)>,
    /// What history has taken; `None` while it is not in use.
    pub(crate) history: Option<Positions>,
    /// The newest number ever used, also by a commit that did not survive.
    pub(crate) last_number: u64,
    journal: VecDeque<Entry>,
    journal_bytes: u64,
}

impl Book {
    /// May this commit be written now?
    pub(crate) fn check(&self, commit: &Commit) -> Result<(), AppendError> {
        check_shape(commit)?;
        for append in &commit.appends {
            let current = self.epoch(append.group);
            if append.epoch < current {
                return Err(AppendError::Fenced {
                    group: append.group,
                    current,
                });
            }
            if append.epoch > current {
                return Err(AppendError::Invalid(format!(
                    "{} was never acquired with epoch {}",
                    append.group, append.epoch.0
                )));
            }
            let expected = self.coverage.last(append.group).next();
            if append.sequence != expected {
                return Err(AppendError::Conflict {
                    group: append.group,
                    expected,
                });
            }
        }
        if commit.slices.is_empty() && commit.seals.is_empty() {
            return Ok(());
        }
        let mut building = self.building.clone();
        for slice in &commit.slices {
            self.check_slice(slice, &mut building)?;
        }
        for seal in &commit.seals {
            self.check_seal(seal, &building, commit)?;
        }
        Ok(())
    }

    fn check_slice(
        &self,
        slice: &SnapshotSlice,
        building: &mut BTreeMap<Partition, (u64, u32)>,
    ) -> Result<(), AppendError> {
        let current = self.sealed.get(&slice.partition).map(|info| info.snapshot);
        if current.is_some_and(|current| slice.snapshot <= current) {
            return Err(AppendError::Invalid(format!(
                "snapshot {} of {} is not newer than the current one",
                slice.snapshot, slice.partition
            )));
        }
        let expected = match building.get(&slice.partition) {
            Some(&(snapshot, next)) if snapshot == slice.snapshot => next,
            Some(&(snapshot, _)) if snapshot > slice.snapshot => {
                return Err(AppendError::Invalid(format!(
                    "snapshot {} of {} was given up for {snapshot}",
                    slice.snapshot, slice.partition
                )));
            }
            Some(_) | None => 0,
        };
        if slice.index != expected {
            return Err(AppendError::Invalid(format!(
                "snapshot {} of {} expects slice {expected}, not {}",
                slice.snapshot, slice.partition, slice.index
            )));
        }
        building.insert(slice.partition, (slice.snapshot, slice.index + 1));
        Ok(())
    }

    fn check_seal(
        &self,
        seal: &SnapshotSeal,
        building: &BTreeMap<Partition, (u64, u32)>,
        commit: &Commit,
    ) -> Result<(), AppendError> {
        let refuse = |why: &str| {
            Err(AppendError::Invalid(format!(
                "seal of snapshot {} of {}: {why}",
                seal.snapshot, seal.partition
            )))
        };
        let group = seal.partition.group();
        let last = commit
            .appends
            .iter()
            .find(|append| append.group == group)
            .map_or_else(|| self.coverage.last(group), |append| append.sequence);
        if seal.position > last {
            return refuse("its position is not in the log yet");
        }
        let current = self.sealed.get(&seal.partition);
        if current.is_some_and(|current| seal.position < current.position) {
            return refuse("its position goes back");
        }
        // Sealing the current snapshot again moves its position without writing it again.
        if let Some(current) = current
            && current.snapshot == seal.snapshot
        {
            return match current.slices == seal.slices {
                true => Ok(()),
                false => refuse("it is sealed already with another number of slices"),
            };
        }
        if current.is_some_and(|current| seal.snapshot < current.snapshot) {
            return refuse("a newer one is current");
        }
        match building.get(&seal.partition) {
            Some(&(snapshot, next)) if snapshot == seal.snapshot => {
                if next == seal.slices {
                    Ok(())
                } else {
                    refuse("slices are missing")
                }
            }
            Some(&(snapshot, _)) if snapshot > seal.snapshot => refuse("it was given up"),
            Some(_) | None if seal.slices == 0 => Ok(()),
            Some(_) | None => refuse("its slices were not written"),
        }
    }

    /// Takes in a commit that is durable now.
    pub(crate) fn commit(&mut self, number: u64, bytes: u64, keys: u32, commit: &Commit) {
        for append in &commit.appends {
            self.coverage
                .appended(append.group, append.sequence, &append.partitions);
        }
        let appends = commit
            .appends
            .iter()
            .map(|append| (append.group, append.sequence))
            .collect();
        self.push(Entry {
            number,
            bytes,
            keys,
            appends,
        });
        for slice in &commit.slices {
            let next = (slice.snapshot, slice.index + 1);
            if let Some((old, _)) = self.building.insert(slice.partition, next)
                && old != slice.snapshot
            {
                self.garbage.insert((slice.partition, old));
            }
        }
        for seal in &commit.seals {
            self.seal(SnapshotInfo {
                partition: seal.partition,
                snapshot: seal.snapshot,
                position: seal.position,
                slices: seal.slices,
                header: seal.header.clone(),
            });
        }
    }

    /// Adds a commit to the journal's list.
    pub(crate) fn push(&mut self, entry: Entry) {
        debug_assert!(entry.number > self.last_number, "commit numbers grow");
        self.last_number = entry.number;
        self.journal_bytes += entry.bytes;
        self.journal.push_back(entry);
    }

    /// Makes a snapshot the current one.
    pub(crate) fn seal(&mut self, info: SnapshotInfo) {
        let partition = info.partition;
        self.coverage.sealed(partition, info.position);
        if let Some((building, _)) = self.building.get(&partition)
            && *building <= info.snapshot
        {
            let (building, _) = self.building.remove(&partition).expect("it was just there");
            if building != info.snapshot {
                self.garbage.insert((partition, building));
            }
        }
        let snapshot = info.snapshot;
        if let Some(old) = self.sealed.insert(partition, info)
            && old.snapshot != snapshot
        {
            self.garbage.insert((partition, old.snapshot));
        }
    }

    /// Does the engine's truncation have to refuse this?
    pub(crate) fn check_truncate(&self, upto: &Positions) -> Result<(), LogError> {
        for (&group, &position) in upto {
            let covered = self.coverage.truncatable(group);
            if position > covered {
                return Err(LogError::Corrupt(format!(
                    "{group}: truncation to {} was asked for, snapshots cover {} only",
                    position.0, covered.0
                )));
            }
            if let Some(history) = &self.history {
                let taken = history.get(&group).copied().unwrap_or_default();
                if position > taken {
                    return Err(LogError::Corrupt(format!(
                        "{group}: truncation to {} was asked for, history has taken {} only",
                        position.0, taken.0
                    )));
                }
            }
        }
        Ok(())
    }

    /// May the oldest commit go?
    pub(crate) fn oldest_may_go(&self, upto: &Positions) -> bool {
        self.journal.front().is_some_and(|entry| {
            entry
                .appends
                .iter()
                .all(|(group, sequence)| *sequence <= upto.get(group).copied().unwrap_or_default())
        })
    }

    /// Takes the oldest commits that may go off the list, until they have `limit` keys (at least
    /// one commit, if any may go).
    pub(crate) fn take_oldest(&mut self, upto: &Positions, limit: usize) -> Vec<Entry> {
        let mut taken = Vec::new();
        let mut keys = 0;
        while keys < limit && self.oldest_may_go(upto) {
            let Some(entry) = self.journal.pop_front() else {
                break;
            };
            self.journal_bytes -= entry.bytes;
            keys += usize::try_from(entry.keys).unwrap_or(usize::MAX);
            taken.push(entry);
        }
        taken
    }

    /// Puts commits back in front of the list, as a power cut does with a truncation that was not
    /// synced.
    pub(crate) fn put_back(&mut self, entry: Entry) {
        self.journal_bytes += entry.bytes;
        self.journal.push_front(entry);
    }

    /// The next commits after a number that hold something `after` leaves to read, at most `limit`.
    pub(crate) fn wanted(&self, from: u64, after: &Positions, limit: usize) -> Vec<u64> {
        let start = self.journal.partition_point(|entry| entry.number <= from);
        self.journal
            .range(start..)
            .filter(|entry| entry.appends.iter().any(|place| is_wanted(*place, after)))
            .map(|entry| entry.number)
            .take(limit)
            .collect()
    }

    /// The commit an append is in.
    pub(crate) fn find(&self, group: Group, sequence: Sequence) -> Option<u64> {
        self.journal
            .iter()
            .find(|entry| entry.appends.contains(&(group, sequence)))
            .map(|entry| entry.number)
    }

    /// Is this commit still in the journal?
    pub(crate) fn holds(&self, number: u64) -> bool {
        self.journal
            .binary_search_by_key(&number, |entry| entry.number)
            .is_ok()
    }

    /// Commits of the journal, oldest first.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.journal.iter()
    }

    /// Size of the journal.
    pub(crate) fn size(&self) -> JournalSize {
        JournalSize {
            commits: self.journal.len() as u64,
            bytes: self.journal_bytes,
        }
    }

    /// Every group that was ever acquired.
    pub(crate) fn groups(&self) -> Vec<Owned> {
        let owned = |(&group, &epoch): (&Group, &Epoch)| Owned {
            group,
            epoch,
            last: self.coverage.last(group),
        };
        self.epochs.iter().map(owned).collect()
    }

    /// The epoch in force; 0 before the first acquisition.
    pub(crate) fn epoch(&self, group: Group) -> Epoch {
        self.epochs.get(&group).copied().unwrap_or_default()
    }

    /// Raises a group's last sequence without an append: it was truncated, or given up.
    pub(crate) fn raise(&mut self, group: Group, sequence: Sequence) {
        if sequence > self.coverage.last(group) {
            self.coverage.appended(group, sequence, &[]);
        }
    }

    /// What acquiring these groups answers, once the new epochs are durable.
    pub(crate) fn acquire(&mut self, groups: &[Group]) -> Vec<Owned> {
        let mut owned = Vec::with_capacity(groups.len());
        for &group in groups {
            let epoch = Epoch(self.epoch(group).0 + 1);
            self.epochs.insert(group, epoch);
            owned.push(Owned {
                group,
                epoch,
                last: self.coverage.last(group),
            });
        }
        owned
    }

    /// Forgets snapshots that were not sealed: their writer is gone. Answers which.
    pub(crate) fn forget_building(&mut self) -> Vec<(Partition, u64)> {
        std::mem::take(&mut self.building)
            .into_iter()
            .map(|(partition, (snapshot, _))| (partition, snapshot))
            .collect()
    }
}

/// Does `after` leave this append to be read?
pub(crate) fn is_wanted((group, sequence): (Group, Sequence), after: &Positions) -> bool {
    sequence > after.get(&group).copied().unwrap_or_default()
}

/// Are these groups that exist, each once?
pub(crate) fn check_groups(groups: &[Group]) -> Result<(), LogError> {
    let mut seen = BTreeSet::new();
    for &group in groups {
        if group.0 >= GROUPS || !seen.insert(group) {
            return Err(LogError::Format(format!(
                "{group} cannot be acquired: it does not exist or is named twice"
            )));
        }
    }
    Ok(())
}

/// Bounds of history rows, the same for all engines.
pub(crate) fn check_rows(rows: &[Row]) -> Result<(), LogError> {
    for (key, value) in rows {
        if key.len() > KEY_BYTES_MAX || value.len() > VALUE_BYTES_MAX {
            return Err(LogError::Format(format!(
                "a history row of {} + {} bytes is over the bound of {KEY_BYTES_MAX} + \
                 {VALUE_BYTES_MAX}",
                key.len(),
                value.len()
            )));
        }
    }
    Ok(())
}

/// The range of keys that start with a prefix, for a `BTreeMap` of byte strings.
pub(crate) fn prefix_range(prefix: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return (Bound::Included(prefix.to_vec()), Bound::Excluded(end));
        }
    }
    (Bound::Included(prefix.to_vec()), Bound::Unbounded)
}

fn check_shape(commit: &Commit) -> Result<(), AppendError> {
    let refuse = |why: String| Err(AppendError::Invalid(why));
    if commit.appends.is_empty()
        && commit.slices.is_empty()
        && commit.seals.is_empty()
        && commit.meta.is_empty()
    {
        return refuse("it is empty".to_owned());
    }
    let mut groups = BTreeSet::new();
    let mut bytes = 0_usize;
    for append in &commit.appends {
        if append.group.0 >= GROUPS || !groups.insert(append.group) {
            return refuse(format!("{} is unknown or named twice", append.group));
        }
        let own = |partition: &Partition| partition.group() == append.group;
        if !append.partitions.iter().all(own) {
            return refuse(format!("{} names a foreign partition", append.group));
        }
        if !append.partitions.is_sorted_by(|a, b| a < b) {
            return refuse(format!("partitions of {} are not in order", append.group));
        }
        bytes += append.records.len();
    }
    for slice in &commit.slices {
        if slice.bytes.len() > SLICE_BYTES_MAX || slice.partition.group().0 >= GROUPS {
            return refuse(format!("a slice of {} is out of bounds", slice.partition));
        }
        bytes += slice.bytes.len();
    }
    let mut partitions = BTreeSet::new();
    for seal in &commit.seals {
        if !partitions.insert(seal.partition) || seal.partition.group().0 >= GROUPS {
            return refuse(format!("{} is unknown or sealed twice", seal.partition));
        }
        if seal.header.len() > HEADER_BYTES_MAX {
            return refuse(format!("the header of {} is too large", seal.partition));
        }
        bytes += seal.header.len();
    }
    let mut keys = BTreeSet::new();
    for (key, value) in &commit.meta {
        let length = value.as_ref().map_or(0, Vec::len);
        if key.len() > KEY_BYTES_MAX || length > VALUE_BYTES_MAX || !keys.insert(key) {
            return refuse("a meta value is out of bounds or named twice".to_owned());
        }
        bytes += key.len() + length;
    }
    if bytes > COMMIT_BYTES_MAX {
        return refuse(format!("{bytes} bytes are over {COMMIT_BYTES_MAX}"));
    }
    Ok(())
}
