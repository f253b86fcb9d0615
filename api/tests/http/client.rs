//! A client that can send what no proper client would.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::documented;

/// One connection.
pub(crate) struct Client(TcpStream);

/// What came back.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        // Only so that a bug fails a test instead of hanging it.
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        Self(stream)
    }

    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, String)],
        body: &[u8],
    ) -> Answered {
        self.write(method, path, headers, body);
        self.read_answer(method, path)
    }

    /// Reads the answer to a request whose method and path are known, and holds it to the document.
    pub(crate) fn read_answer(&mut self, method: &str, path: &str) -> Answered {
        let answered = self.read(method);
        documented::hold(method, path, &answered);
        answered
    }

    pub(crate) fn write(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, String)],
        body: &[u8],
    ) {
        let mut bytes = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n").into_bytes();
        for (name, value) in headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        if !body.is_empty() {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body);
        // A server that refuses a body may close before it is sent; what it said is still there.
        drop(self.0.write_all(&bytes));
    }

    pub(crate) fn write_raw(&mut self, bytes: &[u8]) {
        drop(self.0.write_all(bytes));
    }

    pub(crate) fn close_writing(&self) {
        self.0.shutdown(Shutdown::Write).unwrap();
    }

    /// Reads whatever comes; what is refused below the routes is of no operation.
    pub(crate) fn read(&mut self, method: &str) -> Answered {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            let mut chunk = [0; 4_096];
            let count = self.0.read(&mut chunk).expect("an answer");
            assert!(count > 0, "the connection ended before an answer");
            bytes.extend_from_slice(&chunk[..count]);
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answered = Answered {
            status,
            head,
            body: bytes[end..].to_vec(),
        };
        let length = answered
            .header("content-length")
            .map_or(0, |value| value.parse().unwrap());
        while method != "HEAD" && answered.body.len() < length {
            let mut chunk = [0; 65_536];
            let count = self.0.read(&mut chunk).expect("the rest of the answer");
            assert!(count > 0, "the connection ended inside an answer");
            answered.body.extend_from_slice(&chunk[..count]);
        }
        answered
    }
}

impl Answered {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a body of JSON")
    }

    /// The body of a success.
    pub(crate) fn ok(self) -> Value {
        assert!((200..300).contains(&self.status), "{self:?}");
        let body = self.json();
        assert!(!holds_null(&body), "no answer holds a null: {body}");
        body
    }

    /// The problem of an error, whose form every problem has.
    pub(crate) fn problem(self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        let body = self.json();
        assert_eq!(body["status"], status);
        assert_eq!(body["code"], code);
        assert_eq!(body["type"], "about:blank");
        for member in ["title", "detail", "request_id"] {
            assert!(
                body[member].as_str().is_some_and(|text| !text.is_empty()),
                "{member}"
            );
        }
        assert_eq!(self.header("x-request-id"), body["request_id"].as_str());
        body
    }
}

fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(holds_null),
        Value::Object(members) => members.values().any(holds_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
