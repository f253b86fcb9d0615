//! A shard: the single owner of its partitions, as a plain struct.
//!
//! Here: what a shard holds, how messages come in, and the turn. In `shard/`: acquiring entities,
//! deciding, sweeping. Not here: threads, mailboxes, disks; `node` drives it in production and the
//! simulator without threads. Keeps L1 and the order of hand-over: nothing leaves a shard before
//! the frame of the turn that produced it.

mod acquire;
pub mod audit;
mod decide;
mod fair;
mod scan;
mod sweep;
mod warm;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use interlock_domain::ids::IdStream;
use interlock_domain::key::{EntityKey, SpaceId};
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::{Partition as PartitionId, SnapshotSlice};

pub use self::fair::SLICE_COMMANDS;
pub(crate) use self::sweep::SWEEPS_AHEAD_MAX;
use crate::message::{Frame, Monotonic, Return, Seal, ShardMessage, Transaction};
use crate::partition::{Found, Partition};
use crate::placement::{KeyHasher, Place};
use crate::record::RecordEncoder;
use crate::room::Room;
use crate::stats::Stats;

/// Partitions of a node.
const PARTITIONS: usize =
    interlock_storage::GROUPS as usize * interlock_storage::PARTITIONS_PER_GROUP as usize;

/// The bounds a shard works within.
#[derive(Clone, Copy, Debug)]
pub struct ShardOptions {
    /// This shard's number.
    pub index: u16,
    /// How many there are.
    pub shards: u16,
    /// Commands decided before a turn ends.
    pub turn_commands_max: usize,
    /// Transactions that may wait for one entity.
    pub queue_per_entity_max: usize,
    /// Entities in one slice of a snapshot.
    pub slice_entities_max: usize,
    /// Entities a sweep looks at in one turn.
    pub sweep_entities_max: usize,
    /// This shard's share of the entities a space may have; keyed hashes spread them evenly.
    pub entities_per_space_max: i64,
    /// This shard's share of the entities a part of a space may have, where the product has parts.
    pub entities_per_part_max: i64,
}

/// What a space's commands are decided with.
pub(crate) struct Space<M: Machine> {
    pub(crate) policy: Arc<M::Policy>,
}

/// What the shards of a node share: flags and sums, no state of an entity.
#[derive(Debug, Default)]
pub struct Pressure {
    /// Memory is above its bound: nothing new is reserved.
    pub full: AtomicBool,
    /// Free disk space is below its bound: nothing new is reserved.
    pub disk_low: AtomicBool,
    /// What records may still take of the disk: when it is out, nothing that writes is taken.
    pub room: Room,
    /// The journal's tail is above its bound: intake waits for snapshots.
    pub journal_full: AtomicBool,
    /// The wall clock and node time disagree.
    pub clock_suspect: AtomicBool,
    /// Entities on loan, over all shards.
    pub on_loan: AtomicI64,
    /// Entities that keep history from going, over all shards. Those of a start are counted before
    /// their partitions are announced.
    pub history_keepers: AtomicI64,
}

/// A shard of machine `M`.
pub struct Shard<M: Machine> {
    options: ShardOptions,
    partitions: Vec<Option<Box<Partition<M>>>>,
    spaces: HashMap<SpaceId, Space<M>, KeyHasher>,
    /// Entities at home here, by space.
    entities: HashMap<SpaceId, i64, KeyHasher>,
    /// Those of them that count for a part of their space, by part; only parts that have some.
    parts: BTreeMap<(SpaceId, u32), i64>,
    /// Transactions to go on with, shared out between spaces.
    queue: fair::FairQueue<M>,
    frame: Frame<M>,
    out: Vec<Outgoing<M>>,
    record: RecordEncoder,
    ids: IdStream,
    now: Timestamp,
    mono: Monotonic,
    slices_due: VecDeque<PartitionId>,
    sweep: sweep::Sweeper,
    scanner: scan::Scanner<M>,
    pressure: Arc<Pressure>,
    /// Change of the entities on loan since the last turn.
    on_loan: i64,
    stats: Stats,
}

