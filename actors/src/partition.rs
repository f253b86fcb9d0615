//! One partition's entities: the map, the lent marks, the floor, and its snapshot in progress.
//!
//! Here: state that exactly one shard owns. Not here: when to lend, decide or write (`shard`).
//! Keeps L1: an entity is home, or on exactly one loan.

mod ahead;
mod index;
mod slice;
mod table;

use std::collections::VecDeque;
use std::fmt;

use interlock_domain::key::EntityKey;
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::{Partition as PartitionId, Sequence};
use serde::{Deserialize, Serialize};

use crate::message::Transaction;
use crate::stats::Encoded;
use table::Table;

pub(crate) use ahead::read_ahead;
pub use slice::ENTITY_BYTES_MAX;
pub(crate) use slice::{decode_slice, encode_entity};

/// An entity while a transaction holds it.
#[derive(Debug)]
pub struct Held<M: Machine> {
    /// Its state; `None` when it does not exist.
    pub entity: Option<M::Entity>,
    /// The version of its last event; for one that does not exist, the partition's floor when it
    /// was lent.
    pub version: u64,
}

/// Where an entity is.
enum State<M: Machine> {
    Home(M::Entity),
    Lent(Box<Lent<M>>),
}

/// Transactions that wait for one entity.
type Queue<M> = VecDeque<Box<Transaction<M>>>;

/// The mark of an entity that is away.
struct Lent<M: Machine> {
    /// Who needs it next, first come first served.
    queue: Queue<M>,
    /// It did not exist when it was lent.
    absent: bool,
    /// A snapshot waits for it: it is encoded when it comes home, before the queue is served.
    snapshot_due: bool,
}

struct Slot<M: Machine> {
    version: u64,
    state: State<M>,
}

/// What a snapshot keeps beside its entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotHead {
    /// The partition's floor when the snapshot began.
    pub floor: u64,
    /// The shard's time when it was complete: after a restart node time is at least this.
    pub time: Timestamp,
    /// The format of the entities.
    pub format: u16,
    /// The product.
    pub product: u8,
}

/// A snapshot in progress.
struct Walk {
    snapshot: u64,
    position: Sequence,
    floor: u64,
    keys: Vec<EntityKey>,
    next: usize,
    slices: u32,
    /// Listed entities that are away; they are encoded when they come home.
    away: usize,
    /// Encoded entities that wait for the next slice.
    pending: Vec<u8>,
    /// How many they are and how large, by kind.
    encoded: Encoded,
    /// A slice was asked for and could not be written: the last entities are away.
    stalled: bool,
}

/// What a snapshot step produced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The snapshot.
    pub(crate) snapshot: u64,
    /// The number of the slice.
    pub(crate) index: u32,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
    /// How many entities it holds and how large they are, by kind.
    pub(crate) encoded: Encoded,
    /// Set with the last slice.
    pub(crate) complete: Option<(Sequence, u32, SnapshotHead)>,
}

/// The entities of one partition.
pub struct Partition<M: Machine> {
    id: PartitionId,
    map: Table<Slot<M>>,
    /// The highest version ever purged here: a new entity starts above it, so that no version, and
    /// no epoch made of one, ever comes back.
    floor: u64,
    walk: Option<Walk>,
    away: usize,
}

impl<M: Machine> fmt::Debug for Partition<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partition")
            .field("id", &self.id)
            .field("entities", &self.map.len())
            .field("floor", &self.floor)
            .field("away", &self.away)
            .finish_non_exhaustive()
    }
}

/// What becomes of an entity that comes home.
pub(crate) enum Home<M: Machine> {
    /// It goes to the transaction that waited longest.
    Next(Box<Transaction<M>>, Held<M>),
    /// It stays; `born` when it did not exist when it left.
    Stays {
        /// It is new.
        born: bool,
    },
}

/// The mark of an entity that was lent just now.
fn mark<M: Machine>(absent: bool) -> State<M> {
    State::Lent(Box::new(Lent {
        queue: VecDeque::new(),
        absent,
        snapshot_due: false,
    }))
}

/// What a look-up found.
#[derive(Debug)]
pub(crate) enum Found<'a, E> {
    /// It is home.
    Home(&'a E, u64),
    /// It does not exist; a new one starts above this version.
    Absent(u64),
    /// It is away.
    Lent,
}

