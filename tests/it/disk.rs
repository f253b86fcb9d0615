//! The disk is full: refused before the write, and nothing acknowledged is lost.
//!
//! Here: a server on a small file system of its own (a tmpfs in a mount namespace that ends with the
//! test), which somebody else's file fills. Not here: a write that fails in mid-commit (`recovery`),
//! bytes that are wrong (`damage`).

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Server, Setup, until};

/// What nothing can be recorded is told as.
const UNAVAILABLE: &str = "coordination_unavailable";
const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
/// With the roles `analysis`, `security` and `integration`.
const CONSOLE: &str = "nia_sk_test_br1_conformance_d_rolesecret000001";
const CHECK: &str = "/v1/coordination/check";
const CLAIMS: &str = "/v1/coordination/claims";
const DECLARE: &str = "/v1/coordination/declare";
const ADMISSIONS: &str = "/v1/coordination/admissions";
const EFFECTS: &str = "/v1/coordination/effects";
/// How often what is held is freed: nearly full, nearly full after a kill, and full.
const ROUNDS: u64 = 3;
const DISK: &str = "160m";
const CONFIG: &str = "[storage]\ndata_dir = \"./disk/data\"\nfree_bytes_min = 67_108_864\n";

/// A small disk. Dropped, it is gone.
pub(crate) struct Disk {
    holder: Child,
    pub(crate) setup: Setup,
}

impl Disk {
    pub(crate) fn new() -> Self {
        let setup = Setup::new().seed(SEED).config(CONFIG).shards(2);
        let mount = format!(
            "mkdir disk && mount -t tmpfs -o size={DISK} none disk && echo mounted && exec cat"
        );
        let mut holder = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "bash", "-c", &mount])
            .current_dir(setup.data().home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare");
        let out = holder.stdout.take().expect("the pipe was asked for");
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).expect("a line");
        assert_eq!(
            line, "mounted\n",
            "no file system of its own can be mounted"
        );
        let setup = setup.clone().within(Self::inside(&holder, &setup));
        Self { holder, setup }
    }

    /// The command that runs what follows it where the disk is.
    fn inside(holder: &Child, setup: &Setup) -> Vec<OsString> {
        let target = holder.id().to_string();
        let enter = ["nsenter", "--target", &target, "--user", "--mount"];
        let mut words: Vec<OsString> = enter.into_iter().map(OsString::from).collect();
        words.extend(["bash", "-c", "cd \"$0\" && exec \"$@\""].map(OsString::from));
        words.push(setup.data().home().into());
        words
    }

    /// What a command says that runs where the disk is.
    pub(crate) fn read(&self, script: &str) -> String {
        let words = Self::inside(&self.holder, &self.setup);
        let mut command = Command::new(&words[0]);
        let output = command.args(&words[1..]).args(["bash", "-c", script]);
        let output = output.output().expect("nsenter");
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8(output.stdout)
            .expect("text")
            .trim()
            .to_owned()
    }

    pub(crate) fn free(&self) -> u64 {
        self.read("df --output=avail --block-size=1 disk | tail -1")
            .parse()
            .expect("a number")
    }

    /// Somebody else's file leaves so many bytes.
    pub(crate) fn leave(&self, bytes: u64) {
        self.read("rm -f disk/other");
        let take = self.free().saturating_sub(bytes);
        if take > 0 {
            self.read(&format!("fallocate --length {take} disk/other"));
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.holder.kill().ok();
        self.holder.wait().ok();
    }
}

fn effect(number: u64) -> Value {
    json!({"effect_key": format!("invoice-{number}"), "kind": "external_action"})
}

fn reserve(server: &Server, number: u64, once: &str) -> (u16, Value) {
    let answer = server.post_once(EFFECTS, KEY, &format!("{once}-{number}"), &effect(number));
    (answer.status, answer.json())
}

/// Everything acknowledged is there: nobody else gets it.
fn all_there(server: &Server, effects: &[(u64, Value)], once: &str) {
    for (number, _) in effects {
        let (status, answer) = reserve(server, *number, once);
        let done = answer["state"] == "done";
        assert!(status == 409 || done, "invoice-{number}: {status} {answer}");
    }
    told_again(server, effects);
}

