//! The engine for tests: the whole contract of the log, and nothing outlives the process.
//!
//! Here: [`MemoryStore`], which stands for the disk, and [`MemoryLog`], a handle on it; a store may
//! be opened again, so restarts can be tested. Not here: injected faults (`faulty.rs`). Called by
//! tests, by the simulator and by `serve --storage memory`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Coverage;
use crate::book::{Book, Entry, check_groups, check_rows, is_wanted, prefix_range};
use crate::log::{
    AppendError, COMMIT_BYTES_MAX, Capabilities, Commit, Epoch, Group, HistoryDay, JournalSize,
    Landed, Log, LogError, Owned, Partition, Positions, Replayed, Row, Sequence, SnapshotInfo,
    VisitRow,
};

/// A commit's appends; `Err` where a test damaged it.
type Stored = Result<Vec<Replayed>, ()>;
/// The slices of a snapshot.
type Slices = Vec<Vec<u8>>;

/// What a disk would hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) book: Book,
    /// Commits by number.
    commits: BTreeMap<u64, Stored>,
    slices: BTreeMap<(Partition, u64), Slices>,
    meta: BTreeMap<Vec<u8>, Vec<u8>>,
    days: BTreeMap<HistoryDay, BTreeMap<Vec<u8>, Vec<u8>>>,
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

    /// See [`Log::truncate`]; also answers what went.
    pub(crate) fn truncate(
        &mut self,
        upto: &Positions,
        limit: usize,
    ) -> Result<(bool, Removed), LogError> {
        self.book.check_truncate(upto)?;
        let mut removed = Removed::default();
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

    /// See [`Log::history_append`].
    pub(crate) fn history_append(
        &mut self,
        day: HistoryDay,
        rows: &[Row],
        position: Option<&Positions>,
    ) {
        self.days
            .entry(day)
            .or_default()
            .extend(rows.iter().cloned());
        if let Some(position) = position {
            let taken = self.book.history.get_or_insert_default();
            for (&group, &sequence) in position {
                let entry = taken.entry(group).or_default();
                *entry = sequence.max(*entry);
            }
        }
    }

    fn page(&self, from: u64, after: &Positions) -> Vec<(u64, Stored)> {
        let wanted = self.book.wanted(from, after, REPLAY_PAGE);
        let read = |number: u64| Some((number, self.commits.get(&number)?.clone()));
        wanted.into_iter().filter_map(read).collect()
    }
}

/// Commits that replay copies at a time: readers hold the lock only that long.
const REPLAY_PAGE: usize = 64;
/// History rows read at a time.
const HISTORY_PAGE: usize = 256;

/// Stands for the disk: what a [`MemoryLog`] leaves behind for the next one.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
}

