//! The contract every product fulfils, and all that `actors` knows of a product.
//!
//! `decide` reads and refuses; it returns events, a reply, a note and notices. `apply` changes and
//! cannot fail. Neither asks a clock, a random source or a disk, so the same functions run in
//! production, in replay, in the simulator and in the load harness.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use smallvec::SmallVec;

use crate::ids::IdStream;
use crate::key::{EntityKey, KeyList, Kind, SpaceId};
use crate::time::Timestamp;

/// A product: what its entities are and how they change.
pub trait Machine: Sized + Send + Sync + 'static {
    /// The state of one entity, of any kind; postcard-encoded in snapshots, at most 1 MiB.
    type Entity: Serialize + DeserializeOwned + Clone + Debug + PartialEq + Send + 'static;
    /// What a client wants; it carries resolved names and hashed keys.
    type Command: Debug + Send + 'static;
    /// What changed; postcard-encoded in records, enums append-only. Carries resolved values, so
    /// that `apply` needs neither policy nor clock.
    type Event: Serialize + DeserializeOwned + Clone + Debug + PartialEq + Send + 'static;
    /// The answer.
    type Reply: Debug + Send + 'static;
    /// What the record keeps about the decision beside its events (the decision receipt of
    /// `docs/spec/contact.md` §21). Read by history, never applied.
    type Note: Serialize + DeserializeOwned + Clone + Debug + PartialEq + Send + 'static;
    /// What leaves for others once the decision is durable.
    type Notice: Debug + Send + Sync + 'static;
    /// A space's rules as they are used: parsed, validated, numbered.
    type Policy: Versioned + Debug + Send + Sync + 'static;

    /// The product's number in records. Never changes.
    const PRODUCT: u8;
    /// The format of entities, events and notes this build writes.
    const FORMAT: u16;
    /// The product's name in messages to operators.
    const NAME: &'static str;
    /// The kind of entities that may keep history from going, where the product has one.
    const KEEPS_HISTORY: Option<Kind> = None;

    /// The space a command belongs to. All its keys are of this space.
    fn space(command: &Self::Command) -> SpaceId;

    /// The entities the command touches, without repeats, in any order. Never depends on state.
    fn keys(command: &Self::Command) -> KeyList;

    /// The look-up that must be answered before the keys of this command are complete: a command
    /// that names only an id we handed out is resolved through the id's directory row. `None` for
    /// a command that is complete. `decide` checks again that the id still belongs.
    #[must_use]
    fn look_up(_command: &Self::Command) -> Option<Self::Command> {
        None
    }

    /// Completes a command with the answer to its [`Machine::look_up`].
    ///
    /// # Errors
    /// The reply, when the id is not known.
    fn looked_up(
        command: Self::Command,
        _found: Self::Reply,
    ) -> Result<Self::Command, Self::Reply> {
        Ok(command)
    }

    /// Decides one command over the entities of its keys.
    fn decide(
        entities: &Entities<'_, Self::Entity>,
        command: &Self::Command,
        context: &mut Context<'_, Self::Policy>,
    ) -> Decision<Self>;

    /// An entity of this kind before its first event.
    fn empty(kind: Kind) -> Self::Entity;

    /// Applies an event. Called right after the decision and again in replay.
    fn apply(entity: &mut Self::Entity, event: &Self::Event);

    /// The part of its space that an entity counts for, where the product bounds what one part may
    /// have; never changes while the entity lives.
    #[must_use]
    fn part(_entity: &Self::Entity) -> Option<u32> {
        None
    }

    /// The part that a command may add an entity to; [`Context::part_full`] is about it.
    #[must_use]
    fn adds_to(_command: &Self::Command) -> Option<u32> {
        None
    }

    /// Whether an entity of the kind [`Machine::KEEPS_HISTORY`] keeps every day of history as it
    /// stands. While any entity of a node does, no day goes.
    #[must_use]
    fn keeps_history(_entity: &Self::Entity) -> bool {
        false
    }

    /// Reads what a decision reads of an entity behind a reference, so that it is near when the
    /// decision comes. The number means nothing.
    #[must_use]
    fn touch(_entity: &Self::Entity) -> usize {
        0
    }

    /// When a sweep should look at the entity again; `None` when never.
    fn due(entity: &Self::Entity) -> Option<Timestamp>;

    /// What a sweep does with an entity that is due.
    fn sweep(entity: &Self::Entity, now: Timestamp) -> Sweep<Self::Event>;

    /// The entity's invariants; run by the simulator and in debug builds after every change.
    ///
    /// # Errors
    /// The invariant that does not hold.
    fn check(entity: &Self::Entity) -> Result<(), Broken>;

    /// Resolves the command's names again under a newer policy.
    ///
    /// # Errors
    /// The reply, when the newer policy no longer knows a name of the command.
    fn rebind(command: &mut Self::Command, policy: &Self::Policy) -> Result<(), Self::Reply>;

    /// The answer to a command that is not decided, where the product has one; `None` where the
    /// client gets an error instead.
    fn undecided(
        command: &Self::Command,
        policy: &Self::Policy,
        why: Undecided,
        now: Timestamp,
        ids: &mut IdStream,
    ) -> Option<Self::Reply>;

    /// Words for the metrics of a decision: outcome and reason, both of a bounded set.
    fn outcome(reply: &Self::Reply) -> (&'static str, &'static str);
}

