//! Names of everything under the one tree.
//!
//! Here: building and parsing of keys. Not here: values. Called within the sled engine only.
//! Integers are big-endian, so keys lie in the order of their numbers. Every key ends in the
//! number of a chunk; what comes before is the *prefix* that names the whole value.
//!
//! | prefix | value |
//! |---|---|
//! | `j` commit | journal part of a commit |
//! | `s` partition, snapshot, slice | slice of a snapshot |
//! | `mv` | format of the whole |
//! | `mf` | floor: newest commit that truncation removed |
//! | `mg` first missing commit | last missing commit: a recorded gap |
//! | `me` group | epoch |
//! | `ml` group | last sequence that truncation removed |
//! | `mq` group, sequence | this sequence does not follow its predecessor: a recorded jump |
//! | `mp` partition | pointer to the current snapshot |
//! | `mh`, `mh` group | history is in use; what it has taken |
//! | `md` day | how far a day of history was written |
//! | `mu` escaped key | meta value of the caller |

use crate::log::{Group, HistoryDay, Partition, Sequence};

/// Bytes of the chunk's number at the end of each key.
pub(super) const CHUNK: usize = 4;

pub(super) const FORMAT: &[u8] = b"mv";
pub(super) const FLOOR: &[u8] = b"mf";
pub(super) const HISTORY: &[u8] = b"mh";
pub(super) const JOURNAL: &[u8] = b"j";
pub(super) const META: &[u8] = b"m";
pub(super) const SNAPSHOTS: &[u8] = b"s";
/// After every key of a snapshot.
pub(super) const PAST_SNAPSHOTS: &[u8] = b"t";

/// `prefix` and the number of one of its chunks.
pub(super) fn chunk(prefix: &[u8], number: u32) -> Vec<u8> {
    [prefix, &number.to_be_bytes()].concat()
}

pub(super) fn journal(commit: u64) -> Vec<u8> {
    [JOURNAL, &commit.to_be_bytes()].concat()
}

/// The commit a journal key belongs to.
pub(super) fn parse_journal(key: &[u8]) -> Option<u64> {
    let number = key.strip_prefix(JOURNAL)?;
    let (number, rest) = number.split_first_chunk::<8>()?;
    (rest.len() == CHUNK).then(|| u64::from_be_bytes(*number))
}

pub(super) fn slice(partition: Partition, snapshot: u64, index: u32) -> Vec<u8> {
    [&snapshot_of(partition, snapshot)[..], &index.to_be_bytes()].concat()
}

/// What all keys of a snapshot start with.
pub(super) fn snapshot_of(partition: Partition, snapshot: u64) -> Vec<u8> {
    [
        SNAPSHOTS,
        &partition.0.to_be_bytes(),
        &snapshot.to_be_bytes(),
    ]
    .concat()
}

/// The snapshot a slice's key belongs to.
pub(super) fn parse_slice(key: &[u8]) -> Option<(Partition, u64)> {
    let rest = key.strip_prefix(SNAPSHOTS)?;
    let (partition, rest) = rest.split_first_chunk::<2>()?;
    let (snapshot, _) = rest.split_first_chunk::<8>()?;
    Some((
        Partition(u16::from_be_bytes(*partition)),
        u64::from_be_bytes(*snapshot),
    ))
}

pub(super) fn gap(first: u64) -> Vec<u8> {
    [&b"mg"[..], &first.to_be_bytes()].concat()
}

pub(super) fn epoch(group: Group) -> Vec<u8> {
    [&b"me"[..], &group.0.to_be_bytes()].concat()
}

pub(super) fn last(group: Group) -> Vec<u8> {
    [&b"ml"[..], &group.0.to_be_bytes()].concat()
}

pub(super) fn jump(group: Group, sequence: Sequence) -> Vec<u8> {
    [
        &b"mq"[..],
        &group.0.to_be_bytes(),
        &sequence.0.to_be_bytes(),
    ]
    .concat()
}

pub(super) fn pointer(partition: Partition) -> Vec<u8> {
    [&b"mp"[..], &partition.0.to_be_bytes()].concat()
}

/// The mark of a day of history; days before 1970 lie first.
pub(super) fn day_mark(day: HistoryDay) -> Vec<u8> {
    [b"md", &(day.0 ^ i32::MIN).to_be_bytes()[..]].concat()
}

pub(super) fn history(group: Group) -> Vec<u8> {
    [HISTORY, &group.0.to_be_bytes()].concat()
}

/// A caller's key under `head`, escaped so that order and prefixes stay what they were and no key
/// is the beginning of another.
pub(super) fn row(head: &[u8], key: &[u8]) -> Vec<u8> {
    let mut prefix = row_prefix(head, key);
    prefix.extend_from_slice(&[0, 1]);
    prefix
}

/// What all rows start with whose key starts with `key`.
pub(super) fn row_prefix(head: &[u8], key: &[u8]) -> Vec<u8> {
    let mut prefix = Vec::with_capacity(head.len() + key.len() + 2);
    prefix.extend_from_slice(head);
    for &byte in key {
        prefix.push(byte);
        if byte == 0 {
            prefix.push(u8::MAX);
        }
    }
    prefix
}

/// The caller's key of a row's prefix (without the chunk's number).
pub(super) fn parse_row(head: &[u8], prefix: &[u8]) -> Option<Vec<u8>> {
    let escaped = prefix.strip_prefix(head)?.strip_suffix(&[0, 1])?;
    let mut key = Vec::with_capacity(escaped.len());
    let mut bytes = escaped.iter();
    while let Some(&byte) = bytes.next() {
        key.push(byte);
        if byte == 0 && bytes.next() != Some(&u8::MAX) {
            return None;
        }
    }
    Some(key)
}

/// Meta values of the caller.
pub(super) const USER: &[u8] = b"mu";
/// Rows of a history day, which has a database of its own.
pub(super) const HISTORY_ROW: &[u8] = b"r";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_keep_order_prefixes_and_come_back(
            a in proptest::collection::vec(0_u8..3, 0..6),
            b in proptest::collection::vec(0_u8..3, 0..6),
        ) {
            let (row_a, row_b) = (row(USER, &a), row(USER, &b));
            prop_assert_eq!(a.cmp(&b), row_a.cmp(&row_b));
            prop_assert_eq!(b.starts_with(&a), row_b.starts_with(&row_prefix(USER, &a)));
            prop_assert_eq!(a == b, row_b.starts_with(&row_a));
            prop_assert_eq!(parse_row(USER, &row_a), Some(a));
        }
    }

    #[test]
    fn journal_and_slice_keys_come_back() {
        let key = chunk(&journal(77), 3);
        assert_eq!(parse_journal(&key), Some(77));
        assert_eq!(parse_journal(&journal(77)), None);
        let key = chunk(&slice(Partition(9), 8, 7), 6);
        assert_eq!(parse_slice(&key), Some((Partition(9), 8)));
    }
}
