//! The file of an export: frames that only make sense whole and in order.
//!
//! Here: what a frame says, and reading and writing frames with their checks. Not here: what is
//! exported when (`export.rs`), what is made of it (`import.rs`).
//!
//! Layout: the line [`MAGIC`], then frames `length u32 | check u32 | body`, integers big-endian. The
//! check is the CRC-32 of the check before and the body, so a frame that is missing, repeated or
//! moved is found as well as one that is damaged. The last frame says how many there are; nothing
//! comes after it.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use super::ImportError;
use crate::log::COMMIT_BYTES_MAX;

/// What the file begins with: its name and its format.
pub(super) const MAGIC: &[u8] = b"interlock export 1\n";
/// The largest body: a commit's records, and what names them.
const BODY_BYTES_MAX: usize = COMMIT_BYTES_MAX + 1024 * 1024;

/// A key and its value, as they lie in the body.
pub(super) type Pair<'a> = (&'a [u8], &'a [u8]);

/// One frame. They come in the order they stand here.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Frame<'a> {
    /// The first: who wrote it, when (ms since 1970), and what the writer wants to find again.
    Head {
        program: &'a str,
        at_ms: i64,
        note: &'a [u8],
    },
    /// What history had taken by group when its rows began to be read; `None` if it is not in use.
    Taken { positions: Option<Vec<(u16, u64)>> },
    /// Rows of a day (days since 1970) of history.
    Rows {
        day: i32,
        #[serde(borrow)]
        rows: Vec<Pair<'a>>,
    },
    /// A snapshot; its slices follow.
    Seal {
        partition: u16,
        snapshot: u64,
        position: u64,
        slices: u32,
        header: &'a [u8],
    },
    /// A slice of the snapshot before.
    Slice { bytes: &'a [u8] },
    /// The moment that the whole is of: group, epoch, last sequence.
    Cut { groups: Vec<(u16, u64, u64)> },
    /// Meta values of that moment.
    Meta {
        #[serde(borrow)]
        rows: Vec<Pair<'a>>,
    },
    /// An append up to that moment.
    Append {
        group: u16,
        sequence: u64,
        partitions: Vec<u16>,
        records: &'a [u8],
    },
    /// The last: how many came before.
    End { frames: u64 },
}

/// Writes frames.
pub(super) struct Writer<'a> {
    out: &'a mut dyn Write,
    check: u32,
    frames: u64,
    bytes: u64,
}

impl<'a> Writer<'a> {
    /// Begins a file.
    pub(super) fn begin(out: &'a mut dyn Write) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            check: 0,
            frames: 0,
            bytes: MAGIC.len() as u64,
        })
    }

    pub(super) fn write(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let body = postcard::to_allocvec(frame).map_err(io::Error::other)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        self.check = chained(self.check, &body);
        self.out.write_all(&length.to_be_bytes())?;
        self.out.write_all(&self.check.to_be_bytes())?;
        self.out.write_all(&body)?;
        self.frames += 1;
        self.bytes += 8 + u64::from(length);
        Ok(())
    }

    /// Writes the last frame.
    pub(super) fn end(mut self) -> io::Result<(u64, u64)> {
        let frames = self.frames;
        self.write(&Frame::End { frames })?;
        self.out.flush()?;
        Ok((self.frames, self.bytes))
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Reads frames.
pub(super) struct Reader<R> {
    from: R,
    check: u32,
    frames: u64,
    bytes: u64,
    body: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Begins a file.
    pub(super) fn begin(mut from: R) -> Result<Self, ImportError> {
        let mut magic = [0; MAGIC.len()];
        let read = fill(&mut from, &mut magic)?;
        if read < MAGIC.len() || magic != MAGIC {
            let (name, _) = MAGIC.split_at(MAGIC.len() - 2);
            return Err(match magic.starts_with(name) {
                true => ImportError::Newer,
                false => ImportError::Damaged("it is no export of interlock".to_owned()),
            });
        }
        Ok(Self {
            from,
            check: 0,
            frames: 0,
            bytes: MAGIC.len() as u64,
            body: Vec::new(),
        })
    }

    /// The next frame; after the last one, the file has to end.
    pub(super) fn next(&mut self) -> Result<Frame<'_>, ImportError> {
        let at = self.bytes;
        let damaged = |why: &str| ImportError::Damaged(format!("at byte {at}: {why}"));
        let mut head = [0; 8];
        if fill(&mut self.from, &mut head)? < head.len() {
            return Err(damaged("it ends early"));
        }
        let [a, b, c, d, check @ ..] = head;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > BODY_BYTES_MAX {
            return Err(damaged("a frame is too long"));
        }
        self.body.clear();
        let mut bounded = (&mut self.from).take(length as u64);
        let read = bounded.read_to_end(&mut self.body)?;
        if read < length {
            return Err(damaged("it ends early"));
        }
        self.check = chained(self.check, &self.body);
        if self.check != u32::from_be_bytes(check) {
            return Err(damaged("a check does not hold"));
        }
        self.frames += 1;
        self.bytes += 8 + length as u64;
        let (frame, rest) = postcard::take_from_bytes::<Frame<'_>>(&self.body)
            .map_err(|error| damaged(&error.to_string()))?;
        if !rest.is_empty() {
            return Err(damaged("a frame has more than it says"));
        }
        if let Frame::End { frames } = frame {
            if frames + 1 != self.frames {
                return Err(damaged("frames are missing"));
            }
            if fill(&mut self.from, &mut [0])? > 0 {
                return Err(damaged("something follows the end"));
            }
        }
        Ok(frame)
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) const fn frames(&self) -> u64 {
        self.frames
    }
}

fn chained(check: u32, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&check.to_be_bytes());
    hasher.update(body);
    hasher.finalize()
}

/// Reads until the buffer is full or there is no more; answers how much.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match from.read(&mut buffer[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
