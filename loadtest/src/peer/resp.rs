//! As much of Redis' protocol (RESP2) as the load needs: replies are scanned where they lie in one
//! buffer, however they were cut into packets; nothing is built but what a caller keeps. Commands are
//! written by [`command`] for set-up and patched in place by `redis` for the load.

use std::io::{self, Read};

use crate::input;

/// A reply longer than this is no reply of ours.
const REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One item of a reply. A list comes as its head, then its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    /// A text: a simple or a bulk string.
    Text(&'a [u8]),
    /// A whole number.
    Number(i64),
    /// Nothing: a bulk string or a list that is null.
    Null,
    /// How many items follow.
    List(usize),
    /// What went wrong, in Redis' words.
    Error(&'a [u8]),
}

/// Reads items one after another; keeps what arrived beyond the present one.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
    filled: usize,
    taken: usize,
}

/// Where an item lies in the buffer, and where it ends.
struct Found {
    kind: u8,
    from: usize,
    to: usize,
    end: usize,
}

impl Reader {
    /// Reads the next item.
    pub(crate) fn next(&mut self, stream: &mut impl Read) -> io::Result<Item<'_>> {
        let found = loop {
            if let Some(found) = self.find()? {
                break found;
            }
            self.fill(stream)?;
        };
        self.taken = found.end;
        let text = &self.buffer[found.from..found.to];
        Ok(match found.kind {
            b'+' | b'$' => Item::Text(text),
            b'-' => Item::Error(text),
            b'0' => Item::Null,
            b':' => Item::Number(whole(text).ok_or_else(|| broken("a number"))?),
            _ => Item::List(whole(text).ok_or_else(|| broken("a length"))? as usize),
        })
    }

    /// The item at the present place, or nothing while it has not arrived whole.
    fn find(&self) -> io::Result<Option<Found>> {
        let bytes = &self.buffer[self.taken..self.filled];
        let Some(line) = bytes.windows(2).position(|two| two == b"\r\n") else {
            return Ok(None);
        };
        let kind = bytes[0];
        let (from, to) = (self.taken + 1, self.taken + line);
        let end = to + 2;
        let length = || whole(&self.buffer[from..to]).ok_or_else(|| broken("a length"));
        let found = match kind {
            b'+' | b'-' | b':' => Found {
                kind,
                from,
                to,
                end,
            },
            b'$' | b'*' if length()? < 0 => Found {
                kind: b'0',
                from,
                to,
                end,
            },
            b'*' => Found {
                kind,
                from,
                to,
                end,
            },
            b'$' => {
                let text = length()? as usize;
                if text > REPLY_BYTES_MAX {
                    return Err(broken("a text of sane length"));
                }
                if end + text + 2 > self.filled {
                    return Ok(None);
                }
                if &self.buffer[end + text..end + text + 2] != b"\r\n" {
                    return Err(broken("the end of a text"));
                }
                Found {
                    kind,
                    from: end,
                    to: end + text,
                    end: end + text + 2,
                }
            }
            _ => return Err(broken("an item of RESP2")),
        };
        Ok(Some(found))
    }

    fn fill(&mut self, stream: &mut impl Read) -> io::Result<()> {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        if self.filled > REPLY_BYTES_MAX {
            return Err(broken("a reply of sane length"));
        }
        input::read_more(stream, &mut self.buffer, &mut self.filled)
    }
}

fn broken(wanted: &'static str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("no answer of Redis: expected {wanted}"),
    )
}

fn whole(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Appends a command of these words.
pub(crate) fn command(bytes: &mut Vec<u8>, words: &[&[u8]]) {
    list(bytes, words.len());
    for word in words {
        text(bytes, word);
    }
}

/// Appends the head of a list.
pub(crate) fn list(bytes: &mut Vec<u8>, items: usize) {
    bytes.extend_from_slice(format!("*{items}\r\n").as_bytes());
}

/// Appends a bulk string; answers where its bytes start.
pub(crate) fn text(bytes: &mut Vec<u8>, text: &[u8]) -> usize {
    bytes.extend_from_slice(format!("${}\r\n", text.len()).as_bytes());
    let at = bytes.len();
    bytes.extend_from_slice(text);
    bytes.extend_from_slice(b"\r\n");
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that hands out its bytes in pieces of a given size.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn items_are_read_however_they_are_cut() {
        let bytes =
            b"+OK\r\n-ERR no\r\n:-12\r\n$7\r\nal\r\nlow\r\n$0\r\n\r\n$-1\r\n*2\r\n:1\r\n*-1\r\n";
        for size in [1, 2, 3, 7, 1000] {
            let (mut stream, mut reader) = (Pieces(bytes, size), Reader::default());
            for wanted in [
                Item::Text(b"OK"),
                Item::Error(b"ERR no"),
                Item::Number(-12),
                Item::Text(b"al\r\nlow"),
                Item::Text(b""),
                Item::Null,
                Item::List(2),
                Item::Number(1),
                Item::Null,
            ] {
                assert_eq!(
                    reader.next(&mut stream).expect("an item"),
                    wanted,
                    "cut at {size}"
                );
            }
            let end = reader.next(&mut stream).expect_err("the end");
            assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn more_than_a_buffer_is_read_in_order() {
        let mut bytes = Vec::new();
        for number in 0..20_000 {
            text(&mut bytes, format!("answer {number}").as_bytes());
        }
        let (mut stream, mut reader) = (Pieces(&bytes, 50_000), Reader::default());
        for number in 0..20_000 {
            let wanted = format!("answer {number}");
            assert_eq!(
                reader.next(&mut stream).expect("an item"),
                Item::Text(wanted.as_bytes())
            );
        }
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        let broken: [&[u8]; 6] = [
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"$x\r\nabc\r\n",
            b"$3\r\nabcd\r\n",
            b"$99999999999\r\n",
            b":1.5\r\n",
            b"*two\r\n",
        ];
        for bytes in broken {
            let read = Reader::default()
                .next(&mut Pieces(bytes, 10))
                .map(|item| format!("{item:?}"));
            assert!(
                read.is_err(),
                "{}: {read:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn a_command_is_a_list_of_its_words() {
        let mut bytes = Vec::new();
        command(&mut bytes, &[b"GET", b"key 1"]);
        assert_eq!(bytes, b"*2\r\n$3\r\nGET\r\n$5\r\nkey 1\r\n");
    }
}
