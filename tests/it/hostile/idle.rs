//! Connections on which nothing comes: idle ones are held up to the bound and let go at their time,
//! and so are those whose peer vanished in the middle of a request.
//!
//! Here: what the server holds is counted from outside, as its open sockets. Not here: peers that send
//! something now and then, or never read (`hostile`).

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{CHECK_BODY, CONFIG, IDLE_BYTES, SEED, beside, connect, first_status, request};
use crate::harness::{Server, Setup, Until, until};

const IDLE: usize = 10_000;
const WORKERS: usize = 2;

/// A server with so many connections for each of two workers, which it lets go after so many seconds.
fn start(per_worker_max: usize, keep_alive_s: u64) -> Server {
    let server = format!(
        "[server]\nhttp_workers = {WORKERS}\nconnections_per_worker_max = {per_worker_max}\n\
         keep_alive_s = {keep_alive_s}\n"
    );
    let setup = Setup::new().seed(SEED).config(&format!("{CONFIG}{server}"));
    setup.shards(2).start()
}

/// This process and the servers it starts from now on may have so many files open.
fn open_files(wanted: u64) {
    let limit = getrlimit(Resource::Nofile);
    assert!(
        limit.maximum.is_none_or(|most| most >= wanted),
        "the tests need {wanted} open files: raise the hard limit (`ulimit -Hn`)"
    );
    let raised = Rlimit {
        current: Some(limit.current.unwrap_or(0).max(wanted)),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).expect("within the hard limit");
}

/// How many sockets the server has open.
fn sockets(server: &Server) -> usize {
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("the server runs");
    let is_socket = |link: std::path::PathBuf| link.to_string_lossy().starts_with("socket:");
    // One that closes meanwhile has no link any more.
    let links = open.flatten().filter_map(|it| it.path().read_link().ok());
    links.filter(|link| is_socket(link.clone())).count()
}

/// How many sockets the server has while only the client beside it is connected.
fn at_rest(server: &Server, asked: &AtomicUsize) -> usize {
    until("the client beside", || {
        (asked.load(Ordering::Acquire) > 0).then_some(())
    });
    sockets(server)
}

/// The client beside gets so many more answers.
fn goes_on(asked: &AtomicUsize, answers: usize) {
    let enough = asked.load(Ordering::Acquire) + answers;
    until("answers to the client beside", || {
        (asked.load(Ordering::Acquire) >= enough).then_some(())
    });
}

/// Asks for the health, whose answer has to come, and leaves the connection open.
fn ask(stream: &mut TcpStream) {
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n")
        .expect("a request");
    let mut seen = Vec::new();
    let mut some = [0; 1_024];
    // To the end of a body that is one JSON object.
    while !seen.ends_with(b"}") {
        let count = stream.read(&mut some).expect("an answer");
        assert_ne!(count, 0, "closed before an answer: {seen:?}");
        seen.extend_from_slice(&some[..count]);
    }
    assert!(seen.starts_with(b"HTTP/1.1 200 "), "{seen:?}");
}

/// So many connections, each of which has had an answer; opened by four at a time.
fn opened(server: &Server, count: usize) -> Vec<TcpStream> {
    std::thread::scope(|scope| {
        let openers: Vec<_> = (0..4)
            .map(|opener| {
                scope.spawn(move || {
                    let own = (opener..count).step_by(4);
                    let open = own.map(|_| {
                        let mut stream = connect(server);
                        ask(&mut stream);
                        stream
                    });
                    open.collect::<Vec<_>>()
                })
            })
            .collect();
        let opened = openers.into_iter();
        opened
            .flat_map(|opener| opener.join().expect("an opener"))
            .collect()
    })
}

