//! The committer's thread: the queue of frames, the loop, and the orders to shards.
//!
//! Here: what is taken into one commit and when. The sync is the batching window: while it runs,
//! shards fill the queue, and what waits then is the next commit. No timer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::Addr;
use crossbeam_channel::{Receiver, RecvTimeoutError};
use interlock_domain::machine::Machine;
use interlock_storage::Log;
use interlock_storage::run_mark::{RunMark, RunState};
use tokio::sync::watch;

use crate::clock::{NodeClock, SKEW_MS_MAX};
use crate::committer::{Committer, fail};
use crate::keeper::Order;
use crate::message::{Frame, Monotonic, ShardMessage};
use crate::metrics::CommitMetrics;
use crate::node::{Failure, fail as fail_node};
use crate::placement::shard_of;
use crate::readiness::Readiness;
use crate::room::{DiskWatch, told};
use crate::shard::Pressure;
use crate::shard_actor::{Deliver, ShardActor};

/// What comes through the committer's queue.
#[derive(Debug)]
pub(crate) enum Handed<M: Machine> {
    /// A turn's frame.
    Frame(Box<Frame<M>>),
    /// Everything handed over before is to be committed, then the thread ends.
    Stop,
}

/// Bounds of the loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitOptions {
    /// A commit takes frames until it holds this much.
    pub(crate) commit_bytes_max: usize,
    /// Keys that one truncation step removes.
    pub(crate) truncate_keys_max: usize,
    /// Bound of the journal's tail.
    pub(crate) journal_bytes_max: u64,
}

/// The loop's parts.
pub(crate) struct CommitThread<M: Machine> {
    pub(crate) committer: Committer<M>,
    pub(crate) log: Arc<dyn Log>,
    pub(crate) queue: Receiver<Handed<M>>,
    pub(crate) shards: Vec<Addr<ShardActor<M>>>,
    pub(crate) clock: NodeClock,
    pub(crate) pressure: Arc<Pressure>,
    pub(crate) disk: DiskWatch,
    pub(crate) readiness: Readiness,
    pub(crate) failure: watch::Sender<Option<Failure>>,
    pub(crate) metrics: CommitMetrics,
    pub(crate) mark: Option<RunMark>,
    pub(crate) options: CommitOptions,
}

/// Longest sleep: the wall clock is looked at this often, and the disk, also after every commit.
const LOOK: Duration = Duration::from_secs(1);

impl<M: Machine> CommitThread<M> {
    /// Runs until it is stopped or the log fails.
    pub(crate) fn run(mut self) {
        self.note(|_| ());
        let mut looked = None;
        loop {
            let now = self.clock.mono();
            if looked.is_none_or(|at: Monotonic| now.0 - at.0 >= 1_000_000_000) {
                looked = Some(now);
                self.look();
            }
            let mut frames = Vec::new();
            let stop = self.take(&mut frames);
            if !frames.is_empty() && !self.commit(frames) {
                // The stop is the last message: after it nothing comes that could end the wait.
                if !stop {
                    self.drain();
                }
                return;
            }
            if stop {
                self.note(|state| state.ended = true);
                return;
            }
            if !self.keep() {
                self.drain();
                return;
            }
        }
    }

    /// Takes what waits, up to the bound; answers whether to stop.
    fn take(&self, frames: &mut Vec<Frame<M>>) -> bool {
        let mut bytes = 0;
        let mut next = match self.queue.recv_timeout(self.sleep()) {
            Ok(handed) => Some(handed),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return true,
        };
        while let Some(handed) = next {
            match handed {
                Handed::Stop => return true,
                Handed::Frame(frame) => {
                    bytes += frame.bytes();
                    frames.push(*frame);
                }
            }
            if bytes >= self.options.commit_bytes_max {
                return false;
            }
            next = self.queue.try_recv().ok();
        }
        false
    }

    fn sleep(&self) -> Duration {
        if self.committer.keeper_ref().truncation_due() {
            return Duration::ZERO;
        }
        if !self.disk.lets_snapshots() {
            return LOOK;
        }
        let Some(at) = self.committer.keeper_ref().wake_at() else {
            return LOOK;
        };
        let now = self.clock.mono().0;
        Duration::from_nanos(at.0.saturating_sub(now)).clamp(Duration::from_millis(1), LOOK)
    }

