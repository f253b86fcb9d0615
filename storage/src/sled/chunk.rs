//! Values cut into chunks small enough for sled, each verified when it is read again.
//!
//! Here: `version | crc32 | length | count | bytes`, with the checksum taken over the chunk's key
//! as well, so that a chunk in the wrong place is found too. Not here: what a value means. Called
//! within the sled engine only.

use super::keys;
use crate::log::CHUNK_BYTES_MAX;

const VERSION: u8 = 1;
pub(super) const HEAD_BYTES: usize = 1 + 4 + 4 + 4;
/// Bytes of a value that one chunk carries.
pub(super) const CHUNK_ROOM: usize = CHUNK_BYTES_MAX - HEAD_BYTES;

/// What is said of [`Defect::Unfilled`] where it is damage.
pub(super) const UNFILLED: &str = "a chunk is empty";

/// Why a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    /// It is not what was written.
    Damaged(String),
    /// It was written by a newer program.
    Newer(u8),
    /// Its key was laid out, and the chunk never came: see `Store::write_stage`.
    Unfilled,
}

/// What each chunk says about the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Bytes of the value.
    pub(super) length: u32,
    /// Its chunks; at least 1.
    pub(super) count: u32,
}

/// Cuts a value into chunks and hands each to `put`; answers how many. The value comes in parts, so
/// that nobody has to put it together first.
pub(super) fn cut(prefix: &[u8], mut parts: &[&[u8]], put: &mut dyn FnMut(Vec<u8>, &[u8])) -> u32 {
    let length = parts.iter().map(|part| part.len()).sum();
    let head = Head {
        length: u32::try_from(length).expect("a commit's bound is far below 4 GiB"),
        count: count_of(length),
    };
    let mut scratch = Vec::with_capacity(CHUNK_BYTES_MAX);
    let mut part: &[u8] = &[];
    for number in 0..head.count {
        scratch.clear();
        scratch.resize(HEAD_BYTES, 0);
        while scratch.len() < CHUNK_BYTES_MAX {
            if part.is_empty() {
                let Some((next, rest)) = parts.split_first() else {
                    break;
                };
                (part, parts) = (next, rest);
            }
            let (bytes, rest) = part.split_at(part.len().min(CHUNK_BYTES_MAX - scratch.len()));
            scratch.extend_from_slice(bytes);
            part = rest;
        }
        let key = keys::chunk(prefix, number);
        close(&mut scratch, &key, head);
        put(key, &scratch);
    }
    head.count
}

/// Puts the head before the bytes of a chunk, where room was left for it.
pub(super) fn close(chunk: &mut [u8], key: &[u8], head: Head) {
    let (room, bytes) = chunk
        .split_first_chunk_mut::<HEAD_BYTES>()
        .expect("room was left");
    room[0] = VERSION;
    room[1..5].copy_from_slice(&checksum(key, head, bytes).to_be_bytes());
    room[5..9].copy_from_slice(&head.length.to_be_bytes());
    room[9..].copy_from_slice(&head.count.to_be_bytes());
}

/// How many chunks a value of this many bytes takes.
pub(super) fn count_of(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(CHUNK_ROOM).max(1)).expect("a commit's bound is far below 4 GiB")
}

/// Verifies one chunk and answers what it says about the whole, and its bytes.
pub(super) fn open<'a>(key: &[u8], chunk: &'a [u8]) -> Result<(Head, &'a [u8]), Defect> {
    let damaged = |why: &str| Err(Defect::Damaged(why.to_owned()));
    let Some((&version, rest)) = chunk.split_first() else {
        return Err(Defect::Unfilled);
    };
    if version > VERSION {
        return Err(Defect::Newer(version));
    }
    let (Some(crc), Some(length), Some(count), Some(bytes)) = (
        number(rest, 0),
        number(rest, 4),
        number(rest, 8),
        rest.get(12..),
    ) else {
        return damaged("a chunk is too short");
    };
    let head = Head { length, count };
    if version != VERSION || crc != checksum(key, head, bytes) {
        return damaged("the checksum of a chunk differs");
    }
    Ok((head, bytes))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let (number, _) = bytes.get(at..)?.split_first_chunk::<4>()?;
    Some(u32::from_be_bytes(*number))
}

