//! The last part of a disk: nothing is recorded any more, the node stays up, and goes on by itself.
//!
//! Here: a server that floods of refusals and opt-outs would fill to the last byte. Not here: the first
//! line, below which nothing new is reserved, and a disk that somebody else fills (`disk`).

use serde_json::{Value, json};

use crate::disk::Disk;
use crate::harness::{Server, until};

const AGENT: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const CONSOLE: &str = "nia_sk_test_br1_conformance_d_rolesecret000001";
const SPACE: &str = "0192f5a0-0000-7000-8000-00000000a004";
const CHECK: &str = "/v1/coordination/check";
const BATCH: &str = "/v1/coordination/check/batch";
const DECLARE: &str = "/v1/coordination/declare";
const EFFECTS: &str = "/v1/coordination/effects";
const LIST: &str = "/v1/suppressions";

const MIB: u64 = 1 << 20;
/// A quarter of the 64 MiB of `free_bytes_min`: the last part.
const LAST: u64 = 16 * MIB;

fn phone(number: u32) -> Value {
    json!({"type": "phone_e164", "value": format!("+55119{:08}", 61_000_000 + number)})
}

fn check(number: u32, purpose: &str) -> Value {
    json!({
        "agent": "closing", "intent": "follow_up", "direction": "outbound",
        "purpose": purpose, "channel": "whatsapp", "subject": phone(number),
    })
}

/// An opt-out of everything.
fn opt_out(server: &Server, number: u32) -> (u16, Value) {
    let detail = json!({"purpose": "any", "reason": "opt_out"});
    let body = json!({"kind": "suppression.added", "agent": "crm", "detail": detail,
        "subject": phone(number)});
    let answer = server.post_once(DECLARE, AGENT, &format!("out-{number}"), &body);
    (answer.status, answer.json())
}

fn reserve(server: &Server, key: &str) -> (u16, Value) {
    let body = json!({"effect_key": key, "kind": "external_action"});
    let answer = server.post_once(EFFECTS, AGENT, key, &body);
    (answer.status, answer.json())
}

fn settle(server: &Server, effect: &Value, once: &str) -> (u16, Value) {
    let path = format!(
        "{EFFECTS}/{}/settle",
        effect["effect_id"].as_str().expect("an id")
    );
    let body = json!({"attempt": 1, "state": "done"});
    let answer = server.post_once(&path, AGENT, once, &body);
    (answer.status, answer.json())
}

fn propose(server: &Server) -> (u16, Value) {
    let body = json!({
        "space_id": SPACE, "type": "features", "document": {"enabled": []},
        "reason": "a test",
    });
    let answer = server.post("/v1/config/diffs", CONSOLE, &body);
    (answer.status, answer.json())
}

/// It is refused, and the sentence says what to do.
fn names_the_disk((status, answer): (u16, Value)) {
    assert_eq!(
        (status, &answer["code"]),
        (503, &json!("coordination_unavailable")),
        "{answer}"
    );
    let detail = answer["detail"].as_str().expect("a sentence");
    assert!(detail.contains("make room on the disk"), "{detail}");
}

/// What a verb says where the disk is, and its code at the end.
fn verb(disk: &Disk, words: &str) -> String {
    let program = env!("CARGO_BIN_EXE_interlock");
    disk.read(&format!(
        "'{program}' {words} --data disk/data 2>&1; echo \"code $?\""
    ))
}

/// Asks in batches for a customer who objected, until nothing is recorded any more.
fn flood(server: &Server) -> usize {
    let client = server.client();
    let checks = vec![check(0, "marketing"); 200];
    let mut batches = 0;
    until("the end of the room", || {
        batches += 1;
        let answer = client.post(BATCH, AGENT, &json!({ "checks": checks }));
        assert_eq!(answer.status, 200, "{answer:?}");
        let results = answer.json()["results"].take();
        let results = results.as_array().expect("a list").iter();
        let denied = results.clone().filter(|one| one["decision"] == "deny");
        let held = results
            .clone()
            .filter(|one| one["decision"] == "defer" && one["reasons"] == json!(["unavailable"]));
        assert_eq!(denied.count() + held.clone().count(), 200);
        (held.count() == 200).then_some(())
    });
    batches
}

/// A key of the space: the key, and its id.
fn new_key(disk: &Disk) -> (String, String) {
    let words = format!("keys create --space {SPACE} --source console --json");
    let made = verb(disk, &words);
    let made: Value = serde_json::from_str(made.trim_end_matches("code 0")).expect("a key");
    let text = |name: &str| made[name].as_str().expect("a text").to_owned();
    (text("key"), text("key_id"))
}

