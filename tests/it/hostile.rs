//! Clients that mean harm or do not know better: each gets a clear 4xx or a closed connection within
//! its time, memory stays bounded, and a client beside them goes on being answered.
//!
//! Here: bytes on a connection. Not here: bodies of JSON one by one (`api/tests/http/malformed.rs`),
//! generated ones (`cargo xtask schema`), who may ask (`api/tests/http/doors.rs`).

mod idle;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::harness::{PATIENCE, Server, Setup, figure, stopwatch};
use crate::raw::{Connection, post};

const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");
const CHECK: &str = "/v1/coordination/check";
const CONFIG: &str = "[deadlines]\nhead_read_ms_max = 1000\nbody_read_ms_max = 1000\n\
    [limits]\nbodies_bytes_max = 16_777_216\n[history]\nqueue_bytes_max = 1_048_576\n";
/// The most of the settings above: bodies that are held, and commits that wait for history.
const SETTINGS_BYTES: u64 = (16 << 20) + (1 << 20);
/// What the client beside makes the server keep: the engine's caches, of the log and of a day of
/// history, and the memory that goes back and forth between them.
const STORAGE_BYTES: u64 = (64 << 20) + (8 << 20);
/// The most that a connection takes of the server while a request is on it: 128 KiB of what was read
/// and 32 KiB of a body that nobody has taken, and 160 KiB of answers that are not taken.
const CONNECTION_BYTES: u64 = 320 << 10;
/// The most that a connection takes on which little comes: its two buffers of 8 KiB, and its state.
const IDLE_BYTES: u64 = 24 << 10;

fn start() -> Server {
    Setup::new().seed(SEED).config(CONFIG).shards(2).start()
}

fn connect(server: &Server) -> TcpStream {
    let address = server.url().trim_start_matches("http://");
    let stream = TcpStream::connect(address).expect("the server listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket option");
    stream
        .set_write_timeout(Some(PATIENCE))
        .expect("a socket option");
    stream
}

/// Sends, and gives the status of the first answer; 0 when the connection was closed without one.
/// A write the server no longer reads is no failure.
fn answer(server: &Server, bytes: &[u8]) -> u16 {
    let mut stream = connect(server);
    let mut written = 0;
    while written < bytes.len() {
        match stream.write(&bytes[written..]) {
            Ok(count) if count > 0 => written += count,
            Ok(_) | Err(_) => break,
        }
    }
    first_status(&mut stream)
}

fn first_status(stream: &mut TcpStream) -> u16 {
    let mut seen = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return 0,
            Ok(count) => seen.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return 0,
            Err(error) => panic!("neither an answer nor an end: {error}"),
        }
        let text = String::from_utf8_lossy(&seen);
        if let Some(line) = text.split_once("\r\n").map(|(line, _)| line) {
            let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
            return status.unwrap_or_else(|| panic!("no HTTP: {line}"));
        }
    }
}

/// Says at its end that the harm is over.
struct Told<'a>(&'a AtomicBool);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Does harm while a client beside it checks over one connection, which must go on; says how long
/// its checks took and what memory became. Memory may grow by what the settings allow and by `bytes`,
/// the most that the harm's connections take. The harm is told how many answers the client has had.
fn beside(what: &str, server: &Server, bytes: u64, harm: impl FnOnce(&AtomicUsize)) {
    let (before, stop) = (server.resident("VmRSS:"), AtomicBool::new(false));
    let asked = AtomicUsize::new(0);
    let mut took = std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            let mut connection = Connection::new(server.url());
            let mut took = Vec::new();
            while !stop.load(Ordering::Acquire) || took.len() < 50 {
                let body = json!({"agent": "control", "intent": "i", "direction": "outbound",
                    "purpose": "service", "effect_key": format!("{what} {}", took.len())});
                let request = post(CHECK, KEY, None, &body.to_string());
                let watch = stopwatch();
                let (status, text) = connection.ask(&request).expect("the server answers");
                took.push(watch());
                assert_eq!(status, 200, "beside {what}: {text}");
                asked.store(took.len(), Ordering::Release);
                std::thread::park_timeout(Duration::from_millis(1));
            }
            took
        });
        {
            // Also where the harm fails the test: the client beside it must end.
            let _told = Told(&stop);
            harm(&asked);
        }
        client.join().expect("the client beside")
    });
    took.sort_unstable();
    let after = server.resident("VmHWM:");
    let growth_max = SETTINGS_BYTES + STORAGE_BYTES + bytes;
    figure(format_args!(
        "{what}: {} checks beside it, p50 {:?}, {}; {} MiB resident before, {} at most, {} \
         allowed; {}",
        took.len(),
        took[took.len() / 2],
        slowest(&took),
        before >> 20,
        after >> 20,
        (before + growth_max) >> 20,
        conditions()
    ));
    assert!(
        after < before + growth_max,
        "{what}: {before} bytes became {after}"
    );
}

/// How long the slowest hundredth took; of fewer than a hundred there is none, so the slowest of all.
fn slowest(took: &[Duration]) -> String {
    let (count, worst) = (took.len(), took.last().expect("some"));
    if count < 100 {
        return format!("the slowest of {count} {worst:?}");
    }
    format!("p99 {:?}, the slowest {worst:?}", took[count * 99 / 100])
}

