//! Clients that left before they were heard (`docs/spec/contact.md` §4.5).

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::Setup;
use crate::raw::{Connection, post};

const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");
const CLIENTS: usize = 60;

fn check(number: usize, direction: &str) -> Value {
    json!({
        "agent": "hasty", "intent": "follow_up", "direction": direction, "purpose": "service",
        "effect_key": format!("gone-{number}"),
    })
}

#[test]
fn a_client_that_left_before_it_was_heard_reserves_nothing() {
    let server = Setup::new().seed(SEED).shards(2).start();
    let address = server.url().strip_prefix("http://").expect("in the clear");
    server.signal_stop();
    for number in 0..CLIENTS {
        let mut stream = TcpStream::connect(address).expect("the kernel takes it");
        let body = check(number, "outbound").to_string();
        let request = post("/v1/coordination/check", KEY, None, &body);
        stream.write_all(&request).expect("the kernel takes it");
    }
    server.signal_continue();
    // The server hears connections in the order they came: this one is after all of them.
    let mut connection = Connection::new(server.url());
    let mut ask = |body: &Value| {
        let request = post("/v1/coordination/check/batch", KEY, None, &body.to_string());
        let (status, text) = connection.ask(&request).expect("an answer");
        assert_eq!(status, 200, "{text}");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    for number in 0..CLIENTS {
        ask(&json!({"checks": [check(CLIENTS + number, "outbound")]}));
    }
    let checks: Vec<Value> = (0..CLIENTS)
        .map(|number| check(number, "inbound"))
        .collect();
    let answer = ask(&json!({"checks": checks}));
    let held = answer["results"].as_array().expect("results").iter();
    let held = held
        .filter(|result| result["effect"]["state"] != "none")
        .count();
    assert_eq!(held, 0, "of {CLIENTS} keys are reserved for nobody");
}
