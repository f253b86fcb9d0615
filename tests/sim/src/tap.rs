//! A log that is watched: passes everything on and keeps what each commit held and came to, and how
//! many answers had left before the log was asked for it. It may be made to stand still, for tests with
//! threads.
//!
//! Also the view of a log without its snapshots, to replay it from the very start.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use interlock_storage::{
    AppendError, Capabilities, Commit, Coverage, Cut, Epoch, Group, HistoryDay, HistorySize,
    JournalSize, Landed, Log, LogError, Owned, Pin, Positions, Replayed, Row, Sequence,
    SnapshotInfo, VisitRow,
};

use crate::sink::Pile;

/// Tells how many answers wait to be looked at.
type Left = Box<dyn Fn() -> usize + Send + Sync>;

/// One commit as the log was asked for it.
#[derive(Debug)]
pub struct Tapped {
    /// What it held.
    pub commit: Commit,
    /// Whether the log took it.
    pub landed: bool,
    /// Answers that had left before the log was asked.
    pub left_before: usize,
}

/// See the module.
pub struct Tap {
    inner: Arc<dyn Log>,
    seen: Mutex<Vec<Tapped>>,
    left: Left,
    hide_snapshots: bool,
    stalled: Mutex<bool>,
    goes_on: Condvar,
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tap")
    }
}

impl Tap {
    /// Watches a log, and beside it what leaves the node.
    #[must_use]
    pub fn new<T: Send + 'static>(inner: Arc<dyn Log>, answers: Pile<T>) -> Self {
        Self {
            inner,
            seen: Mutex::new(Vec::new()),
            left: Box::new(move || answers.len()),
            hide_snapshots: false,
            stalled: Mutex::new(false),
            goes_on: Condvar::new(),
        }
    }

    /// A log as if no snapshot had ever been taken.
    #[must_use]
    pub fn without_snapshots(inner: Arc<dyn Log>) -> Self {
        Self {
            inner,
            seen: Mutex::new(Vec::new()),
            left: Box::new(|| 0),
            hide_snapshots: true,
            stalled: Mutex::new(false),
            goes_on: Condvar::new(),
        }
    }

    /// From now on no commit comes back, or all do again.
    pub fn stall(&self, stalled: bool) {
        *self.stalled.lock().unwrap_or_else(PoisonError::into_inner) = stalled;
        self.goes_on.notify_all();
    }

    /// The commits since the last call.
    pub fn take(&self) -> Vec<Tapped> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Tapped>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for Tap {
    fn acquire(&self, groups: &[Group]) -> Result<Vec<Owned>, LogError> {
        self.inner.acquire(groups)
    }

    fn commit(&self, commit: &Commit) -> Result<(), AppendError> {
        let left_before = (self.left)();
        let stalled = self.stalled.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.goes_on.wait_while(stalled, |stalled| *stalled));
        let result = self.inner.commit(commit);
        self.lock().push(Tapped {
            commit: commit.clone(),
            landed: result.is_ok(),
            left_before,
        });
        result
    }

    fn resolve(
        &self,
        group: Group,
        epoch: Epoch,
        sequence: Sequence,
        records: &[u8],
    ) -> Result<Landed, LogError> {
        self.inner.resolve(group, epoch, sequence, records)
    }

    fn replay(
        &self,
        after: &Positions,
        visit: &mut dyn FnMut(Replayed) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        self.inner.replay(after, visit)
    }

    fn snapshots(&self) -> Result<Vec<SnapshotInfo>, LogError> {
        if self.hide_snapshots {
            return Ok(Vec::new());
        }
        self.inner.snapshots()
    }

    fn read_snapshot(
        &self,
        info: &SnapshotInfo,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        self.inner.read_snapshot(info, visit)
    }

    fn coverage(&self) -> Coverage {
        self.inner.coverage()
    }

    fn truncate(&self, upto: &Positions, limit: usize) -> Result<bool, LogError> {
        self.inner.truncate(upto, limit)
    }

    fn pin(&self) -> &Pin {
        self.inner.pin()
    }

    fn cut(&self) -> Result<Cut, LogError> {
        self.inner.cut()
    }

    fn journal_size(&self) -> JournalSize {
        self.inner.journal_size()
    }

    fn meta(&self, key: &[u8]) -> Result<Option<Vec<u8>>, LogError> {
        self.inner.meta(key)
    }

    fn meta_scan(&self, prefix: &[u8]) -> Result<Vec<Row>, LogError> {
        self.inner.meta_scan(prefix)
    }

    fn history_append_paced(
        &self,
        day: HistoryDay,
        rows: &[Row],
        position: &Positions,
        between: &mut dyn FnMut(),
    ) -> Result<(), LogError> {
        self.inner
            .history_append_paced(day, rows, position, between)
    }

    fn history_read(
        &self,
        day: HistoryDay,
        from: &[u8],
        visit: &mut VisitRow<'_>,
    ) -> Result<(), LogError> {
        self.inner.history_read(day, from, visit)
    }

    fn history_purge(&self, before: HistoryDay) -> Result<Vec<HistoryDay>, LogError> {
        self.inner.history_purge(before)
    }

    fn history_size(&self) -> Result<HistorySize, LogError> {
        self.inner.history_size()
    }

    fn history_position(&self) -> Result<Option<Positions>, LogError> {
        self.inner.history_position()
    }

    fn free_bytes(&self) -> Option<u64> {
        self.inner.free_bytes()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}
