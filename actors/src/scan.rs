//! Looking at all entities of a node: for an operator's question, not for a decision.
//!
//! Here: what a scan asks of each entity, and the parts of all shards put together. Not here: the
//! walk over a shard's entities (`shard/scan`). A scan keeps a bounded number of answers, whatever
//! it meets, and its answer leaves like any other: after the commit of what it saw. Called by the
//! root package's verbs and, for counts, by the edge.

use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;

use interlock_domain::key::{EntityKey, SpaceId};
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::Group;
use tokio::sync::oneshot;

use crate::handle::NodeHandle;
use crate::message::{Done, ShardMessage, Waiter};
use crate::placement::group_of;
use crate::shard_actor::Deliver;

/// One shard's part of a scan.
pub trait Scan<M: Machine>: Send {
    /// Looks at one entity that is home. `now` is the shard's time.
    fn entity(&mut self, key: &EntityKey, entity: &M::Entity, now: Timestamp);

    /// The only group it looks at; `None`: it looks at all.
    fn group(&self) -> Option<Group> {
        None
    }

    /// The shard has shown all it has; `left_out` were away all the time. Answers who is told once
    /// everything that was seen is durable.
    fn end(self: Box<Self>, left_out: u64) -> Waiter;
}

/// A scan on its way to a shard.
pub struct Scanning<M: Machine>(pub Box<dyn Scan<M>>);

impl<M: Machine> fmt::Debug for Scanning<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scanning")
    }
}

/// What a scan came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scanned<T> {
    /// The smallest answers, in order, at most as many as were asked for.
    pub found: Vec<T>,
    /// How many entities there was an answer for.
    pub matched: u64,
    /// Entities that were away all the time and were not looked at.
    pub left_out: u64,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotScanned {
    /// Not all partitions are rebuilt.
    Rebuilding,
    /// A shard has too many scans before this one, or the node is going down.
    GivenUp,
}

/// What one shard found.
struct Part<T> {
    found: BinaryHeap<T>,
    matched: u64,
    left_out: u64,
}

/// Collects one shard's answers.
struct Collect<T, F> {
    pick: Arc<F>,
    limit: usize,
    part: Part<T>,
    tell: oneshot::Sender<Part<T>>,
}

impl<M, T, F> Scan<M> for Collect<T, F>
where
    M: Machine,
    T: Ord + Send + 'static,
    F: Fn(&EntityKey, &M::Entity, Timestamp) -> Option<T> + Send + Sync + 'static,
{
    fn entity(&mut self, key: &EntityKey, entity: &M::Entity, now: Timestamp) {
        if let Some(found) = (self.pick)(key, entity, now) {
            self.part.matched += 1;
            keep(&mut self.part.found, found, self.limit);
        }
    }

    fn end(self: Box<Self>, left_out: u64) -> Waiter {
        let Self { mut part, tell, .. } = *self;
        part.left_out = left_out;
        told(tell, part)
    }
}

/// What a fold came to: what each shard gathered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded<A> {
    /// One for each shard.
    pub parts: Vec<A>,
    /// Entities that were away all the time and were not looked at.
    pub left_out: u64,
}

/// Gathers from one shard's entities of one space.
struct Gather<A, F> {
    space: SpaceId,
    see: Arc<F>,
    part: A,
    tell: oneshot::Sender<(A, u64)>,
}

impl<M, A, F> Scan<M> for Gather<A, F>
where
    M: Machine,
    A: Send + 'static,
    F: Fn(&mut A, &M::Entity, Timestamp) + Send + Sync + 'static,
{
    fn entity(&mut self, key: &EntityKey, entity: &M::Entity, now: Timestamp) {
        if key.space == self.space {
            (self.see)(&mut self.part, entity, now);
        }
    }

    fn group(&self) -> Option<Group> {
        Some(group_of(self.space))
    }

    fn end(self: Box<Self>, left_out: u64) -> Waiter {
        told(self.tell, (self.part, left_out))
    }
}

/// Who is told of a shard's part once everything in it is durable.
fn told<P: Send + 'static>(tell: oneshot::Sender<P>, part: P) -> Waiter {
    let (once, slot) = crossbeam_channel::bounded(1);
    // It has room for one.
    drop(once.try_send((tell, part)));
    Waiter(Arc::new(Told(slot)))
}

