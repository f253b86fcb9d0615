//! From an export to a log.
//!
//! Here: [`survey`], which reads a whole file and judges it before anything is made of it, and
//! [`import`], which makes a log of it in a directory of its own. Not here: when that log takes the
//! place of another (the root package). Called by the verbs `import` and `compact`.
//!
//! Epochs and sequences go on where they were: whoever held something under an old epoch stays
//! fenced. The log's own numbers of commits begin anew.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use super::frame::{Frame, Reader};
use super::{Exported, frame};
use crate::log::{
    Append, AppendError, Commit, Epoch, GROUPS, Group, HistoryDay, KEY_BYTES_MAX, Log, LogError,
    PARTITIONS_PER_GROUP, Partition, Positions, Row, SLICE_BYTES_MAX, Sequence, SnapshotSeal,
    SnapshotSlice, VALUE_BYTES_MAX,
};
use crate::sled::{Beginning, SledLog, SledOptions};

/// Bytes that are written in one commit, about.
const COMMIT_BYTES: usize = 2 * 1024 * 1024;

/// Why there is no import.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is not what an export wrote.
    #[error("the file is damaged or not whole ({0}); take another copy of it")]
    Damaged(String),
    /// A newer program wrote it.
    #[error("a newer interlock wrote the file; import it with that one")]
    Newer,
    /// It cannot be read.
    #[error("the file cannot be read: {0}")]
    File(#[from] io::Error),
    /// The log cannot be made.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log refuses what the file says.
    #[error("the log refuses what the file holds: {0}")]
    Refused(#[from] AppendError),
}

/// What a whole and sound file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The program that wrote it.
    pub program: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What its writer wants to find again.
    pub note: Vec<u8>,
    /// What it holds.
    pub holds: Exported,
    frames: u64,
    /// What history has taken; `None` if it is not in use.
    taken: Option<Positions>,
    groups: BTreeMap<Group, Found>,
    last_day: Option<i32>,
}

/// What is known of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    epoch: Epoch,
    /// Its last sequence at the cut.
    last: Sequence,
    /// The first sequence the file has an append of.
    first: Option<Sequence>,
    /// The newest that was read.
    read: Sequence,
}

/// Reads a file to its end and judges it.
///
/// # Errors
/// What is wrong with it, and where.
pub fn survey(from: impl Read) -> Result<Survey, ImportError> {
    let mut reader = Reader::begin(from)?;
    let mut judge = Judge::default();
    loop {
        let at = reader.bytes();
        let frame = reader.next()?;
        let is_end = matches!(frame, Frame::End { .. });
        judge
            .take(&frame)
            .map_err(|why| ImportError::Damaged(format!("at byte {at}: {why}")))?;
        if is_end {
            judge.survey.frames = reader.frames();
            judge.survey.holds.bytes = reader.bytes();
            return Ok(judge.survey);
        }
    }
}

/// Judges frames in their order.
#[derive(Default)]
struct Judge {
    survey: Survey,
    stage: u8,
    /// Slices of the snapshot before that are still to come.
    slices_left: u32,
    /// The newest position of a snapshot by group.
    positions: Positions,
}