    fn commit(&mut self, frames: Vec<Frame<M>>) -> bool {
        // Noted before the sync, when the shards are at work on what comes next.
        self.note(|_| ());
        let started = self.clock.mono();
        let records: usize = frames.iter().map(Frame::record_bytes).sum();
        match self.committer.commit(frames, started) {
            Ok(committed) => {
                self.disk.wrote(records);
                if committed.bytes > 0 {
                    self.look_at_disk();
                }
                let took = self.clock.mono().0.saturating_sub(started.0);
                self.metrics
                    .committed(committed, took, self.log.journal_size());
                self.wait_for_history()
            }
            Err(error) => {
                self.fail(error.to_string());
                false
            }
        }
    }

    fn wait_for_history(&self) -> bool {
        match self.committer.wait_for_history() {
            Ok(()) => true,
            Err(lost) => {
                self.fail(lost.to_string());
                false
            }
        }
    }

    /// Snapshots and truncation, a step of each.
    fn keep(&mut self) -> bool {
        let journal = self.log.journal_size();
        let over = journal.bytes > self.options.journal_bytes_max;
        self.pressure.journal_full.store(over, Ordering::Relaxed);
        // A partition that is not rebuilt yet looks empty: its snapshot would lose it.
        if self.readiness.all() && self.disk.lets_snapshots() {
            let now = self.clock.mono();
            while let Some(order) = self.committer.keeper().poll(now, journal) {
                self.order(order);
            }
        }
        if self.committer.keeper_ref().is_pressed(journal) {
            self.committer.hurry_history();
        }
        if self.committer.keeper_ref().truncation_due() {
            self.note(|state| state.truncation = true);
        }
        match self.committer.truncate(self.options.truncate_keys_max) {
            Ok(_) => {
                self.note(|_| ());
                true
            }
            Err(error) => {
                self.fail(error.to_string());
                false
            }
        }
    }

    /// Marks what the node is in the middle of, for the report of the next start.
    fn note(&mut self, change: impl FnOnce(&mut RunState)) {
        let Some(mark) = &mut self.mark else { return };
        let on_loan = self.pressure.on_loan.load(Ordering::Relaxed);
        let mut state = RunState {
            snapshot: self.committer.keeper_ref().in_snapshot(),
            on_loan: u64::try_from(on_loan).unwrap_or(0),
            appended: self.committer.appended(),
            ..RunState::default()
        };
        change(&mut state);
        mark.note(state);
    }

    fn order(&self, order: Order) {
        let (partition, message) = match order {
            Order::Begin {
                partition,
                snapshot,
                position,
            } => (
                partition,
                ShardMessage::SnapshotBegin {
                    partition,
                    snapshot,
                    position,
                },
            ),
            Order::Slice(partition) => (partition, ShardMessage::SnapshotSlice(partition)),
        };
        let shards = u16::try_from(self.shards.len()).expect("a node has few shards");
        self.shards[usize::from(shard_of(partition, shards))].do_send(Deliver(message));
    }

    /// Looks at the wall clock and the disk.
    fn look(&mut self) {
        let skew = self.clock.compare();
        self.pressure
            .clock_suspect
            .store(skew.abs() > SKEW_MS_MAX, Ordering::Relaxed);
        let free = self.look_at_disk();
        let now = self.clock.mono();
        self.metrics
            .looked(skew, free, self.committer.keeper_ref(), now);
    }

    fn look_at_disk(&mut self) -> Option<u64> {
        let free = self.log.free_bytes();
        let owed = self.committer.owed_to_history();
        self.disk.look(&self.pressure, free, owed);
        free
    }

    fn fail(&self, cause: String) {
        let cause = told(&*self.log, cause);
        tracing::error!(%cause, "the log cannot be written: the node goes down");
        fail_node(&self.failure, Failure::Storage(cause));
    }

    /// After a failure everything that waits, or still comes, is told so.
    fn drain(&self) {
        while let Ok(Handed::Frame(frame)) = self.queue.recv() {
            fail(*frame);
        }
    }
}