/// Hands a shard's part over when it is durable.
struct Told<P>(crossbeam_channel::Receiver<(oneshot::Sender<P>, P)>);

impl<P: Send> Done for Told<P> {
    fn done(&self, durable: bool) {
        if let Ok((tell, part)) = self.0.try_recv()
            && durable
        {
            // Nobody listens any more when the caller has gone.
            tell.send(part).ok();
        }
    }
}

/// Keeps the smallest `limit`.
fn keep<T: Ord>(heap: &mut BinaryHeap<T>, one: T, limit: usize) {
    heap.push(one);
    if heap.len() > limit {
        heap.pop();
    }
}

impl<M: Machine> NodeHandle<M> {
    /// Asks every entity at home, in slices between the turns of the shards, and keeps the smallest
    /// `limit` answers. `pick` runs on the shards' threads: it is quick and does not panic.
    ///
    /// # Errors
    /// When some partitions are not rebuilt yet, or a shard gave the scan up.
    pub async fn scan<T, F>(&self, limit: usize, pick: F) -> Result<Scanned<T>, NotScanned>
    where
        T: Ord + Send + 'static,
        F: Fn(&EntityKey, &M::Entity, Timestamp) -> Option<T> + Send + Sync + 'static,
    {
        if !self.entrance.readiness.all() {
            return Err(NotScanned::Rebuilding);
        }
        let pick = Arc::new(pick);
        let mut waits = Vec::new();
        for shard in &self.entrance.shards {
            let (tell, wait) = oneshot::channel();
            let part = Part {
                found: BinaryHeap::new(),
                matched: 0,
                left_out: 0,
            };
            let scan = Scanning(Box::new(Collect {
                pick: Arc::clone(&pick),
                limit,
                part,
                tell,
            }));
            shard.do_send(Deliver(ShardMessage::Scan(scan)));
            waits.push(wait);
        }
        let (mut found, mut matched, mut left_out) = (BinaryHeap::new(), 0, 0);
        for wait in waits {
            let part = wait.await.map_err(|_| NotScanned::GivenUp)?;
            matched += part.matched;
            left_out += part.left_out;
            for one in part.found {
                keep(&mut found, one, limit);
            }
        }
        Ok(Scanned {
            found: found.into_sorted_vec(),
            matched,
            left_out,
        })
    }

    /// Shows every entity of a space that is home, in slices between the turns of the shards, to an
    /// accumulator of each shard. `see` runs on the shards' threads: it is quick, does not panic, and
    /// keeps what it gathers bounded.
    ///
    /// # Errors
    /// When some partitions are not rebuilt yet, or a shard gave the fold up.
    pub async fn fold<A, F>(&self, space: SpaceId, see: F) -> Result<Folded<A>, NotScanned>
    where
        A: Default + Send + 'static,
        F: Fn(&mut A, &M::Entity, Timestamp) + Send + Sync + 'static,
    {
        if !self.entrance.readiness.all() {
            return Err(NotScanned::Rebuilding);
        }
        let see = Arc::new(see);
        let mut waits = Vec::new();
        for shard in &self.entrance.shards {
            let (tell, wait) = oneshot::channel();
            let scan = Scanning(Box::new(Gather {
                space,
                see: Arc::clone(&see),
                part: A::default(),
                tell,
            }));
            shard.do_send(Deliver(ShardMessage::Scan(scan)));
            waits.push(wait);
        }
        let mut folded = Folded {
            parts: Vec::with_capacity(waits.len()),
            left_out: 0,
        };
        for wait in waits {
            let (part, left_out) = wait.await.map_err(|_| NotScanned::GivenUp)?;
            folded.parts.push(part);
            folded.left_out += left_out;
        }
        Ok(folded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_are_kept() {
        let mut heap = BinaryHeap::new();
        for one in [5, 1, 4, 2, 3] {
            keep(&mut heap, one, 3);
        }
        assert_eq!(heap.into_sorted_vec(), [1, 2, 3]);
        let mut none = BinaryHeap::new();
        keep(&mut none, 1, 0);
        assert!(none.is_empty());
    }
}
