//! Clients without a key that send requests one after another and read no answer: what they take of
//! the server is bounded by how many they are, others go on being answered, and once they read they
//! get every answer.
//!
//! Here: many connections at once, with large answers, small ones and those without a body. Not here:
//! one slow client among others (`hostile`), when a stream is read (`api/src/pace.rs`).

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;

use crate::harness::{PATIENCE, Server, Setup, figure, until};
use crate::raw::{Connection, post};

const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");
const CHECK: &str = "/v1/coordination/check";
const CONNECTIONS: usize = 300;
/// The most that a connection takes of the server, as `docs/security.md` says it: what was read of
/// requests and of a body, and what waits to be sent.
const CONNECTION_BYTES: u64 = 320 << 10;
/// What the client beside makes the server keep: the engine's caches and memory that goes between them,
/// and commits that wait for history.
const OTHER_BYTES: u64 = (72 << 20) + (1 << 20);
/// Answers that the client beside gets while all the others hang.
const ANSWERS: usize = 50;

/// Memory in large pages stops whoever touches it first (`memory_watch`).
#[test]
fn memory_comes_in_small_pages() {
    let server = start("");
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid()));
    let status = status.expect("the server runs");
    let line = status.lines().find(|line| line.starts_with("THP_enabled:"));
    assert_eq!(line.map(str::trim_end), Some("THP_enabled:\t0"), "{status}");
}

fn start(config: &str) -> Server {
    // No answer is late: how long the machine takes is not what is tested.
    let config = format!(
        "[history]\nqueue_bytes_max = 1_048_576\n[deadlines]\ncheck_deadline_ms = 60_000\n{config}"
    );
    Setup::new().seed(SEED).config(&config).shards(2).start()
}

fn connect(server: &Server) -> TcpStream {
    let address = server.url().trim_start_matches("http://");
    let stream = TcpStream::connect(address).expect("the server listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket option");
    stream
}

/// One that sends the same request again and again and reads nothing.
struct Deaf {
    stream: TcpStream,
    sent: usize,
}

impl Deaf {
    /// Sends these requests, and fewer when the server reads no more.
    fn new(server: &Server, requests: &[u8]) -> Self {
        let stream = connect(server);
        stream.set_nonblocking(true).expect("a socket option");
        let mut deaf = Self { stream, sent: 0 };
        deaf.send(requests);
        deaf
    }

    /// Sends what the connection takes now.
    fn send(&mut self, all: &[u8]) {
        while self.sent < all.len() {
            match self.stream.write(&all[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("the server ended it: {error}"),
            }
        }
    }

    /// Reads at last: as many answers of this status come as whole requests were sent.
    fn hear(mut self, request: &[u8], status: &str) {
        self.stream.set_nonblocking(false).expect("a socket option");
        let line = format!("HTTP/1.1 {status}\r\n");
        let (line, awaited) = (line.as_bytes(), self.sent / request.len());
        let (mut seen, mut answers) = (Vec::new(), 0);
        let mut some = vec![0; 64 << 10];
        while answers < awaited {
            let count = self.stream.read(&mut some).expect("answers");
            assert_ne!(count, 0, "ended after {answers} of {awaited} answers");
            seen.extend_from_slice(&some[..count]);
            answers += seen.windows(line.len()).filter(|it| *it == line).count();
            // A line may come in two parts.
            seen.drain(..seen.len().saturating_sub(line.len() - 1));
        }
        assert_eq!(answers, awaited);
    }
}

/// Says at its end that it is over.
struct Told<'a>(&'a AtomicBool);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A client with a key checks over one connection until `meanwhile` has ended; `meanwhile` is told how
/// many answers it has had.
fn beside(server: &Server, meanwhile: impl FnOnce(&AtomicUsize)) {
    let (over, answers) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut connection = Connection::new(server.url());
            while !over.load(Ordering::Acquire) {
                let body = json!({"agent": "control", "intent": "i", "direction": "outbound",
                    "purpose": "service"});
                let request = post(CHECK, KEY, None, &body.to_string());
                let (status, text) = connection.ask(&request).expect("the server answers");
                assert_eq!(status, 200, "{text}");
                answers.fetch_add(1, Ordering::AcqRel);
            }
        });
        let _told = Told(&over);
        meanwhile(&answers);
    });
}

fn goes_on(answers: &AtomicUsize) {
    let enough = answers.load(Ordering::Acquire) + ANSWERS;
    until("answers to the client beside", || {
        (answers.load(Ordering::Acquire) >= enough).then_some(())
    });
}

/// The document's tag: who sends it is answered without a body.
fn tag(server: &Server) -> String {
    let mut stream = connect(server);
    stream
        .write_all(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        .expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let tag = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("etag").then(|| value.to_owned())
    });
    tag.expect("a tag")
}

#[test]
fn who_pipelines_and_never_reads_takes_a_bounded_part_and_stops_nobody() {
    // Longer than this takes on any machine.
    let server = start("answer_stalled_ms_max = 3_600_000\n");
    let tag = tag(&server);
    let get = |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\n{more}\r\n");
    let unchanged = get("/openapi.json", &format!("if-none-match: {tag}\r\n"));
    let kinds = [
        (get("/openapi.json", ""), 60, "200 OK"),
        (get("/metrics", ""), 200, "200 OK"),
        (get("/healthz", ""), 1_000, "200 OK"),
        (get("/v1/sources/me", ""), 1_000, "401 Unauthorized"),
        (unchanged, 20_000, "304 Not Modified"),
        (get("/", ""), 20_000, "404 Not Found"),
    ];
    let before = server.resident("VmRSS:");
    let allowed = before + OTHER_BYTES + CONNECTIONS as u64 * CONNECTION_BYTES;
    beside(&server, |answers| {
        goes_on(answers);
        for (request, count, status) in kinds {
            let request = request.as_bytes();
            let all = request.repeat(count);
            let mut deaf: Vec<Deaf> = (0..CONNECTIONS).map(|_| Deaf::new(&server, &all)).collect();
            // What it still reads of them it reads while the client beside is answered.
            for _ in 0..3 {
                goes_on(answers);
                deaf.iter_mut().for_each(|it| it.send(&all));
            }
            let most = server.resident("VmHWM:");
            figure(format_args!(
                "{status} to {} bytes: {} MiB resident before, {} at most, {} allowed",
                request.len(),
                before >> 20,
                most >> 20,
                allowed >> 20
            ));
            assert!(most < allowed, "{status}: {before} bytes became {most}");
            let last = deaf.pop().expect("many");
            drop(deaf);
            last.hear(request, status);
        }
    });
    assert_eq!(server.get("/readyz", "").status, 200);
}

#[test]
fn who_takes_nothing_of_an_answer_is_let_go_at_its_time() {
    let server = start("answer_stalled_ms_max = 1000\n");
    let sockets = || {
        let open = std::fs::read_dir(format!("/proc/{}/fd", server.pid()));
        let links = open.expect("the server runs").flatten();
        let links = links.filter_map(|it| it.path().read_link().ok());
        let is_socket = |link: &std::path::PathBuf| link.to_string_lossy().starts_with("socket:");
        links.filter(is_socket).count()
    };
    beside(&server, |answers| {
        goes_on(answers);
        let rest = sockets();
        let requests = b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(200);
        let deaf: Vec<Deaf> = (0..50).map(|_| Deaf::new(&server, &requests)).collect();
        until("they are held", || (sockets() > rest).then_some(()));
        until("no socket is left", || (sockets() <= rest).then_some(()));
        drop(deaf);
        goes_on(answers);
    });
}
