//! The log of the simulator: in memory, with faults by seed, without threads or time.
//!
//! Here: [`FaultyLog`], which fails as a disk does, and [`FaultyLog::crash`], which yields the log
//! as a restart would find it. Not here: the contract itself (`memory.rs`). Called by the simulator
//! and by tests of the committer.
//!
//! What it models: a commit refused before anything was written; a commit whose outcome is unknown,
//! and which is later found whole, not at all, or torn (then its number stays unused); failed
//! acquisitions and reads; a history append of which only some rows landed; and a power cut that
//! loses whatever no sync has covered, from the end: truncations are undone, the position of
//! history goes back. What was acknowledged is always there afterwards.

mod plan;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::plan::{Fault, FaultCounts, FaultPlan};
use crate::Coverage;
use crate::log::{
    AppendError, Capabilities, Commit, Cut, Epoch, Group, HistoryDay, HistorySize, JournalSize,
    Landed, Log, LogError, Owned, Positions, Replayed, Row, Sequence, SnapshotInfo, VisitRow,
};
use crate::memory::{MemoryLog, MemoryStore, Removed, State};
use crate::pin::Pin;
use crate::rng::Rng;

/// Scripted faults that may wait at once.
const SCRIPT_MAX: usize = 1_024;

#[derive(Debug)]
enum Unsynced {
    Truncation(Removed),
    History(Option<Positions>),
}

#[derive(Debug)]
struct Faults {
    plan: FaultPlan,
    rng: Rng,
    script: VecDeque<Fault>,
    /// The commit whose outcome is unknown, and what will be found.
    pending: Option<(Fault, Commit)>,
    /// Changes that no sync has covered yet, oldest first.
    unsynced: Vec<Unsynced>,
    has_failed: bool,
    history_has_failed: bool,
    /// The state has gone on to a later handle.
    has_ended: bool,
    last_delay_ticks: u64,
    counts: FaultCounts,
}

#[derive(Debug)]
struct Inner {
    log: MemoryLog,
    faults: Mutex<Faults>,
}

/// See the module. Clones are the same handle.
#[derive(Clone, Debug)]
pub struct FaultyLog {
    inner: Arc<Inner>,
}

impl FaultyLog {
    /// An empty log.
    #[must_use]
    pub fn new(plan: FaultPlan) -> Self {
        let (rng, counts) = (Rng::new(plan.seed), FaultCounts::default());
        Self::on(State::default(), plan, rng, counts)
    }

    fn on(state: State, plan: FaultPlan, rng: Rng, counts: FaultCounts) -> Self {
        Self {
            inner: Arc::new(Inner {
                log: MemoryLog::on(MemoryStore::of(state)),
                faults: Mutex::new(Faults {
                    plan,
                    rng,
                    script: VecDeque::new(),
                    pending: None,
                    unsynced: Vec::new(),
                    has_failed: false,
                    history_has_failed: false,
                    has_ended: false,
                    last_delay_ticks: 0,
                    counts,
                }),
            }),
        }
    }

    /// Sets what happens to the next commit that is not refused, before chance is asked. Several
    /// wait in line; beyond 1,024 the oldest is dropped.
    pub fn script(&self, fault: Fault) {
        let mut faults = self.faults();
        if faults.script.len() == SCRIPT_MAX {
            faults.script.pop_front();
        }
        faults.script.push_back(fault);
    }

    /// Changes the chances from now on; the stream of random numbers goes on.
    pub fn set_plan(&self, plan: FaultPlan) {
        self.faults().plan = plan;
    }

    /// What has happened so far.
    #[must_use]
    pub fn counts(&self) -> FaultCounts {
        self.faults().counts
    }

    /// How long the last commit took.
    #[must_use]
    pub fn last_delay_ticks(&self) -> u64 {
        self.faults().last_delay_ticks
    }

