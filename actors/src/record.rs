//! One decision as bytes in the journal.
//!
//! Here: the record's frame. Not here: what an event means. A record is
//! `length | head | entries | note`; an entry carries its event's length, so that a reader which
//! wants one partition skips the others without decoding them.

use interlock_domain::key::{EntityKey, KeyHash, Kind, SpaceId};
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::LogError;
use serde::{Deserialize, Serialize};

/// What stands before the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordHead {
    /// The format of events and note.
    pub format: u16,
    /// Which product's events these are.
    pub product: u8,
    /// Whose entities changed: all of one space.
    pub space: SpaceId,
    /// When it was decided.
    pub time: Timestamp,
    /// The policy it was decided with.
    pub policy: u32,
    /// How many entries follow.
    pub entries: u32,
}

/// How an entry changes its entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// An event of an entity that exists.
    Event,
    /// The first event of a new life: replay creates the entity.
    Created,
    /// The entity is forgotten and its partition's floor rises to the version.
    Purged,
}

/// One change of one entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<E> {
    /// The entity.
    pub key: EntityKey,
    /// The version the entity has after it.
    pub version: u64,
    /// What kind of change.
    pub change: Change,
    /// The event; `None` for a purge.
    pub event: Option<E>,
}

#[derive(Serialize, Deserialize)]
struct EntryHead {
    kind: Kind,
    hash: KeyHash,
    version: u64,
    change: Change,
    bytes: u32,
}

/// Encodes records, one at a time, in buffers it keeps. A record is whole before anybody sees it,
/// so a panic or a refusal of the encoder leaves the frame as it was.
#[derive(Debug, Default)]
pub struct RecordEncoder {
    record: Scratch,
    event: Scratch,
}

impl RecordEncoder {
    /// Encodes one record.
    ///
    /// # Errors
    /// What postcard refuses; a bug of the product's types.
    pub fn encode<M: Machine>(
        &mut self,
        head: RecordHead,
        entries: &[Entry<&M::Event>],
        note: Option<&M::Note>,
    ) -> Result<&[u8], postcard::Error> {
        let Self { record, event } = self;
        let mut end = record.put(4, &head)?;
        for entry in entries {
            let event_end = match entry.event {
                Some(value) => event.put(0, value)?,
                None => 0,
            };
            let entry_head = EntryHead {
                kind: entry.key.kind,
                hash: entry.key.hash,
                version: entry.version,
                change: entry.change,
                bytes: u32::try_from(event_end).expect("an event is below 4 GiB"),
            };
            end = record.put(end, &entry_head)?;
            end = record.copy(end, &event.0[..event_end]);
        }
        end = record.put(end, &note)?;
        let length = u32::try_from(end - 4).expect("a record is below 4 GiB");
        record.0[..4].copy_from_slice(&length.to_le_bytes());
        Ok(&record.0[..end])
    }
}

/// Bytes that are written over again and again. All of it may be written to, so a byte costs one look
/// at a bound and no look at a length; half of what a record costs otherwise.
#[derive(Debug, Default)]
struct Scratch(Vec<u8>);

/// What a scratch has at first; nearly every record is shorter.
const SCRATCH_BYTES: usize = 1_024;

impl Scratch {
    /// Serialises a value at a place; answers where it ends.
    fn put<T: Serialize>(&mut self, at: usize, value: &T) -> Result<usize, postcard::Error> {
        loop {
            let free = self.0.get_mut(at..).unwrap_or_default();
            match postcard::to_slice(value, free) {
                Ok(used) => return Ok(at + used.len()),
                Err(postcard::Error::SerializeBufferFull) => self.grow(at),
                Err(error) => return Err(error),
            }
        }
    }

    /// Copies bytes to a place; answers where they end.
    fn copy(&mut self, at: usize, bytes: &[u8]) -> usize {
        let end = at + bytes.len();
        while self.0.len() < end {
            self.grow(at);
        }
        self.0[at..end].copy_from_slice(bytes);
        end
    }

    /// Makes it larger; what stands before `at` stays.
    fn grow(&mut self, at: usize) {
        let length = SCRATCH_BYTES.max(self.0.len() * 2).max(at + 1);
        self.0.resize(length, 0);
    }
}

/// Serialises onto the end of a vector, which keeps what it had whatever happens.
pub(crate) fn put<T: Serialize>(out: &mut Vec<u8>, value: &T) -> Result<(), postcard::Error> {
    postcard::serialize_with_flavor(value, Tail(out))
}

