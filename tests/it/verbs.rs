//! The operator's verbs: the socket, keys and spaces; in `verbs/` the others.

mod look;
mod verify;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::harness::{Server, Setup, until};

const CHECK: &str = "/v1/coordination/check";
const ME: &str = "/v1/sources/me";
const NOON: &str = "2026-01-05T12:00:00Z";

/// What a verb came to.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Standard output of a verb that was done.
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The last line of a verb that was not done after all it told on its way.
    pub(crate) fn last_line(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{self:?}");
        self.stderr.lines().last().expect("a line")
    }

    /// The line of a verb that was not done.
    pub(crate) fn line(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        &self.stderr
    }
}

/// Runs a verb in the working directory of a set-up; its data directory is `./data`.
pub(crate) fn verb(setup: &Setup, words: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_interlock"))
        .current_dir(setup.data().home())
        .args(words)
        .output();
    Said::of(&output.expect("the built program runs"))
}

/// The machine's form of a verb's answer.
pub(crate) fn facts(setup: &Setup, words: &[&str]) -> Value {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let said = verb(setup, &words).done();
    serde_json::from_str(&said).expect("one JSON document")
}

/// A new key of the first space.
pub(crate) fn new_key(setup: &Setup) -> Value {
    let words = ["keys", "create", "--space", "default", "--source", "agents"];
    facts(setup, &words)
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().expect("a text")
}

fn question(purpose: &str) -> Value {
    json!({
        "agent": "closing", "intent": "follow_up", "direction": "outbound",
        "purpose": purpose, "channel": "whatsapp",
        "subject": {"type": "phone_e164", "value": "+5511987654321"},
    })
}

fn reserve(server: &Server, key: &str, effect: &str) {
    let body = json!({"effect_key": effect, "kind": "document"});
    let answer = server.post_once("/v1/coordination/effects", key, effect, &body);
    assert_eq!(answer.status, 201, "{answer:?}");
}

fn started() -> (Server, Setup) {
    let server = Setup::new().test_clock(NOON).start();
    let setup = server.setup();
    (server, setup)
}

#[test]
fn a_key_is_made_used_listed_and_revoked() {
    let (server, setup) = started();
    let made = new_key(&setup);
    let (key, id) = (text(&made, "key"), text(&made, "key_id"));
    assert_eq!(server.get(ME, key).status, 200);
    let listed = verb(&setup, &["keys", "list"]).done();
    let row = listed.lines().find(|line| line.starts_with(id));
    let row = row.expect("a row of its own");
    assert!(row.ends_with("live"), "in a pipe a row is a line: {listed}");
    let words = ["keys", "revoke", id];
    assert!(verb(&setup, &words).done().contains("is revoked"));
    assert_eq!(server.get(ME, key).status, 401);
    assert!(verb(&setup, &words).done().contains("nothing changed"));
    let server = server.restart(|setup| setup);
    assert_eq!(server.get(ME, key).status, 401);
    let keys = facts(&setup, &["keys", "list", "--space", "default"]);
    let all = keys["keys"].as_array().expect("a list");
    assert_eq!(all.len(), 3);
    let ours = all.iter().find(|key| key["key_id"] == id).expect("listed");
    assert_eq!(ours["state"], "revoked");
}

#[test]
fn a_key_that_was_answered_outlives_a_kill() {
    let (server, setup) = started();
    let made = new_key(&setup);
    let server = server.kill().start();
    assert_eq!(server.get(ME, text(&made, "key")).status, 200);
    assert_eq!(facts(&setup, &["keys", "list"])["keys"][3], Value::Null);
}

#[test]
fn keys_made_at_the_same_time_all_hold() {
    let (server, setup) = started();
    let makers: Vec<_> = (0..4)
        .map(|number| {
            let setup = setup.clone();
            std::thread::spawn(move || {
                let source = format!("source-{number}");
                let words = ["keys", "create", "--space", "default", "--new-source"];
                let words: Vec<&str> = words.into_iter().chain(["--source", &source]).collect();
                facts(&setup, &words)
            })
        })
        .collect();
    let made: Vec<Value> = makers
        .into_iter()
        .map(|maker| maker.join().expect("a key"))
        .collect();
    let server = server.kill().start();
    let mut sources: Vec<String> = made
        .iter()
        .map(|key| server.get(ME, text(key, "key")).text)
        .collect();
    sources.sort_unstable();
    sources.dedup();
    assert_eq!(sources.len(), 4, "each key has a source of its own");
}

