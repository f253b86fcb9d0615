//! The parts of a node, one function for each.
//!
//! Here: making them. Not here: the order in which they start (`node`), which is the only caller.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use actix::{Actor, Addr, Arbiter};
use crossbeam_channel::Sender;
use interlock_domain::ids::IdStream;
use interlock_domain::key::SpaceId;
use interlock_domain::machine::Machine;
use interlock_storage::{GROUPS, Group, Log, LogError, Owned};
use tokio::sync::watch;

use super::{Failure, NodeOptions, StartError};
use crate::bus::Notices;
use crate::clock::NodeClock;
use crate::commit_thread::Handed;
use crate::committer::Committer;
use crate::credits::{CreditOptions, Credits};
use crate::handle::{Entrance, NodeHandle, random_seed};
use crate::history::{self, Feed, HistoryOptions, Writer};
use crate::keeper::{Keeper, KeeperOptions};
use crate::message::ShardMessage;
use crate::metrics::{HistoryMetrics, ShardMetrics};
use crate::readiness::Readiness;
use crate::shard::{Pressure, Shard};
use crate::shard_actor::{Deliver, Peers, ShardActor};

/// Takes every group.
pub(super) fn acquire(log: &dyn Log) -> Result<Vec<Owned>, StartError> {
    Ok(log.acquire(&(0..GROUPS).map(Group).collect::<Vec<_>>())?)
}

pub(super) fn entrance<M: Machine>(
    shards: Vec<Addr<ShardActor<M>>>,
    credits: CreditOptions,
    clock: NodeClock,
    readiness: Readiness,
    pressure: Arc<Pressure>,
) -> NodeHandle<M> {
    let credits = Credits::new(credits);
    let stopping = AtomicBool::new(false);
    let entrance = Entrance {
        shards,
        credits,
        clock,
        readiness,
        pressure,
        stopping,
    };
    NodeHandle {
        entrance: Arc::new(entrance),
    }
}

pub(super) fn committer<M: Machine>(
    log: &Arc<dyn Log>,
    owned: &[Owned],
    options: KeeperOptions,
    notices: Notices<M::Notice>,
) -> Committer<M> {
    let epoch = owned
        .iter()
        .map(|owned| owned.epoch.0)
        .max()
        .unwrap_or_default();
    let keeper = Keeper::new(options, log.coverage(), epoch);
    Committer::new(Arc::clone(log), owned, keeper, notices)
}

/// The writer of history and the committer's way to it.
pub(super) fn history<M: Machine>(
    log: &Arc<dyn Log>,
    owned: &[Owned],
    options: HistoryOptions,
    readiness: &Readiness,
    start: &ShardStart<'_, M>,
) -> Result<(Feed, Writer<M>), LogError> {
    let durable = log.history_position()?.unwrap_or_default();
    let (feed, intake) = history::queue(options.queue_bytes_max, durable);
    let writer = Writer {
        log: Arc::clone(log),
        intake,
        clock: start.clock.clone(),
        readiness: readiness.clone(),
        pressure: Arc::clone(start.pressure),
        failure: start.failure.clone(),
        metrics: HistoryMetrics::new(),
        options,
        lasts: history::lasts(owned),
        machine: PhantomData,
    };
    Ok((feed, writer))
}

/// What every shard is started with, and the writer of history beside them.
pub(super) struct ShardStart<'a, M: Machine> {
    pub(super) sender: &'a Sender<Handed<M>>,
    pub(super) clock: &'a NodeClock,
    pub(super) pressure: &'a Arc<Pressure>,
    pub(super) failure: &'a watch::Sender<Option<Failure>>,
}

pub(super) type Shards<M> = (Vec<Arbiter>, Vec<Addr<ShardActor<M>>>);

pub(super) fn start_shards<M: Machine>(
    options: NodeOptions,
    start: &ShardStart<'_, M>,
    policies: Vec<(SpaceId, Arc<M::Policy>)>,
) -> Shards<M> {
    let mut arbiters = Vec::new();
    let mut shards = Vec::new();
    for index in 0..options.shards {
        let ids = IdStream::new(random_seed());
        let shard = Shard::new(options.shard(index), ids, Arc::clone(start.pressure));
        let actor = ShardActor::new(
            shard,
            start.sender.clone(),
            start.clock.clone(),
            start.failure.clone(),
            ShardMetrics::new(index),
            options.sweep_interval,
        );
        let arbiter = Arbiter::new();
        shards.push(ShardActor::start_in_arbiter(&arbiter.handle(), move |_| {
            actor
        }));
        arbiters.push(arbiter);
    }
    for shard in &shards {
        shard.do_send(Peers(shards.clone()));
        for (space, policy) in &policies {
            let policy = Arc::clone(policy);
            shard.do_send(Deliver(ShardMessage::Policy {
                space: *space,
                policy,
            }));
        }
    }
    (arbiters, shards)
}

/// Starts a named thread.
pub(super) fn spawn(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, StartError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(|error| StartError::Thread(error.to_string()))
}
