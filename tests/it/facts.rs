//! The end of a fact on a real server: its keys lie on all shards, and one record frees them. It is
//! true after a kill, and a repeat of it frees nothing more.
//!
//! Not here: what the end does to each state of a key (`domain`), and who may tell it (`api`).

use serde_json::{Value, json};

use crate::harness::{Server, Setup};

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const CONSOLE: &str = "nia_sk_test_br1_conformance_d_rolesecret000001";
const EFFECTS: &str = "/v1/coordination/effects";
const END: &str = "/v1/operator/facts/end";
/// As many as an object may have, and one of them stays open.
const KEYS: usize = 256;

fn seed() -> String {
    let mut seed: Value = serde_json::from_str(SEED).expect("the seed is JSON");
    let rules = &mut seed["spaces"][0]["coordination"];
    rules["effects"]["effect_key_of_fact"] = json!(["delivery"]);
    seed.to_string()
}

fn matter() -> Value {
    json!({"type": "matter", "namespace": "registry", "id": "m1"})
}

fn reserve(server: &Server, number: usize, once: &str) -> (u16, Value) {
    let body = json!({"effect_key": format!("notice-{number}"), "kind": "delivery",
        "fact": matter()});
    let answer = server.post_once(EFFECTS, KEY, &format!("{once}-{number}"), &body);
    (answer.status, answer.json())
}

fn end(server: &Server) -> Value {
    let answer = server.post_once(END, CONSOLE, "end", &json!({"object": matter()}));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn one_record_frees_the_keys_of_a_fact_on_all_shards() {
    let server = Setup::new()
        .seed(&seed())
        .test_clock("2026-01-05T12:00:00Z")
        .shards(5)
        .start();
    for number in 0..KEYS {
        let (status, effect) = reserve(&server, number, "first");
        assert_eq!(status, 201, "{effect}");
        if number > 0 {
            let id = effect["effect_id"].as_str().expect("an id");
            let path = format!("{EFFECTS}/{id}/settle");
            let done = json!({"attempt": 1, "state": "done"});
            let settled = server.post_once(&path, KEY, &format!("done-{number}"), &done);
            assert_eq!(settled.status, 200, "{settled:?}");
        }
    }
    let (status, full) = reserve(&server, KEYS, "more");
    assert_eq!((status, &full["code"]), (409, &json!("target_full")));
    let server = server.kill().shards(2).start();
    let ended = end(&server);
    assert_eq!(ended, json!({"freed": KEYS - 1, "kept": 1}));
    let server = server.kill().shards(3).start();
    for number in 1..KEYS {
        let (status, effect) = reserve(&server, number, "again");
        assert_eq!((status, &effect["attempt"]), (201, &json!(1)), "{effect}");
    }
    let (status, open) = reserve(&server, 0, "again");
    assert_ne!(status, 201, "{open}");
    assert_eq!(end(&server), ended, "a repeat is not another end");
    let (status, tied) = reserve(&server, 1, "once-more");
    assert_eq!((status, &tied["code"]), (409, &json!("effect_in_flight")));
}
