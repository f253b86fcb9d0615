//! What travels: transactions, loans, frames, and the answers held in them.
//!
//! Here: plain data. Not here: who sends it when (`shard`, `committer`, `node`).

use std::fmt;
use std::sync::Arc;

use interlock_domain::key::SpaceId;
use interlock_domain::machine::{Machine, Undecided};
use interlock_domain::time::Timestamp;
use interlock_storage::{Group, Partition, Sequence, SnapshotSlice};
use smallvec::SmallVec;

use crate::partition::Held;
use crate::placement::Place;
use crate::scan::Scanning;

/// A point on the node's monotonic clock, in nanoseconds since the node started. Deadlines and
/// paces use it, never the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Monotonic(pub u64);

/// The answer to one command.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer<R> {
    /// It was decided, and what it changed is durable.
    Decided(R),
    /// It was not decided and changed nothing.
    NotDecided(Undecided),
    /// It was not decided and changed nothing; what the product answers in its place.
    Instead(R),
    /// Deciding it panicked; nothing was applied. A bug of ours.
    Broken,
    /// The queue of one of its entities is full; it changed nothing.
    Busy,
    /// The sync failed or its outcome is unknown; the node is going down.
    Unavailable,
}

/// Takes the answers of one request. Implemented by the node over a channel, by the simulator over
/// a list.
pub trait Sink<R>: Send + Sync {
    /// Takes answers with the place of their commands in the request.
    fn deliver(&self, answers: Vec<(u32, Answer<R>)>);

    /// Has the client gone? Its undecided commands are dropped then.
    fn gone(&self) -> bool;
}

/// The request whose commands are decided, to take their answers.
pub struct ReplyTo<R>(pub Arc<dyn Sink<R>>);

impl<R> fmt::Debug for ReplyTo<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplyTo")
    }
}

/// One command on its way.
#[derive(Debug)]
pub struct Item<M: Machine> {
    /// What is wanted.
    pub command: M::Command,
    /// Which of the transaction's places it touches.
    pub places: SmallVec<[u16; 4]>,
    /// Its place in the request.
    pub index: u32,
}

/// Commands decided in order by the shard of the last key; the only owner of the entities it has
/// acquired. Which commands travel together says `plan`.
#[derive(Debug)]
pub struct Transaction<M: Machine> {
    /// The commands, all of one request, in its order.
    pub items: SmallVec<[Item<M>; 1]>,
    /// Who waits for the answers.
    pub reply_to: ReplyTo<M::Reply>,
    /// Every entity any of them touches, in the order of acquisition. On one shard, where nothing is
    /// ever acquired: in the order of the commands, and an entity as often as it is touched.
    pub places: SmallVec<[Place; 4]>,
    /// The entities acquired so far: the first ones of `places`.
    pub held: SmallVec<[Held<M>; 4]>,
    /// The space of all of them.
    pub space: SpaceId,
    /// The rules the commands were parsed with.
    pub policy: Arc<M::Policy>,
    /// When deciding it stops being of use.
    pub deadline: Monotonic,
    /// When it came in.
    pub submitted: Monotonic,
    /// How often it waited for a lent entity.
    pub waits: u32,
}

/// Entities on their way home after a decision elsewhere.
#[derive(Debug)]
pub struct Return<M: Machine> {
    /// Which entity.
    pub place: Place,
    /// Its state.
    pub held: Held<M>,
}

/// What shards send each other and the node sends them.
#[derive(Debug)]
pub enum ShardMessage<M: Machine> {
    /// Transactions to go on with, new or forwarded, and entities coming home.
    Work {
        /// The sender's time: the receiver never decides before it.
        time: Timestamp,
        /// Entities first: they may be what the transactions wait for.
        returns: Vec<Return<M>>,
        /// Transactions whose next entity lives here.
        transactions: Vec<Box<Transaction<M>>>,
    },
    /// A space's rules; takes effect at the start of the next turn.
    Policy {
        /// The space.
        space: SpaceId,
        /// Its rules.
        policy: Arc<M::Policy>,
    },
    /// A partition was rebuilt from the log.
    Adopt(Box<crate::partition::Partition<M>>),
    /// Begin a partition's snapshot.
    SnapshotBegin {
        /// The partition.
        partition: Partition,
        /// The snapshot's name.
        snapshot: u64,
        /// The last durable sequence of the partition's group.
        position: Sequence,
    },
    /// Write the next slice of the snapshot that was begun.
    SnapshotSlice(Partition),
    /// Look at a bounded number of entities that may be due.
    Sweep,
    /// Look at every entity once, then say so.
    SweepAll(Waiter),
    /// Show every entity to a scan.
    Scan(Scanning<M>),
}

/// Is told when something is durable, or will never be.
pub trait Done: Send + Sync {
    /// `durable` is false when the node is going down and the outcome is unknown.
    fn done(&self, durable: bool);
}

