//! Small builders the cases share. No assertions about engines here.

use std::ops::ControlFlow;

use super::Factory;
use crate::log::{
    Append, Commit, Epoch, Group, Log, Owned, Partition, Positions, Replayed, Sequence,
    SnapshotSeal, SnapshotSlice,
};
pub use crate::rng::Rng;

/// Opens a log that has to open.
pub fn open(factory: &mut dyn Factory) -> Box<dyn Log> {
    factory.open(false).expect("the log opens")
}

/// Opens a log and acquires groups.
pub fn start(factory: &mut dyn Factory, groups: &[Group]) -> (Box<dyn Log>, Vec<Owned>) {
    let log = open(factory);
    let owned = log.acquire(groups).expect("the groups can be acquired");
    (log, owned)
}

/// Closes a log in good order and opens it again.
pub fn reopen(factory: &mut dyn Factory, log: Box<dyn Log>) -> Box<dyn Log> {
    drop(log);
    open(factory)
}

/// The partition of a group with this number in it.
#[must_use]
pub fn partition(group: Group, number: u16) -> Partition {
    Partition(group.0 * crate::log::PARTITIONS_PER_GROUP + number)
}

/// The next append of a group; its record names the place and is `length` bytes long.
#[must_use]
pub fn append(owned: &Owned, partitions: &[u16], length: usize) -> Append {
    let sequence = owned.last.next();
    Append {
        group: owned.group,
        epoch: owned.epoch,
        sequence,
        partitions: partitions
            .iter()
            .map(|&number| partition(owned.group, number))
            .collect(),
        records: body(u64::from(owned.group.0) << 32 | sequence.0, length),
    }
}

/// Bytes that only this seed has.
#[must_use]
pub fn body(seed: u64, length: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&rng.next_u64().to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Commits one append to each of these groups and moves their positions.
pub fn append_to(log: &dyn Log, owned: &mut [Owned], partitions: &[u16], length: usize) {
    let commit = Commit {
        appends: owned
            .iter()
            .map(|owned| append(owned, partitions, length))
            .collect(),
        ..Commit::default()
    };
    log.commit(&commit).expect("the commit is in order");
    for owned in owned {
        owned.last = owned.last.next();
    }
}

/// Everything replay gives.
pub fn replay(log: &dyn Log, after: &Positions) -> Vec<Replayed> {
    let mut all = Vec::new();
    log.replay(after, &mut |append| {
        all.push(append);
        ControlFlow::Continue(())
    })
    .expect("the log can be replayed");
    all
}

/// Places of all appends that replay gives.
pub fn places(log: &dyn Log) -> Vec<(Group, Sequence)> {
    replay(log, &Positions::new())
        .into_iter()
        .map(|append| (append.group, append.sequence))
        .collect()
}

/// Slices of a snapshot and the seal that follows them.
#[must_use]
pub fn snapshot(
    partition: Partition,
    snapshot: u64,
    position: Sequence,
    slices: &[Vec<u8>],
) -> Commit {
    let mut index = 0;
    let slices: Vec<SnapshotSlice> = slices
        .iter()
        .map(|bytes| {
            index += 1;
            SnapshotSlice {
                partition,
                snapshot,
                index: index - 1,
                bytes: bytes.clone(),
            }
        })
        .collect();
    Commit {
        slices,
        seals: vec![SnapshotSeal {
            partition,
            snapshot,
            position,
            slices: index,
            header: position.0.to_le_bytes().to_vec(),
        }],
        ..Commit::default()
    }
}

/// The slices of a partition's current snapshot.
pub fn read_snapshot(log: &dyn Log, partition: Partition) -> Option<Vec<Vec<u8>>> {
    let infos = log.snapshots().expect("snapshots can be listed");
    let info = infos.into_iter().find(|info| info.partition == partition)?;
    let mut slices = Vec::new();
    log.read_snapshot(&info, &mut |bytes| {
        slices.push(bytes.to_vec());
        ControlFlow::Continue(())
    })
    .expect("the snapshot can be read");
    Some(slices)
}

/// Truncates until nothing is left to do.
pub fn truncate_all(log: &dyn Log, upto: &Positions, limit: usize) {
    let mut rounds = 0;
    while log.truncate(upto, limit).expect("what is covered may go") {
        rounds += 1;
        assert!(rounds < 1_000_000, "truncation comes to an end");
    }
}

/// An epoch nobody has.
#[must_use]
pub fn raised(epoch: Epoch) -> Epoch {
    Epoch(epoch.0 + 1)
}