#[test]
fn ten_thousand_idle_connections_are_held_and_others_are_served() {
    open_files(IDLE as u64 + 1_000);
    let server = start(6_000, 130);
    let bytes = IDLE as u64 * IDLE_BYTES;
    beside("10,000 idle connections", &server, bytes, |asked| {
        let rest = at_rest(&server, asked);
        // Longer than the other test's server keeps them.
        let over = Until::after(Duration::from_secs(6));
        let mut open = opened(&server, IDLE);
        assert_eq!(sockets(&server), rest + IDLE, "all are held at once");
        goes_on(asked, 100);
        assert_eq!(server.client().get("/readyz", "").status, 200);
        until("the time they are held", || over.is_over().then_some(()));
        for stream in open.iter_mut().step_by(100) {
            ask(stream);
        }
        assert!(sockets(&server) >= rest + IDLE, "all are still held");
    });
    assert_eq!(server.get("/readyz", "").status, 200);
}

#[test]
fn idle_connections_are_let_go_at_their_time() {
    const OPEN: usize = 2_000;
    open_files(IDLE as u64 + 1_000);
    let server = start(6_000, 1);
    let bytes = OPEN as u64 * IDLE_BYTES;
    beside("idle connections let go", &server, bytes, |asked| {
        let rest = at_rest(&server, asked);
        let open = opened(&server, OPEN);
        // One that never says anything is let go as a head that does not come is.
        let silent: Vec<TcpStream> = (0..100).map(|_| connect(&server)).collect();
        for mut stream in open {
            let count = stream.read(&mut [0]).expect("the server ends it");
            assert_eq!(count, 0, "an end and nothing else");
        }
        for mut stream in silent {
            assert!(matches!(first_status(&mut stream), 0 | 408));
        }
        until("no socket is left", || {
            (sockets(&server) <= rest).then_some(())
        });
    });
}

#[test]
fn connections_beyond_the_bound_wait_until_others_are_let_go() {
    const PER_WORKER: usize = 64;
    const CLIENTS: usize = 500;
    let server = start(PER_WORKER, 1);
    let bytes = (WORKERS * PER_WORKER) as u64 * IDLE_BYTES;
    beside(
        "more connections than there may be",
        &server,
        bytes,
        |asked| {
            let rest = at_rest(&server, asked);
            let (over, most) = (AtomicBool::new(false), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !over.load(Ordering::Acquire) {
                        most.fetch_max(sockets(&server), Ordering::AcqRel);
                        std::thread::park_timeout(Duration::from_millis(5));
                    }
                });
                let mut waiting: Vec<TcpStream> = (0..CLIENTS).map(|_| connect(&server)).collect();
                // Every one gets its answer, those beyond the bound when others have gone. All stay open.
                for stream in &mut waiting {
                    ask(stream);
                }
                over.store(true, Ordering::Release);
            });
            let most = most.into_inner() - rest;
            // The client beside is one of those that are held.
            let bound = WORKERS * PER_WORKER - 1;
            assert!(
                (bound / 2..=bound).contains(&most),
                "{most} were held at once, the bound is {bound}"
            );
            goes_on(asked, 50);
        },
    );
}

#[test]
fn who_vanishes_in_the_middle_of_a_request_is_let_go() {
    let server = start(4_096, 130);
    let halves: [&[u8]; 4] = [
        b"",
        b"POST /v1/coordination/check HTTP/1.1\r\nhost: te",
        &request("content-length: 4000\r\n", b""),
        &request("content-length: 4000\r\n", &CHECK_BODY[..20]),
    ];
    const EACH: usize = 100;
    let bytes = (halves.len() * EACH) as u64 * IDLE_BYTES;
    beside("peers that vanish", &server, bytes, |asked| {
        let rest = at_rest(&server, asked);
        // They neither close nor read, as a machine that lost its power.
        let mut open = Vec::new();
        for half in halves {
            for _ in 0..EACH {
                let mut stream = connect(&server);
                stream.write_all(half).expect("a beginning");
                open.push(stream);
            }
        }
        until("they were seen", || (sockets(&server) > rest).then_some(()));
        until("no socket is left", || {
            (sockets(&server) <= rest).then_some(())
        });
        // Only now does anybody look: each was told why, or closed.
        for stream in &mut open {
            let mut seen = Vec::new();
            if let Err(error) = stream.read_to_end(&mut seen) {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
            }
            assert!(
                seen.is_empty() || seen.starts_with(b"HTTP/1.1 408 "),
                "{}",
                String::from_utf8_lossy(&seen)
            );
        }
    });
}