impl Judge {
    fn take(&mut self, frame: &Frame<'_>) -> Result<(), &'static str> {
        self.order(frame)?;
        let survey = &mut self.survey;
        match frame {
            Frame::Head {
                program,
                at_ms,
                note,
            } => {
                survey.program = (*program).to_owned();
                survey.at_ms = *at_ms;
                survey.note = note.to_vec();
            }
            Frame::Taken { positions } => {
                let known = |at: &(u16, u64)| at.0 < GROUPS;
                if !positions.iter().flatten().all(known) {
                    return Err("history names a group that is not there");
                }
                let at = |&(group, at): &(u16, u64)| (Group(group), Sequence(at));
                survey.taken = positions.as_ref().map(|all| all.iter().map(at).collect());
            }
            Frame::Rows { day, rows } => {
                bounded(rows)?;
                survey.holds.history_days += u64::from(survey.last_day != Some(*day));
                survey.last_day = Some(*day);
                survey.holds.history_rows += rows.len() as u64;
            }
            Frame::Seal {
                partition,
                position,
                slices,
                ..
            } => self.seal(*partition, *position, *slices)?,
            Frame::Slice { bytes } => {
                if bytes.len() > SLICE_BYTES_MAX {
                    return Err("a slice is too long");
                }
                self.slices_left -= 1;
            }
            Frame::Cut { groups } => self.cut(groups)?,
            Frame::Meta { rows } => {
                bounded(rows)?;
                survey.holds.meta += rows.len() as u64;
            }
            Frame::Append {
                group,
                sequence,
                partitions,
                ..
            } => self.append(*group, *sequence, partitions)?,
            Frame::End { .. } => {
                let open = |found: &Found| found.first.is_some() && found.read != found.last;
                if survey.groups.values().any(open) {
                    return Err("the newest appends are missing");
                }
            }
        }
        Ok(())
    }

    fn order(&mut self, frame: &Frame<'_>) -> Result<(), &'static str> {
        let (stage, once) = match frame {
            Frame::Head { .. } => (1, true),
            Frame::Taken { .. } => (2, true),
            Frame::Rows { .. } => (3, false),
            Frame::Seal { .. } | Frame::Slice { .. } => (4, false),
            Frame::Cut { .. } => (5, true),
            Frame::Meta { .. } => (6, false),
            Frame::Append { .. } => (7, false),
            Frame::End { .. } => (8, true),
        };
        let is_slice = matches!(frame, Frame::Slice { .. });
        // Those that come once have to come.
        let skipped = (self.stage + 1..stage).any(|missed| matches!(missed, 1 | 2 | 5));
        if stage < self.stage || (once && stage == self.stage) || skipped {
            return Err("a frame is out of order");
        }
        if is_slice != (self.slices_left > 0) {
            return Err("a snapshot has too few or too many slices");
        }
        self.stage = stage;
        Ok(())
    }

    fn seal(&mut self, partition: u16, position: u64, slices: u32) -> Result<(), &'static str> {
        if partition / PARTITIONS_PER_GROUP >= GROUPS {
            return Err("a snapshot of a partition that is not there");
        }
        let newest = self.positions.entry(Partition(partition).group());
        let newest = newest.or_default();
        *newest = Sequence(position).max(*newest);
        self.slices_left = slices;
        self.survey.holds.snapshots += 1;
        Ok(())
    }

    fn cut(&mut self, groups: &[(u16, u64, u64)]) -> Result<(), &'static str> {
        for &(group, epoch, last) in groups {
            let found = Found {
                epoch: Epoch(epoch),
                last: Sequence(last),
                ..Found::default()
            };
            let is_new = self.survey.groups.insert(Group(group), found).is_none();
            if group >= GROUPS || !is_new {
                return Err("a group is not there, or named twice");
            }
        }
        let beyond = |(group, at): (&Group, &Sequence)| {
            let found = self.survey.groups.get(group);
            found.is_none_or(|found| *at > found.last)
        };
        let mut all = self.positions.iter();
        let mut taken = self.survey.taken.iter().flatten();
        if all.any(beyond) || taken.any(beyond) {
            return Err("a position lies beyond the end of its group");
        }
        Ok(())
    }

    fn append(
        &mut self,
        group: u16,
        sequence: u64,
        partitions: &[u16],
    ) -> Result<(), &'static str> {
        let Some(found) = self.survey.groups.get_mut(&Group(group)) else {
            return Err("an append to a group that is not there");
        };
        let sequence = Sequence(sequence);
        if sequence <= found.read || sequence > found.last {
            return Err("an append is out of order");
        }
        let own = |one: &u16| Partition(*one).group() == Group(group);
        if !partitions.iter().all(own) || !partitions.is_sorted_by(|a, b| a < b) {
            return Err("an append names partitions that are not its own");
        }
        found.first.get_or_insert(sequence);
        found.read = sequence;
        self.survey.holds.appends += 1;
        Ok(())
    }
}

