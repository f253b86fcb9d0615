//! Rebuilding partitions from snapshots and the journal's tail.
//!
//! Here: reading the log into partitions, with every check that replay owes (C6). Called by the
//! recovery threads, each for its share of the partitions, and by the simulator. Not here: when
//! decisions may start.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use interlock_domain::key::EntityKey;
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::{
    Log, LogError, Partition as PartitionId, Replayed, Sequence, SnapshotInfo,
};

use crate::partition::{Found, Partition, SnapshotHead, decode_slice, read_ahead};
use crate::placement::partition_of;
use crate::record::{self, Change, EntryView, RecordView};

/// Entries whose entities are read together before the first of them is changed: enough that waits for
/// memory overlap, few enough that the first is still near when the last was read.
const TOGETHER: usize = 64;

/// An entry with the partition of its entity.
type Placed<'a> = (PartitionId, EntryView<'a>);

/// What was rebuilt.
#[derive(Debug)]
pub struct Rebuilt<M: Machine> {
    /// The partitions that hold or held anything, by number.
    pub partitions: BTreeMap<PartitionId, Box<Partition<M>>>,
    /// The latest time in records and snapshots; node time starts no earlier.
    pub time: Timestamp,
    /// Records read from the tail.
    pub records: u64,
    /// Snapshots read.
    pub snapshots: u64,
}

/// Rebuilds the partitions that `owns` names.
///
/// # Errors
/// When the log is damaged or of a newer format; nothing may be decided then.
pub fn rebuild<M: Machine>(
    log: &dyn Log,
    owns: &dyn Fn(PartitionId) -> bool,
) -> Result<Rebuilt<M>, LogError> {
    let mut rebuilder = Rebuilder::<M> {
        rebuilt: Rebuilt {
            partitions: BTreeMap::new(),
            time: Timestamp(0),
            records: 0,
            snapshots: 0,
        },
        positions: BTreeMap::new(),
    };
    for info in log.snapshots()? {
        if owns(info.partition) {
            rebuilder.snapshot(log, &info)?;
        }
    }
    let mut failed = None;
    log.replay(
        &BTreeMap::new(),
        &mut |replayed| match rebuilder.append(&replayed, owns) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        },
    )?;
    failed.map_or(Ok(rebuilder.rebuilt), Err)
}

struct Rebuilder<M: Machine> {
    rebuilt: Rebuilt<M>,
    /// What each partition's snapshot covers.
    positions: BTreeMap<PartitionId, Sequence>,
}

