//! A node: the shards, the committer and recovery put together on their threads.
//!
//! Here: starting, stopping, failing. Not here: any decision. One Arbiter thread for each shard, one
//! committer thread, one thread that writes history, one recovery thread for each shard that ends when its partitions are rebuilt.

mod parts;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use actix::Arbiter;
use crossbeam_channel::Sender;
use interlock_domain::key::SpaceId;
use interlock_domain::machine::Machine;
use interlock_storage::run_mark::RunMark;
use interlock_storage::{Log, LogError};
use tokio::sync::{oneshot, watch};

use crate::bus::{NoticeReader, Notices};
use crate::clock::{ClockRefused, NodeClock};
use crate::commit_thread::{CommitOptions, CommitThread, Handed};
use crate::credits::CreditOptions;
use crate::handle::NodeHandle;
use crate::history::HistoryOptions;
use crate::keeper::KeeperOptions;
use crate::message::{Done, ShardMessage, Waiter};
use crate::meta_writer::MetaWriter;
use crate::metrics::CommitMetrics;
use crate::readiness::Readiness;
use crate::recover_thread::{self, Recovery};
use crate::room::DiskWatch;
use crate::shard::{Pressure, SWEEPS_AHEAD_MAX, ShardOptions};
use crate::shard_actor::{Deliver, Leave};

/// Every bound and pace of a node. `config.toml` has the units, defaults and bounds.
#[derive(Clone, Copy, Debug)]
pub struct NodeOptions {
    /// Shards, each one thread.
    pub shards: u16,
    /// Commands a shard decides before its turn ends.
    pub turn_commands_max: usize,
    /// Transactions that may wait for one entity.
    pub queue_per_entity_max: usize,
    /// Entities in one slice of a snapshot.
    pub slice_entities_max: usize,
    /// Entities a sweep looks at in one turn.
    pub sweep_entities_max: usize,
    /// Entities a space may have; above it nothing new is reserved.
    pub entities_per_space_max: u64,
    /// Entities a part of a space may have, where the product has parts (a source's receipts).
    pub entities_per_part_max: u64,
    /// Time between sweeps of a shard.
    pub sweep_interval: Duration,
    /// Bounds at the entrance.
    pub credits: CreditOptions,
    /// A commit takes frames until it holds this many bytes.
    pub commit_bytes_max: usize,
    /// Snapshot paces and the bound of the journal's tail.
    pub keeper: KeeperOptions,
    /// What is kept of decisions, and how it is written.
    pub history: HistoryOptions,
    /// Notices kept for readers; a slower one resumes from the log.
    pub notices_max: usize,
    /// Keys that one truncation step removes.
    pub truncate_keys_max: usize,
    /// Free space below which new reservations are refused, in bytes. Below a part of it
    /// ([`crate::room::last_bytes`]) nothing that writes is taken.
    pub free_bytes_min: u64,
    /// Accept a wall clock that disagrees with the last record.
    pub accept_clock: bool,
    /// Keep the last partition unrebuilt that long; for tests.
    pub recovery_hold: Option<Duration>,
}

/// Why a node could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The log refused.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The clock refused.
    #[error(transparent)]
    Clock(#[from] ClockRefused),
    /// A thread could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(String),
}

/// Why a node went down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The log refused a commit or its outcome is unknown.
    Storage(String),
    /// The log could not be read.
    Recovery(String),
    /// The clock disagrees with the log.
    Clock(String),
    /// A bug outside `decide`.
    Bug(String),
}

impl Failure {
    /// What happened, for an operator.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Storage(what) | Self::Recovery(what) | Self::Clock(what) | Self::Bug(what) => {
                what
            }
        }
    }
}

/// Takes the node down; the first cause is the one that is told.
pub(crate) fn fail(failure: &watch::Sender<Option<Failure>>, cause: Failure) {
    failure.send_if_modified(|told| {
        let first = told.is_none();
        if first {
            *told = Some(cause);
        }
        first
    });
}

/// What recovery found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Entities in memory.
    pub entities: u64,
    /// Partitions with anything in them.
    pub partitions: u64,
    /// Records read from the journal's tail.
    pub records: u64,
    /// Snapshots read.
    pub snapshots: u64,
    /// How long it took, in milliseconds.
    pub millis: u64,
}

