//! The thread that writes history.
//!
//! Here: what it does when: catching up with the journal at a start, writing what the committer
//! hands over, forgetting old days. Not here: rows (`row`, `projector`). It writes at most about
//! once in the interval, for every write syncs twice (rows, then the position), or earlier when many
//! bytes wait. Between the syncs of many rows it rests, while little waits, so that commits find the
//! disk free. A write that fails takes the node down, as a failed commit does.

use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use interlock_domain::machine::Machine;
use interlock_storage::{Log, LogError, Owned, Positions, Sequence};
use tokio::sync::watch;

use super::queue::Taken;
use super::{HistoryOptions, Intake, Projector, first_kept};
use crate::clock::NodeClock;
use crate::message::Monotonic;
use crate::metrics::HistoryMetrics;
use crate::node::{Failure, fail};
use crate::readiness::Readiness;
use crate::room;
use crate::shard::Pressure;

/// Bytes of rows that are written at once, without waiting for the interval.
const WRITE_BYTES: u64 = 8 * 1024 * 1024;
/// Longest sleep, and the pace of the metrics.
const LOOK: Duration = Duration::from_secs(1);
/// A rest between two syncs, in times of what the last took, and at most.
const RESTS: u32 = 3;
const REST_MAX: Duration = Duration::from_millis(20);
/// Time between two looks at how much of the disk history has.
const SIZE_EVERY: Duration = Duration::from_secs(5);
/// Time between two looks for days that are to go, in nanoseconds.
const PURGE_EVERY_NS: u64 = 3_600 * 1_000_000_000;

/// See the module.
pub(crate) struct Writer<M: Machine> {
    pub(crate) log: Arc<dyn Log>,
    pub(crate) intake: Intake,
    pub(crate) clock: NodeClock,
    pub(crate) readiness: Readiness,
    /// Tells whether an entity keeps the days as they are.
    pub(crate) pressure: Arc<Pressure>,
    pub(crate) failure: watch::Sender<Option<Failure>>,
    pub(crate) metrics: HistoryMetrics,
    pub(crate) options: HistoryOptions,
    /// Where each group's log ends at this start.
    pub(crate) lasts: Positions,
    pub(crate) machine: PhantomData<fn() -> M>,
}

/// The rests between the syncs of one write.
struct Pace<'a> {
    intake: &'a Intake,
    clock: &'a NodeClock,
    /// When what is before the next rest began.
    began: Monotonic,
    /// Nothing is in a hurry.
    in_time: bool,
}

impl Pace<'_> {
    /// Rests [`RESTS`] times as long as the disk was at work on rows, so that a commit seldom finds it
    /// there.
    fn rest(&mut self) {
        let took = Duration::from_nanos(self.clock.mono().0.saturating_sub(self.began.0));
        if self.in_time {
            self.in_time = self.intake.rest((took * RESTS).min(REST_MAX));
        }
        self.began = self.clock.mono();
    }
}

/// Where each group's log ends when a node acquires it.
pub(crate) fn lasts(owned: &[Owned]) -> Positions {
    owned
        .iter()
        .filter(|owned| owned.last > Sequence(0))
        .map(|owned| (owned.group, owned.last))
        .collect()
}

impl<M: Machine> Writer<M> {
    /// Runs until the committer has ended and everything is written, or the log fails.
    pub(crate) fn run(self) {
        let failure = match catch_unwind(AssertUnwindSafe(|| self.work())) {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => failure,
            Err(_) => Failure::Bug("the writer of history panicked".to_owned()),
        };
        tracing::error!(?failure, "history cannot go on: the node goes down");
        fail(&self.failure, failure);
    }