    /// Is the handle of no use any more?
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.faults().has_failed
    }

    /// The process is killed and the power is cut; answers the log as the next start finds it. This
    /// handle and its clones answer nothing from now on.
    ///
    /// # Errors
    /// `Corrupt` when a test damaged a commit in the middle.
    pub fn crash(&self) -> Result<Self, LogError> {
        self.end(true, false)
    }

    /// The process stops in good order (or is killed, but the machine goes on) and starts again.
    ///
    /// # Errors
    /// As [`Self::crash`], unless the operator accepts it.
    pub fn restart(&self, accept_truncation: bool) -> Result<Self, LogError> {
        self.end(false, accept_truncation)
    }

    fn end(&self, power_is_cut: bool, accept_truncation: bool) -> Result<Self, LogError> {
        let mut faults = self.faults();
        if faults.has_ended {
            return Err(ended());
        }
        let store = self.inner.log.store();
        let mut state = store.lock();
        faults.settle(&mut state, power_is_cut);
        state.recover(accept_truncation)?;
        faults.has_ended = true;
        faults.counts.restarts += 1;
        let state = std::mem::take(&mut *state);
        Ok(Self::on(
            state,
            faults.plan,
            faults.rng.clone(),
            faults.counts,
        ))
    }

    /// What lies under the log, for damage by tests.
    #[must_use]
    pub fn store(&self) -> MemoryStore {
        self.inner.log.store()
    }

    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.inner
            .faults
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> Result<&MemoryLog, LogError> {
        let mut faults = self.faults();
        if faults.has_ended {
            return Err(ended());
        }
        let chance = faults.plan.read;
        if faults.strikes(chance) {
            faults.counts.errors += 1;
            return Err(LogError::Io("injected: the read failed".to_owned()));
        }
        Ok(&self.inner.log)
    }

    /// Guards a write other than a commit; whether it is to fail.
    fn write(&self) -> Result<(MutexGuard<'_, Faults>, bool), LogError> {
        let mut faults = self.faults();
        if faults.has_ended {
            return Err(ended());
        }
        if faults.has_failed {
            return Err(LogError::Io("an earlier write has failed".to_owned()));
        }
        let chance = faults.plan.write;
        let fails = faults.strikes(chance);
        if fails {
            faults.counts.errors += 1;
            faults.has_failed = true;
        }
        Ok((faults, fails))
    }
}

impl Faults {
    fn strikes(&mut self, chance: u32) -> bool {
        // No number is drawn for a fault that is off, so plans without it keep their stream.
        chance > 0 && self.rng.chance(u64::from(chance), 1_000_000)
    }

    fn next(&mut self) -> Fault {
        if let Some(scripted) = self.script.pop_front() {
            return scripted;
        }
        let plan = self.plan;
        for (chance, fault) in [
            (plan.full, Fault::Full),
            (plan.landed, Fault::Landed),
            (plan.lost, Fault::Lost),
            (plan.torn, Fault::Torn),
        ] {
            if self.strikes(chance) {
                return fault;
            }
        }
        Fault::None
    }

    /// Decides what is found of everything that no sync has covered. Storage keeps its order: what
    /// is found means that everything before it is found too.
    fn settle(&mut self, state: &mut State, power_is_cut: bool) {
        match self.pending.take() {
            Some((Fault::Landed, commit)) => {
                state.apply(&commit);
                self.unsynced.clear();
            }
            Some((Fault::Torn, _)) => {
                state.skip_number();
                self.unsynced.clear();
            }
            Some((Fault::None | Fault::Full | Fault::Lost, _)) | None => {}
        }
        let mut lost = 0;
        if power_is_cut && !self.unsynced.is_empty() {
            lost = self.rng.index(self.unsynced.len() + 1);
        }
        for _ in 0..lost {
            match self.unsynced.pop() {
                Some(Unsynced::Truncation(removed)) => state.undo(removed),
                Some(Unsynced::History(before)) => state.book.history = before,
                None => break,
            }
        }
        self.unsynced.clear();
    }
}

fn ended() -> LogError {
    LogError::Io("this handle ended with a crash".to_owned())
}

impl Log for FaultyLog {
    fn acquire(&self, groups: &[Group]) -> Result<Vec<Owned>, LogError> {
        let (mut faults, fails) = self.write()?;
        if fails {
            // The new epochs may be in force or not.
            if faults.rng.chance(1, 2) {
                self.inner.log.acquire(groups)?;
            }
            return Err(LogError::Io("injected: the acquisition failed".to_owned()));
        }
        let owned = self.inner.log.acquire(groups)?;
        faults.unsynced.clear();
        Ok(owned)
    }