#[test]
fn rules_change_without_a_restart_and_stay() {
    let (server, setup) = started();
    let made = new_key(&setup);
    let key = text(&made, "key");
    let decision = |server: &Server| server.post(CHECK, key, &question("news")).status;
    assert_eq!(decision(&server), 422, "nobody declared it");
    let rules = json!({"purposes": {"news": {"fails": "open", "token": false,
        "budget": {"limit": 1, "per_hours": 24, "slices": []}}}});
    setup.data().write("rules.json", &format!("{rules:#}\n"));
    let words = ["spaces", "apply", "default", "rules.json"];
    let dry = [&words[..], &["--dry-run"]].concat();
    let told = verb(&setup, &dry).done();
    assert!(told.contains("version 2 would be"), "{told}");
    assert!(told.contains("left out"), "a note: {told}");
    assert_eq!(decision(&server), 422, "it was said only");
    let said = verb(&setup, &words).done();
    let history = verb(&setup, &["spaces", "history", "default"]).done();
    assert!(history.contains("coordination "), "in one piece: {history}");
    assert!(
        said.contains("version 2 is in force") && said.contains("purposes"),
        "{said}"
    );
    let asked = server.post(CHECK, key, &question("news")).json();
    assert_eq!(asked["decision"], "allow");
    let asked = server.post(CHECK, key, &question("news")).json();
    assert_ne!(asked["decision"], "allow", "the budget is used");
    assert!(verb(&setup, &words).done().contains("nothing changed"));
    let server = server.kill().start();
    let asked = server.post(CHECK, key, &question("news")).json();
    assert_ne!(asked["decision"], "allow");
    assert_eq!(server.post(CHECK, key, &question("service")).status, 422);
    assert_eq!(
        facts(&setup, &["spaces", "list"])["spaces"][0]["rules_version"],
        2
    );
}

/// Whatever the verb, and whatever it is refused for: one JSON document in one shape, beside the line.
#[test]
fn a_refusal_with_json_is_json() {
    let (server, setup) = started();
    for (words, code) in [
        ("keys revoke nobody", 13),
        ("spaces apply default none.json", 13),
        ("verify", 5),
        ("verify --data none", 10),
        ("import --from none --data new", 10),
        ("gateway-verify --keys none", 2),
        ("spaces list --data none", 12),
        ("spaces lst", 2),
    ] {
        let words: Vec<&str> = words.split(' ').chain(["--json"]).collect();
        let said = verb(&setup, &words);
        let line = said.line(code).trim_end().to_owned();
        let document: Value = serde_json::from_str(&said.stdout).expect("one JSON document");
        let error = document["error"].as_object().expect("an error");
        assert_eq!(
            (document.as_object().map(serde_json::Map::len), error.len()),
            (Some(1), 2)
        );
        assert_eq!(error["exit"], code, "{said:?}");
        assert_eq!(
            line,
            format!("interlock: {}", text(&document["error"], "message"))
        );
    }
    assert_eq!(verb(&setup, &["keys", "revoke", "nobody"]).stdout, "");
    drop(server);
}

#[test]
fn a_bad_document_is_refused_by_member_and_changes_nothing() {
    let (server, setup) = started();
    let made = new_key(&setup);
    let key = text(&made, "key");
    let bad = json!({"purposes": {"news": {"fails": "open", "token": false,
        "budget": {"limit": 0, "per_hours": 24}}}});
    setup.data().write("rules.json", &bad.to_string());
    let words = ["spaces", "apply", "default", "rules.json"];
    let said = verb(&setup, &words);
    assert!(
        said.line(13).contains("purposes.news.budget.limit"),
        "{said:?}"
    );
    assert_eq!(server.post(CHECK, key, &question("service")).status, 200);
    setup.data().write("rules.json", "{\"purposes\": ");
    assert!(verb(&setup, &words).line(13).contains("is not JSON"));
    assert!(verb(&setup, &["spaces", "apply", "nobody", "none.json"]).code == Some(13));
    assert_eq!(
        facts(&setup, &["spaces", "list"])["spaces"][0]["rules_version"],
        1
    );
}

#[test]
fn a_space_made_at_run_time_decides_at_once_and_after_a_kill() {
    let (server, setup) = started();
    let vault = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s";
    setup.data().write("gate.key", &format!("{vault}\n"));
    setup.data().write(
        "rules.json",
        &json!({"gateways": {"gate": {"key_ref": "vault:gate"}}}).to_string(),
    );
    let words = ["spaces", "create", "second", "--coordination", "rules.json"];
    let lacking = verb(&setup, &words);
    let line = lacking.line(13);
    assert!(line.contains("gateways.gate.key_ref"), "{line}");
    assert!(line.contains("--vault gate=FILE"), "{line}");
    assert!(line.contains("vault set"), "{line}");
    let words = [&words[..], &["--vault", "gate=gate.key"]].concat();
    let made = facts(&setup, &words);
    let space = text(&made, "id");
    assert!(verb(&setup, &words).line(13).contains("exists"));
    verb(&setup, &["spaces", "create", "third"]).done();
    let words = [
        "keys",
        "create",
        "--space",
        space,
        "--source",
        "crm",
        "--new-source",
    ];
    let made = facts(&setup, &words);
    let key = text(&made, "key");
    let allowed = |server: &Server| {
        let answer = server.post(CHECK, key, &question("service"));
        answer.json()["decision"] == "allow"
    };
    assert!(allowed(&server));
    let server = server.kill().start();
    assert!(allowed(&server));
    let spaces = verb(&setup, &["spaces", "list"]).done();
    assert!(
        spaces.contains("second") && !spaces.contains(vault),
        "{spaces}"
    );
}

