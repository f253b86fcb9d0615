//! A row of history: many notes of one append, close together in time.
//!
//! Here: how notes become rows and are read again. Everything in a row, its key too, is derived from
//! the append alone, so that the same append gives the same rows after a crash. Notes are copied,
//! not decoded. Called by the projector (writing) and by `find` (reading).
//!
//! Key: `time | group | sequence | row number`, big-endian, where time is that of the row's earliest
//! note. A row spans at most [`SPAN_MS`] and never two UTC days, so the note of an instant lies in a
//! row whose key is at most that much earlier. Value: a head, then for each note its time, space,
//! policy version and length, then its bytes. A space is written out where it first occurs.

use std::ops::ControlFlow;

use interlock_domain::key::SpaceId;
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::{Group, HistoryDay, LogError, Row, Sequence};
use serde::{Deserialize, Serialize};

use super::day_of;
use crate::record::{self, RecordHead, put};

/// Bytes at which a row is closed. With its last note, its key and the engine's own bytes it still
/// fits under one key of the engine; a note larger than the rest gets a row of its own.
const ROW_BYTES: usize = 3_584;
/// Longest time between the earliest and the latest note of a row, in milliseconds.
pub(super) const SPAN_MS: i64 = 250;
/// The layout of rows. Append-only, as formats of records are.
const LAYOUT: u8 = 1;
/// Bytes of a key.
const KEY_BYTES: usize = 8 + 2 + 8 + 4;
/// What a note's head takes at most beside a space that is new to the row.
const ITEM_BYTES: usize = 24;

/// What a row's key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowKey {
    /// The time of the earliest note, in milliseconds.
    pub(super) time: i64,
    /// Whose log the append lies in.
    pub(super) group: Group,
    /// Where.
    pub(super) sequence: Sequence,
    /// The row's number among those of the append.
    number: u32,
}

impl RowKey {
    fn encode(self) -> Vec<u8> {
        let mut key = Vec::with_capacity(KEY_BYTES);
        key.extend_from_slice(&prefix(self.time));
        key.extend_from_slice(&self.group.0.to_be_bytes());
        key.extend_from_slice(&self.sequence.0.to_be_bytes());
        key.extend_from_slice(&self.number.to_be_bytes());
        key
    }

    /// The key of these bytes.
    ///
    /// # Errors
    /// When they are none.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, LogError> {
        let (time, rest) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
        let (group, rest) = rest.split_first_chunk::<2>().ok_or_else(damaged)?;
        let (sequence, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        let number = <[u8; 4]>::try_from(rest).map_err(|_| damaged())?;
        Ok(Self {
            time: (u64::from_be_bytes(*time) ^ SIGN).cast_signed(),
            group: Group(u16::from_be_bytes(*group)),
            sequence: Sequence(u64::from_be_bytes(*sequence)),
            number: u32::from_be_bytes(number),
        })
    }
}

/// Turned, so that times before 1970 sort before those after.
const SIGN: u64 = 1 << 63;

/// What the keys of rows start with whose earliest note is of this time.
pub(super) fn prefix(time: i64) -> [u8; 8] {
    (time.cast_unsigned() ^ SIGN).to_be_bytes()
}

/// Stands before a row's notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RowHead {
    layout: u8,
    product: u8,
    format: u16,
    /// The time of the first note.
    first: i64,
}

/// Stands before a note.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ItemHead {
    /// Milliseconds after the row's first note; earlier ones are negative.
    after: i64,
    /// Which of the row's spaces; one more than there were means that a new one follows.
    space: u32,
    policy: u32,
    bytes: u32,
}

/// A note as a row or the journal holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen<'a> {
    pub(super) space: SpaceId,
    pub(super) time: Timestamp,
    pub(super) policy: u32,
    pub(super) bytes: &'a [u8],
}

/// Packs the notes of one append; hands each row over with its day. Answers how many notes there
/// were.
///
/// # Errors
/// When the records cannot be read.
pub(super) fn pack<M: Machine>(
    (group, sequence): (Group, Sequence),
    records: &[u8],
    hand_over: &mut dyn FnMut(HistoryDay, Row),
) -> Result<u64, LogError> {
    let mut notes = 0;
    let mut number = 0;
    let mut open: Option<Open> = None;
    let mut close = |open: Open| {
        let (time, day) = (open.earliest, day_of(Timestamp(open.earliest)));
        let key = RowKey {
            time,
            group,
            sequence,
            number,
        };
        number += 1;
        hand_over(day, (key.encode(), open.value));
    };
    record::visit::<M>(records, &mut |view| {
        let Some(note) = view.note_bytes()? else {
            return Ok(());
        };
        notes += 1;
        let fits = open.take_if(|open| !open.takes(&view.head, note));
        if let Some(full) = fits {
            close(full);
        }
        open.get_or_insert_with(|| Open::new(&view.head))
            .add(&view.head, note);
        Ok(())
    })?;
    if let Some(last) = open {
        close(last);
    }
    Ok(notes)
}