/// Between the lines: nothing new, but who objects is heard, and so is what was done.
fn expect_the_first_line(disk: &Disk, server: &Server, effect: &Value) {
    disk.leave(LAST + 8 * MIB);
    let mut number = 0;
    until("the first line", || {
        number += 1;
        (reserve(server, &format!("none-{number}")).0 == 503).then_some(())
    });
    assert_eq!(opt_out(server, 1).0, 200);
    assert_eq!(settle(server, effect, "done-one").0, 200);
    let denied = server.post(CHECK, AGENT, &check(0, "service")).json();
    assert_eq!(denied["decision"], "deny");
    let batches = flood(server);
    // Records of a turn pass the bound by one for each shard; the engine's own writes end at once.
    let free = disk.free();
    assert!(batches > 1 && free > LAST / 2, "{batches} batches, {free}");
}

/// In the last part nothing is recorded: not by a request, an edit or a verb.
fn expect_nothing_recorded(disk: &Disk, server: &Server, effect: &Value) {
    names_the_disk(opt_out(server, 3));
    names_the_disk(settle(server, effect, "done-two"));
    names_the_disk(propose(server));
    names_the_disk(reserve(server, "never"));
    let batch = json!({"checks": [check(0, "service"), check(1, "service")]});
    let answer = server.post(BATCH, AGENT, &batch);
    names_the_disk((answer.status, answer.json()));
    let answer = server.post(CHECK, AGENT, &check(0, "service"));
    names_the_disk((answer.status, answer.json()));
    let words = format!("keys create --space {SPACE} --source console");
    let told = verb(disk, &words);
    assert!(
        told.ends_with("code 13") && told.contains("make room"),
        "{told}"
    );
}

/// Reads, and what is told from memory, go on: a repeat under its key, the list, an explanation. A key
/// is revoked down to the last byte: it may be the one that floods.
fn expect_reads(disk: &Disk, server: &Server, effect: &Value, (key, key_id): (&str, &str)) {
    assert_eq!(opt_out(server, 0).0, 200);
    assert_eq!(reserve(server, "one"), (201, effect.clone()));
    assert_eq!(server.get(LIST, AGENT).status, 200);
    assert_eq!(server.get("/readyz", "").status, 200);
    let shown = verb(disk, &format!("keys list --space {SPACE}"));
    assert!(
        shown.ends_with("code 0") && shown.contains(key_id),
        "{shown}"
    );
    assert_eq!(server.get("/v1/sources/me", key).status, 200);
    let told = verb(disk, &format!("keys revoke {key_id} --space {SPACE}"));
    assert!(told.ends_with("code 0"), "{told}");
    assert_eq!(server.get("/v1/sources/me", key).status, 401);
}

#[test]
fn a_flood_of_refusals_leaves_the_last_part_of_the_disk_and_the_node_up() {
    let disk = Disk::new();
    let server = disk.setup.start();
    let (key, key_id) = new_key(&disk);
    assert_eq!(opt_out(&server, 0).0, 200);
    let [first, second] = ["one", "two"].map(|key| {
        let (status, effect) = reserve(&server, key);
        assert_eq!(status, 201, "{effect}");
        effect
    });
    expect_the_first_line(&disk, &server, &first);
    // Nobody has made room, and nothing changed meanwhile. A little less, and it is the second line.
    disk.leave(LAST - 4 * MIB);
    until("the second line", || {
        (opt_out(&server, 2).0 == 503).then_some(())
    });
    server.stderr_line("the disk is full but for its last part");
    let free = disk.free();
    expect_nothing_recorded(&disk, &server, &second);
    expect_reads(&disk, &server, &first, (&key, &key_id));
    for _ in 0..20 {
        flood(&server);
    }
    let left = disk.free();
    assert!(left + MIB > free, "{left} of {free} are left");
    // With room all goes on, in the same process.
    disk.leave(u64::MAX);
    until("room", || (opt_out(&server, 3).0 == 200).then_some(()));
    assert_eq!(settle(&server, &second, "done-two").0, 200);
    assert_eq!(propose(&server).0, 201);
    until("room for what is new", || {
        (reserve(&server, "new").0 == 201).then_some(())
    });
    server.stderr_line("decisions are recorded again");
    let ended = server.terminate();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