/// What goes to one other shard at the end of a turn.
struct Outgoing<M: Machine> {
    returns: Vec<Return<M>>,
    transactions: Vec<Box<Transaction<M>>>,
}

/// What a turn produced: the frame is handed over first, then the messages are sent.
#[derive(Debug)]
pub struct TurnOutput<M: Machine> {
    /// For the committer; `None` when there is nothing to write and nobody to answer.
    pub frame: Option<Frame<M>>,
    /// For other shards.
    pub messages: Vec<(u16, ShardMessage<M>)>,
    /// There is more to do: give the shard another turn.
    pub more: bool,
}

impl<M: Machine> fmt::Debug for Shard<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard")
            .field("index", &self.options.index)
            .field("queue", &self.queue.len())
            .finish_non_exhaustive()
    }
}

impl<M: Machine> Shard<M> {
    /// A shard that owns nothing yet: its partitions are adopted as they are rebuilt.
    #[must_use]
    pub fn new(options: ShardOptions, ids: IdStream, pressure: Arc<Pressure>) -> Self {
        let outgoing = || Outgoing {
            returns: Vec::new(),
            transactions: Vec::new(),
        };
        Self {
            options,
            partitions: std::iter::repeat_with(|| None).take(PARTITIONS).collect(),
            spaces: HashMap::default(),
            entities: HashMap::default(),
            parts: BTreeMap::new(),
            queue: fair::FairQueue::new(),
            frame: Frame::default(),
            out: std::iter::repeat_with(outgoing)
                .take(usize::from(options.shards))
                .collect(),
            record: RecordEncoder::default(),
            ids,
            now: Timestamp(0),
            mono: Monotonic(0),
            slices_due: VecDeque::new(),
            sweep: sweep::Sweeper::default(),
            scanner: scan::Scanner::default(),
            pressure,
            on_loan: 0,
            stats: Stats::default(),
        }
    }

    /// Takes a message. Entities coming home are put in place at once; all else waits for a turn.
    pub fn receive(&mut self, message: ShardMessage<M>) {
        match message {
            ShardMessage::Work {
                time,
                returns,
                transactions,
            } => {
                self.now = self.now.max(time);
                for Return { place, held } in returns {
                    self.come_home(place, held);
                }
                for transaction in transactions {
                    self.queue.arrived(transaction);
                }
            }
            ShardMessage::Policy { space, policy } => {
                self.spaces.insert(space, Space { policy });
            }
            ShardMessage::Adopt(partition) => self.adopt(partition),
            ShardMessage::SnapshotBegin {
                partition,
                snapshot,
                position,
            } => {
                self.partition(partition).snapshot_begin(snapshot, position);
                self.slices_due.push_back(partition);
            }
            ShardMessage::SnapshotSlice(partition) => self.slices_due.push_back(partition),
            ShardMessage::Sweep => self.sweep.request(),
            ShardMessage::SweepAll(done) => self.sweep.request_all(done),
            ShardMessage::Scan(scan) => self.scanner.request(scan.0),
        }
    }

    /// One turn: entities that came home are served first, then a bounded number of commands.
    pub fn turn(&mut self, now: Timestamp, mono: Monotonic) -> TurnOutput<M> {
        self.now = self.now.max(now);
        self.mono = mono;
        let mut decided = 0;
        let mut warmed = 0;
        while decided < self.options.turn_commands_max {
            if warmed == 0 {
                warmed = self.warm();
            }
            warmed = warmed.saturating_sub(1);
            let Some(transaction) = self.queue.next() else {
                break;
            };
            decided += transaction.items.len();
            self.acquire(transaction);
        }
        self.sweep_some();
        self.scan_some();
        self.snapshot_some();
        self.stats.turns += 1;
        if self.on_loan != 0 {
            let change = std::mem::take(&mut self.on_loan);
            self.pressure.on_loan.fetch_add(change, Ordering::Relaxed);
        }
        self.hand_over()
    }

