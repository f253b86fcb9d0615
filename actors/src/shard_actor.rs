//! The thin actor around a shard: a mailbox, turns, and handing over.
//!
//! Here: actix. Not here: any decision (`shard`). A turn is made by hand: a message only adds to
//! what is to do; the first one notifies the actor itself, and the notification, which comes after
//! the mailbox was drained, takes the turn.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use actix::{Actor, ActorContext, Addr, AsyncContext, Context, Handler, Message};
use crossbeam_channel::{Sender, TrySendError};
use interlock_domain::machine::Machine;

use crate::clock::NodeClock;
use crate::commit_thread::Handed;
use crate::committer::fail;
use crate::message::ShardMessage;
use crate::metrics::ShardMetrics;
use crate::node::Failure;
use crate::shard::Shard;

/// A message for a shard.
#[derive(Debug)]
pub struct Deliver<M: Machine>(pub ShardMessage<M>);

impl<M: Machine> Message for Deliver<M> {
    type Result = ();
}

/// The other shards, once all are started.
pub(crate) struct Peers<M: Machine>(pub(crate) Vec<Addr<ShardActor<M>>>);

impl<M: Machine> Message for Peers<M> {
    type Result = ();
}

/// Ends the actor.
pub(crate) struct Leave;

impl Message for Leave {
    type Result = ();
}

/// The notification that takes a turn.
struct Turn;

impl Message for Turn {
    type Result = ();
}

/// One shard on its own thread.
pub struct ShardActor<M: Machine> {
    /// Boxed, so that the actor may move while a product's types may be pinned.
    shard: Box<Shard<M>>,
    peers: Vec<Addr<Self>>,
    committer: Sender<Handed<M>>,
    clock: NodeClock,
    failure: tokio::sync::watch::Sender<Option<Failure>>,
    metrics: ShardMetrics,
    sweep_interval: Duration,
    notified: bool,
}

impl<M: Machine> fmt::Debug for ShardActor<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShardActor({:?})", self.shard)
    }
}

impl<M: Machine> ShardActor<M> {
    pub(crate) fn new(
        shard: Shard<M>,
        committer: Sender<Handed<M>>,
        clock: NodeClock,
        failure: tokio::sync::watch::Sender<Option<Failure>>,
        metrics: ShardMetrics,
        sweep_interval: Duration,
    ) -> Self {
        Self {
            shard: Box::new(shard),
            peers: Vec::new(),
            committer,
            clock,
            failure,
            metrics,
            sweep_interval,
            notified: false,
        }
    }

    fn notify(&mut self, context: &mut Context<Self>) {
        if !self.notified {
            self.notified = true;
            context.notify(Turn);
        }
    }

    /// The frame goes to the committer first, then messages to other shards: a later decision on
    /// an entity is never in an earlier commit.
    fn turn(&mut self) -> bool {
        let started = self.clock.mono();
        let output = self.shard.turn(self.clock.now(), started);
        if let Some(frame) = output.frame {
            match self.committer.try_send(Handed::Frame(Box::new(frame))) {
                Ok(()) => {}
                // The node went down: nothing of this frame will ever be durable.
                Err(TrySendError::Disconnected(Handed::Frame(frame))) => fail(*frame),
                Err(TrySendError::Disconnected(Handed::Stop)) => {}
                Err(TrySendError::Full(_)) => {
                    unreachable!("the committer's queue is sized for all credits");
                }
            }
        }
        for (target, message) in output.messages {
            self.peers[usize::from(target)].do_send(Deliver(message));
        }
        let busy = self.clock.mono().0.saturating_sub(started.0);
        self.metrics.turn(self.shard.take_stats(), busy);
        output.more
    }
}

impl<M: Machine> Actor for ShardActor<M> {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(self.sweep_interval, |actor, context| {
            actor.shard.receive(ShardMessage::Sweep);
            actor.notify(context);
        });
    }
}

impl<M: Machine> Handler<Deliver<M>> for ShardActor<M> {
    type Result = ();

    fn handle(&mut self, Deliver(message): Deliver<M>, context: &mut Self::Context) {
        self.shard.receive(message);
        self.notify(context);
    }
}

impl<M: Machine> Handler<Peers<M>> for ShardActor<M> {
    type Result = ();

    fn handle(&mut self, Peers(peers): Peers<M>, _: &mut Self::Context) {
        self.peers = peers;
    }
}

impl<M: Machine> Handler<Leave> for ShardActor<M> {
    type Result = ();

    fn handle(&mut self, _: Leave, context: &mut Self::Context) {
        context.stop();
    }
}

impl<M: Machine> Handler<Turn> for ShardActor<M> {
    type Result = ();

    fn handle(&mut self, _: Turn, context: &mut Self::Context) {
        self.notified = false;
        // A panic outside `decide` leaves memory in doubt: the node is crash-only.
        match catch_unwind(AssertUnwindSafe(|| self.turn())) {
            Ok(more) => {
                if more {
                    self.notify(context);
                }
            }
            Err(_) => {
                self.failure
                    .send_replace(Some(Failure::Bug("a shard panicked".to_owned())));
                context.stop();
            }
        }
    }
}