/// Under its own key the first answer comes again.
fn told_again(server: &Server, effects: &[(u64, Value)]) {
    for (number, reserved) in effects {
        let again = server.post_once(EFFECTS, KEY, &format!("first-{number}"), &effect(*number));
        assert_eq!(again.json(), *reserved, "invoice-{number}");
    }
}

fn subject(round: u64) -> Value {
    json!({"type": "phone_e164", "value": format!("+551195556{round:04}")})
}

/// What one round frees.
struct Held {
    effects: Vec<Value>,
    claim: Value,
    admission: Value,
}

fn posted(server: &Server, path: &str, once: &str, body: &Value) -> Value {
    let answer = server.post_once(path, KEY, once, body);
    assert!(matches!(answer.status, 200 | 201), "{path}: {answer:?}");
    answer.json()
}

fn claim_of(round: u64) -> Value {
    json!({"kind": "owner", "holder": "bot", "lease_s": 86_400, "subject": subject(round)})
}

fn call_of(round: u64) -> Value {
    json!({"operation": "registry_search", "cost_units": 1, "subject": subject(round)})
}

/// A claim, a paid call, effects and a suppression.
fn hold(server: &Server, round: u64) -> Held {
    let added = json!({"kind": "suppression.added", "agent": "a", "subject": subject(round),
        "detail": {"purpose": "marketing", "reason": "opt_out"}});
    let added = posted(server, DECLARE, &format!("added-{round}"), &added);
    assert_eq!(added["accepted"], true, "{added}");
    let effects = (0..5).map(|number| {
        let number = 10_000 + 10 * round + number;
        posted(server, EFFECTS, &format!("held-{number}"), &effect(number))
    });
    Held {
        effects: effects.collect(),
        claim: posted(server, CLAIMS, &format!("claim-{round}"), &claim_of(round)),
        admission: posted(
            server,
            ADMISSIONS,
            &format!("call-{round}"),
            &call_of(round),
        ),
    }
}

/// Everything of it is settled, released and lifted, though nothing new is taken.
fn free(server: &Server, round: u64, held: &Held) {
    for (number, effect) in held.effects.iter().enumerate() {
        let id = effect["effect_id"].as_str().expect("an id");
        let state = ["done", "failed", "unknown_outcome"][number % 3];
        let body = json!({"attempt": 1, "state": state});
        let path = format!("{EFFECTS}/{id}/settle");
        posted(server, &path, &format!("settled-{round}-{number}"), &body);
    }
    let id = held.claim["claim_id"].as_str().expect("an id");
    let path = format!("{CLAIMS}/{id}/release");
    let body = json!({"epoch": held.claim["epoch"]});
    posted(server, &path, &format!("released-{round}"), &body);
    let id = held.admission["admission_id"].as_str().expect("an id");
    let path = format!("{ADMISSIONS}/{id}/settle");
    posted(
        server,
        &path,
        &format!("ended-{round}"),
        &json!({"state": "skipped"}),
    );
    let lifted = json!({"kind": "suppression.lifted", "agent": "a", "subject": subject(round),
        "detail": {"purpose": "marketing"}});
    let lifted = posted(server, DECLARE, &format!("lifted-{round}"), &lifted);
    assert_eq!(lifted["accepted"], true, "{lifted}");
}