/// A running node.
pub struct Node<M: Machine> {
    handle: NodeHandle<M>,
    arbiters: Vec<Arbiter>,
    committer: Sender<Handed<M>>,
    /// The committer's, then history's: in the order in which they end.
    threads: Vec<JoinHandle<()>>,
    notices: Notices<M::Notice>,
    failure: watch::Receiver<Option<Failure>>,
    recovered: watch::Receiver<Option<RecoveryReport>>,
}

impl<M: Machine> fmt::Debug for Node<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({} shards)", self.arbiters.len())
    }
}

impl<M: Machine> Node<M> {
    /// Starts a node over an open log; `mark` is told what the node is in the middle of. Returns at once; recovery runs on its own threads, and
    /// commands that need a partition wait at the entrance until it is rebuilt. Call it within an
    /// actix system.
    ///
    /// # Errors
    /// When the groups cannot be acquired or a thread cannot be started.
    pub fn start(
        log: Arc<dyn Log>,
        policies: Vec<(SpaceId, Arc<M::Policy>)>,
        clock: NodeClock,
        mark: Option<RunMark>,
        options: NodeOptions,
    ) -> Result<Self, StartError> {
        let started = clock.mono();
        let owned = parts::acquire(&*log)?;
        let pressure = Arc::new(Pressure::default());
        let readiness = Readiness::default();
        let (failure, failures) = watch::channel(None);
        let notices = Notices::new(options.notices_max);
        let (sender, queue) = crossbeam_channel::bounded(options.frames_max());
        let start = parts::ShardStart {
            sender: &sender,
            clock: &clock,
            pressure: &pressure,
            failure: &failure,
        };
        let (arbiters, shards) = parts::start_shards::<M>(options, &start, policies);
        let (feed, writer) =
            parts::history::<M>(&log, &owned, options.history, &readiness, &start)?;
        let committer = parts::committer(&log, &owned, options.keeper, notices.clone());
        let thread = CommitThread {
            committer: committer.with_history(feed),
            log: Arc::clone(&log),
            queue,
            shards: shards.clone(),
            clock: clock.clone(),
            pressure: Arc::clone(&pressure),
            disk: DiskWatch::new(options.free_bytes_min),
            readiness: readiness.clone(),
            failure: failure.clone(),
            metrics: CommitMetrics::new(),
            mark,
            options: options.commit(),
        };
        // The committer starts first: what recovery releases may be decided at once.
        let threads = vec![
            parts::spawn("interlock-commit", move || thread.run())?,
            parts::spawn("interlock-history", move || writer.run())?,
        ];
        let (report, recovered) = watch::channel(None);
        let recovery = Recovery {
            log,
            shards: shards.clone(),
            clock: clock.clone(),
            readiness: readiness.clone(),
            pressure: Arc::clone(&pressure),
            accept_clock: options.accept_clock,
            hold: options.recovery_hold,
            started,
            failure,
            report,
        };
        parts::spawn("interlock-recover", move || recover_thread::run(recovery))?;
        Ok(Self {
            handle: parts::entrance(shards, options.credits, clock, readiness, pressure),
            arbiters,
            committer: sender,
            threads,
            notices,
            failure: failures,
            recovered,
        })
    }

    /// Asks the node.
    #[must_use]
    pub fn handle(&self) -> NodeHandle<M> {
        self.handle.clone()
    }

