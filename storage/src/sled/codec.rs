//! How the engine writes a commit and a value, for tests of other crates.
//!
//! Here: the two codecs as functions of bytes. Not here: what they do (`record.rs`, `chunk.rs`). Called
//! by tests only.

use super::chunk::{self, Assembler, Head};
use super::record;
use crate::log::{Commit, Replayed};

/// A chunk with the key it lies under.
pub type Keyed = (Vec<u8>, Vec<u8>);

/// The journal part of a commit.
///
/// # Panics
/// When the commit breaks the bounds of [`crate::Log`].
#[must_use]
pub fn encode_record(commit: &Commit) -> Vec<u8> {
    record::parts(&record::head(commit), commit).concat()
}

/// The appends of a journal part; `None` when it is none.
#[must_use]
pub fn decode_record(bytes: &[u8]) -> Option<Vec<Replayed>> {
    record::decode(bytes)
}

/// A value as its chunks.
#[must_use]
pub fn cut(prefix: &[u8], value: &[u8]) -> Vec<Keyed> {
    let mut chunks = Vec::new();
    chunk::cut(prefix, &[value], &mut |key, bytes| {
        chunks.push((key, bytes.to_vec()));
    });
    chunks
}

/// A chunk that says this about its value, with the checksum that belongs to it.
#[must_use]
pub fn close(key: &[u8], (length, count): (u32, u32), bytes: &[u8]) -> Vec<u8> {
    let mut chunk = [&[0; chunk::HEAD_BYTES], bytes].concat();
    chunk::close(&mut chunk, key, Head { length, count });
    chunk
}

/// The value of its chunks.
///
/// # Errors
/// What is wrong with them, in words.
pub fn assemble(prefix: &[u8], chunks: &[Keyed]) -> Result<Vec<u8>, String> {
    let mut assembler = Assembler::new(prefix.to_vec());
    for (key, chunk) in chunks {
        let pushed = assembler.push(key, chunk);
        pushed.map_err(|defect| format!("{defect:?}"))?;
    }
    assembler.finish().map_err(|defect| format!("{defect:?}"))
}