impl<M: Machine> Partition<M> {
    /// An empty partition.
    #[must_use]
    pub fn new(id: PartitionId) -> Self {
        Self {
            id,
            map: Table::default(),
            floor: 0,
            walk: None,
            away: 0,
        }
    }

    /// Which partition it is.
    #[must_use]
    pub const fn id(&self) -> PartitionId {
        self.id
    }

    /// Entities and marks in it.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.map.len()
    }

    /// Nothing in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Entities that are away.
    #[must_use]
    pub const fn away(&self) -> usize {
        self.away
    }

    /// The floor.
    #[must_use]
    pub const fn floor(&self) -> u64 {
        self.floor
    }

    /// Raises the floor.
    pub(crate) fn raise_floor(&mut self, version: u64) {
        self.floor = self.floor.max(version);
    }

    /// Looks an entity up.
    pub(crate) fn find(&self, key: &EntityKey) -> Found<'_, M::Entity> {
        match self.map.get(key) {
            Some(Slot {
                version,
                state: State::Home(entity),
            }) => Found::Home(entity, *version),
            Some(Slot {
                state: State::Lent(_),
                ..
            }) => Found::Lent,
            None => Found::Absent(self.floor),
        }
    }

    /// Changes an entity that is home (or absent) by one event; answers whether it is new.
    pub(crate) fn apply(&mut self, key: &EntityKey, version: u64, event: &M::Event) -> bool {
        let (slot, is_new) = self.map.get_or_insert(key, || Slot {
            version,
            state: State::Home(M::empty(key.kind)),
        });
        match &mut slot.state {
            State::Home(entity) => M::apply(entity, event),
            State::Lent(_) => unreachable!("an entity that is away is changed by its borrower"),
        }
        slot.version = version;
        is_new
    }

    /// Lends an entity that is home or absent.
    pub(crate) fn lend(&mut self, key: &EntityKey) -> Held<M> {
        self.away += 1;
        let version = self.floor;
        let (slot, is_new) = self.map.get_or_insert(key, || Slot {
            version,
            state: mark(true),
        });
        if is_new {
            return Held {
                entity: None,
                version,
            };
        }
        match std::mem::replace(&mut slot.state, mark(false)) {
            State::Home(entity) => Held {
                entity: Some(entity),
                version: slot.version,
            },
            State::Lent(_) => unreachable!("only an entity that is home is lent"),
        }
    }

    /// Queues a transaction for an entity that is away; gives it back when the queue is full.
    pub(crate) fn wait(
        &mut self,
        key: &EntityKey,
        transaction: Box<Transaction<M>>,
        bound: usize,
    ) -> Result<(), Box<Transaction<M>>> {
        let Some(Slot {
            state: State::Lent(lent),
            ..
        }) = self.map.get_mut(key)
        else {
            unreachable!("transactions wait only for entities that are away");
        };
        if lent.queue.len() >= bound {
            return Err(transaction);
        }
        lent.queue.push_back(transaction);
        Ok(())
    }

    /// An entity comes home. With somebody waiting it goes to the first of them at once, and the
    /// mark stays, so that a newcomer cannot overtake.
    pub(crate) fn come_home(&mut self, key: &EntityKey, held: Held<M>) -> Home<M> {
        let Some(slot) = self.map.get_mut(key) else {
            unreachable!("an entity comes home to the mark it left (L1)");
        };
        let State::Lent(lent) = &mut slot.state else {
            unreachable!("what is away left its mark (L1)");
        };
        if std::mem::take(&mut lent.snapshot_due) {
            if let (Some(walk), Some(entity)) = (&mut self.walk, &held.entity) {
                let bytes = encode_entity::<M>(&mut walk.pending, key, held.version, entity);
                walk.encoded.add(key.kind, bytes);
            }
            if let Some(walk) = &mut self.walk {
                walk.away -= 1;
            }
        }
        if let Some(next) = lent.queue.pop_front() {
            return Home::Next(next, held);
        }
        let born = lent.absent && held.entity.is_some();
        self.away -= 1;
        match held.entity {
            Some(entity) => {
                slot.version = held.version;
                slot.state = State::Home(entity);
            }
            None => self.map.remove(key),
        }
        Home::Stays { born }
    }

    /// Removes an entity for good and raises the floor. Refused while a snapshot of the partition
    /// is being written, or the snapshot would lack what the tail after it still changes.
    pub(crate) fn purge(&mut self, key: &EntityKey, version: u64) {
        debug_assert!(
            self.walk.is_none(),
            "purges wait for the snapshot in progress"
        );
        self.map.remove(key);
        self.raise_floor(version);
    }

    /// Is a snapshot being written?
    pub(crate) const fn in_snapshot(&self) -> bool {
        self.walk.is_some()
    }

    /// Keys of everything here, marks included.
    pub(crate) fn keys(&self) -> Vec<EntityKey> {
        self.map.iter().map(|(key, _)| key).collect()
    }

    /// Visits the entities that are home.
    pub fn each_home(&self, visit: &mut dyn FnMut(&EntityKey, u64, &M::Entity)) {
        for (key, slot) in self.map.iter() {
            if let State::Home(entity) = &slot.state {
                visit(&key, slot.version, entity);
            }
        }
    }

    /// Visits the marks of entities that are away, with who waits for them.
    pub(crate) fn each_mark(&self, visit: &mut dyn FnMut(&EntityKey, &Queue<M>)) {
        for (key, slot) in self.map.iter() {
            if let State::Lent(lent) = &slot.state {
                visit(&key, &lent.queue);
            }
        }
    }

    /// Begins a snapshot: from here on listed entities are either encoded in place or when they
    /// come home.
    pub(crate) fn snapshot_begin(&mut self, snapshot: u64, position: Sequence) {
        debug_assert!(self.walk.is_none(), "one snapshot of a partition at a time");
        let mut keys = self.keys();
        keys.sort_unstable();
        self.walk = Some(Walk {
            snapshot,
            position,
            floor: self.floor,
            keys,
            next: 0,
            slices: 0,
            away: 0,
            pending: Vec::new(),
            encoded: Encoded::default(),
            stalled: false,
        });
    }

    /// Did the last return end the wait of a snapshot that could not go on? Answers once.
    pub(crate) fn snapshot_unblocked(&mut self) -> bool {
        match &mut self.walk {
            Some(walk) if walk.stalled && walk.away == 0 => {
                walk.stalled = false;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Encodes the next slice of at most `entities`; `None` when nothing can be written yet (the
    /// last listed entities are away) or no snapshot is in progress.
    pub(crate) fn snapshot_step(&mut self, entities: usize, now: Timestamp) -> Option<Step> {
        let walk = self.walk.as_mut()?;
        walk_on(&mut self.map, walk, entities);
        // Keys that are gone again yield nothing, and nobody would come home to ask once more.
        while walk.pending.is_empty() && walk.away == 0 && walk.next < walk.keys.len() {
            walk_on(&mut self.map, walk, entities);
        }
        let complete = walk.next == walk.keys.len() && walk.away == 0;
        if walk.pending.is_empty() && !complete {
            walk.stalled = true;
            return None;
        }
        let index = walk.slices;
        walk.slices += 1;
        let head = SnapshotHead {
            floor: walk.floor,
            // Not the time it began: what was away then may have been changed later, elsewhere.
            time: now,
            format: M::FORMAT,
            product: M::PRODUCT,
        };
        let bytes = std::mem::take(&mut walk.pending);
        let encoded = std::mem::take(&mut walk.encoded);
        let step = Step {
            snapshot: walk.snapshot,
            index,
            bytes,
            encoded,
            complete: complete.then_some((walk.position, walk.slices, head)),
        };
        if complete {
            self.walk = None;
        }
        Some(step)
    }

    /// Puts an entity back as a snapshot or the tail has it; used by recovery alone.
    pub(crate) fn restore(&mut self, key: EntityKey, version: u64, entity: M::Entity) {
        self.map.insert(
            &key,
            Slot {
                version,
                state: State::Home(entity),
            },
        );
    }
}

/// Encodes the next listed entities that are home and marks those that are away.
fn walk_on<M: Machine>(map: &mut Table<Slot<M>>, walk: &mut Walk, entities: usize) {
    let until = walk.keys.len().min(walk.next + entities);
    for key in &walk.keys[walk.next..until] {
        match map.get_mut(key) {
            Some(Slot {
                version,
                state: State::Home(entity),
            }) => {
                let bytes = encode_entity::<M>(&mut walk.pending, key, *version, entity);
                walk.encoded.add(key.kind, bytes);
            }
            Some(Slot {
                state: State::Lent(lent),
                ..
            }) => {
                lent.snapshot_due = true;
                walk.away += 1;
            }
            // Lent as absent when it was listed, and it came home as absent.
            None => {}
        }
    }
    walk.next = until;
}