    /// Which partitions are rebuilt.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        self.handle.entrance.readiness.clone()
    }

    /// What slows or stops new reservations; the owner of the memory bound sets `full`.
    #[must_use]
    pub fn pressure(&self) -> Arc<Pressure> {
        Arc::clone(&self.handle.entrance.pressure)
    }

    /// Resolves when every partition is rebuilt; `None` when the node failed before.
    pub async fn recovered(&self) -> Option<RecoveryReport> {
        let mut recovered = self.recovered.clone();
        let report = recovered.wait_for(Option::is_some).await.ok()?;
        *report
    }

    /// Writes what lies outside the groups: spaces, keys, rules.
    #[must_use]
    pub fn meta_writer(&self) -> MetaWriter<M> {
        MetaWriter::new(self.committer.clone(), self.pressure())
    }

    /// A reader of every notice from now on.
    #[must_use]
    pub fn notices(&self) -> NoticeReader<M::Notice> {
        self.notices.subscribe()
    }

    /// Resolves when the node goes down by itself.
    pub async fn failed(&self) -> Failure {
        let mut failure = self.failure.clone();
        let seen = failure.wait_for(Option::is_some).await;
        match seen.map(|failure| failure.clone()) {
            Ok(Some(failure)) => failure,
            Ok(None) | Err(_) => Failure::Bug("the node's threads ended".to_owned()),
        }
    }

    /// Takes no more, waits until everything in flight is answered (at most `patience`), commits
    /// what was handed over, and ends the threads.
    pub async fn stop(mut self, patience: Duration) {
        self.handle.entrance.stopping.store(true, Ordering::Release);
        let drained = async {
            while self.handle.entrance.credits.in_flight() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(patience, drained).await.is_err() {
            tracing::warn!("commands were still in flight when patience ended");
        }
        for shard in &self.handle.entrance.shards {
            shard.do_send(Leave);
        }
        drop(self.committer.send(Handed::Stop));
        for thread in self.threads.drain(..) {
            let joined = tokio::task::spawn_blocking(move || thread.join()).await;
            if !matches!(joined, Ok(Ok(()))) {
                tracing::error!("a thread of the committer or of history panicked");
            }
        }
        for arbiter in self.arbiters.drain(..) {
            arbiter.stop();
        }
    }
}

impl<M: Machine> NodeHandle<M> {
    /// A space's rules changed: takes effect on each shard at the start of its next turn.
    pub fn set_policy(&self, space: SpaceId, policy: &Arc<M::Policy>) {
        for shard in &self.entrance.shards {
            shard.do_send(Deliver(ShardMessage::Policy {
                space,
                policy: Arc::clone(policy),
            }));
        }
    }

    /// Looks at every entity that may be due, on every shard; resolves when what that changed is
    /// durable. False when the node is going down.
    pub async fn sweep_all(&self) -> bool {
        let mut waits = Vec::new();
        for shard in &self.entrance.shards {
            let (waiter, wait) = waiter();
            shard.do_send(Deliver(ShardMessage::SweepAll(waiter)));
            waits.push(wait);
        }
        for wait in waits {
            if !wait.await.unwrap_or(false) {
                return false;
            }
        }
        true
    }

    /// Does the disk have room for records? While it has none, only reads are taken.
    #[must_use]
    pub fn has_room(&self) -> bool {
        !self.entrance.pressure.room.is_out()
    }

    /// The node's clock.
    #[must_use]
    pub fn clock(&self) -> &NodeClock {
        &self.entrance.clock
    }
}

/// A waiter of a frame and the future it resolves.
pub(crate) fn waiter() -> (Waiter, oneshot::Receiver<bool>) {
    let (sender, receiver) = oneshot::channel();
    let (once, slot) = crossbeam_channel::bounded(1);
    drop(once.try_send(sender));
    (Waiter(Arc::new(Tell(slot))), receiver)
}

/// Resolves a oneshot the first time it is told.
struct Tell(crossbeam_channel::Receiver<oneshot::Sender<bool>>);

impl Done for Tell {
    fn done(&self, durable: bool) {
        if let Ok(sender) = self.0.try_recv() {
            // Nobody listens any more when the caller has gone.
            sender.send(durable).ok();
        }
    }
}

impl NodeOptions {
    /// Room in the committer's queue. A frame holds at least one credit, or is one of the few that
    /// a shard makes by itself (a sweep, a slice).
    const fn frames_max(&self) -> usize {
        self.credits.commands_max + self.shards as usize * (SWEEPS_AHEAD_MAX + 64) + 1_024
    }

    const fn commit(&self) -> CommitOptions {
        CommitOptions {
            commit_bytes_max: self.commit_bytes_max,
            truncate_keys_max: self.truncate_keys_max,
            journal_bytes_max: self.keeper.journal_bytes_max,
        }
    }

    const fn shard(&self, index: u16) -> ShardOptions {
        ShardOptions {
            index,
            shards: self.shards,
            turn_commands_max: self.turn_commands_max,
            queue_per_entity_max: self.queue_per_entity_max,
            slice_entities_max: self.slice_entities_max,
            sweep_entities_max: self.sweep_entities_max,
            entities_per_space_max: (self.entities_per_space_max / self.shards as u64)
                .cast_signed(),
            entities_per_part_max: (self.entities_per_part_max / self.shards as u64).cast_signed(),
        }
    }
}
