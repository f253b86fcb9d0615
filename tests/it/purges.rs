//! What is over goes, in bounded steps that `/metrics` shows, and a legal hold keeps it.
//!
//! Here: real servers whose clock is moved. Not here: what is over when (tables in `domain`), and
//! the steps one by one (`tests/sim/tests/sweeps.rs`).

use serde_json::{Value, json};

use crate::harness::{Client, Server, Setup, until};

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const CONSOLE: &str = "nia_sk_test_br1_conformance_d_rolesecret000001";
const NOON: &str = "2026-01-05T12:00:00Z";
const SPRING: &str = "2026-05-05T12:00:00Z";
const CHECK: &str = "/v1/coordination/check";

/// A step that is far smaller than what is to go.
fn setup() -> Setup {
    Setup::new()
        .test_clock(NOON)
        .config("[shards]\nsweep_entities_max = 10\n[history]\nwrite_interval_ms = 10\n")
        .seed(SEED)
}

fn check(subject: &str) -> Value {
    json!({"agent": "closing", "intent": "follow_up", "direction": "outbound",
        "purpose": "service", "channel": "whatsapp",
        "subject": {"type": "phone_e164", "value": subject}})
}

/// What `/metrics` has under a name with this label in it, summed over shards.
fn metric(client: &Client, name: &str, label: &str) -> f64 {
    let text = client.get("/metrics", "").text;
    let of_name = |line: &&str| {
        let named = line.strip_prefix(name);
        named.is_some_and(|rest| rest.starts_with(['{', ' '])) && line.contains(label)
    };
    text.lines()
        .filter(of_name)
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

/// Pitfall 28.
#[test]
fn many_that_are_over_go_while_decisions_are_made() {
    let server = setup().start();
    for batch in 0..2 {
        let numbers = (0..400).map(|number| check(&format!("+55119{batch}{number:07}")));
        let body = json!({"checks": numbers.collect::<Vec<_>>()});
        let answer = server.post("/v1/coordination/check/batch", KEY, &body);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let client = server.client();
    let customers = |name| metric(&client, name, "kind=\"customer\"");
    until("the customers to be counted", || {
        (customers("interlock_entities") >= 800.0).then_some(())
    });
    assert!(customers("interlock_purged_total") < 1.0);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let client = server.client();
            (0..50)
                .map(|number| {
                    client
                        .post(CHECK, KEY, &check(&format!("+551198{number:07}")))
                        .status
                })
                .collect::<Vec<_>>()
        });
        assert_eq!(server.set_clock(SPRING).status, 200);
        let statuses = asking.join().expect("the thread asks");
        assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    });
    until("all of them to go", || {
        (customers("interlock_purged_total") >= 800.0).then_some(())
    });
    until("the count of who is left", || {
        (customers("interlock_entities") <= 50.0).then_some(())
    });
}

fn days(server: &Server, name: &str) -> f64 {
    metric(&server.client(), name, "")
}

/// Who watches the disk learns of history while it grows, not at the next look for days that are to go.
#[test]
fn the_bytes_of_history_are_told_while_it_grows() {
    let server = setup().start();
    let one = check("+5511933330003");
    assert_eq!(server.post(CHECK, KEY, &one).status, 200);
    until("history to be written and told", || {
        let told = |name| days(&server, name) >= 1.0;
        (told("interlock_history_days") && told("interlock_history_bytes")).then_some(())
    });
}

#[test]
fn a_legal_hold_keeps_the_days_of_history_until_its_release() {
    let server = setup().start();
    assert_eq!(
        server.post(CHECK, KEY, &check("+5511933330001")).status,
        200
    );
    let hold = json!({"handle": {"type": "phone_e164", "value": "+5511933330001"}, "reason": "r"});
    let placed = server.post_once("/v1/legal-holds", CONSOLE, "hold", &hold);
    assert_eq!(placed.status, 201, "{placed:?}");
    let written = |server: &Server| {
        until("history to be written", || {
            (days(server, "interlock_history_lag_commits") < 1.0).then_some(())
        });
    };
    written(&server);
    // Days are looked at once in an hour of real time, and at every start.
    let server = server.kill().test_clock(SPRING).start();
    assert_eq!(
        server.post(CHECK, KEY, &check("+5511933330002")).status,
        200
    );
    until("a day that is over and held", || {
        (days(&server, "interlock_history_days_held") >= 1.0).then_some(())
    });
    let id = placed.json()["hold_id"].as_str().map(str::to_owned);
    let path = format!("/v1/legal-holds/{}/release", id.expect("an id"));
    let released = server.post(&path, CONSOLE, &json!({"reason": "over"}));
    assert_eq!(released.status, 200, "{released:?}");
    let server = server.kill().start();
    until("the day to go", || {
        (days(&server, "interlock_history_days_removed_total") >= 1.0).then_some(())
    });
    assert!(days(&server, "interlock_history_days_held") < 1.0);
    assert!(
        days(&server, "interlock_history_days") >= 1.0,
        "this day stays"
    );
}
