//! C6 after every turn: the memory that replay makes of each frame is the one the shards have.
//!
//! Here: production's replay, which takes in every frame as a turn hands it over, and the comparison of
//! live entities with what it came to; and what a commit owes to its frames: their records, whole and in
//! order, and their answers, no others. Frames reach the log in the order in which they are handed over
//! (`world/flow.rs` holds each commit to that), so this is the memory that a start would rebuild once
//! they are there. After a crash it begins again with what the log has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use interlock_actors::message::Frame;
use interlock_actors::placement::{partition_of, shard_of};
use interlock_actors::recovery::{Rebuilt, rebuild};
use interlock_domain::key::EntityKey;
use interlock_domain::machine::Machine;
use interlock_storage::{Commit, Group, Log};

use crate::machine::{Violation, violated};
use crate::node::Node;

/// See the module.
#[derive(Debug)]
pub struct Replay<M: Machine>(Rebuilt<M>);

impl<M: Machine> Replay<M> {
    /// The memory as a log has it.
    ///
    /// # Errors
    /// When the log is damaged.
    pub fn of(log: &dyn Log) -> Result<Self, Violation> {
        Ok(Self(rebuild::<M>(log, &|_| true)?))
    }

    /// Takes in what a turn handed over, and holds the entities that it changed to those of their homes.
    /// What is away is for [`Replay::agrees`].
    ///
    /// # Errors
    /// When replay refuses a record, or makes something else of it.
    pub fn turn(&mut self, frame: &Frame<M>, node: &Node<M>) -> Result<(), Violation> {
        let mut changed = BTreeSet::new();
        for group in &frame.groups {
            self.0.follow(&group.bytes, &mut |key| {
                changed.insert(key);
            })?;
        }
        for key in &changed {
            let home = usize::from(shard_of(partition_of(key), node.count()));
            if let Some((entity, version)) = node.shards[home].at_home(key) {
                self.agrees(key, Some(entity), version)?;
            }
        }
        Ok(())
    }

    /// Is a live entity what replay has? An entity that does not exist has no version of its own.
    ///
    /// # Errors
    /// When it is not.
    pub fn agrees(
        &self,
        key: &EntityKey,
        entity: Option<&M::Entity>,
        version: u64,
    ) -> Result<(), Violation> {
        let live = entity.map(|entity| (entity, version));
        let replayed = self.0.get(key);
        if live == replayed {
            return Ok(());
        }
        violated(
            "C6",
            format!("{key:?} is {live:?} after a turn, by its records {replayed:?}"),
        )
    }

    /// Entities that exist.
    #[must_use]
    pub fn entities(&self) -> usize {
        let partitions = self.0.partitions.values();
        partitions.map(|partition| partition.len()).sum()
    }
}

/// An answer, by the address of its client and its place in the request.
pub type Owing = (*const (), u32);

/// What a commit of some frames owes.
#[derive(Debug)]
pub struct Owed {
    records: BTreeMap<Group, Vec<u8>>,
    answers: Vec<Owing>,
}

impl Owed {
    /// What these frames hold.
    #[must_use]
    pub fn of<M: Machine>(frames: &[Frame<M>]) -> Self {
        let mut records: BTreeMap<Group, Vec<u8>> = BTreeMap::new();
        for group in frames.iter().flat_map(|frame| &frame.groups) {
            let all = records.entry(group.group).or_default();
            all.extend_from_slice(&group.bytes);
        }
        let held = frames.iter().flat_map(|frame| &frame.replies);
        let answers = held.flat_map(|held| {
            let client = address(&held.sink);
            held.answers.iter().map(move |(index, _)| (client, *index))
        });
        let answers = answers.collect();
        Self { records, answers }
    }

    /// Was the log asked to keep all their records, in order?
    ///
    /// # Errors
    /// When it was not.
    pub fn asked(&self, commit: Option<&Commit>) -> Result<(), Violation> {
        let appends = commit.into_iter().flat_map(|commit| &commit.appends);
        let asked = appends.map(|append| (&append.group, &append.records));
        if asked.collect::<BTreeMap<_, _>>() == self.records.iter().collect() {
            return Ok(());
        }
        violated(
            "C6",
            "the log was asked for other records than turns handed over",
        )
    }

    /// Did their answers leave, and no others?
    ///
    /// # Errors
    /// When they did not.
    pub fn left(&self, left: &[Owing]) -> Result<(), Violation> {
        if left == self.answers {
            return Ok(());
        }
        let (owed, left) = (self.answers.len(), left.len());
        violated(
            "C6",
            format!("a commit of {owed} answers released {left}, or others"),
        )
    }
}

/// Where a client is.
pub fn address<S: ?Sized>(client: &Arc<S>) -> *const () {
    Arc::as_ptr(client).cast()
}
