//! As much HTTP/1.1 as a load generator needs: it reads one answer after another from a kept
//! connection, with a length or in chunks, however the bytes are cut into packets. No redirects, no
//! trailers of meaning, no compression (none is asked for).

use std::io::{self, Read};

use crate::input;

/// More than this in one head is refused.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The status and what follows from the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    /// Whether the server will close the connection.
    pub(crate) closes: bool,
    /// Bytes of head and body as they came.
    pub(crate) bytes: usize,
}

/// Reads answers from one connection; keeps what arrived beyond the present one.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
    filled: usize,
    taken: usize,
    body: Vec<u8>,
    body_range: (usize, usize),
    chunked: bool,
}

impl Reader {
    /// An empty reader.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Reads one whole answer; its body is then in [`Reader::body`].
    pub(crate) fn read(&mut self, stream: &mut impl Read) -> io::Result<Answer> {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        let (head_end, head) = self.read_head(stream)?;
        self.chunked = head.chunked;
        let end = match head.length {
            _ if head.chunked => self.read_chunks(stream, head_end)?,
            Some(length) => {
                self.fill_to(stream, head_end + length)?;
                self.body_range = (head_end, head_end + length);
                head_end + length
            }
            None => return Err(broken("an answer without a length")),
        };
        self.taken = end;
        Ok(Answer {
            status: head.status,
            closes: head.closes,
            bytes: end,
        })
    }

    /// The body of the last answer.
    pub(crate) fn body(&self) -> &[u8] {
        if self.chunked {
            return &self.body;
        }
        &self.buffer[self.body_range.0..self.body_range.1]
    }

    fn read_head(&mut self, stream: &mut impl Read) -> io::Result<(usize, Head)> {
        let mut searched = 0_usize;
        loop {
            let from = searched.saturating_sub(3);
            let unread = &self.buffer[from..self.filled];
            if let Some(at) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
                let end = from + at + 4;
                let head = Head::parse(&self.buffer[..end]).ok_or_else(|| broken("a bad head"))?;
                return Ok((end, head));
            }
            searched = self.filled;
            if self.filled > HEAD_BYTES_MAX {
                return Err(broken("a head without an end"));
            }
            self.fill(stream)?;
        }
    }

    fn read_chunks(&mut self, stream: &mut impl Read, head_end: usize) -> io::Result<usize> {
        self.body.clear();
        let mut at = head_end;
        loop {
            let line_end = self.line_end(stream, at)?;
            let size =
                chunk_size(&self.buffer[at..line_end]).ok_or_else(|| broken("a bad chunk"))?;
            let start = line_end + 2;
            if size == 0 {
                return self.after_trailers(stream, start);
            }
            self.fill_to(stream, start + size + 2)?;
            self.body
                .extend_from_slice(&self.buffer[start..start + size]);
            if &self.buffer[start + size..start + size + 2] != b"\r\n" {
                return Err(broken("a chunk without an end"));
            }
            at = start + size + 2;
        }
    }

    fn after_trailers(&mut self, stream: &mut impl Read, mut at: usize) -> io::Result<usize> {
        loop {
            let end = self.line_end(stream, at)?;
            if end == at {
                return Ok(end + 2);
            }
            at = end + 2;
        }
    }

    /// Where the line that starts at `from` ends, before its line break.
    fn line_end(&mut self, stream: &mut impl Read, from: usize) -> io::Result<usize> {
        loop {
            let unread = &self.buffer[from..self.filled];
            if let Some(at) = unread.windows(2).position(|two| two == b"\r\n") {
                return Ok(from + at);
            }
            if unread.len() > HEAD_BYTES_MAX {
                return Err(broken("a line without an end"));
            }
            self.fill(stream)?;
        }
    }

    fn fill_to(&mut self, stream: &mut impl Read, filled: usize) -> io::Result<()> {
        if filled > self.buffer.len() {
            self.buffer.resize(filled, 0);
        }
        while self.filled < filled {
            self.fill(stream)?;
        }
        Ok(())
    }

    fn fill(&mut self, stream: &mut impl Read) -> io::Result<()> {
        input::read_more(stream, &mut self.buffer, &mut self.filled)
    }
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn chunk_size(line: &[u8]) -> Option<usize> {
    let digits = line.split(|byte| *byte == b';').next()?;
    usize::from_str_radix(std::str::from_utf8(digits).ok()?.trim(), 16).ok()
}

#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    length: Option<usize>,
    chunked: bool,
    closes: bool,
}

impl Head {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(bytes).ok()?.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let version = words
            .next()
            .filter(|version| version.starts_with("HTTP/1."))?;
        let status = words.next()?.parse().ok()?;
        let mut head = Self {
            status,
            length: None,
            chunked: false,
            closes: version == "HTTP/1.0",
        };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                head.length = Some(value.parse().ok()?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                head.chunked = value.eq_ignore_ascii_case("chunked");
            } else if name.eq_ignore_ascii_case("connection") {
                head.closes = value.eq_ignore_ascii_case("close");
            }
        }
        Some(head)
    }
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

    const TWO: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nX: y\r\n\r\nhello\
        HTTP/1.1 503 Busy\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
        3\r\nabc\r\n0A;x=1\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n";

    #[test]
    fn answers_are_read_however_they_are_cut() {
        for size in [1, 2, 3, 7, 50, 1000] {
            let (mut stream, mut reader) = (Pieces(TWO, size), Reader::new());
            let first = reader.read(&mut stream).expect("the first");
            assert_eq!(
                (first.status, first.closes, reader.body()),
                (200, false, &b"hello"[..])
            );
            let second = reader.read(&mut stream).expect("the second");
            assert_eq!((second.status, second.closes), (503, true));
            assert_eq!(reader.body(), b"abc0123456789");
            assert_eq!(first.bytes + second.bytes, TWO.len());
            let end = reader.read(&mut stream).expect_err("the end");
            assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn a_long_body_and_an_empty_one() {
        let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n".to_vec();
        bytes.resize(bytes.len() + 200_000, b'x');
        bytes.extend_from_slice(b"HTTP/1.1 204 None\r\nContent-Length: 0\r\n\r\n");
        let (mut stream, mut reader) = (Pieces(&bytes, 70_000), Reader::new());
        assert_eq!(reader.read(&mut stream).expect("long").status, 200);
        assert_eq!(reader.body().len(), 200_000);
        assert_eq!(reader.read(&mut stream).expect("empty").status, 204);
        assert_eq!(reader.body(), b"");
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let broken: [&[u8]; 5] = [
            b"SSH-2.0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
        ];
        for bytes in broken {
            let read = Reader::new().read(&mut Pieces(bytes, 10));
            assert!(read.is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }
}
