//! The journal part of a commit: a directory of its appends, then their records.
//!
//! Here: encoding and decoding. Not here: chunks and checksums (`chunk.rs`). Called within the sled
//! engine only. Layout, integers big-endian: appends `u16`, slices `u32`, seals `u32`, meta values
//! `u32` (what else the commit carried, for whoever looks into a damaged log); per append group
//! `u16`, epoch `u64`, sequence `u64`, bytes of records `u32`, partitions `u16` and each `u16`; then
//! all records in the same order.

use crate::log::{Commit, Epoch, Group, Partition, Replayed, Sequence};

/// What the directory has of an append without partitions.
const APPEND_BYTES_MIN: usize = 2 + 8 + 8 + 4 + 2;

/// Encodes what the journal keeps of a commit before the records.
pub(super) fn head(commit: &Commit) -> Vec<u8> {
    let partitions: usize = commit.appends.iter().map(|a| a.partitions.len()).sum();
    let mut out = Vec::with_capacity(14 + commit.appends.len() * APPEND_BYTES_MIN + partitions * 2);
    out.extend_from_slice(&count::<u16>(commit.appends.len()).to_be_bytes());
    for parts in [commit.slices.len(), commit.seals.len(), commit.meta.len()] {
        out.extend_from_slice(&count::<u32>(parts).to_be_bytes());
    }
    for append in &commit.appends {
        out.extend_from_slice(&append.group.0.to_be_bytes());
        out.extend_from_slice(&append.epoch.0.to_be_bytes());
        out.extend_from_slice(&append.sequence.0.to_be_bytes());
        out.extend_from_slice(&count::<u32>(append.records.len()).to_be_bytes());
        out.extend_from_slice(&count::<u16>(append.partitions.len()).to_be_bytes());
        for partition in &append.partitions {
            out.extend_from_slice(&partition.0.to_be_bytes());
        }
    }
    out
}

/// The journal part of a commit in its parts: the head, then the records, which lie in the commit.
pub(super) fn parts<'a>(head: &'a [u8], commit: &'a Commit) -> Vec<&'a [u8]> {
    let records = commit.appends.iter().map(|append| &append.records[..]);
    std::iter::once(head).chain(records).collect()
}

fn count<T: TryFrom<usize>>(count: usize) -> T {
    T::try_from(count)
        .ok()
        .expect("the shape of a commit was checked before it is encoded")
}

/// Decodes the appends; `None` when the bytes are no journal part.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<Replayed>> {
    let mut reader = Reader(bytes);
    let appends = reader.u16()?;
    for _ in 0..3 {
        reader.u32()?;
    }
    // No more room than the bytes can fill, whatever they say.
    let room = usize::from(appends).min(bytes.len() / APPEND_BYTES_MIN);
    let mut replayed = Vec::with_capacity(room);
    let mut lengths = Vec::with_capacity(room);
    for _ in 0..appends {
        let (group, epoch, sequence) = (reader.u16()?, reader.u64()?, reader.u64()?);
        lengths.push(usize::try_from(reader.u32()?).ok()?);
        let partitions = (0..reader.u16()?)
            .map(|_| reader.u16().map(Partition))
            .collect::<Option<_>>()?;
        replayed.push(Replayed {
            group: Group(group),
            epoch: Epoch(epoch),
            sequence: Sequence(sequence),
            partitions,
            records: Vec::new(),
        });
    }
    for (append, length) in replayed.iter_mut().zip(lengths) {
        append.records = reader.take(length)?.to_vec();
    }
    reader.0.is_empty().then_some(replayed)
}

/// Reads fixed-width integers from a byte string.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*bytes))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*bytes))
    }

    pub(super) fn i32(&mut self) -> Option<i32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i32::from_be_bytes(*bytes))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::log::Append;

    fn append() -> impl Strategy<Value = Append> {
        let partitions = proptest::collection::btree_set(0_u16..256, 0..5);
        let records = proptest::collection::vec(any::<u8>(), 0..40);
        (0_u16..64, any::<u64>(), any::<u64>(), partitions, records).prop_map(
            |(group, epoch, sequence, partitions, records)| Append {
                group: Group(group),
                epoch: Epoch(epoch),
                sequence: Sequence(sequence),
                partitions: partitions
                    .into_iter()
                    .map(|partition| Partition(group * 256 + partition))
                    .collect(),
                records,
            },
        )
    }

    #[test]
    fn a_count_beyond_the_bytes_takes_no_room() {
        let mut bytes = vec![0; 14];
        bytes[..2].copy_from_slice(&u16::MAX.to_be_bytes());
        assert_eq!(decode(&bytes), None);
        bytes[..2].copy_from_slice(&1_u16.to_be_bytes());
        bytes.extend([0; APPEND_BYTES_MIN]);
        let decoded = decode(&bytes).expect("it is an append without records");
        assert!(decoded.capacity() <= 2, "{}", decoded.capacity());
    }

    proptest! {
        #[test]
        fn what_was_encoded_comes_back(
            appends in proptest::collection::vec(append(), 0..4),
            cut in any::<proptest::sample::Index>(),
        ) {
            let commit = Commit { appends, ..Commit::default() };
            let bytes = parts(&head(&commit), &commit).concat();
            let decoded = decode(&bytes).expect("it was just encoded");
            prop_assert_eq!(decoded.len(), commit.appends.len());
            for (read, written) in decoded.iter().zip(&commit.appends) {
                prop_assert_eq!(read.group, written.group);
                prop_assert_eq!(read.epoch, written.epoch);
                prop_assert_eq!(read.sequence, written.sequence);
                prop_assert_eq!(&read.partitions, &written.partitions);
                prop_assert_eq!(&read.records, &written.records);
            }
            prop_assert_eq!(decode(&bytes[..cut.index(bytes.len())]), None);
        }
    }
}
