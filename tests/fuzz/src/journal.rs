//! What the journal keeps of a commit, the chunks it is cut into, and the records inside.
//!
//! What decodes encodes to the same bytes, and what was encoded comes back; a chunk that is missing,
//! changed or elsewhere is found.

use interlock_actors::record::{Change, Entry, RecordEncoder, RecordHead, visit};
use interlock_domain::contact::Contact;
use interlock_domain::key::EntityKey;
use interlock_domain::machine::Machine;
use interlock_storage::LogError;
use interlock_storage::sled::codec::{assemble, close, cut, decode_record, encode_record};
use interlock_storage::{Append, Commit};

use crate::Outcome;
use crate::input::Input;

/// What the length of a name and the number behind it take.
const PREFIX: &[u8] = b"j\0\0\0\0\0\0\0\x01";

type Event = <Contact as Machine>::Event;
type Note = <Contact as Machine>::Note;

/// By the first byte: a journal part, records, a value that is cut and damaged, or chunks that say
/// what they like of their value.
///
/// # Panics
/// When a property is broken.
pub fn journal(input: &[u8]) -> Outcome {
    let mut input = Input(input);
    match input.u8() % 4 {
        0 => part(input.0),
        1 => records(input.0),
        2 => damaged(&mut input),
        _ => claimed(&mut input),
    }
}

/// The journal part of a commit.
fn part(bytes: &[u8]) -> Outcome {
    let Some(decoded) = decode_record(bytes) else {
        return Outcome::Refused;
    };
    assert!(decoded.capacity() <= bytes.len(), "more room than bytes");
    let appends = decoded.into_iter().map(|append| Append {
        group: append.group,
        epoch: append.epoch,
        sequence: append.sequence,
        partitions: append.partitions,
        records: append.records,
    });
    let commit = Commit {
        appends: appends.collect(),
        ..Commit::default()
    };
    // What else the commit carried is counted, and is not in this part.
    let mut expected = bytes.to_vec();
    expected[2..14].fill(0);
    assert_eq!(encode_record(&commit), expected);
    Outcome::Accepted
}

/// A record, taken apart.
#[derive(Debug, PartialEq)]
struct Record {
    head: RecordHead,
    entries: Vec<(EntityKey, u64, Change, Option<Event>)>,
    note: Option<Note>,
}

fn decode(bytes: &[u8]) -> Result<Vec<Record>, LogError> {
    let mut records = Vec::new();
    visit::<Contact>(bytes, &mut |view| {
        let mut entries = Vec::new();
        view.entries(&mut |entry| {
            let event = match entry.change {
                Change::Event | Change::Created => Some(entry.event::<Contact>()?),
                Change::Purged => None,
            };
            entries.push((entry.key, entry.version, entry.change, event));
            Ok(())
        })?;
        records.push(Record {
            head: view.head,
            entries,
            note: view.note::<Contact>()?,
        });
        Ok(())
    })?;
    Ok(records)
}

fn encode(records: &[Record]) -> Vec<u8> {
    let (mut encoder, mut out) = (RecordEncoder::default(), Vec::new());
    for record in records {
        let entries = record
            .entries
            .iter()
            .map(|(key, version, change, event)| Entry {
                key: *key,
                version: *version,
                change: *change,
                event: event.as_ref(),
            });
        let entries: Vec<Entry<&Event>> = entries.collect();
        let encoded = encoder.encode::<Contact>(record.head, &entries, record.note.as_ref());
        out.extend_from_slice(encoded.expect("what was decoded can be encoded"));
    }
    out
}

/// The records of an append.
fn records(bytes: &[u8]) -> Outcome {
    let Ok(decoded) = decode(bytes) else {
        return Outcome::Refused;
    };
    // A number may be written longer than it has to be, so the first writing may be a shorter one.
    let encoded = encode(&decoded);
    assert!(encoded.len() <= bytes.len(), "it grew");
    assert_eq!(decode(&encoded).ok().as_ref(), Some(&decoded));
    Outcome::Accepted
}

/// A value that comes back from its chunks, and not from others.
fn damaged(input: &mut Input<'_>) -> Outcome {
    let length = usize::from(input.u16() % 20_000);
    let (how, at, other) = (input.u8(), input.u16(), input.u16());
    let (byte, flip) = (input.u16(), input.flip());
    let pattern: &[u8] = if input.0.is_empty() { &[0] } else { input.0 };
    let value: Vec<u8> = pattern.iter().copied().cycle().take(length).collect();
    let whole = cut(PREFIX, &value);
    assert_eq!(assemble(PREFIX, &whole), Ok(value));
    let mut chunks = whole.clone();
    let (at, other) = (
        usize::from(at) % chunks.len(),
        usize::from(other) % chunks.len(),
    );
    match how % 5 {
        0 => drop(chunks.remove(at)),
        1 => {
            let chunk = &mut chunks[at].1;
            let byte = usize::from(byte) % chunk.len();
            chunk[byte] ^= flip;
        }
        2 => {
            let taken = chunks[other].1.clone();
            chunks[at].1 = taken;
        }
        3 => {
            let chunk = &mut chunks[at].1;
            let length = usize::from(byte) % chunk.len();
            chunk.truncate(length);
        }
        _ => {
            let again = chunks[at].clone();
            chunks.insert(other, again);
        }
    }
    if chunks == whole {
        return Outcome::Accepted;
    }
    let read = assemble(PREFIX, &chunks);
    assert!(read.is_err(), "damage that nobody sees");
    Outcome::Refused
}

/// Chunks whose checksums are right and whose words about the value need not be.
fn claimed(input: &mut Input<'_>) -> Outcome {
    let (mut chunks, mut joined) = (Vec::new(), Vec::new());
    let mut heads = Vec::new();
    let mut number = 0_u32;
    while !input.0.is_empty() {
        let head = (input.u16().into(), input.u8().into());
        let length = input.u8().into();
        let bytes = input.bytes(length);
        let key = [PREFIX, &number.to_be_bytes()].concat();
        let chunk = close(&key, head, bytes);
        joined.extend_from_slice(bytes);
        heads.push(head);
        chunks.push((key, chunk));
        number += 1;
    }
    let length = u32::try_from(joined.len()).expect("an input is small");
    let agree = number > 0 && heads.iter().all(|head| *head == (length, number));
    match assemble(PREFIX, &chunks) {
        Ok(value) => {
            assert!(agree, "chunks that do not agree");
            assert_eq!(value, joined);
            Outcome::Accepted
        }
        Err(why) => {
            assert!(!agree, "{why}");
            Outcome::Refused
        }
    }
}