    fn work(&self) -> Result<(), Failure> {
        let unread = |error: LogError| Failure::Recovery(error.to_string());
        // A day that cannot be opened is damage, which no restart mends.
        let unwritten = |error: LogError| match error {
            LogError::Corrupt(_) | LogError::Format(_) => {
                Failure::Recovery(format!("history: {error}"))
            }
            LogError::Locked(_) | LogError::Io(_) => {
                Failure::Storage(room::told(&*self.log, format!("history: {error}")))
            }
        };
        let durable = self.log.history_position().map_err(unread)?;
        let mut projector = Projector::new(durable.unwrap_or_default());
        self.catch_up(&mut projector).map_err(unread)?;
        self.write(&mut projector).map_err(unwritten)?;
        let (mut wrote, mut looked, mut sized, mut purged) = (self.clock.mono(), None, None, None);
        let mut held = false;
        loop {
            let patience = match projector.is_behind() {
                true => self.interval_left(wrote),
                false => LOOK,
            };
            let taken = self.intake.take(patience);
            let is_end = matches!(taken, Taken::End);
            if let Taken::Append(append) = taken {
                let packed = projector.take::<M>(append.group, append.sequence, &append.records);
                self.intake.done(&append);
                packed.map_err(unread)?;
            }
            let is_due = projector.is_behind() && self.interval_left(wrote).is_zero();
            if is_end || is_due || projector.waiting_bytes() >= WRITE_BYTES {
                self.write(&mut projector).map_err(unwritten)?;
                wrote = self.clock.mono();
            }
            if is_end {
                return Ok(());
            }
            if self.is_time(&mut looked, LOOK.as_nanos()) {
                self.metrics.looked(self.intake.waiting(), &projector);
                held |= self.is_held();
            }
            // Before recovery has judged the clock, today may be any day.
            if !self.readiness.all() {
                continue;
            }
            if self.is_time(&mut purged, u128::from(PURGE_EVERY_NS)) {
                self.purge(held).map_err(unwritten)?;
                held = self.is_held();
            }
            if self.is_time(&mut sized, SIZE_EVERY.as_nanos()) {
                self.tell_size().map_err(unwritten)?;
            }
        }
    }

    /// Takes what the journal has and history has not. A directory that never had history gives what
    /// is left of its journal; what was truncated before is owed to nobody.
    fn catch_up(&self, projector: &mut Projector) -> Result<(), LogError> {
        let after = projector.durable().clone();
        let mut outcome = Ok(());
        self.log.replay(&after, &mut |replayed| {
            let last = self.lasts.get(&replayed.group).copied();
            // Commits of this run come from the committer, and all old ones lie before them.
            if replayed.sequence > last.unwrap_or_default() {
                return ControlFlow::Break(());
            }
            outcome = projector
                .take::<M>(replayed.group, replayed.sequence, &replayed.records)
                .and_then(|()| match projector.waiting_bytes() >= WRITE_BYTES {
                    true => self.write(projector),
                    false => Ok(()),
                });
            match outcome {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        outcome?;
        for (&group, &last) in &self.lasts {
            projector.reach(group, last);
        }
        Ok(())
    }

    fn write(&self, projector: &mut Projector) -> Result<(), LogError> {
        let started = self.clock.mono();
        let mut pace = Pace {
            intake: &self.intake,
            clock: &self.clock,
            began: started,
            in_time: true,
        };
        let wrote = projector.write(&*self.log, &mut || pace.rest())?;
        self.intake.reached(projector.durable());
        let took = self.clock.mono().0.saturating_sub(started.0);
        self.metrics.wrote(wrote, took);
        Ok(())
    }

    fn is_held(&self) -> bool {
        self.pressure.history_keepers.load(Ordering::Relaxed) > 0
    }

    /// Forgets the days that are over, unless an entity keeps them or did since the last time: the
    /// end of a hold counts when it is decided, and may not be durable for a moment.
    fn purge(&self, was_held: bool) -> Result<(), LogError> {
        let first = first_kept(self.clock.now(), self.options.keep_days);
        if !was_held && !self.is_held() {
            let gone = self.log.history_purge(first)?;
            if !gone.is_empty() {
                tracing::info!(days = gone.len(), "history forgot the days that are over");
            }
            self.metrics.removed(gone.len());
        }
        self.tell_size()
    }

    fn tell_size(&self) -> Result<(), LogError> {
        let first = first_kept(self.clock.now(), self.options.keep_days);
        self.metrics.kept(&self.log.history_size()?, first);
        Ok(())
    }

    fn interval_left(&self, wrote: Monotonic) -> Duration {
        let passed = Duration::from_nanos(self.clock.mono().0.saturating_sub(wrote.0));
        self.options.write_interval.saturating_sub(passed)
    }

    /// Has it been so long since the last time? Then this is the next one.
    fn is_time(&self, last: &mut Option<Monotonic>, every_ns: u128) -> bool {
        let now = self.clock.mono();
        let due = last.is_none_or(|last| u128::from(now.0.saturating_sub(last.0)) >= every_ns);
        if due {
            *last = Some(now);
        }
        due
    }
}