fn bounded(rows: &[frame::Pair<'_>]) -> Result<(), &'static str> {
    let fits = |(key, value): &frame::Pair<'_>| {
        key.len() <= KEY_BYTES_MAX && value.len() <= VALUE_BYTES_MAX
    };
    match rows.iter().all(fits) {
        true => Ok(()),
        false => Err("a row is too long"),
    }
}

impl Survey {
    /// Where a group's appends begin: everything before is in snapshots.
    fn beginning(&self) -> Beginning {
        let before = |found: &Found| match found.first {
            Some(first) => Sequence(first.0 - 1),
            None => found.last,
        };
        Beginning {
            epochs: self.groups.iter().map(|(g, f)| (*g, f.epoch)).collect(),
            lasts: self.groups.iter().map(|(g, f)| (*g, before(f))).collect(),
        }
    }
}

/// Makes a log of a file that was surveyed, in a directory that is not there or is empty. The file is
/// read again, from its beginning, each time `open` is called. `progress` is told the bytes read.
///
/// # Errors
/// When the file is not the one that was surveyed, or the log cannot be made; the directory then
/// holds a part of it and is to be removed.
pub fn import(
    survey: &Survey,
    open: &mut dyn FnMut() -> io::Result<Box<dyn Read>>,
    dir: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<SledLog, ImportError> {
    let log = SledLog::begin(dir, &survey.beginning(), &SledOptions::default())?;
    let groups: Vec<Group> = survey.groups.keys().copied().collect();
    let mut building = Building {
        epochs: BTreeMap::new(),
        lasts: BTreeMap::new(),
        log,
        pending: Commit::default(),
        bytes: 0,
        seal: None,
        index: 0,
    };
    for owned in building.log.acquire(&groups)? {
        building.epochs.insert(owned.group, owned.epoch);
        building.lasts.insert(owned.group, owned.last);
    }
    // A snapshot is sealed at a position that is in the log: so appends come first.
    let mut read = 0;
    for journal in [true, false] {
        let mut reader = Reader::begin(open()?)?;
        loop {
            let frame = reader.next()?;
            let is_end = matches!(frame, Frame::End { .. });
            match journal {
                true => building.journal(&frame)?,
                false => building.rest(&frame)?,
            }
            progress(read + reader.bytes());
            if is_end {
                break;
            }
        }
        if reader.frames() != survey.frames {
            let why = "it has changed while it was imported".to_owned();
            return Err(ImportError::Damaged(why));
        }
        building.flush()?;
        read += reader.bytes();
    }
    if let Some(taken) = &survey.taken {
        let today = HistoryDay(survey.last_day.unwrap_or_default());
        building.log.history_append(today, &[], taken)?;
    }
    Ok(building.log)
}

struct Building {
    log: SledLog,
    epochs: BTreeMap<Group, Epoch>,
    lasts: Positions,
    pending: Commit,
    bytes: usize,
    /// The snapshot whose slices are coming, and how many are still to come.
    seal: Option<SnapshotSeal>,
    index: u32,
}

impl Building {
    fn journal(&mut self, frame: &Frame<'_>) -> Result<(), ImportError> {
        match frame {
            Frame::Meta { rows } => {
                self.flush()?;
                let rows = rows.iter();
                self.pending.meta = rows
                    .map(|(key, value)| (key.to_vec(), Some(value.to_vec())))
                    .collect();
                self.flush()
            }
            Frame::Append {
                group,
                sequence,
                partitions,
                records,
            } => {
                let group = Group(*group);
                // Numbers that a repair once gave up are used by nobody: appends of nothing keep
                // them used.
                while self.last(group).next() < Sequence(*sequence) {
                    self.append(group, Vec::new(), Vec::new())?;
                }
                let partitions = partitions.iter().map(|one| Partition(*one));
                self.append(group, partitions.collect(), records.to_vec())
            }
            Frame::Head { .. }
            | Frame::Taken { .. }
            | Frame::Rows { .. }
            | Frame::Seal { .. }
            | Frame::Slice { .. }
            | Frame::Cut { .. }
            | Frame::End { .. } => Ok(()),
        }
    }

    fn last(&self, group: Group) -> Sequence {
        self.lasts.get(&group).copied().unwrap_or_default()
    }

    fn append(
        &mut self,
        group: Group,
        partitions: Vec<Partition>,
        records: Vec<u8>,
    ) -> Result<(), ImportError> {
        let again = self.pending.appends.iter().any(|one| one.group == group);
        if again || self.bytes + records.len() > COMMIT_BYTES {
            self.flush()?;
        }
        self.bytes += records.len();
        let sequence = self.last(group).next();
        self.lasts.insert(group, sequence);
        self.pending.appends.push(Append {
            group,
            epoch: self.epochs.get(&group).copied().unwrap_or_default(),
            sequence,
            partitions,
            records,
        });
        Ok(())
    }

    fn rest(&mut self, frame: &Frame<'_>) -> Result<(), ImportError> {
        match frame {
            Frame::Rows { day, rows } => {
                let rows = rows.iter();
                let rows: Vec<Row> = rows.map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
                self.log
                    .history_append(HistoryDay(*day), &rows, &Positions::new())?;
                Ok(())
            }
            Frame::Seal {
                partition,
                snapshot,
                position,
                slices,
                header,
            } => {
                self.seal = Some(SnapshotSeal {
                    partition: Partition(*partition),
                    snapshot: *snapshot,
                    position: Sequence(*position),
                    slices: *slices,
                    header: header.to_vec(),
                });
                self.index = 0;
                self.sealed()
            }
            Frame::Slice { bytes } => {
                let Some(seal) = &self.seal else {
                    return Ok(());
                };
                self.bytes += bytes.len();
                self.pending.slices.push(SnapshotSlice {
                    partition: seal.partition,
                    snapshot: seal.snapshot,
                    index: self.index,
                    bytes: bytes.to_vec(),
                });
                self.index += 1;
                self.sealed()
            }
            Frame::Head { .. }
            | Frame::Taken { .. }
            | Frame::Cut { .. }
            | Frame::Meta { .. }
            | Frame::Append { .. }
            | Frame::End { .. } => Ok(()),
        }
    }

    /// Seals the snapshot when its last slice has come.
    fn sealed(&mut self) -> Result<(), ImportError> {
        if let Some(seal) = self.seal.take_if(|seal| seal.slices == self.index) {
            self.pending.seals.push(seal);
        }
        match self.bytes >= COMMIT_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), ImportError> {
        let commit = std::mem::take(&mut self.pending);
        self.bytes = 0;
        if commit != Commit::default() {
            self.log.commit(&commit)?;
        }
        Ok(())
    }
}