/// What a figure was taken under.
fn conditions() -> String {
    let build = if cfg!(debug_assertions) {
        "debug build"
    } else {
        "release build"
    };
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    format!("{build}, {cores} cores, load {load}")
}

/// A request line, some headers, and what follows the empty line.
fn request(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {CHECK} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {KEY}\r\ncontent-type: \
         application/json\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn sized(body: &[u8]) -> Vec<u8> {
    request(&format!("content-length: {}\r\n", body.len()), body)
}

/// What is sent, its bytes, and the answers that are right; 0 is a closed connection.
type Row = (&'static str, Vec<u8>, &'static [u16]);

const CHECK_BODY: &[u8] =
    br#"{"agent":"a","intent":"i","direction":"outbound","purpose":"service"}"#;

/// Heads that are too much or are none.
fn heads() -> Vec<Row> {
    let flood: String = (0..5_000).map(|it| format!("x-{it}: y\r\n")).collect();
    let wide = format!("x: {}\r\n", "y".repeat(1 << 20));
    let text = |text: &str| text.as_bytes().to_vec();
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03abcdefgh\r\n\r\n".to_vec();
    let preface = text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let lines = text("GET /healthz HTTP/1.1\nhost: test\n\n");
    vec![
        ("5,000 headers", request(&flood, b""), &[400, 431, 0]),
        (
            "a header of a megabyte",
            request(&wide, b""),
            &[400, 431, 0],
        ),
        ("HTTP/2 without asking", preface, &[400, 505, 0]),
        ("a TLS hello", hello, &[400, 0]),
        (
            "a version that is none",
            text("GET / HTTP/9.9\r\n\r\n"),
            &[400, 505, 0],
        ),
        ("a zero byte in a header", request("x: \0\r\n", b""), &[400]),
        ("bare line feeds", lines, &[200, 400]),
    ]
}

/// Bodies whose end is not clear, as in smuggling.
fn framing() -> Vec<Row> {
    let length = CHECK_BODY.len();
    let chunked = |body: &[u8]| request("transfer-encoding: chunked\r\n", body);
    let sizes = |headers: String| request(&headers, CHECK_BODY);
    let both = format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n");
    let inner = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: test\r\n\r\n";
    let two = format!("content-length: {length}\r\ncontent-length: 3\r\n");
    let gzip = format!("content-encoding: gzip\r\ncontent-length: {length}\r\n");
    let more = format!("content-length: {}\r\n", length + 5);
    let coding = "transfer-encoding: gzip\r\n".to_owned();
    vec![
        ("a length beside chunks", request(&both, inner), &[400]),
        ("two lengths", sizes(two), &[400]),
        (
            "a length below zero",
            request("content-length: -1\r\n", b""),
            &[400],
        ),
        (
            "a length that is none",
            request("content-length: 0x10\r\n", b""),
            &[400],
        ),
        (
            "a chunk whose size is none",
            chunked(b"zz\r\n{}\r\n0\r\n\r\n"),
            &[400],
        ),
        (
            "a chunk longer than it says",
            chunked(b"1\r\n{}\r\n0\r\n\r\n"),
            &[400],
        ),
        (
            "a chunk beyond 64 bits",
            chunked(b"fffffffffffffffff\r\n"),
            &[400],
        ),
        ("an unknown coding", sizes(coding), &[400, 411, 501]),
        ("a gzip body", sizes(gzip), &[400, 415]),
        ("no length", request("", CHECK_BODY), &[400, 411, 422]),
        (
            "100 MB by its length",
            request("content-length: 100000000\r\n", b"{"),
            &[413],
        ),
        ("half a body", sizes(more), &[400, 408, 0]),
    ]
}

/// Bodies that are no JSON anybody should believe.
fn bodies() -> Vec<Row> {
    let deep = [b"{\"agent\":".to_vec(), vec![b'['; 60_000]].concat();
    let digits = [b"{\"agent\":".to_vec(), vec![b'9'; 60_000], b"}".to_vec()].concat();
    vec![
        ("nested 60,000 deep", sized(&deep), &[400, 422]),
        ("a number of 60,000 digits", sized(&digits), &[400, 422]),
        (
            "twice the same member",
            sized(br#"{"agent":"a","agent":"b"}"#),
            &[422],
        ),
        ("no UTF-8", sized(b"{\"agent\":\"\xff\xfe\"}"), &[400, 422]),
        (
            "a lone surrogate",
            sized(br#"{"agent":"\ud800"}"#),
            &[400, 422],
        ),
        (
            "a number beyond all",
            sized(br#"{"agent":1e999999}"#),
            &[400, 422],
        ),
    ]
}

#[test]
fn what_is_no_request_is_refused_or_closed() {
    let server = start();
    beside("malformed requests", &server, CONNECTION_BYTES, |_| {
        for (what, bytes, right) in [heads(), framing(), bodies()].concat() {
            let status = answer(&server, &bytes);
            assert!(
                right.contains(&status),
                "{what}: {status}, right are {right:?}"
            );
        }
    });
    assert_eq!(server.get("/readyz", "").status, 200);
}

#[test]
fn what_is_hidden_in_a_body_is_not_answered() {
    let server = start();
    let inner = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: test\r\n\r\n";
    let both = format!(
        "content-length: {}\r\ntransfer-encoding: chunked\r\n",
        inner.len()
    );
    let mut stream = connect(&server);
    stream
        .write_all(&request(&both, inner))
        .expect("a request and another in it");
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("the connection ends");
    let text = String::from_utf8_lossy(&all);
    assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
    assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{text}");
}

/// Chunks of `size` bytes until `total` were sent or the server stopped reading; what it answered.
fn flood(server: &Server, total: usize, size: usize) -> u16 {
    let mut stream = connect(server);
    let head = request("transfer-encoding: chunked\r\n", b"");
    stream.write_all(&head).expect("a head");
    let chunk = [
        format!("{size:x}\r\n").into_bytes(),
        vec![b' '; size],
        b"\r\n".to_vec(),
    ]
    .concat();
    let mut sent = 0;
    while sent < total && stream.write_all(&chunk).is_ok() {
        sent += size;
    }
    first_status(&mut stream)
}

#[test]
fn bodies_without_end_cost_little() {
    let server = start();
    let bytes = 4 * CONNECTION_BYTES;
    beside("bodies of 100 MB in chunks", &server, bytes, |_| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let status = flood(&server, 100_000_000, 64 << 10);
                    assert!(matches!(status, 413 | 0), "{status}");
                });
            }
        });
    });
}