impl<M: Machine> Rebuilder<M> {
    fn snapshot(&mut self, log: &dyn Log, info: &SnapshotInfo) -> Result<(), LogError> {
        let head: SnapshotHead = postcard::from_bytes(&info.header)
            .map_err(|error| damaged(info.partition, &format!("its header: {error}")))?;
        if head.product != M::PRODUCT || head.format > M::FORMAT {
            return Err(LogError::Format(format!(
                "the snapshot of {} is of product {} in format {}; this build reads {} up to \
                 format {}: start a newer interlock",
                info.partition,
                head.product,
                head.format,
                M::NAME,
                M::FORMAT
            )));
        }
        let mut partition = Box::new(Partition::<M>::new(info.partition));
        partition.raise_floor(head.floor);
        let mut failed = None;
        log.read_snapshot(info, &mut |slice| {
            let read = decode_slice::<M>(slice, &mut |key, version, entity| {
                partition.restore(key, version, entity);
            });
            match read {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(damaged(info.partition, &error.to_string()));
                    ControlFlow::Break(())
                }
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        self.rebuilt.time = self.rebuilt.time.max(head.time);
        self.rebuilt.snapshots += 1;
        self.rebuilt.partitions.insert(info.partition, partition);
        self.positions.insert(info.partition, info.position);
        Ok(())
    }

    fn append(
        &mut self,
        replayed: &Replayed,
        owns: &dyn Fn(PartitionId) -> bool,
    ) -> Result<(), LogError> {
        let sequence = replayed.sequence;
        let mut next = Vec::with_capacity(TOGETHER);
        record::visit::<M>(&replayed.records, &mut |view| {
            self.rebuilt.time = self.rebuilt.time.max(view.head.time);
            self.rebuilt.records += 1;
            view.entries(&mut |entry| {
                let partition = partition_of(&entry.key);
                if !owns(partition) || self.is_covered(partition, sequence) {
                    return Ok(());
                }
                next.push((partition, entry));
                if next.len() == TOGETHER {
                    self.rebuilt.entries(&mut next)?;
                }
                Ok(())
            })?;
            Ok(())
        })?;
        self.rebuilt.entries(&mut next)
    }

    /// Does the partition's snapshot hold what was committed at a position?
    fn is_covered(&self, partition: PartitionId, sequence: Sequence) -> bool {
        let position = self.positions.get(&partition);
        position.is_some_and(|&at| sequence <= at)
    }
}

impl<M: Machine> Rebuilt<M> {
    /// Takes in records that follow what was rebuilt, as replay does, and tells each entity they change:
    /// for checkers that hold a live memory to its log.
    ///
    /// # Errors
    /// When replay would refuse them.
    pub fn follow(
        &mut self,
        records: &[u8],
        changed: &mut dyn FnMut(EntityKey),
    ) -> Result<(), LogError> {
        record::visit::<M>(records, &mut |view: RecordView<'_>| {
            self.time = self.time.max(view.head.time);
            self.records += 1;
            view.entries(&mut |entry| {
                changed(entry.key);
                self.entry(partition_of(&entry.key), &entry)
            })?;
            Ok(())
        })
    }

    /// An entity with its version, when it exists.
    #[must_use]
    pub fn get(&self, key: &EntityKey) -> Option<(&M::Entity, u64)> {
        let partition = self.partitions.get(&partition_of(key))?;
        match partition.find(key) {
            Found::Home(entity, version) => Some((entity, version)),
            Found::Absent(_) | Found::Lent => None,
        }
    }

    /// Takes entries in, in their order, and leaves none.
    fn entries(&mut self, next: &mut Vec<Placed<'_>>) -> Result<(), LogError> {
        read_ahead::<M>(next.iter().filter_map(|(id, entry)| {
            let partition = self.partitions.get(id)?;
            Some(partition.find(&entry.key))
        }));
        let mut next = next.drain(..);
        next.try_for_each(|(id, entry)| self.entry(id, &entry))
    }

    fn entry(&mut self, id: PartitionId, entry: &EntryView<'_>) -> Result<(), LogError> {
        let partition = self
            .partitions
            .entry(id)
            .or_insert_with(|| Box::new(Partition::new(id)));
        let EntryView {
            key,
            version,
            change,
            ..
        } = entry;
        let (exists, current) = match partition.find(key) {
            Found::Home(_, current) => (true, current),
            Found::Absent(floor) => (false, floor),
            Found::Lent => unreachable!("nothing is lent while the log is read"),
        };
        match (change, exists) {
            // The snapshot has it already, or a later life of the entity.
            (Change::Event | Change::Created, true) if *version <= current => Ok(()),
            (Change::Event, true) if *version == current + 1 => {
                partition.apply(key, *version, &entry.event::<M>()?);
                Ok(())
            }
            (Change::Created, false) => {
                partition.apply(key, *version, &entry.event::<M>()?);
                Ok(())
            }
            // A life that ended before the snapshot began, in a commit after its position.
            (Change::Event, false) if *version <= current => Ok(()),
            (Change::Purged, true) if *version == current + 1 => {
                partition.purge(key, *version);
                Ok(())
            }
            (Change::Purged, _) if *version <= current => {
                partition.raise_floor(*version);
                Ok(())
            }
            (Change::Event | Change::Created | Change::Purged, _) => {
                Err(LogError::Corrupt(format!(
                    "the journal jumps from version {current} to {version} of an entity in {id}: \
                 how much is lost cannot be said; put a copy of the data directory from before in its \
                 place, or `interlock import` an export into an empty one"
                )))
            }
        }
    }
}

fn damaged(partition: PartitionId, what: &str) -> LogError {
    LogError::Corrupt(format!(
        "the snapshot of {partition} cannot be read: {what}; put a copy of the data directory from \
         before in its place, or `interlock import` an export into an empty one"
    ))
}
