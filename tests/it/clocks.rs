//! Time goes wrong: the machine's clock steps, at run and at start, and a server stands still for a
//! while.
//!
//! Here: `libfaketime` in front of a real server, whose wall clock is what a file says while the
//! monotonic one goes on; and SIGSTOP under load. What is asserted is what users would lose: a unit
//! that comes back, a lease that ends early, an effect that happens twice. Not here: arbitrary clocks
//! (`tests/sim`), the arithmetic of node time (`actors/src/clock.rs`).

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Server, Setup, count, figure, until};
use crate::raw::{Connection, post};

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const CHECK: &str = "/v1/coordination/check";
const CLAIMS: &str = "/v1/coordination/claims";
const EFFECTS: &str = "/v1/coordination/effects";
const HOUR_S: i64 = 3_600;
/// Ten years, with their leap days.
const TEN_YEARS_S: i64 = 3_653 * 24 * HOUR_S;

/// A server whose wall clock is off by what [`turn`] says; zero at first.
fn setup() -> Setup {
    let libraries = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    ];
    let library = libraries.into_iter().find(|it| Path::new(it).exists());
    let library = library.expect("libfaketime is missing; `cargo xtask setup` installs it");
    let setup = Setup::new().seed(SEED).shards(2);
    let file = setup.data().home().join("wall");
    turn(&setup, 0);
    setup
        .environment("LD_PRELOAD", library)
        .environment("FAKETIME_TIMESTAMP_FILE", file)
        .environment("FAKETIME_NO_CACHE", "1")
        .environment("FAKETIME_DONT_FAKE_MONOTONIC", "1")
}

/// Puts the wall clock so many seconds ahead of the machine's.
fn turn(setup: &Setup, seconds: i64) {
    // Renamed into place: a reader never finds half of it.
    let fresh = setup.data().write("wall.new", &format!("{seconds:+}\n"));
    std::fs::rename(fresh, setup.data().home().join("wall")).expect("a rename");
}

fn subject() -> Value {
    json!({"type": "phone_e164", "value": "+5511961110001"})
}

fn check(agent: &str, members: &Value) -> Value {
    let mut check = json!({"agent": agent, "intent": "follow_up", "direction": "outbound",
        "purpose": "service", "channel": "voice", "subject": subject()});
    let members = members.as_object().expect("members").clone();
    check.as_object_mut().expect("a check").extend(members);
    check
}

/// Spends the customer's one unit, reserves an effect and claims the customer for a day.
fn prepare(server: &Server) {
    let spent = check("first", &json!({"purpose": "retention"}));
    let answer = server.post(CHECK, KEY, &spent).json();
    assert_eq!(answer["decision"], "allow", "{answer}");
    let effect = json!({"effect_key": "before", "kind": "external_action"});
    assert_eq!(
        server.post_once(EFFECTS, KEY, "before", &effect).status,
        201
    );
    let claim = json!({"kind": "owner", "holder": "holder", "lease_s": 86_400,
        "subject": subject()});
    let claimed = server.post_once(CLAIMS, KEY, "claim", &claim);
    assert_eq!(claimed.status, 201, "{claimed:?}");
}

/// Nothing that [`prepare`] took is free again. `unit` is what the customer's spent unit is told: a
/// node that suspects its clock defers what fails closed.
fn all_is_held(server: &Server, when: &str, unit: &str) {
    let spent = check("holder", &json!({"purpose": "retention"}));
    let spent = server.post(CHECK, KEY, &spent).json();
    assert_eq!(spent["reasons"], json!([unit]), "{when}: {spent}");
    assert_eq!(spent["contact_budget"]["retention"]["remaining"], 0);
    let owned = server.post(CHECK, KEY, &check("other", &json!({}))).json();
    assert_eq!(owned["reasons"], json!(["owner_active"]), "{when}: {owned}");
    assert_eq!(owned["owner"]["holder"], "holder", "{when}: {owned}");
    let effect = json!({"effect_key": "before", "kind": "external_action"});
    let again = server.post_once(EFFECTS, KEY, &format!("again {when}"), &effect);
    // In flight, or later of an unknown outcome: nobody reserves it.
    let state = again.json()["state"].clone();
    assert!(
        again.status == 409 || state == "unknown_outcome",
        "{when}: {again:?}"
    );
}

/// How far the server finds its wall clock from its own time, in milliseconds.
fn skew(server: &Server) -> i64 {
    let metrics = server.get("/metrics", KEY).text;
    let name = "interlock_clock_skew_milliseconds ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    let skew: f64 = line.expect("the metric").parse().expect("a number");
    skew as i64
}

/// Pitfalls 1, 3.
#[test]
fn a_wall_clock_that_steps_moves_no_window_no_lease_and_no_effect() {
    let server = setup().start();
    prepare(&server);
    for step in [HOUR_S, -HOUR_S, TEN_YEARS_S, -TEN_YEARS_S] {
        let when = format!("{step:+} s");
        turn(&server.setup(), step);
        // The step is noticed, and shown, and whoever balances load is told.
        until(&when, || (skew(&server).abs() > 2_000).then_some(()));
        let off = skew(&server) / 1_000 - step;
        assert!(off.abs() < 60, "{when}: the metric is {off} s off");
        until(&when, || {
            (server.get("/readyz", "").status == 503).then_some(())
        });
        assert!(server.get("/readyz", "").text.contains("clock_suspect"));
        all_is_held(&server, &when, "unavailable");
        turn(&server.setup(), 0);
        until(&when, || {
            (server.get("/readyz", "").status == 200).then_some(())
        });
    }
    all_is_held(&server, "the end", "budget_exhausted");
}

