//! How far each day of history was written, so that one that ends too early is told.
//!
//! A day is a database of its own. When its file is cut or rots, sled ends it there without a word, and
//! what is left looks like a day on which less was decided. So the log has a mark for each day: its
//! last row, and how many rows it has at least. A mark is written after the rows it counts, and goes
//! before its day does; so a sound day always has what its mark says. Not here: the days themselves
//! (`history`). Called within the sled engine only.

use std::collections::BTreeMap;
use std::path::Path;

use sled::Batch;

use super::history::History;
use super::keys;
use super::record::Reader;
use super::store::Store;
use super::told::Whose;
use super::values;
use crate::log::{HistoryDay, LogError};

/// What a day has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DayMark {
    /// Rows, at least.
    pub(super) rows: u64,
    /// The key of the last one that was written.
    pub(super) last: Vec<u8>,
}

/// The marks of all days.
pub(super) type DayMarks = BTreeMap<HistoryDay, DayMark>;

impl DayMark {
    /// Layout: rows `u64`, then the key.
    pub(super) fn decode(mut value: Reader<'_>) -> Option<Self> {
        Some(Self {
            rows: value.u64()?,
            last: value.0.to_vec(),
        })
    }

    /// Writes it, or takes it away.
    pub(super) fn put(
        mark: Option<&Self>,
        store: &Store,
        batch: &mut Batch,
        day: HistoryDay,
    ) -> Result<(), LogError> {
        let value = mark.map(|mark| [&mark.rows.to_be_bytes()[..], &mark.last].concat());
        values::put(store, batch, &keys::day_mark(day), value.as_deref()).map(|_| ())
    }
}

/// How thoroughly to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// That every day is there, and that the newest has its last row: at every start.
    Quick,
    /// That every day has its last row, and as many as it should.
    Thorough,
}

/// A day that lacks something.
#[derive(Debug)]
pub(super) struct Lacking {
    /// Which.
    pub(super) day: HistoryDay,
    /// What it lacks, in a sentence that names its folder.
    pub(super) why: String,
    /// What a start says that refuses it.
    pub(super) refusal: LogError,
    /// Whether what is left of it can be read.
    pub(super) readable: bool,
}

/// The days that lack something.
pub(super) fn lacking(
    history: &History,
    marks: &DayMarks,
    look: Look,
) -> Result<Vec<Lacking>, LogError> {
    let newest = marks.keys().next_back().copied();
    let mut lacking = Vec::new();
    for (&day, mark) in marks {
        let path = history.path_of(day);
        let found = if !path.join("db").exists() {
            Some(told(day, &path, "it is missing", false))
        } else if look == Look::Thorough || Some(day) == newest {
            match short(history, day, mark, look) {
                Ok(why) => why.map(|why| told(day, &path, &why, true)),
                Err(refusal @ LogError::Corrupt(_)) => Some(Lacking {
                    refusal,
                    ..told(day, &path, "it cannot be read", false)
                }),
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        lacking.extend(found);
    }
    Ok(lacking)
}

fn told(day: HistoryDay, path: &Path, why: &str, readable: bool) -> Lacking {
    let why = format!(
        "the day of history in {} is not whole: {why}",
        path.display()
    );
    Lacking {
        day,
        refusal: Whose::Day.damaged(&why),
        why,
        readable,
    }
}

fn short(
    history: &History,
    day: HistoryDay,
    mark: &DayMark,
    look: Look,
) -> Result<Option<String>, LogError> {
    let gone = !mark.last.is_empty() && !history.has(day, &mark.last)?;
    if look == Look::Quick || gone {
        let why = "it lacks what was written to it last".to_owned();
        return Ok(gone.then_some(why));
    }
    let rows = history.count(day)?;
    let why = format!("it has {rows} of {} rows that were written", mark.rows);
    Ok((rows < mark.rows).then_some(why))
}