/// Reads of every kind are answered, and nothing new of any kind is taken.
fn reads_and_refuses(server: &Server, round: u64, refusal: &str) {
    let reads = [
        ("/v1/suppressions", KEY),
        ("/v1/suppressions/salt", KEY),
        ("/v1/sdk/profile", KEY),
        ("/v1/sources/me", KEY),
        ("/v1/coordination/overview", CONSOLE),
        ("/v1/coordination/reports", CONSOLE),
        ("/v1/operator/effects/awaiting", CONSOLE),
        ("/v1/operator/legal-holds", CONSOLE),
        ("/readyz", ""),
        ("/metrics", ""),
    ];
    for (path, key) in reads {
        let answer = server.get(path, key);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
    let inbound = json!({"agent": "a", "intent": "i", "direction": "inbound", "purpose": "service",
        "subject": subject(round)});
    let answer = server.post(CHECK, KEY, &inbound);
    assert_eq!(
        (answer.status, &answer.json()["decision"]),
        (200, &json!("allow"))
    );
    let new = [
        (EFFECTS, effect(20_000 + round)),
        (CLAIMS, claim_of(100 + round)),
        (ADMISSIONS, call_of(100 + round)),
    ];
    for (path, body) in new {
        let answer = server.post_once(path, KEY, &format!("new-{round}"), &body);
        let code = &answer.json()["code"];
        assert_eq!((answer.status, code), (503, &json!(refusal)), "{path}");
    }
}

#[test]
fn a_full_disk_refuses_before_it_writes_and_loses_nothing() {
    let disk = Disk::new();
    let server = disk.setup.start();
    let first = |number| {
        let (status, answer) = reserve(&server, number, "first");
        assert_eq!(status, 201, "{answer}");
        (number, answer)
    };
    let reserved: Vec<(u64, Value)> = (0..50).map(first).collect();
    let held: Vec<Held> = (0..ROUNDS).map(|round| hold(&server, round)).collect();
    disk.leave(40 << 20);
    // Nearly full: nothing new, and it says so before it writes.
    let mut number = 1_000;
    let refused = until("a refusal", || {
        number += 1;
        let (status, answer) = reserve(&server, number, "first");
        (status != 201).then_some((status, answer))
    });
    assert_eq!((refused.0, &refused.1["code"]), (503, &json!("capacity")));
    // What is there can be settled, read and asked about.
    let settle = |server: &Server, number: usize| {
        let id = reserved[number].1["effect_id"].as_str().expect("an id");
        let body = json!({"attempt": 1, "state": "done"});
        let path = format!("{EFFECTS}/{id}/settle");
        server.post_once(&path, KEY, &format!("settle-{number}"), &body)
    };
    for number in 0..10 {
        assert_eq!(settle(&server, number).status, 200, "settle {number}");
    }
    free(&server, 0, &held[0]);
    reads_and_refuses(&server, 0, "capacity");
    // Killed there, it starts there: the bound keeps room for it.
    server.kill();
    let server = disk.setup.start();
    all_there(&server, &reserved, "nearly");
    until("it looked at the disk", || {
        let (status, answer) = reserve(&server, 2_000, "none");
        (status == 503 && answer["code"] == "capacity").then_some(())
    });
    free(&server, 1, &held[1]);
    reads_and_refuses(&server, 1, "capacity");
    // Quite full, by what somebody else wrote: a start works once, and says what it gave up.
    server.kill();
    disk.leave(0);
    let server = disk.setup.start();
    let said = server.stdout().join("\n");
    assert!(said.contains("given up for this start"), "{said}");
    // What that leaves is the last part, where only what is known is told.
    told_again(&server, &reserved);
    let (status, answer) = reserve(&server, 2_500, "none");
    assert_eq!((status, &answer["code"]), (503, &json!(UNAVAILABLE)));
    assert_eq!(settle(&server, 20).status, 503);
    reads_and_refuses(&server, 2, UNAVAILABLE);
    server.kill();
    disk.leave(0);
    let ended = disk.setup.start_refused();
    assert_eq!(ended.code, Some(10), "{ended:?}");
    assert!(ended.refusal().contains("No space left"), "{ended:?}");
    // With room again everything acknowledged is there, and new things are taken.
    disk.leave(u64::MAX);
    let server = disk.setup.start();
    all_there(&server, &reserved, "after");
    let (status, answer) = until("room", || {
        let (status, answer) = reserve(&server, 3_000, "room");
        (status != 503).then_some((status, answer))
    });
    assert_eq!(status, 201, "{answer}");
    free(&server, 2, &held[2]);
    assert_eq!(settle(&server, 20).status, 200);
}