fn checksum(key: &[u8], head: Head, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(&head.length.to_be_bytes());
    hasher.update(&head.count.to_be_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// Puts the chunks of one value together again.
#[derive(Debug)]
pub(super) struct Assembler {
    prefix: Vec<u8>,
    head: Option<Head>,
    next: u32,
    value: Vec<u8>,
}

impl Assembler {
    pub(super) fn new(prefix: Vec<u8>) -> Self {
        Self {
            prefix,
            head: None,
            next: 0,
            value: Vec::new(),
        }
    }

    /// The value's name.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Takes the next chunk in key order. One beyond the value's end is refused.
    pub(super) fn push(&mut self, key: &[u8], chunk: &[u8]) -> Result<(), Defect> {
        if key != keys::chunk(&self.prefix, self.next) {
            return Err(Defect::Damaged(format!("chunk {} is missing", self.next)));
        }
        let (head, bytes) = open(key, chunk)?;
        if *self.head.get_or_insert(head) != head || self.next >= head.count {
            return Err(Defect::Damaged("chunks do not belong together".to_owned()));
        }
        self.value.extend_from_slice(bytes);
        self.next += 1;
        Ok(())
    }

    /// The value, if it is whole; else why not.
    pub(super) fn finish(self) -> Result<Vec<u8>, Defect> {
        let damaged = |why: String| Err(Defect::Damaged(why));
        let Some(head) = self.head else {
            return damaged("it is missing".to_owned());
        };
        if self.next != head.count {
            return damaged(format!("{} of {} chunks are there", self.next, head.count));
        }
        if u32::try_from(self.value.len()) != Ok(head.length) {
            return damaged(format!(
                "it has {} of {} bytes",
                self.value.len(),
                head.length
            ));
        }
        Ok(self.value)
    }

    /// How many chunks the value has, once one was taken.
    pub(super) fn count(&self) -> u32 {
        self.head.map_or(0, |head| head.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_all(value: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut chunks = Vec::new();
        cut(b"j", &[value], &mut |key, chunk| {
            chunks.push((key, chunk.to_vec()));
        });
        chunks
    }

    #[test]
    fn parts_are_cut_as_the_whole_is() {
        let value: Vec<u8> = (0..CHUNK_ROOM * 3 + 7).map(|i| (i % 251) as u8).collect();
        for at in [0, 1, CHUNK_ROOM - 1, CHUNK_ROOM, CHUNK_ROOM * 2 + 5] {
            let (first, rest) = value.split_at(at);
            let mut chunks = Vec::new();
            cut(b"j", &[first, &[], rest, &[]], &mut |key, chunk| {
                chunks.push((key, chunk.to_vec()));
            });
            assert_eq!(chunks, cut_all(&value), "cut at {at}");
        }
    }

    fn assemble(chunks: &[(Vec<u8>, Vec<u8>)]) -> Result<Vec<u8>, Defect> {
        let mut assembler = Assembler::new(b"j".to_vec());
        for (key, chunk) in chunks {
            assembler.push(key, chunk)?;
        }
        assembler.finish()
    }

    #[test]
    fn values_around_the_bounds_come_back() {
        for chunks in 0..3 {
            for length in [chunks * CHUNK_ROOM, chunks * CHUNK_ROOM + 1] {
                for length in [length, length.saturating_sub(2)] {
                    let value: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
                    let cut = cut_all(&value);
                    assert_eq!(cut.len(), length.div_ceil(CHUNK_ROOM).max(1));
                    assert!(cut.iter().all(|(_, chunk)| chunk.len() <= CHUNK_BYTES_MAX));
                    assert_eq!(assemble(&cut), Ok(value));
                }
            }
        }
    }

    #[test]
    fn every_missing_swapped_or_flipped_chunk_is_found() {
        let good = cut_all(&vec![7; CHUNK_ROOM * 3 - 5]);
        for gone in 0..good.len() {
            let mut bad = good.clone();
            bad.remove(gone);
            assert!(assemble(&bad).is_err(), "chunk {gone} is missing");
        }
        let mut swapped = good.clone();
        let first = swapped[0].1.clone();
        swapped[0].1 = swapped[1].1.clone();
        swapped[1].1 = first;
        assert!(assemble(&swapped).is_err());
        for at in 0..good[2].1.len() {
            let mut bad = good.clone();
            bad[2].1[at] ^= 0x10;
            assert!(assemble(&bad).is_err(), "byte {at} is flipped");
        }
        let mut newer = good;
        newer[0].1[0] = VERSION + 1;
        assert_eq!(assemble(&newer), Err(Defect::Newer(VERSION + 1)));
    }
}
