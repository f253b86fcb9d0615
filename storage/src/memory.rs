//! The engine for tests: the whole contract of the log, and nothing outlives the process.
//!
//! Here: [`MemoryStore`], which stands for the disk, and [`MemoryLog`], a handle on it; a store may
//! be opened again, so restarts can be tested. Not here: injected faults (`faulty.rs`). Called by
//! tests, by the simulator and by `serve --storage memory`.

mod state;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use self::state::{Removed, State};
use crate::Coverage;
use crate::book::{Book, check_groups, check_rows, is_wanted, prefix_range};
use crate::log::{
    AppendError, COMMIT_BYTES_MAX, Capabilities, Commit, Cut, Epoch, Group, HistoryDay,
    HistorySize, JournalSize, Landed, Log, LogError, Owned, Positions, Replayed, Row, Sequence,
    SnapshotInfo, VisitRow,
};
use crate::pin::Pin;

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
        Ok(MemoryLog::on(self.clone()))
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
    pin: Pin,
    /// What it says is free; as much as there can be stands for no bound.
    free: Arc<AtomicU64>,
}

impl MemoryLog {
    /// An empty log of its own.
    #[must_use]
    pub fn new() -> Self {
        Self::on(MemoryStore::new())
    }

    pub(crate) fn on(store: MemoryStore) -> Self {
        let pin = store.lock().pin.clone();
        let free = Arc::new(AtomicU64::new(u64::MAX));
        Self { store, pin, free }
    }

    /// From now on this handle and its clones say that so many bytes of a disk are free: for tests of what a node
    /// does when they are few.
    pub fn set_free_bytes(&self, free: u64) {
        self.free.store(free, Ordering::Release);
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
            let page = self.store.lock().page(from, after, REPLAY_PAGE);
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

    fn pin(&self) -> &Pin {
        &self.pin
    }

    fn cut(&self) -> Result<Cut, LogError> {
        let state = self.store.lock();
        let meta = state.meta.iter();
        Ok(Cut {
            groups: state.book.groups(),
            meta: meta.map(|(k, v)| (k.clone(), v.clone())).collect(),
        })
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

    fn history_append_paced(
        &self,
        day: HistoryDay,
        rows: &[Row],
        position: &Positions,
        _: &mut dyn FnMut(),
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

    fn history_size(&self) -> Result<HistorySize, LogError> {
        let state = self.store.lock();
        let rows = state.days.values().flatten();
        Ok(HistorySize {
            days: state.days.keys().copied().collect(),
            bytes: rows
                .map(|(key, value)| (key.len() + value.len()) as u64)
                .sum(),
        })
    }

    fn history_position(&self) -> Result<Option<Positions>, LogError> {
        Ok(self.store.lock().book.history.clone())
    }

    fn free_bytes(&self) -> Option<u64> {
        let free = self.free.load(Ordering::Acquire);
        (free < u64::MAX).then_some(free)
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
