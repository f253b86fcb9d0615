//! Clients that left before they were heard (`docs/spec/contact.md` §4.5).

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::{Server, Setup};
use crate::raw::post;

const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");
const CLIENTS: usize = 100;
const ROUNDS: usize = 5;
const HEARD: usize = 50;

fn check(number: usize, direction: &str) -> Value {
    json!({
        "agent": "hasty", "intent": "follow_up", "direction": direction, "purpose": "service",
        "effect_key": format!("gone-{number}"),
    })
}

/// Pitfall 30.
#[test]
fn a_client_that_left_before_it_was_heard_reserves_nothing() {
    let server = Setup::new().seed(SEED).start();
    let held: usize = (0..ROUNDS).map(|round| round_of(&server, round)).sum();
    assert_eq!(
        held,
        0,
        "of {} keys are reserved for nobody",
        ROUNDS * CLIENTS
    );
}

/// Clients ask and leave while the server hears nothing; answers how many reservations they left.
fn round_of(server: &Server, round: usize) -> usize {
    let address = server.url().strip_prefix("http://").expect("in the clear");
    let numbers = round * CLIENTS..(round + 1) * CLIENTS;
    server.signal_stop();
    for number in numbers.clone() {
        let mut stream = TcpStream::connect(address).expect("the kernel takes it");
        let body = check(number, "outbound").to_string();
        let request = post("/v1/coordination/check", KEY, None, &body);
        stream.write_all(&request).expect("the kernel takes it");
    }
    server.signal_continue();
    // Connections are heard in the order they came: once these are answered, on every worker, so
    // are those before them.
    for _ in 0..HEARD {
        assert_eq!(server.client().get("/healthz", "").status, 200);
    }
    let checks: Vec<Value> = numbers.map(|number| check(number, "inbound")).collect();
    let body = json!({"checks": checks});
    let answer = server
        .client()
        .post("/v1/coordination/check/batch", KEY, &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    let results = answer["results"].as_array().expect("results").iter();
    results
        .filter(|result| result["effect"]["state"] != "none")
        .count()
}