/// Who waits for a frame without an answer of a command.
#[derive(Clone)]
pub struct Waiter(pub Arc<dyn Done>);

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waiter")
    }
}

/// Answers of one request, held until the frame's commit is durable.
pub struct HeldAnswers<R> {
    /// The request.
    pub sink: Arc<dyn Sink<R>>,
    /// Its answers.
    pub answers: Vec<(u32, Answer<R>)>,
}

impl<R> fmt::Debug for HeldAnswers<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeldAnswers({})", self.answers.len())
    }
}

/// Room for the answers that one turn usually has for a request of many.
const ANSWERS_USUAL: usize = 64;

/// Records of one group in a frame.
#[derive(Clone, Debug)]
pub struct GroupRecords {
    /// The group.
    pub group: Group,
    /// The group's partitions the records touch, a bit each.
    pub touched: [u64; 4],
    /// The records.
    pub bytes: Vec<u8>,
}

/// A snapshot that is whole once this frame is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The partition.
    pub partition: Partition,
    /// The snapshot's name.
    pub snapshot: u64,
    /// What it covers.
    pub position: Sequence,
    /// How many slices it has.
    pub slices: u32,
    /// Encoded [`crate::partition::SnapshotHead`].
    pub header: Vec<u8>,
}

/// What one turn hands to the committer.
#[derive(Debug)]
pub struct Frame<M: Machine> {
    /// Records by group.
    pub groups: SmallVec<[GroupRecords; 1]>,
    /// Answers to release once it is durable.
    pub replies: Vec<HeldAnswers<M::Reply>>,
    /// Others to tell once it is durable.
    pub waiters: Vec<Waiter>,
    /// Notices to release once it is durable.
    pub notices: Vec<(Group, M::Notice)>,
    /// Slices of snapshots.
    pub slices: Vec<SnapshotSlice>,
    /// Snapshots that are complete with it.
    pub seals: Vec<Seal>,
    /// Values outside the groups.
    pub meta: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl<M: Machine> Default for Frame<M> {
    fn default() -> Self {
        Self {
            groups: SmallVec::new(),
            replies: Vec::new(),
            waiters: Vec::new(),
            notices: Vec::new(),
            slices: Vec::new(),
            seals: Vec::new(),
            meta: Vec::new(),
        }
    }
}

impl<M: Machine> Frame<M> {
    /// Bytes it adds to a commit.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let slices: usize = self.slices.iter().map(|slice| slice.bytes.len()).sum();
        let meta: usize = self
            .meta
            .iter()
            .map(|(k, v)| k.len() + v.as_ref().map_or(0, Vec::len))
            .sum();
        self.record_bytes() + slices + meta
    }

    /// Bytes of the records in it.
    #[must_use]
    pub fn record_bytes(&self) -> usize {
        self.groups.iter().map(|group| group.bytes.len()).sum()
    }

    /// Nothing to write and nobody to answer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes_nothing()
            && self.replies.is_empty()
            && self.waiters.is_empty()
            && self.notices.is_empty()
    }

    /// Nothing to write: it only waits for the commits before it.
    #[must_use]
    pub fn writes_nothing(&self) -> bool {
        self.groups.is_empty()
            && self.slices.is_empty()
            && self.seals.is_empty()
            && self.meta.is_empty()
    }

    /// Holds the answer to the command at a place of a request until the frame is durable.
    pub fn answer(&mut self, to: &ReplyTo<M::Reply>, index: u32, answer: Answer<M::Reply>) {
        let ReplyTo(sink) = to;
        match self.replies.last_mut() {
            Some(last) if Arc::ptr_eq(&last.sink, sink) => last.answers.push((index, answer)),
            _ => {
                let mut answers = Vec::with_capacity(ANSWERS_USUAL);
                answers.push((index, answer));
                let sink = Arc::clone(sink);
                self.replies.push(HeldAnswers { sink, answers });
            }
        }
    }

    /// The records of a group, to append to.
    pub fn group(&mut self, group: Group) -> &mut GroupRecords {
        if let Some(at) = self
            .groups
            .iter()
            .position(|records| records.group == group)
        {
            return &mut self.groups[at];
        }
        self.groups.push(GroupRecords {
            group,
            touched: [0; 4],
            bytes: Vec::new(),
        });
        self.groups.last_mut().expect("one was pushed just now")
    }
}

impl GroupRecords {
    /// Notes that the records touch a partition of the group.
    pub fn touch(&mut self, partition: Partition) {
        let lower = partition.0 % interlock_storage::PARTITIONS_PER_GROUP;
        self.touched[usize::from(lower / 64)] |= 1 << (lower % 64);
    }

    /// The partitions touched, in order.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> + '_ {
        let base = self.group.0 * interlock_storage::PARTITIONS_PER_GROUP;
        (0..interlock_storage::PARTITIONS_PER_GROUP)
            .filter(|&lower| self.touched[usize::from(lower / 64)] & (1 << (lower % 64)) != 0)
            .map(move |lower| Partition(base + lower))
    }
}
