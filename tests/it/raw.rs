//! A kept connection that sends prepared requests as fast as a thread can.
//!
//! Here: just enough of HTTP/1.1 for races: one request, one answer, with a length. Not here: what
//! is asked. The harness's client is the one for everything else.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::harness::PATIENCE;

/// One connection of one thread.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects to a server's URL.
    pub(crate) fn new(url: &str) -> Self {
        Self::try_new(url).expect("the server listens")
    }

    /// Connects, if the server listens.
    pub(crate) fn try_new(url: &str) -> Option<Self> {
        let address = url.strip_prefix("http://").expect("a server in the clear");
        let stream = TcpStream::connect(address).ok()?;
        stream.set_nodelay(true).expect("a socket option");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket option");
        Some(Self {
            stream,
            buffer: vec![0; 64 * 1024],
        })
    }

    /// Sends a request and reads the status and body of its answer; an error when the server went
    /// away in between.
    pub(crate) fn ask(&mut self, request: &[u8]) -> std::io::Result<(u16, String)> {
        self.stream.write_all(request)?;
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[filled..])?;
            if read == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            filled += read;
            if let Some(answer) = whole(&self.buffer[..filled]) {
                return Ok(answer);
            }
            if filled == self.buffer.len() {
                self.buffer.resize(filled * 2, 0);
            }
        }
    }
}

/// The answer, once all of it is there.
fn whole(bytes: &[u8]) -> Option<(u16, String)> {
    let split = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..split]).expect("a head in ASCII");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .expect("a status");
    let length: usize = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length:")?
                .trim()
                .parse()
                .ok()
        })
        .expect("an answer with a length");
    let body = bytes.get(split + 4..split + 4 + length)?;
    Some((
        status,
        String::from_utf8(body.to_vec()).expect("a body in UTF-8"),
    ))
}

/// The bytes of a POST with a key, and an Idempotency-Key where one is given.
pub(crate) fn post(path: &str, key: &str, once: Option<&str>, body: &str) -> Vec<u8> {
    let once = once
        .map(|once| format!("idempotency-key: {once}\r\n"))
        .unwrap_or_default();
    format!(
        "POST {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {key}\r\n{once}content-type: \
         application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