/// Where a test damages a closed log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The newest commit is torn.
    Last,
    /// A commit is damaged that has others behind it.
    Middle,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn of(state: State) -> Self {
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Opens the store, as a restart would.
    ///
    /// # Errors
    /// `Corrupt` when a commit in the middle is damaged and `accept_truncation` is not set.
    pub fn open(&self, accept_truncation: bool) -> Result<MemoryLog, LogError> {
        self.lock().recover(accept_truncation)?;
        Ok(MemoryLog {
            store: self.clone(),
        })
    }

    /// Damages a commit. Nothing happens to a log that has none at that place.
    pub fn damage(&self, damage: Damage) {
        let mut state = self.lock();
        let number = match damage {
            Damage::Last => state.commits.keys().next_back().copied(),
            Damage::Middle => state.commits.keys().rev().nth(1).copied(),
        };
        if let Some(number) = number {
            state.commits.insert(number, Err(()));
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The log in memory. Acknowledged commits outlive the handle, not the process.
#[derive(Clone, Debug)]
pub struct MemoryLog {
    store: MemoryStore,
}

impl MemoryLog {
    /// An empty log of its own.
    #[must_use]
    pub fn new() -> Self {
        Self {
            store: MemoryStore::new(),
        }
    }

    pub(crate) fn on(store: MemoryStore) -> Self {
        Self { store }
    }

    /// What this handle writes to.
    #[must_use]
    pub fn store(&self) -> MemoryStore {
        self.store.clone()
    }
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

impl Log for MemoryLog {
    fn acquire(&self, groups: &[Group]) -> Result<Vec<Owned>, LogError> {
        check_groups(groups)?;
        Ok(self.store.lock().book.acquire(groups))
    }

    fn commit(&self, commit: &Commit) -> Result<(), AppendError> {
        let mut state = self.store.lock();
        state.book.check(commit)?;
        state.apply(commit);
        Ok(())
    }

    fn resolve(
        &self,
        group: Group,
        epoch: Epoch,
        sequence: Sequence,
        records: &[u8],
    ) -> Result<Landed, LogError> {
        let state = self.store.lock();
        let Some(number) = state.book.find(group, sequence) else {
            return not_found(&state.book, group, sequence);
        };
        let landed = state.commits.get(&number).is_some_and(|appends| {
            appends.iter().flatten().any(|append| {
                append.group == group
                    && append.sequence == sequence
                    && append.epoch == epoch
                    && append.records == records
            })
        });
        Ok(if landed { Landed::Yes } else { Landed::No })
    }

    fn replay(
        &self,
        after: &Positions,
        visit: &mut dyn FnMut(Replayed) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        let mut from = 0;
        loop {
            let page = self.store.lock().page(from, after);
            if page.is_empty() {
                return Ok(());
            }
            for (number, appends) in page {
                from = number;
                let Ok(appends) = appends else {
                    let why = format!("journal commit {number} is damaged (`--accept-truncation`)");
                    return Err(LogError::Corrupt(why));
                };
                for append in appends {
                    if is_wanted((append.group, append.sequence), after) && visit(append).is_break()
                    {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn snapshots(&self) -> Result<Vec<SnapshotInfo>, LogError> {
        Ok(self.store.lock().book.sealed.values().cloned().collect())
    }

    fn read_snapshot(
        &self,
        info: &SnapshotInfo,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        for index in 0..info.slices {
            let slice = self
                .store
                .lock()
                .slices
                .get(&(info.partition, info.snapshot))
                .and_then(|slices| slices.get(usize::try_from(index).ok()?).cloned());
            let Some(slice) = slice else {
                return Err(LogError::Corrupt(format!(
                    "snapshot {} of {} has no slice {index}",
                    info.snapshot, info.partition
                )));
            };
            if visit(&slice).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn coverage(&self) -> Coverage {
        self.store.lock().book.coverage.clone()
    }

    fn truncate(&self, upto: &Positions, limit: usize) -> Result<bool, LogError> {
        let (left, _) = self.store.lock().truncate(upto, limit)?;
        Ok(left)
    }

    fn journal_size(&self) -> JournalSize {
        self.store.lock().book.size()
    }

    fn meta(&self, key: &[u8]) -> Result<Option<Vec<u8>>, LogError> {
        Ok(self.store.lock().meta.get(key).cloned())
    }

    fn meta_scan(&self, prefix: &[u8]) -> Result<Vec<Row>, LogError> {
        let state = self.store.lock();
        let range = state.meta.range(prefix_range(prefix));
        Ok(range.map(|(k, v)| (k.clone(), v.clone())).collect())
    }

    fn history_append(
        &self,
        day: HistoryDay,
        rows: &[Row],
        position: &Positions,
    ) -> Result<(), LogError> {
        check_rows(rows)?;
        self.store.lock().history_append(day, rows, Some(position));
        Ok(())
    }

    fn history_read(
        &self,
        day: HistoryDay,
        from: &[u8],
        visit: &mut VisitRow<'_>,
    ) -> Result<(), LogError> {
        let mut from = from.to_vec();
        loop {
            let page: Vec<Row> = match self.store.lock().days.get(&day) {
                Some(rows) => rows
                    .range(from..)
                    .take(HISTORY_PAGE)
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
                None => return Ok(()),
            };
            let Some((last, _)) = page.last() else {
                return Ok(());
            };
            // The next key in order after the last one of the page.
            from = [last.as_slice(), &[0]].concat();
            for (key, value) in &page {
                if visit(key, value).is_break() {
                    return Ok(());
                }
            }
        }
    }

    fn history_purge(&self, before: HistoryDay) -> Result<Vec<HistoryDay>, LogError> {
        let mut state = self.store.lock();
        let kept = state.days.split_off(&before);
        let gone = std::mem::replace(&mut state.days, kept);
        Ok(gone.into_keys().collect())
    }

    fn history_position(&self) -> Result<Option<Positions>, LogError> {
        Ok(self.store.lock().book.history.clone())
    }

    fn free_bytes(&self) -> Option<u64> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            engine: "memory",
            durability: "none",
            commit_bytes_max: COMMIT_BYTES_MAX,
            multi_node: false,
        }
    }
}

/// The answer of `resolve` for an append that is not in the journal.
pub(crate) fn not_found(book: &Book, group: Group, sequence: Sequence) -> Result<Landed, LogError> {
    if sequence > book.coverage.last(group) {
        return Ok(Landed::No);
    }
    Err(LogError::Io(format!(
        "{group}: sequence {} lies in the truncated part and cannot be resolved",
        sequence.0
    )))
}

fn replayed(append: &crate::log::Append) -> Replayed {
    Replayed {
        group: append.group,
        epoch: append.epoch,
        sequence: append.sequence,
        partitions: append.partitions.clone(),
        records: append.records.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::suite::{self, Factory};

    struct MemoryFactory(MemoryStore);

    impl Factory for MemoryFactory {
        fn open(&mut self, accept_truncation: bool) -> Result<Box<dyn Log>, LogError> {
            Ok(Box::new(self.0.open(accept_truncation)?))
        }

        fn crash(&mut self, log: Box<dyn Log>) {
            drop(log);
        }

        fn damage(&mut self, damage: Damage) {
            self.0.damage(damage);
        }
    }

    #[test]
    fn conformance() {
        suite::run(&mut |_| Box::new(MemoryFactory(MemoryStore::new())));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn walks(seed in any::<u64>()) {
            suite::walk::walk(&mut MemoryFactory(MemoryStore::new()), seed, 150);
        }
    }
}