#[test]
fn the_socket_is_closed_to_others_and_goes_with_the_server() {
    let (server, setup) = started();
    let path = setup.data().path().join("admin.sock");
    let mode = std::fs::metadata(&path).expect("a socket").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let setup = server.kill();
    assert!(path.exists(), "nobody removed it");
    let said = verb(&setup, &["keys", "list"]);
    let line = said.line(12);
    assert!(line.contains("no server runs on ./data"), "{line}");
    assert!(line.contains("interlock serve --data ./data"), "{line}");
    let server = setup.start();
    verb(&setup, &["keys", "list"]).done();
    assert_eq!(server.terminate().code, Some(0));
    assert!(!path.exists(), "it was removed");
    verb(&setup, &["keys", "list"]).line(12);
}

#[test]
fn a_long_path_and_a_node_in_memory_have_a_socket_too() {
    let deep = format!("{}/{}", "a".repeat(100), "b".repeat(100));
    let setup = Setup::new().config("[storage]\nengine = \"memory\"\n");
    let server = setup.argument("--data").argument(deep.clone()).start();
    let words = ["spaces", "list", "--data", &deep];
    assert!(verb(&server.setup(), &words).done().contains("default"));
    let words_to_make = ["spaces", "create", "two", "--data", &deep];
    let made = verb(&server.setup(), &words_to_make).done();
    assert!(
        made.contains(&format!("--new-source --data {deep}")),
        "{made}"
    );
    let second = server.setup().start_refused();
    assert_eq!(second.code, Some(5), "{second:?}");
    verb(&server.setup(), &words).done();
    assert_eq!(server.terminate().code, Some(0));
}

/// One line over the socket, and the lines that come back.
fn raw(setup: &Setup, line: &[u8]) -> Vec<Value> {
    let path = setup.data().path().join("admin.sock");
    let mut stream = UnixStream::connect(path).expect("a socket");
    // A server that has read enough may close before all is written.
    stream.write_all(line).ok();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines
        .map(|line| serde_json::from_str(&line).expect("JSON"))
        .collect()
}

#[test]
fn what_is_not_a_request_is_refused_in_words() {
    let (server, setup) = started();
    let refused = |line: &str, word: &str| {
        let lines = raw(&setup, format!("{line}\n").as_bytes());
        let what = lines[0]["refused"].as_str().unwrap_or_default();
        assert!(what.contains(word), "{line}: {lines:?}");
    };
    refused("nonsense", "cannot be read");
    refused(r#"{"v":9,"verb":"keys list","args":{}}"#, "version 1");
    refused(r#"{"v":1,"verb":"keys burn","args":{}}"#, "keys list");
    refused(r#"{"v":1,"verb":"keys list","args":{"x":1}}"#, "`x`");
    refused(r#"{"v":1,"verb":"keys list","args":{},"x":1}"#, "`x`");
    let long = vec![b'x'; 70 * 1024];
    assert!(raw(&setup, &long)[0]["refused"].is_string());
    verb(&setup, &["keys", "list"]).done();
    drop(server);
}

#[test]
fn silent_connections_are_bounded_and_let_go() {
    let (server, setup) = started();
    let path = setup.data().path().join("admin.sock");
    let silent: Vec<UnixStream> = (0..64)
        .map(|_| UnixStream::connect(&path).expect("a socket"))
        .collect();
    until("a word on too many", || {
        let said = verb(&setup, &["keys", "list"]);
        (said.code == Some(12) && said.stderr.contains("try again")).then_some(())
    });
    drop(silent);
    until("room again", || {
        let said = verb(&setup, &["keys", "list"]);
        (said.code == Some(0)).then_some(())
    });
    drop(server);
}

#[test]
fn nothing_secret_is_logged() {
    let (server, setup) = started();
    let made = new_key(&setup);
    let key = text(&made, "key").to_owned();
    verb(&setup, &["keys", "revoke", "5511987654321"]).line(13);
    raw(
        &setup,
        b"{\"v\":1,\"verb\":\"5511987654321\",\"args\":{}}\n",
    );
    let ended = server.terminate();
    let log = ended.stderr.join("\n");
    assert!(
        log.contains("keys create") && log.contains("unknown verb"),
        "{log}"
    );
    for secret in [&key, "5511987654321"] {
        assert!(!log.contains(secret), "{log}");
    }
}