#[test]
fn a_start_with_a_clock_that_is_off_asks_the_operator() {
    let server = setup().start();
    prepare(&server);
    let setup = server.kill();
    // (what the clock is off by, what the message says); an hour ahead is a server that was off.
    let refused = [
        (-HOUR_S, "behind the last record"),
        (-TEN_YEARS_S, "behind the last record"),
        (TEN_YEARS_S, "days ahead of the last record"),
    ];
    for (step, says) in refused {
        turn(&setup, step);
        let ended = setup.start_refused();
        assert_eq!(ended.code, Some(8), "{step}: {ended:?}");
        let said = ended.stderr.join(" ");
        assert!(
            said.contains(says) && said.contains("--accept-clock"),
            "{said}"
        );
    }
    // Behind, and the operator knows: time goes on from the last record.
    turn(&setup, -TEN_YEARS_S);
    let accepting = setup.clone().argument("--accept-clock");
    let server = accepting.start();
    all_is_held(&server, "ten years back", "budget_exhausted");
    server.kill();
    turn(&setup, HOUR_S);
    let server = setup.start();
    all_is_held(&server, "an hour on", "budget_exhausted");
    server.kill();
    // Off for ten years, says the operator: then everything has ended, and nothing breaks.
    turn(&setup, TEN_YEARS_S);
    let server = accepting.start();
    let unit = check("holder", &json!({"purpose": "retention"}));
    let unit = server.post(CHECK, KEY, &unit).json();
    assert_eq!(unit["decision"], "allow", "{unit}");
}

/// Effects that a thread reserved: number and status; 0 where no answer came, for the server closes a
/// connection whose request was cut in two by the stop.
type Reserved = Vec<(u64, u16)>;

fn reserve(server: &Server, next: &AtomicU64, stop: &AtomicBool) -> Reserved {
    let mut connection = None;
    let mut seen = Vec::new();
    while !stop.load(Ordering::Acquire) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let effect = json!({"effect_key": format!("e-{number}"), "kind": "external_action"});
        let once = format!("r-{number}");
        let request = post(EFFECTS, KEY, Some(&once), &effect.to_string());
        let mut open = connection
            .take()
            .unwrap_or_else(|| Connection::new(server.url()));
        let status = match open.ask(&request) {
            Ok((status, _)) => {
                connection = Some(open);
                status
            }
            Err(_) => 0,
        };
        seen.push((number, status));
    }
    seen
}

/// Pitfall 17.
#[test]
fn a_server_that_stands_still_grants_nothing_twice() {
    // Longer than the longest wait for the disk, which a stop is not.
    let seconds = count("INTERLOCK_STOP_S", 31) as u64;
    let server = Setup::new().seed(SEED).shards(2).start();
    let claim = |holder: &str| json!({"kind": "owner", "holder": holder, "lease_s": 3, "subject": subject()});
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let (first, seen) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| reserve(&server, &next, &stop)))
            .collect();
        let first = server.post_once(CLAIMS, KEY, "first", &claim("first"));
        assert_eq!(first.status, 201, "{first:?}");
        until("load", || {
            (next.load(Ordering::Relaxed) > 100).then_some(())
        });
        server.signal_stop();
        // How long it stands is what is tested; nothing waits for anything here.
        std::thread::park_timeout(Duration::from_secs(seconds));
        server.signal_continue();
        let then = next.load(Ordering::Relaxed);
        until("more load", || {
            (next.load(Ordering::Relaxed) > then + 100).then_some(())
        });
        stop.store(true, Ordering::Release);
        let seen: Vec<Reserved> = threads
            .into_iter()
            .map(|thread| thread.join().expect("load"))
            .collect();
        (first.json(), seen)
    });
    let mut reserved = 0;
    for (number, status) in seen.into_iter().flatten() {
        assert!(matches!(status, 201 | 503 | 0), "e-{number}: {status}");
        let effect = json!({"effect_key": format!("e-{number}"), "kind": "external_action"});
        let other = server.post_once(EFFECTS, KEY, &format!("o-{number}"), &effect);
        // 503 says that nothing was recorded, so somebody else gets it.
        let right: &[u16] = match status {
            201 => &[409],
            503 => &[201],
            _ => &[201, 409],
        };
        assert!(
            right.contains(&other.status),
            "e-{number} was {status}: {other:?}"
        );
        reserved += u64::from(status == 201);
    }
    figure(format_args!("{seconds} s stopped, {reserved} taken once"));
    // The lease ran out while the server stood still; who had it is told.
    let second = until("the lease ends", || {
        let once = format!("second-{}", next.fetch_add(1, Ordering::Relaxed));
        let answer = server.post_once(CLAIMS, KEY, &once, &claim("second"));
        (answer.status == 201).then(|| answer.json())
    });
    assert!(second["epoch"].as_u64() > first["epoch"].as_u64());
    let path = format!(
        "{CLAIMS}/{}/release",
        first["claim_id"].as_str().expect("an id")
    );
    // Who had it may say late that it is over; under the epoch of who has it now, nothing is given back.
    let own = json!({"epoch": first["epoch"]});
    let own = server.post_once(&path, KEY, "own", &own);
    assert_eq!(own.status, 200, "{own:?}");
    let others = json!({"epoch": second["epoch"]});
    let others = server.post_once(&path, KEY, "others", &others);
    assert_eq!(others.status, 409, "{others:?}");
    let held = server.post(CHECK, KEY, &check("first", &json!({}))).json();
    assert_eq!(held["owner"]["holder"], "second", "{held}");
}
