//! Whole runs against a small server of the test's own.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Parser as _;

use super::*;
use crate::options::Options;

/// Answers every request with `answer`, which gets the number of checks asked and of ids given out.
fn serve(answer: fn(u64, u64) -> String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let ids = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let ids = Arc::clone(&ids);
            thread::spawn(move || answer_all(stream, &ids, answer));
        }
    });
    url
}

fn answer_all(mut stream: TcpStream, ids: &AtomicU64, answer: fn(u64, u64) -> String) {
    let mut bytes = vec![0; 1 << 20];
    let mut filled = 0;
    loop {
        let Ok(count @ 1..) = stream.read(&mut bytes[filled..]) else {
            return;
        };
        filled += count;
        let text = String::from_utf8_lossy(&bytes[..filled]);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .split("Content-Length: ")
            .nth(1)
            .and_then(|rest| rest.trim().parse().ok());
        if length.is_none_or(|length: usize| body.len() < length) {
            continue;
        }
        let checks = body.matches("\"agent\":").count() as u64;
        let reply = answer(checks, ids.fetch_add(checks, Ordering::Relaxed));
        filled = 0;
        if stream.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

fn reply(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn all_allowed(checks: u64, ids: u64) -> String {
    let one = |index: u64| {
        let id = ids + index;
        format!(
            r#"{{"decision_id":"0192f5a0-0000-7000-8000-{id:012x}","decision":"allow","reasons":[],
            "effect":{{"state":"none","attempt":1}},"valid_for_s":60}}"#
        )
    };
    let results: Vec<_> = (0..checks).map(one).collect();
    reply(
        "200 OK",
        &format!("{{\"results\":[{}]}}", results.join(",")),
    )
}

fn report(url: &str, line: &str) -> Report {
    let line = format!("loadtest {line} --key k --seconds 0.2 --warm-up 0.05 --url {url}");
    let options = Options::try_parse_from(line.split(' ')).expect("a good line");
    run(&options.plans().expect("plans")[0]).expect("a run")
}

#[test]
fn right_answers_pass_and_are_counted() {
    let report = report(
        &serve(all_allowed),
        "batch --batch 20 --order-probes 0 --connections 2",
    );
    assert!(report.passed(), "{report}");
    assert!(
        report.checks >= 20 && report.checks.is_multiple_of(20),
        "{report}"
    );
    assert_eq!(report.decisions["allow"], report.checks);
}

#[test]
fn a_server_that_grants_one_effect_twice_fails() {
    let report = report(&serve(all_allowed), "batch --batch 20 --connections 1");
    assert!(
        !report.passed() && report.faults.invalid_answers > 0,
        "{report}"
    );
}

#[test]
fn a_refusal_for_load_fails_unless_allowed() {
    let sometimes = |checks: u64, ids: u64| {
        if (ids / checks).is_multiple_of(2) {
            reply("429 Busy", "{}")
        } else {
            all_allowed(checks, ids)
        }
    };
    let url = serve(sometimes);
    let line = "batch --batch 2 --order-probes 0 --connections 1";
    let refused = report(&url, line);
    assert!(!refused.passed() && refused.faults.refused > 0, "{refused}");
    assert!(report(&url, &format!("{line} --allow-refusals")).passed());
}

#[test]
fn nobody_at_the_other_end_fails() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let report = report(&url, "single --connections 1");
    assert!(
        !report.passed() && report.faults.broken_connections > 0,
        "{report}"
    );
}

#[test]
fn an_open_loop_keeps_near_its_rate() {
    let line = "batch --batch 10 --order-probes 0 --connections 2 --target-rate 2000";
    let report = report(&serve(all_allowed), line);
    assert!(report.passed(), "{report}");
    // 0.2 s at 2,000/s are 400 checks; a busy machine may leave some unsent, none may be added.
    assert!(report.checks + report.faults.unsent * 10 <= 420, "{report}");
    assert!(report.checks >= 10, "{report}");
}

#[test]
fn a_wrong_key_ends_the_run_at_its_first_answer() {
    let refuse = |_: u64, _: u64| reply("401 Unauthorized", "{\"code\":\"unauthenticated\"}");
    let report = report(&serve(refuse), "batch --batch 2 --connections 3");
    assert!(!report.passed(), "{report}");
    assert_eq!(report.faults.statuses.get(&401), Some(&3));
    assert_eq!(report.faults.first.len(), 1);
}
