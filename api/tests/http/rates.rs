//! How many commands a key may send. The limits are so that nothing comes back within a test, so
//! no test waits.

use interlock_api::limits::ApiLimits;
use serde_json::json;

use crate::client::Answered;
use crate::node::{BATCH, CHECK, DECLARE, KEY_A, KEY_B, KEY_C, Node, check};
use crate::observed;

/// One command a second, and `burst_s` of them at once.
fn node(burst_s: u32) -> Node {
    let limits = ApiLimits {
        commands_per_key_per_s: 1,
        burst_per_key_s: burst_s,
        ..ApiLimits::default()
    };
    Node::with(limits, true)
}

fn batch(of: usize) -> serde_json::Value {
    json!({ "checks": vec![check(); of] })
}

/// Refused with word of when to come back, at most `seconds_max` later.
fn refused(answer: Answered, seconds_max: u64) {
    let wait = answer.header("retry-after").expect("a header").to_owned();
    let wait_s: u64 = wait.parse().expect("whole seconds");
    assert!((1..=seconds_max).contains(&wait_s), "{wait}");
    let problem = answer.problem(429, "rate_limited");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("wait as `Retry-After` says"), "{detail}");
}

#[test]
fn a_key_beyond_its_rate_is_told_to_wait_and_another_goes_on() {
    let node = node(1_000);
    assert_eq!(node.post(BATCH, &batch(500)).status, 200);
    assert_eq!(node.post(BATCH, &batch(500)).status, 200);
    refused(node.post(BATCH, &batch(500)), 500);
    assert_eq!(node.post_as(KEY_B, CHECK, &check()).status, 200);
    let text = observed::metrics();
    assert!(text.contains("interlock_rate_limited_total"), "{text}");
}

#[test]
fn every_route_counts_and_a_refused_request_reserves_nothing() {
    let node = node(2);
    // Larger than the burst, so it goes at once and the key waits minutes for it.
    assert_eq!(node.post(BATCH, &batch(300)).status, 200);
    let known = node.world.entities();
    for path in [CHECK, BATCH, DECLARE, "/v1/coordination/effects"] {
        // The body is not read: what is wrong with it is not told before the rate is.
        refused(node.post(path, &json!({"no": "body"})), 300);
    }
    assert_eq!(node.world.entities(), known);
}

#[test]
fn who_may_not_ask_is_told_so_first() {
    let node = node(1);
    assert_eq!(node.post(BATCH, &batch(300)).status, 200);
    node.post_as(KEY_C, CHECK, &check())
        .problem(403, "forbidden");
    node.post_as("nobody", CHECK, &check())
        .problem(401, "unauthenticated");
    refused(node.post(CHECK, &check()), 300);
    let profile = node.get("/v1/sdk/profile", Some(KEY_A));
    assert_eq!(profile.status, 200, "what a key is can be asked");
}

#[test]
fn without_a_rate_nobody_is_refused() {
    let node = Node::start();
    for _ in 0..5 {
        assert_eq!(node.post(BATCH, &batch(500)).status, 200);
    }
}