/// A policy knows its version: newer rules of one space have a larger one.
pub trait Versioned {
    /// The version, 1 or more.
    fn version(&self) -> u32;
}

/// The entities of one command, as `decide` sees them.
#[derive(Debug)]
pub struct Entities<'a, E> {
    /// One for each key of [`Machine::keys`], in any order.
    views: SmallVec<[View<'a, E>; 4]>,
}

/// One entity as `decide` sees it.
#[derive(Debug)]
pub struct View<'a, E> {
    /// Its name.
    pub key: EntityKey,
    /// Its state; `None` when it does not exist.
    pub entity: Option<&'a E>,
    /// The version its next event gets. Grows for ever, also over purges: usable as an epoch of
    /// anything the entity hands out (`ARCHITECTURE.md`, floors).
    pub next_version: u64,
}

impl<'a, E> Entities<'a, E> {
    /// A view of these entities.
    #[must_use]
    pub fn new(views: SmallVec<[View<'a, E>; 4]>) -> Self {
        Self { views }
    }

    /// The entity of a key, `None` when it does not exist.
    ///
    /// # Panics
    /// When the key is not one of the command's: a bug in [`Machine::keys`].
    #[must_use]
    pub fn get(&self, key: &EntityKey) -> Option<&'a E> {
        self.view(key).entity
    }

    /// The whole view of a key.
    ///
    /// # Panics
    /// When the key is not one of the command's: a bug in [`Machine::keys`].
    #[must_use]
    pub fn view(&self, key: &EntityKey) -> &View<'a, E> {
        self.views
            .iter()
            .find(|view| view.key == *key)
            .expect("decide reads only keys that `keys` named")
    }
}

/// What a decision may know beside the entities.
#[derive(Debug)]
pub struct Context<'a, P> {
    /// The time of the decision: never before the last time of any of its entities.
    pub now: Timestamp,
    /// Ids to hand out.
    pub ids: &'a mut IdStream,
    /// The space's rules.
    pub policy: &'a P,
    /// Memory is above its bound: nothing new is reserved; settles, releases and lifts go on.
    pub full: bool,
    /// The part that the command adds to has as many entities as it may have.
    pub part_full: bool,
    /// The wall clock disagrees with node time: purposes that fail closed wait, nothing is signed.
    pub clock_suspect: bool,
}

/// Changes of a decision, in order. Room for the usual two without an allocation: a decision is
/// moved, and what is moved is copied.
pub type Events<E> = SmallVec<[(EntityKey, E); 2]>;

/// What a decision comes to.
#[derive(Debug)]
pub struct Decision<M: Machine> {
    /// Changes, in order. Each key is one of the command's.
    pub events: Events<M::Event>,
    /// The answer; leaves after the record is durable.
    pub reply: M::Reply,
    /// What the record keeps about the decision; with neither events nor a note there is no record.
    pub note: Option<M::Note>,
    /// For others, after the record is durable.
    pub notices: Vec<M::Notice>,
}

impl<M: Machine> Decision<M> {
    /// An answer that changes nothing and leaves no record.
    #[must_use]
    pub fn read(reply: M::Reply) -> Self {
        Self {
            events: SmallVec::new(),
            reply,
            note: None,
            notices: Vec::new(),
        }
    }
}

/// What becomes of an entity that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sweep<E> {
    /// Nothing yet.
    Keep,
    /// It changes.
    Event(E),
    /// It has nothing left to remember and is forgotten; its partition's floor rises.
    Purge,
}

/// Why a command was not decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// A partition it needs is not rebuilt yet.
    Rebuilding,
    /// Its deadline passed while it waited.
    Deadline,
    /// It would have left a record, and the disk has no room left for one.
    NoRoom,
}

/// An invariant that does not hold: its id (`ARCHITECTURE.md`, invariants) and what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The invariant's id.
    pub invariant: &'static str,
    /// What was seen, without any handle or key.
    pub seen: String,
}
