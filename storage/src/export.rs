//! A whole log in one file, as of one moment, while the log goes on.
//!
//! Here: [`export`], which any engine can do and which stops nobody: the log is pinned, history and
//! snapshots are read, then the cut is made between two commits, and the journal is read up to it.
//! Snapshots that were read before the cut and the journal up to it make the state of the cut,
//! exactly as a start joins them. In `export/`: the file's frames, and the way back. Not here: where
//! the file lies and what is sealed (the root package). Called by the verbs `export` and `compact`.

mod frame;
mod import;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::ControlFlow;

use self::frame::{Frame, Writer};
pub use self::import::{ImportError, Survey, import, survey};
use crate::log::{Group, Log, LogError, Positions, Replayed, Row, Sequence};
use crate::pin::Pinned;

/// Bytes of rows that one frame holds, about.
const ROWS_BYTES: usize = 256 * 1024;

/// What the file says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The program that writes it, with its version.
    pub program: &'a str,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What the caller wants to find again; opaque.
    pub note: &'a [u8],
}

/// What was written so far, or in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Bytes of the file.
    pub bytes: u64,
    /// Days of history.
    pub history_days: u64,
    /// Rows of history.
    pub history_rows: u64,
    /// Snapshots of partitions.
    pub snapshots: u64,
    /// Meta values.
    pub meta: u64,
    /// Appends of the journal.
    pub appends: u64,
}

/// Why there is no export.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Another one reads this log.
    #[error("an export of this log is under way; wait until it has ended")]
    Busy,
    /// The log had to be truncated before everything was read.
    #[error(
        "the journal grew past {0} bytes before everything was read, and its old part had to go; \
         export at a quieter time, or raise the bound"
    )]
    Outgrown(u64),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The file cannot be written.
    #[error("the file cannot be written: {0}")]
    File(#[from] io::Error),
}

/// Writes everything the log holds as of a moment within the call. `journal_bytes_max` bounds the
/// journal while its truncation waits for this. `progress` is told after each frame.
///
/// # Errors
/// See [`ExportError`]; what was written then is no export, and says so to whoever reads it.
pub fn export(
    log: &dyn Log,
    head: Head<'_>,
    journal_bytes_max: u64,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(&Exported),
) -> Result<Exported, ExportError> {
    let pinned = log.pin().take(journal_bytes_max);
    let mut export = Export {
        log,
        pinned: pinned.ok_or(ExportError::Busy)?,
        journal_bytes_max,
        out: Writer::begin(out)?,
        so_far: Exported::default(),
        progress,
    };
    let Head {
        program,
        at_ms,
        note,
    } = head;
    export.put(&Frame::Head {
        program,
        at_ms,
        note,
    })?;
    export.history()?;
    export.snapshots()?;
    export.journal()?;
    let (_, bytes) = export.out.end()?;
    Ok(Exported {
        bytes,
        ..export.so_far
    })
}

struct Export<'a> {
    log: &'a dyn Log,
    pinned: Pinned,
    journal_bytes_max: u64,
    out: Writer<'a>,
    so_far: Exported,
    progress: &'a mut dyn FnMut(&Exported),
}