    fn commit(&self, commit: &Commit) -> Result<(), AppendError> {
        let mut faults = self.faults();
        if faults.has_ended || faults.has_failed {
            let why = "an earlier write has failed on this handle";
            return Err(AppendError::Unknown(why.to_owned()));
        }
        let store = self.inner.log.store();
        let mut state = store.lock();
        state.book.check(commit)?;
        faults.last_delay_ticks = match faults.plan.delay_ticks_max {
            0 => 0,
            most => faults.rng.below(most + 1),
        };
        faults.counts.delay_ticks += faults.last_delay_ticks;
        match faults.next() {
            Fault::None => {
                state.apply(commit);
                faults.unsynced.clear();
                faults.counts.acknowledged += 1;
                Ok(())
            }
            Fault::Full => {
                faults.counts.full += 1;
                Err(AppendError::Full("injected".to_owned()))
            }
            fault @ (Fault::Landed | Fault::Lost | Fault::Torn) => {
                faults.counts.unknown += 1;
                faults.has_failed = true;
                faults.pending = Some((fault, commit.clone()));
                Err(AppendError::Unknown("injected: the sync failed".to_owned()))
            }
        }
    }

    fn resolve(
        &self,
        group: Group,
        epoch: Epoch,
        sequence: Sequence,
        records: &[u8],
    ) -> Result<Landed, LogError> {
        self.read()?.resolve(group, epoch, sequence, records)
    }

    fn replay(
        &self,
        after: &Positions,
        visit: &mut dyn FnMut(Replayed) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        self.read()?.replay(after, visit)
    }

    fn snapshots(&self) -> Result<Vec<SnapshotInfo>, LogError> {
        self.read()?.snapshots()
    }

    fn read_snapshot(
        &self,
        info: &SnapshotInfo,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        self.read()?.read_snapshot(info, visit)
    }

    fn coverage(&self) -> Coverage {
        self.inner.log.coverage()
    }

    fn truncate(&self, upto: &Positions, limit: usize) -> Result<bool, LogError> {
        let (mut faults, fails) = self.write()?;
        if fails {
            return Err(LogError::Io("injected: the truncation failed".to_owned()));
        }
        let (left, removed) = self.inner.log.store().lock().truncate(upto, limit)?;
        faults.unsynced.push(Unsynced::Truncation(removed));
        Ok(left)
    }

    fn pin(&self) -> &Pin {
        self.inner.log.pin()
    }

    fn cut(&self) -> Result<Cut, LogError> {
        self.read()?.cut()
    }

    fn journal_size(&self) -> JournalSize {
        self.inner.log.journal_size()
    }

    fn meta(&self, key: &[u8]) -> Result<Option<Vec<u8>>, LogError> {
        self.read()?.meta(key)
    }

    fn meta_scan(&self, prefix: &[u8]) -> Result<Vec<Row>, LogError> {
        self.read()?.meta_scan(prefix)
    }

    fn history_append_paced(
        &self,
        day: HistoryDay,
        rows: &[Row],
        position: &Positions,
        _: &mut dyn FnMut(),
    ) -> Result<(), LogError> {
        crate::book::check_rows(rows)?;
        let mut faults = self.faults();
        if faults.has_ended || faults.history_has_failed {
            return Err(ended());
        }
        let store = self.inner.log.store();
        let chance = faults.plan.history;
        if faults.strikes(chance) {
            faults.counts.errors += 1;
            faults.history_has_failed = true;
            let landed = faults.rng.index(rows.len() + 1);
            store.lock().history_append(day, &rows[..landed], None);
            return Err(LogError::Io("injected: the append failed".to_owned()));
        }
        let mut state = store.lock();
        let before = state.book.history.clone();
        state.history_append(day, rows, Some(position));
        faults.unsynced.push(Unsynced::History(before));
        Ok(())
    }

    fn history_read(
        &self,
        day: HistoryDay,
        from: &[u8],
        visit: &mut VisitRow<'_>,
    ) -> Result<(), LogError> {
        self.read()?.history_read(day, from, visit)
    }

    fn history_purge(&self, before: HistoryDay) -> Result<Vec<HistoryDay>, LogError> {
        self.read()?.history_purge(before)
    }

    fn history_size(&self) -> Result<HistorySize, LogError> {
        self.read()?.history_size()
    }

    fn history_position(&self) -> Result<Option<Positions>, LogError> {
        self.read()?.history_position()
    }

    fn free_bytes(&self) -> Option<u64> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            engine: "faulty",
            ..self.inner.log.capabilities()
        }
    }
}