/// A postcard flavor that appends to a borrowed vector.
struct Tail<'a>(&'a mut Vec<u8>);

impl postcard::ser_flavors::Flavor for Tail<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// A record as it is read again: its head, and entries decoded on demand.
#[derive(Debug)]
pub struct RecordView<'a> {
    /// The head.
    pub head: RecordHead,
    rest: &'a [u8],
}

/// An entry whose event is not decoded yet.
#[derive(Debug)]
pub struct EntryView<'a> {
    /// The entity.
    pub key: EntityKey,
    /// The version after it.
    pub version: u64,
    /// What kind of change.
    pub change: Change,
    bytes: &'a [u8],
}

impl EntryView<'_> {
    /// The event.
    ///
    /// # Errors
    /// When the bytes are not an event of this build.
    pub fn event<M: Machine>(&self) -> Result<M::Event, LogError> {
        postcard::from_bytes(self.bytes).map_err(|error| bad(&error.to_string()))
    }
}

impl<'a> RecordView<'a> {
    /// Visits the entries in order.
    ///
    /// # Errors
    /// When the bytes are damaged, or what `visit` returns.
    pub fn entries(
        &self,
        visit: &mut dyn FnMut(EntryView<'a>) -> Result<(), LogError>,
    ) -> Result<&'a [u8], LogError> {
        let mut rest = self.rest;
        for _ in 0..self.head.entries {
            let (head, tail): (EntryHead, _) =
                postcard::take_from_bytes(rest).map_err(|error| bad(&error.to_string()))?;
            let (bytes, tail) = split(tail, head.bytes as usize)?;
            let key = EntityKey {
                kind: head.kind,
                space: self.head.space,
                hash: head.hash,
            };
            visit(EntryView {
                key,
                version: head.version,
                change: head.change,
                bytes,
            })?;
            rest = tail;
        }
        Ok(rest)
    }

    /// The note beside the entries.
    ///
    /// # Errors
    /// When the bytes are damaged.
    pub fn note<M: Machine>(&self) -> Result<Option<M::Note>, LogError> {
        let Some(bytes) = self.note_bytes()? else {
            return Ok(None);
        };
        let note = postcard::from_bytes(bytes).map_err(|error| bad(&error.to_string()))?;
        Ok(Some(note))
    }

    /// The note's bytes, not decoded.
    ///
    /// # Errors
    /// When the bytes are damaged.
    pub fn note_bytes(&self) -> Result<Option<&'a [u8]>, LogError> {
        match self.entries(&mut |_| Ok(()))?.split_first() {
            Some((0, [])) => Ok(None),
            Some((1, note)) => Ok(Some(note)),
            Some(_) | None => Err(bad("its note")),
        }
    }
}

/// Visits the records of an append.
///
/// # Errors
/// When the bytes are damaged, or of a product or format this build does not know.
pub fn visit<'a, M: Machine>(
    mut bytes: &'a [u8],
    each: &mut dyn FnMut(RecordView<'a>) -> Result<(), LogError>,
) -> Result<(), LogError> {
    while !bytes.is_empty() {
        let (length, tail) = split(bytes, 4)?;
        let length = <[u8; 4]>::try_from(length)
            .map(u32::from_le_bytes)
            .map_err(|_| bad("length"))?;
        let (record, tail) = split(tail, length as usize)?;
        let (head, rest): (RecordHead, _) =
            postcard::take_from_bytes(record).map_err(|error| bad(&error.to_string()))?;
        if head.product != M::PRODUCT || head.format > M::FORMAT {
            return Err(LogError::Format(format!(
                "the journal holds a record of product {} in format {}; this build reads {} \
                 (product {}) up to format {}: start a newer interlock",
                head.product,
                head.format,
                M::NAME,
                M::PRODUCT,
                M::FORMAT
            )));
        }
        each(RecordView { head, rest })?;
        bytes = tail;
    }
    Ok(())
}

fn split(bytes: &[u8], at: usize) -> Result<(&[u8], &[u8]), LogError> {
    bytes
        .split_at_checked(at)
        .ok_or_else(|| bad("a record ends early"))
}

fn bad(what: &str) -> LogError {
    LogError::Corrupt(format!("a record of the journal cannot be read: {what}"))
}
