//! Whole runs against a small server of the test's own.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::*;
use crate::arrivals::STEADY;
use crate::checks::Checks;
use crate::template::{Customers, Shape};

/// Answers every request with `answer`, which gets the number of checks asked and of ids given out.
fn serve(answer: fn(u64, u64) -> String) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let ids = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let ids = Arc::clone(&ids);
            thread::spawn(move || answer_all(stream, &ids, answer));
        }
    });
    Endpoint::new(&url, "k").expect("an address")
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

fn shape(batch: usize, order_probes: usize) -> Shape {
    Shape {
        batch: Some(batch),
        purpose: "service".to_owned(),
        channel: "whatsapp".to_owned(),
        gateway: None,
        effects: true,
        customers: Customers::Spread(1_000),
        objects: 1_000,
        order_probes,
        seed: 1,
        run: 1,
    }
}

/// A run of so many requests.
fn report(at: &Endpoint, shape: &Shape, connections: u64, requests: u64) -> Run {
    carried_out(at, shape, connections, None, Some(requests))
}

/// A run that ends by its requests, or after a quarter of a second.
fn carried_out(
    at: &Endpoint,
    shape: &Shape,
    connections: u64,
    rate: Option<f64>,
    limit: Option<u64>,
) -> Run {
    try_out(at, shape, connections, rate, limit).expect("a run")
}

fn try_out(
    at: &Endpoint,
    shape: &Shape,
    connections: u64,
    rate: Option<f64>,
    limit: Option<u64>,
) -> Result<Run, String> {
    let script = |connection| Ok(Box::new(Checks::new(shape, at, connection)) as Box<_>);
    let pace = rate.map_or(Pace::Closed, |rate| Pace::Open {
        per_second: rate / shape.checks() as f64,
        profile: STEADY,
    });
    let plan = Plan {
        name: "test".to_owned(),
        about: String::new(),
        at,
        process: None,
        data: None,
        connections,
        first_connection: 0,
        pace,
        warm_up: Duration::ZERO,
        measured: limit.map_or(Duration::from_millis(250), |_| Duration::from_secs(300)),
        limit,
        unit: "checks",
        batch: shape.checks() as f64,
        steps: &["check"],
        may_break: false,
        shown: false,
        script: &script,
    };
    run(&plan)
}

#[test]
fn right_answers_pass_and_are_counted() {
    let run = report(&serve(all_allowed), &shape(20, 0), 2, 30);
    assert!(run.passed(), "{run:?}");
    assert_eq!((run.count, run.requests), (600, 30), "{run:?}");
    assert_eq!(run.decisions["allow"], run.count);
    assert_eq!((run.pace, run.rate), (Loop::Closed, None));
    let counted = run.throughput.expect("a rate").per_second * run.seconds;
    assert!((counted - 600.0).abs() < 1e-3, "{run:?}");
}

#[test]
fn a_server_that_grants_one_effect_twice_gets_no_rate() {
    let run = report(&serve(all_allowed), &shape(20, 1), 1, 3);
    assert!(!run.passed() && run.throughput.is_none(), "{run:?}");
    assert!(run.faults.wrong_answers > 0, "{run:?}");
}

#[test]
fn a_refusal_for_load_is_counted_and_no_wrong_answer() {
    let at = serve(|checks, ids| {
        if (ids / checks).is_multiple_of(2) {
            reply("429 Busy", "{}")
        } else {
            all_allowed(checks, ids)
        }
    });
    let run = report(&at, &shape(2, 0), 1, 10);
    assert!(run.passed(), "{run:?}");
    assert_eq!((run.faults.refused, run.requests), (5, 5), "{run:?}");
    assert_eq!(run.faults.statuses.get(&429), Some(&run.faults.refused));
}

#[test]
fn what_is_undecided_is_not_counted_as_decided() {
    let at = serve(|_, ids| {
        let id = format!("0192f5a0-0000-7000-8000-{ids:012x}");
        let one = format!(
            r#"{{"decision_id":"{id}","decision":"defer","reasons":["unavailable"],"valid_for_s":0}}"#
        );
        reply("200 OK", &format!("{{\"results\":[{one}]}}"))
    });
    let run = report(&at, &shape(1, 0), 1, 4);
    assert_eq!(
        (run.count, run.undecided, run.requests),
        (0, 4, 4),
        "{run:?}"
    );
}

#[test]
fn nobody_at_the_other_end_fails() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let at = Endpoint::new(&url, "k").expect("an address");
    let told = try_out(&at, &shape(1, 0), 1, None, Some(3)).expect_err("nobody answers");
    assert!(
        told.starts_with("connection: ")
            && told.contains("refused")
            && told.ends_with("nothing could be measured"),
        "{told}"
    );
}

#[test]
fn an_open_loop_keeps_its_rate() {
    let started = Instant::now();
    let at = serve(all_allowed);
    let run = carried_out(&at, &shape(10, 0), 2, Some(2_000.0), Some(40));
    assert!(run.passed(), "{run:?}");
    assert_eq!((run.pace, run.rate), (Loop::Open, Some(2_000.0)));
    assert_eq!((run.requests, run.faults.unsent), (40, 0), "{run:?}");
    // The fortieth is due 39 steps of 5 ms after the start, and never sooner.
    assert!(started.elapsed() >= Duration::from_millis(195), "{run:?}");
}

#[test]
fn a_slow_server_cannot_hide_from_an_open_loop() {
    let at = serve(|checks, ids| {
        // The slowness is what is tried here.
        thread::park_timeout(Duration::from_millis(20));
        all_allowed(checks, ids)
    });
    // 50 arrivals in 0.25 s for one connection that manages 12: the others wait to the end.
    let run = carried_out(&at, &shape(1, 0), 1, Some(200.0), None);
    assert!(run.passed() && run.faults.unsent > 20, "{run:?}");
    assert!(run.latency.count >= run.faults.unsent, "{run:?}");
    assert!(run.latency.p50_ms > 60.0, "{:?}", run.latency);
}

#[test]
fn a_wrong_key_ends_the_run_at_its_first_answer() {
    let refuse = |_: u64, _: u64| reply("401 Unauthorized", "{\"code\":\"unauthenticated\"}");
    let run = report(&serve(refuse), &shape(2, 0), 3, 300);
    assert!(!run.passed(), "{run:?}");
    assert_eq!(run.faults.statuses.get(&401), Some(&3));
    assert_eq!(run.faults.first.len(), 1);
}
