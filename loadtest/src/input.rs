//! Reading into a buffer that is kept.
//!
//! Here: one read, with room made for it. Not here: what the bytes mean (`http`, `peer/resp`).

use std::io::{self, Read};

/// Room made for a read.
const READ_BYTES: usize = 64 * 1024;

/// Reads once behind what is filled, and makes room first where there is little.
pub(crate) fn read_more(
    stream: &mut impl Read,
    buffer: &mut Vec<u8>,
    filled: &mut usize,
) -> io::Result<()> {
    if buffer.len() - *filled < READ_BYTES / 2 {
        buffer.resize(*filled + READ_BYTES, 0);
    }
    match stream.read(&mut buffer[*filled..]) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(count) => {
            *filled += count;
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(error) => Err(error),
    }
}