impl Export<'_> {
    fn put(&mut self, frame: &Frame<'_>) -> Result<(), ExportError> {
        if !self.pinned.is_whole() {
            return Err(ExportError::Outgrown(self.journal_bytes_max));
        }
        self.out.write(frame)?;
        self.so_far.bytes = self.out.bytes();
        (self.progress)(&self.so_far);
        Ok(())
    }

    /// What history had taken before, so that the journal has the rows that are missed here.
    fn history(&mut self) -> Result<(), ExportError> {
        let taken = self.log.history_position()?;
        let positions = taken.map(|taken| {
            taken
                .into_iter()
                .map(|(group, at)| (group.0, at.0))
                .collect()
        });
        self.put(&Frame::Taken { positions })?;
        for day in self.log.history_size()?.days {
            self.so_far.history_days += 1;
            let mut rows: Vec<Row> = Vec::new();
            let mut bytes = 0;
            let mut outcome = Ok(());
            self.log.history_read(day, &[], &mut |key, value| {
                rows.push((key.to_vec(), value.to_vec()));
                bytes += key.len() + value.len();
                if bytes < ROWS_BYTES {
                    return ControlFlow::Continue(());
                }
                bytes = 0;
                outcome = rows_of(&mut rows, &mut |rows| {
                    self.so_far.history_rows += rows.len() as u64;
                    self.put(&Frame::Rows { day: day.0, rows })
                });
                go_on(&outcome)
            })?;
            outcome?;
            rows_of(&mut rows, &mut |rows| {
                self.so_far.history_rows += rows.len() as u64;
                self.put(&Frame::Rows { day: day.0, rows })
            })?;
        }
        Ok(())
    }

    fn snapshots(&mut self) -> Result<(), ExportError> {
        let log = self.log;
        for info in log.snapshots()? {
            self.put(&Frame::Seal {
                partition: info.partition.0,
                snapshot: info.snapshot,
                position: info.position.0,
                slices: info.slices,
                header: &info.header,
            })?;
            let mut outcome = Ok(());
            let read = log.read_snapshot(&info, &mut |bytes| {
                outcome = self.put(&Frame::Slice { bytes });
                go_on(&outcome)
            });
            outcome?;
            self.whole(read)?;
            self.so_far.snapshots += 1;
        }
        Ok(())
    }

    fn journal(&mut self) -> Result<(), ExportError> {
        let log = self.log;
        let cut = log.cut()?;
        let groups = cut
            .groups
            .iter()
            .map(|owned| (owned.group.0, owned.epoch.0, owned.last.0));
        let groups = groups.collect();
        self.put(&Frame::Cut { groups })?;
        let mut meta = cut.meta;
        while !meta.is_empty() {
            let mut bytes = 0;
            let fits = meta.iter().take_while(|(key, value)| {
                let fits = bytes < ROWS_BYTES;
                bytes += key.len() + value.len();
                fits
            });
            let mut rows: Vec<Row> = meta.drain(..fits.count()).collect();
            rows_of(&mut rows, &mut |rows| {
                self.so_far.meta += rows.len() as u64;
                self.put(&Frame::Meta { rows })
            })?;
        }
        let lasts: BTreeMap<Group, Sequence> = cut
            .groups
            .iter()
            .map(|owned| (owned.group, owned.last))
            .collect();
        let mut outcome = Ok(());
        let read = log.replay(&Positions::new(), &mut |append| {
            let last = lasts.get(&append.group).copied().unwrap_or_default();
            if append.sequence > last {
                // The first commit after the cut; appends come in the order of commits.
                return ControlFlow::Break(());
            }
            outcome = self.append(&append);
            go_on(&outcome)
        });
        outcome?;
        self.whole(read)?;
        // A commit that was truncated between two pages is skipped by replay without a word.
        match self.pinned.is_whole() {
            true => Ok(()),
            false => Err(ExportError::Outgrown(self.journal_bytes_max)),
        }
    }

    fn append(&mut self, append: &Replayed) -> Result<(), ExportError> {
        self.so_far.appends += 1;
        self.put(&Frame::Append {
            group: append.group.0,
            sequence: append.sequence.0,
            partitions: append.partitions.iter().map(|one| one.0).collect(),
            records: &append.records,
        })
    }

    /// A read that failed because what it wanted was removed is no damage.
    fn whole(&self, read: Result<(), LogError>) -> Result<(), ExportError> {
        match read {
            Err(_) if !self.pinned.is_whole() => Err(ExportError::Outgrown(self.journal_bytes_max)),
            other => Ok(other?),
        }
    }
}

const fn go_on(outcome: &Result<(), ExportError>) -> ControlFlow<()> {
    match outcome {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }
}

/// Hands rows on, if there are any, and forgets them.
fn rows_of(
    rows: &mut Vec<Row>,
    put: &mut dyn FnMut(Vec<frame::Pair<'_>>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    if rows.is_empty() {
        return Ok(());
    }
    let pairs = rows.iter().map(|(key, value)| (&key[..], &value[..]));
    let outcome = put(pairs.collect());
    rows.clear();
    outcome
}

#[cfg(test)]
mod tests;