    /// Is there anything to do in a turn?
    #[must_use]
    pub fn has_work(&self) -> bool {
        !(self.queue.is_empty() && self.slices_due.is_empty() && self.frame.is_empty())
            || self.sweep.has_work(self.options.sweep_entities_max)
            || self.scanner.has_work()
            || self
                .out
                .iter()
                .any(|out| !out.returns.is_empty() || !out.transactions.is_empty())
    }

    /// The counts since the last call.
    pub fn take_stats(&mut self) -> Stats {
        std::mem::take(&mut self.stats)
    }

    /// The latest time this shard decided at.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Visits every partition it owns.
    pub fn each_partition(&self, visit: &mut dyn FnMut(&Partition<M>)) {
        for partition in self.partitions.iter().flatten() {
            visit(partition);
        }
    }

    fn hand_over(&mut self) -> TurnOutput<M> {
        let frame = std::mem::take(&mut self.frame);
        let time = self.now;
        let mut messages = Vec::new();
        for (target, out) in self.out.iter_mut().enumerate() {
            if out.returns.is_empty() && out.transactions.is_empty() {
                continue;
            }
            let target = u16::try_from(target).expect("a shard's number fits");
            let returns = std::mem::take(&mut out.returns);
            let transactions = std::mem::take(&mut out.transactions);
            messages.push((
                target,
                ShardMessage::Work {
                    time,
                    returns,
                    transactions,
                },
            ));
        }
        let frame = (!frame.is_empty()).then_some(frame);
        TurnOutput {
            frame,
            messages,
            more: self.has_work(),
        }
    }

    fn adopt(&mut self, partition: Box<Partition<M>>) {
        let at = usize::from(partition.id().0);
        assert!(
            self.partitions[at].is_none(),
            "a partition is adopted before anything is decided or written of it"
        );
        partition.each_home(&mut |key, _, entity| self.count(key, M::part(entity), 1));
        self.partitions[at] = Some(partition);
    }

    /// Counts an entity gained or lost at home.
    fn count(&mut self, key: &EntityKey, part: Option<u32>, change: i64) {
        self.stats.count(key.kind, change);
        *self.entities.entry(key.space).or_insert(0) += change;
        if let Some(part) = part {
            let count = self.parts.entry((key.space, part)).or_insert(0);
            *count += change;
            if *count == 0 {
                self.parts.remove(&(key.space, part));
            }
        }
    }

    /// Counts an entity that was created at home, or came home with its first event.
    fn count_new(&mut self, place: &Place) {
        let part = match self.find(place) {
            Found::Home(entity, _) => M::part(entity),
            Found::Absent(_) | Found::Lent => None,
        };
        self.count(&place.key, part, 1);
    }

    /// Entities at home here that count for a part, by space and part: for checkers.
    #[must_use]
    pub const fn parts(&self) -> &BTreeMap<(SpaceId, u32), i64> {
        &self.parts
    }

    /// Entities of a space at home here, as its bound counts them: for checkers.
    #[must_use]
    pub fn entities_of(&self, space: &SpaceId) -> i64 {
        self.entities.get(space).copied().unwrap_or(0)
    }

    fn partition(&mut self, id: PartitionId) -> &mut Partition<M> {
        self.partitions[usize::from(id.0)].get_or_insert_with(|| Box::new(Partition::new(id)))
    }

    fn snapshot_some(&mut self) {
        for _ in 0..self.slices_due.len() {
            let Some(id) = self.slices_due.pop_front() else {
                break;
            };
            let entities = self.options.slice_entities_max;
            // Nothing yet: the last of it is away, and its return asks again.
            let now = self.now;
            let Some(step) = self.partition(id).snapshot_step(entities, now) else {
                continue;
            };
            let snapshot = step.snapshot;
            self.stats.encoded.add_all(&step.encoded);
            self.frame.slices.push(SnapshotSlice {
                partition: id,
                snapshot,
                index: step.index,
                bytes: step.bytes,
            });
            if let Some((position, slices, head)) = step.complete {
                let mut header = Vec::new();
                crate::record::put(&mut header, &head).expect("a snapshot head can be encoded");
                self.frame.seals.push(Seal {
                    partition: id,
                    snapshot,
                    position,
                    slices,
                    header,
                });
            }
        }
    }
}