/// A row that is being filled.
struct Open {
    head: RowHead,
    earliest: i64,
    latest: i64,
    spaces: Vec<SpaceId>,
    value: Vec<u8>,
}

impl Open {
    fn new(record: &RecordHead) -> Self {
        let head = RowHead {
            layout: LAYOUT,
            product: record.product,
            format: record.format,
            first: record.time.0,
        };
        let mut value = Vec::with_capacity(ROW_BYTES + 256);
        put(&mut value, &head).expect("a row's head can be encoded");
        Self {
            head,
            earliest: head.first,
            latest: head.first,
            spaces: Vec::new(),
            value,
        }
    }

    /// Is there room for the note, and does it belong?
    fn takes(&self, record: &RecordHead, note: &[u8]) -> bool {
        let time = record.time.0;
        let span = self.latest.max(time) - self.earliest.min(time);
        let day = day_of(record.time);
        self.value.len() + ITEM_BYTES + note.len() <= ROW_BYTES
            && span <= SPAN_MS
            && day == day_of(Timestamp(self.earliest))
            && (self.head.product, self.head.format) == (record.product, record.format)
    }

    fn add(&mut self, record: &RecordHead, note: &[u8]) {
        let known = self.spaces.iter().position(|space| *space == record.space);
        let space = known.unwrap_or(self.spaces.len());
        let item = ItemHead {
            after: record.time.0 - self.head.first,
            space: u32::try_from(space).expect("a row has few spaces"),
            policy: record.policy,
            bytes: u32::try_from(note.len()).expect("a record is below 4 GiB"),
        };
        put(&mut self.value, &item).expect("a note's head can be encoded");
        if known.is_none() {
            self.spaces.push(record.space);
            self.value.extend_from_slice(&record.space.0);
        }
        self.value.extend_from_slice(note);
        self.earliest = self.earliest.min(record.time.0);
        self.latest = self.latest.max(record.time.0);
    }
}

/// Visits the notes of a row, in the order of their records; answers whether the visitor broke off.
///
/// # Errors
/// When the row is damaged or of a newer build.
pub(super) fn read<M: Machine>(
    value: &[u8],
    visit: &mut dyn FnMut(Seen<'_>) -> Result<ControlFlow<()>, LogError>,
) -> Result<ControlFlow<()>, LogError> {
    let (head, mut rest): (RowHead, _) = postcard::take_from_bytes(value).map_err(|_| damaged())?;
    if head.layout > LAYOUT || head.product != M::PRODUCT || head.format > M::FORMAT {
        return Err(LogError::Format(format!(
            "history holds a row of layout {}, product {}, format {}; this build reads {} \
             (product {}) up to layout {LAYOUT}, format {}: use a newer interlock",
            head.layout,
            head.product,
            head.format,
            M::NAME,
            M::PRODUCT,
            M::FORMAT
        )));
    }
    let mut spaces: Vec<SpaceId> = Vec::new();
    while !rest.is_empty() {
        let (item, tail): (ItemHead, _) = postcard::take_from_bytes(rest).map_err(|_| damaged())?;
        rest = tail;
        let at = item.space as usize;
        if at == spaces.len() {
            let (space, tail) = rest.split_first_chunk::<16>().ok_or_else(damaged)?;
            spaces.push(SpaceId(*space));
            rest = tail;
        }
        let (bytes, tail) = rest
            .split_at_checked(item.bytes as usize)
            .ok_or_else(damaged)?;
        rest = tail;
        let seen = Seen {
            space: *spaces.get(at).ok_or_else(damaged)?,
            time: Timestamp(head.first.saturating_add(item.after)),
            policy: item.policy,
            bytes,
        };
        if visit(seen)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn damaged() -> LogError {
    LogError::Corrupt(
        "a row of history cannot be read: put a copy of the day's folder from before in its place, \
         or move the folder away and start once with `--accept-truncation` to give up that day"
            .to_owned(),
    )
}
