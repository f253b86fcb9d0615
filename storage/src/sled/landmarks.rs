//! The engine's own values: format, floor, gaps, epochs, pointers to snapshots.
//!
//! Here: reading all of them at opening, and the layouts of those with several parts. Not here:
//! what they mean for the journal (`recover.rs`). Called within the sled engine only.
//!
//! Values that belong to a commit (pointers and the caller's meta values) start with its number,
//! so that opening can tell a commit that landed in part.

use std::collections::{BTreeMap, BTreeSet};

use sled::Batch;

use super::chunk::Defect;
use super::day_mark::{DayMark, DayMarks};
use super::keys;
use super::record::Reader;
use super::store::Store;
use super::values;
use crate::log::{
    Epoch, Group, HistoryDay, LogError, Partition, Positions, Sequence, SnapshotInfo, SnapshotSeal,
};

/// Format of the whole; a log with a larger one was written by a newer program.
const FORMAT: u32 = 1;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Landmarks {
    pub(super) format: Option<u32>,
    /// Commits up to this number were truncated.
    pub(super) floor: u64,
    /// Recorded gaps: numbers that were used by commits which did not survive.
    pub(super) gaps: BTreeMap<u64, u64>,
    pub(super) epochs: BTreeMap<Group, Epoch>,
    /// Last truncated sequences.
    pub(super) lasts: BTreeMap<Group, Sequence>,
    /// Sequences that do not follow their predecessor.
    pub(super) jumps: BTreeSet<(Group, Sequence)>,
    pub(super) seals: Vec<SnapshotInfo>,
    pub(super) history: Option<Positions>,
    pub(super) days: DayMarks,
    /// The newest commit that any value names.
    pub(super) newest_tag: u64,
}

impl Landmarks {
    /// The first number of `expected..found` that no gap accounts for.
    pub(super) fn first_unrecorded(&self, expected: u64, found: u64) -> Option<u64> {
        let mut next = expected;
        while next < found {
            let gap = self.gaps.range(..=next).next_back();
            match gap {
                Some((_, &last)) if last >= next => next = last + 1,
                Some(_) | None => return Some(next),
            }
        }
        None
    }

    /// The newest number any gap accounts for.
    pub(super) fn newest_gap(&self) -> u64 {
        self.gaps.values().copied().max().unwrap_or_default()
    }

    fn take(&mut self, kind: u8, id: &[u8], value: &[u8]) -> Option<()> {
        let (mut id, mut value) = (Reader(id), Reader(value));
        match kind {
            b'v' => self.format = Some(value.u32()?),
            b'f' => self.floor = value.u64()?,
            b'g' => {
                self.gaps.insert(id.u64()?, value.u64()?);
            }
            b'e' => {
                self.epochs.insert(Group(id.u16()?), Epoch(value.u64()?));
            }
            b'l' => {
                self.lasts.insert(Group(id.u16()?), Sequence(value.u64()?));
            }
            b'q' => {
                self.jumps.insert((Group(id.u16()?), Sequence(id.u64()?)));
            }
            b'p' => {
                let partition = Partition(id.u16()?);
                let (tag, info) = decode_pointer(partition, value)?;
                self.newest_tag = self.newest_tag.max(tag);
                self.seals.push(info);
            }
            b'h' => {
                let taken = self.history.get_or_insert_default();
                if let Some(group) = id.u16() {
                    taken.insert(Group(group), Sequence(value.u64()?));
                }
            }
            b'd' => {
                let day = HistoryDay(id.i32()? ^ i32::MIN);
                self.days.insert(day, DayMark::decode(value)?);
            }
            b'u' => self.newest_tag = self.newest_tag.max(value.u64()?),
            _ => return None,
        }
        Some(())
    }
}

/// Reads and verifies everything under `m`, the caller's values included.
pub(super) fn read(store: &Store) -> Result<Landmarks, LogError> {
    let mut marks = Landmarks::default();
    values::scan(store, keys::META, keys::META, &mut |prefix, value| {
        let value = value.map_err(|defect| values::damaged(store, prefix, defect))?;
        let known = prefix
            .strip_prefix(keys::META)
            .and_then(|rest| rest.split_first())
            .and_then(|(&kind, id)| marks.take(kind, id, &value));
        if known.is_none() {
            let why = Defect::Damaged("it is not known".to_owned());
            return Err(values::damaged(store, prefix, why));
        }
        Ok(true)
    })?;
    match marks.format {
        Some(format) if format > FORMAT => Err(LogError::Format(format!(
            "the log in {} has format {format}; this interlock knows {FORMAT}",
            store.dir().display()
        ))),
        Some(_) | None => Ok(marks),
    }
}

/// Marks a new database as ours, durably.
pub(super) fn create(store: &Store) -> Result<(), LogError> {
    if !store.page(b"", b"", 1)?.is_empty() {
        return Err(LogError::Format(format!(
            "the database in {} is not a log of interlock",
            store.dir().display()
        )));
    }
    let mut batch = Batch::default();
    values::insert(&mut batch, keys::FORMAT, &FORMAT.to_be_bytes());
    store.write(batch).map_err(LogError::Io)
}

/// Layout of a pointer: commit `u64`, snapshot `u64`, position `u64`, slices `u32`, header.
pub(super) fn encode_pointer(commit: u64, seal: &SnapshotSeal) -> Vec<u8> {
    [
        &commit.to_be_bytes()[..],
        &seal.snapshot.to_be_bytes(),
        &seal.position.0.to_be_bytes(),
        &seal.slices.to_be_bytes(),
        &seal.header,
    ]
    .concat()
}

fn decode_pointer(partition: Partition, mut value: Reader<'_>) -> Option<(u64, SnapshotInfo)> {
    let tag = value.u64()?;
    let info = SnapshotInfo {
        partition,
        snapshot: value.u64()?,
        position: Sequence(value.u64()?),
        slices: value.u32()?,
        header: value.0.to_vec(),
    };
    Some((tag, info))
}

/// Layout of a meta value: commit `u64`, then the caller's bytes.
pub(super) fn encode_user(commit: u64, value: &[u8]) -> Vec<u8> {
    [&commit.to_be_bytes(), value].concat()
}

/// The caller's bytes.
pub(super) fn decode_user(mut value: Vec<u8>) -> Option<Vec<u8>> {
    if value.len() < 8 {
        return None;
    }
    value.drain(..8);
    Some(value)
}
