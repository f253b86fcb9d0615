//! The proof that no answer leaves before its record is synced, on the real server.
//!
//! Here: `strace` on a running server, requests one at a time, and for each answer: a write to the
//! database file, a sync of that same file that returned 0, then the answer
//! (`docs/storage.md` §1.5.12). A machine without `strace` fails the test: `cargo xtask test`
//! installs it.

use std::process::{Child, Command, Stdio};

use interlock_storage::suite::trace::{Call, parse, prove_synced};
use serde_json::json;

use crate::harness::{Server, Setup, until};
use crate::raw::{Connection, post};

const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");
const REQUESTS: usize = 100;

/// Pitfall 33.
#[test]
fn every_answer_comes_after_the_sync_of_its_record() {
    let server = Setup::new().seed(SEED).shards(2).start();
    let trace = server.data().home().join("trace");
    let mut tracer = attach(&server, &trace);
    let mut connection = Connection::new(server.url());
    // One more than is asked for: the trace may end in the middle of the last one.
    for number in 0..=REQUESTS {
        let body = json!({
            "agent": "prover", "intent": "follow_up", "direction": "outbound",
            "purpose": "service", "effect_key": format!("proof-{number}"),
            "subject": {"type": "phone_e164", "value": format!("+55119{:08}", 70_000_000 + number)},
        });
        let request = post("/v1/coordination/check", KEY, None, &body.to_string());
        let (status, text) = connection.ask(&request).expect("an answer");
        assert_eq!(status, 200, "{text}");
    }
    detach(&mut tracer);
    let text = std::fs::read_to_string(&trace).expect("strace wrote its trace");
    let calls = parse(&text).expect("a trace");
    let database = server.data().path().join("log/db");
    let database = database.canonicalize().expect("the database exists");
    let proven = prove_synced(&calls, &database, &is_answer).expect("synced before answered");
    assert!(proven >= REQUESTS, "{proven} answers seen in the trace");
}

fn is_answer(call: &Call) -> bool {
    let sends = ["sendto", "write", "writev", "sendmsg"].contains(&call.name.as_str());
    sends && call.arguments.contains("HTTP/1.1 200")
}

/// Traces a running server; returns once every thread is traced.
fn attach(server: &Server, trace: &std::path::Path) -> Child {
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.pid()))
        .expect("the server runs")
        .count();
    let said = server.data().home().join("strace");
    let log = std::fs::File::create(&said).expect("a file in the test's directory");
    let tracer = Command::new("strace")
        .args(["-f", "-y", "-s", "32", "-e"])
        .arg("trace=pwrite64,fdatasync,fsync,sendto,write,writev,sendmsg")
        .arg("-o")
        .arg(trace)
        .arg("-p")
        .arg(server.pid().to_string())
        .stdin(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("strace is installed: run `cargo xtask setup`");
    until("strace attached to every thread", || {
        let said = std::fs::read_to_string(&said).unwrap_or_default();
        (said.matches("attached").count() >= threads || said.contains("attached with"))
            .then_some(())
    });
    tracer
}

/// Ends the tracing; the server runs on.
fn detach(tracer: &mut Child) {
    let pid = i32::try_from(tracer.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let pid = pid.expect("a child has an id");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the child is ours");
    tracer.wait().expect("the child is ours");
}