/// A body of `length` blanks, as gzip.
fn bomb(length: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..length >> 20 {
        encoder.write_all(&blanks).expect("memory takes it");
    }
    encoder.finish().expect("memory takes it")
}

#[test]
fn a_body_that_grows_when_it_is_opened_costs_little() {
    let server = start();
    let bomb = bomb(128 << 20);
    assert!(bomb.len() < 1 << 20, "it is small on the wire");
    let headers = format!(
        "content-encoding: gzip\r\ncontent-length: {}\r\n",
        bomb.len()
    );
    let bytes = request(&headers, &bomb);
    let open = 8 * CONNECTION_BYTES;
    beside("bodies of 128 MB in gzip", &server, open, |_| {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        assert_eq!(answer(&server, &bytes), 413);
                    }
                });
            }
        });
    });
}

#[test]
fn who_is_slow_is_told_so_in_time() {
    let server = start();
    let bytes = 200 * IDLE_BYTES;
    beside("slow heads and bodies", &server, bytes, |_| {
        std::thread::scope(|scope| {
            for number in 0..200_usize {
                let server = &server;
                scope.spawn(move || {
                    let mut stream = connect(server);
                    let bytes = if number % 2 == 0 {
                        b"POST /v1/coordination/check HTTP/1.1\r\nhost: te".to_vec()
                    } else {
                        request("content-length: 4000\r\n", b"{\"agent\":")
                    };
                    stream.write_all(&bytes).expect("a beginning");
                    // A byte now and then keeps nothing open beyond the deadline.
                    let watch = stopwatch();
                    stream
                        .set_read_timeout(Some(Duration::from_millis(100)))
                        .expect("a socket option");
                    let mut byte = [0];
                    loop {
                        match stream.read(&mut byte) {
                            Ok(_) => break,
                            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                                assert!(watch() < PATIENCE, "it waits for ever");
                                if stream.write_all(b"a").is_err() {
                                    break;
                                }
                            }
                            Err(_) => break,
                        }
                    }
                });
            }
        });
    });
}

#[test]
fn who_never_reads_and_who_goes_in_the_middle_harm_nobody() {
    let server = start();
    let checks: Vec<_> = (0..100)
        .map(|it| {
            json!({"agent": "a", "intent": "i", "direction": "outbound", "purpose": "service",
                "object": {"type": "ticket", "namespace": "hostile", "id": it.to_string()}})
        })
        .collect();
    let body = json!({"checks": checks}).to_string();
    let batch = post("/v1/coordination/check/batch", KEY, None, &body);
    let bytes = 40 * CONNECTION_BYTES;
    beside("clients that never read", &server, bytes, |_| {
        let mut open = Vec::new();
        for _ in 0..40 {
            let mut stream = connect(&server);
            stream
                .set_write_timeout(Some(Duration::from_millis(200)))
                .expect("a socket option");
            // Until the server stops reading, for its answers are not taken.
            for _ in 0..200 {
                if stream.write_all(&batch).is_err() {
                    break;
                }
            }
            open.push(stream);
        }
        drop(open);
    });
    let bytes = CONNECTION_BYTES;
    beside("clients that go in mid-answer", &server, bytes, |_| {
        for number in 0..300 {
            let mut stream = connect(&server);
            stream.write_all(&batch).expect("a request");
            if number % 2 == 0 {
                let mut some = [0; 100];
                stream
                    .read_exact(&mut some)
                    .expect("the start of an answer");
            }
            stream.shutdown(Shutdown::Both).ok();
        }
    });
    assert_eq!(server.get("/readyz", "").status, 200);
}
