//! Reading a whole log to judge it, without a node.
//!
//! Here: rebuilding all partitions as a start would, a part of them at a time so that memory is
//! bounded by the largest part, and the rules that every entity and record keeps. Not here: where
//! the log comes from (the root package opens a copy). Called by the offline verb `verify`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use interlock_domain::key::{EntityKey, Kind};
use interlock_domain::machine::Machine;
use interlock_storage::{Group, Log, LogError, Partition as PartitionId, Replayed, Sequence};

use crate::partition::{ENTITY_BYTES_MAX, Partition};
use crate::placement::partition_of;
use crate::record;
use crate::recovery::rebuild;

/// Parts the partitions are read in.
pub const PARTS: u16 = 4;

/// What a whole log holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Entities, by the number of their kind.
    pub entities: [u64; Kind::ALL.len()],
    /// Partitions that hold or held anything.
    pub partitions: u64,
    /// Partitions with a floor: something was purged there.
    pub floors: u64,
    /// Snapshots read.
    pub snapshots: u64,
    /// Appends in the journal.
    pub appends: u64,
    /// Records in them.
    pub records: u64,
    /// Notes in them.
    pub notes: u64,
    /// Bytes of the largest entity.
    pub entity_bytes_max: u64,
}

/// Reads everything; `progress` is told after each of [`PARTS`].
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn verify<M: Machine>(
    log: &dyn Log,
    progress: &mut dyn FnMut(u16, &Verified),
) -> Result<Verified, LogError> {
    let mut verified = Verified::default();
    journal::<M>(log, &mut verified)?;
    for part in 0..PARTS {
        let rebuilt = rebuild::<M>(log, &|partition| partition.0 % PARTS == part)?;
        verified.snapshots += rebuilt.snapshots;
        for (id, partition) in &rebuilt.partitions {
            verified.partitions += 1;
            verified.floors += u64::from(partition.floor() > 0);
            entities::<M>(*id, partition, &mut verified)?;
        }
        progress(part + 1, &verified);
    }
    Ok(verified)
}

fn entities<M: Machine>(
    id: PartitionId,
    partition: &Partition<M>,
    verified: &mut Verified,
) -> Result<(), LogError> {
    let mut wrong = None;
    partition.each_home(&mut |key, version, entity| {
        verified.entities[key.kind as usize] += 1;
        let bytes = match judge::<M>(id, key, version, entity) {
            Ok(bytes) => bytes,
            Err(what) => {
                let kind = key.kind.name();
                let place = format!("a {kind} in {id} at version {version}: {what}");
                wrong.get_or_insert(place);
                return;
            }
        };
        verified.entity_bytes_max = verified.entity_bytes_max.max(bytes);
    });
    match wrong {
        None => Ok(()),
        Some(what) => Err(LogError::Corrupt(what)),
    }
}

/// Judges one entity; answers its size.
fn judge<M: Machine>(
    id: PartitionId,
    key: &EntityKey,
    version: u64,
    entity: &M::Entity,
) -> Result<u64, String> {
    if partition_of(key) != id {
        return Err(format!("its key belongs to {}", partition_of(key)));
    }
    if version == 0 {
        return Err("no event has ever made it".to_owned());
    }
    M::check(entity)
        .map_err(|broken| format!("{} does not hold: {}", broken.invariant, broken.seen))?;
    let mut bytes = Vec::new();
    record::put(&mut bytes, entity).map_err(|error| format!("it cannot be encoded: {error}"))?;
    if bytes.len() > ENTITY_BYTES_MAX {
        return Err(format!("it has {} bytes", bytes.len()));
    }
    Ok(bytes.len() as u64)
}

/// Every record of the journal can be read, whatever snapshots cover, and sequences grow.
fn journal<M: Machine>(log: &dyn Log, verified: &mut Verified) -> Result<(), LogError> {
    let mut last: BTreeMap<Group, Sequence> = BTreeMap::new();
    let mut outcome = Ok(());
    log.replay(&BTreeMap::new(), &mut |replayed| {
        outcome = append::<M>(&replayed, &mut last, verified);
        match outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    outcome
}

fn append<M: Machine>(
    replayed: &Replayed,
    last: &mut BTreeMap<Group, Sequence>,
    verified: &mut Verified,
) -> Result<(), LogError> {
    let Replayed {
        group, sequence, ..
    } = replayed;
    let before = last.insert(*group, *sequence).unwrap_or_default();
    if *sequence <= before {
        return Err(LogError::Corrupt(format!(
            "{group}: sequence {} comes after {}",
            sequence.0, before.0
        )));
    }
    verified.appends += 1;
    record::visit::<M>(&replayed.records, &mut |view| {
        verified.records += 1;
        verified.notes += u64::from(view.note::<M>()?.is_some());
        view.entries(&mut |entry| {
            if entry.change != record::Change::Purged {
                entry.event::<M>()?;
            }
            Ok(())
        })?;
        Ok(())
    })
}
