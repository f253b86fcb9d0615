//! The suppression list of a real server: over kills and other numbers of shards, right after an
//! answer, and with another salt.
//!
//! Not here: pages and cursors (`api`'s own tests) and what an entry stops (`domain`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Client, Server, Setup};
use crate::verbs::{facts, verb};

const SEED: &str = include_str!("../conformance/space.json");
const KEY_A: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const KEY_B: &str = "nia_sk_test_br1_conformance_b_crmsecret0000001";
const DECLARE: &str = "/v1/coordination/declare";
const SALT: &str = "/v1/suppressions/salt";

fn declare(client: &Client, key: &str, who: u32, kind: &str, detail: &Value) -> bool {
    let value = format!("+55119{:08}", 60_000_000 + who);
    let body = json!({"kind": kind, "agent": "crm", "detail": detail,
        "subject": {"type": "phone_e164", "value": value}});
    let answer = client.post_once(DECLARE, key, &format!("{kind}-{who}-{detail}"), &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["accepted"] == true
}

fn add(client: &Client, key: &str, who: u32) {
    let detail = json!({"purpose": "marketing", "reason": "opt_out"});
    assert!(declare(client, key, who, "suppression.added", &detail));
}

fn lift(client: &Client, key: &str, who: u32) {
    let detail = json!({"purpose": "marketing"});
    assert!(declare(client, key, who, "suppression.lifted", &detail));
}

/// Everything from a cursor on, in pages of seven, and the cursor after it.
fn read(client: &Client, key: &str, mut cursor: Option<String>) -> (Vec<Value>, String) {
    let mut items = Vec::new();
    loop {
        let from = cursor.map_or(String::new(), |cursor| format!("&cursor={cursor}"));
        let answer = client.get(&format!("/v1/suppressions?limit=7{from}"), key);
        assert_eq!(answer.status, 200, "{answer:?}");
        let page = answer.json();
        let next = page["next_cursor"].as_str().expect("a cursor").to_owned();
        let found = page["items"].as_array().expect("items").clone();
        let is_last = found.len() < 7;
        items.extend(found);
        if is_last {
            return (items, next);
        }
        cursor = Some(next);
    }
}

/// Both sources' lists.
fn lists(server: &Server) -> [Vec<Value>; 2] {
    [KEY_A, KEY_B].map(|key| read(&server.client(), key, None).0)
}

#[test]
fn the_list_is_the_same_after_kills_whatever_the_shards() {
    let mut server = Setup::new().seed(SEED).shards(1).start();
    let client = server.client();
    for who in 0..30 {
        add(&client, if who % 3 == 0 { KEY_B } else { KEY_A }, who);
    }
    lift(&client, KEY_B, 0);
    let (first, cursor) = read(&client, KEY_A, None);
    assert_eq!(first.len(), 29, "one of thirty is lifted");
    lift(&client, KEY_B, 3);
    lift(&client, KEY_A, 1);
    add(&client, KEY_A, 30);
    let before = lists(&server);
    let changes = read(&client, KEY_A, Some(cursor.clone())).0;
    assert_eq!((before[0].len(), changes.len()), (28, 3));
    let ids = |items: &[Value]| -> BTreeSet<String> {
        items.iter().map(|item| item["id"].to_string()).collect()
    };
    assert_eq!(ids(&before[0]), ids(&before[1]), "one list for all sources");
    for shards in [5, 1, 2] {
        server = server.kill().shards(shards).start();
        assert_eq!(lists(&server), before, "{shards} shards");
        let again = read(&server.client(), KEY_A, Some(cursor.clone())).0;
        assert_eq!(again, changes, "{shards} shards: from a cursor of before");
    }
    // What comes after a restart takes the next numbers.
    let (_, cursor) = read(&server.client(), KEY_A, None);
    add(&server.client(), KEY_A, 31);
    let later = read(&server.client(), KEY_A, Some(cursor)).0;
    assert_eq!(later.len(), 1);
}

#[test]
fn what_was_answered_is_in_the_next_page_whoever_reads() {
    let server = Setup::new().seed(SEED).shards(5).start();
    std::thread::scope(|scope| {
        for writer in 0..4_u32 {
            let server = &server;
            scope.spawn(move || {
                let (writes, reads) = (server.client(), server.client());
                let mut cursor = read(&reads, KEY_B, None).1;
                for round in 0..15_u32 {
                    // The end names the entry.
                    let until = format!("2037-{:02}-{:02}T00:00:00Z", writer + 1, round + 1);
                    let detail = json!({"purpose": "any", "reason": "opt_out", "until": until});
                    let who = 100 + writer * 100 + round % 5;
                    assert!(declare(&writes, KEY_A, who, "suppression.added", &detail));
                    let (items, next) = read(&reads, KEY_B, Some(cursor));
                    assert!(
                        items.iter().any(|item| item["until"] == until),
                        "{writer}/{round}: not in {items:?}"
                    );
                    cursor = next;
                }
            });
        }
    });
}

/// The words of the verb.
const fn rotated(source: &str) -> [&str; 6] {
    [
        "salts",
        "rotate",
        "--space",
        "conformance",
        "--source",
        source,
    ]
}

#[test]
fn s17_the_operator_rotates_a_salt_without_a_restart() {
    let setup = Setup::new().seed(SEED).shards(2);
    let server = setup.start();
    let client = server.client();
    let salt = |client: &Client, key: &str| client.get(SALT, key).json();
    add(&client, KEY_A, 1);
    let (before, cursor) = read(&client, KEY_A, None);
    let (old, others) = (salt(&client, KEY_A), salt(&client, KEY_B));
    let refused = verb(&setup, &rotated("nobody"));
    assert!(refused.line(13).contains("no such source"), "{refused:?}");
    assert_eq!(salt(&client, KEY_A), old);
    let done = facts(&setup, &rotated("agents"));
    assert_eq!(
        (&done["source"], &done["rotations"]),
        (&json!("agents"), &json!(1))
    );
    let new = salt(&client, KEY_A);
    assert_ne!(
        (&new["salt"], &new["salt_id"]),
        (&old["salt"], &old["salt_id"])
    );
    assert_eq!(salt(&client, KEY_B), others, "of this source alone");
    let path = format!("/v1/suppressions?cursor={cursor}");
    let page = client.get(&path, KEY_A).json();
    assert_eq!(
        (&page["reset"], &page["salt_id"]),
        (&json!(true), &new["salt_id"])
    );
    let item = &page["items"][0];
    assert_eq!(item["id"], before[0]["id"]);
    assert_ne!(item["key"], before[0]["key"]);
    let server = server.kill().start();
    assert_eq!(salt(&server.client(), KEY_A), new, "it is durable");
    assert_eq!(read(&server.client(), KEY_A, None).0[0], *item);
}
