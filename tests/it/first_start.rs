//! Two commands set everything up; the second start says what it found.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Server, Setup};

/// The line of a first start that asks the first question.
fn curl_line(server: &Server) -> String {
    server.line("curl ")
}

/// Runs a line in bash, as an operator would paste it.
fn bash(line: &str, key: Option<&str>) -> Value {
    let mut command = Command::new("bash");
    command.args(["-c", line]);
    if let Some(key) = key {
        command.env("INTERLOCK_KEY", key);
    }
    let output = command.output().expect("bash is there");
    assert!(output.status.success(), "{output:?}");
    match serde_json::from_slice(&output.stdout) {
        Ok(answer) => answer,
        Err(error) => panic!("{error} in {output:?}"),
    }
}

fn key(server: &Server, which: &str) -> String {
    let line = server.line(&format!("  {which} key "));
    let key = line.split_whitespace().nth(2);
    key.expect("a key after its name").to_owned()
}

#[test]
fn the_curl_line_works_as_pasted() {
    let server = Setup::new().start();
    let answer = bash(&curl_line(&server), None);
    assert_eq!(answer["decision"], "allow", "{answer}");
}

/// Pitfall 33.
#[test]
fn the_ready_line_comes_last_and_says_how_safe_an_answer_is() {
    let server = Setup::new().shards(2).start();
    let lines = server.stdout();
    let ready = format!(
        "ready {} shards=2 engine=sled durability=fsync",
        server.url()
    );
    assert_eq!(lines.last(), Some(&ready), "{lines:?}");
    assert_eq!(server.get("/readyz", "").status, 200);
}

/// A start on a disk that has less free than the bound promises nothing, and names the setting.
#[test]
fn a_start_on_a_small_disk_says_that_nothing_new_is_reserved() {
    // No disk that tests run on has a tebibyte free; one that has sees the other side of it.
    const MOST: u64 = 1 << 40;
    let setup = Setup::new().config(&format!("[storage]\nfree_bytes_min = {MOST}\n"));
    let room = rustix::fs::statvfs(setup.data().home()).expect("a file system");
    let scarce = room.f_bavail * room.f_frsize < MOST;
    let server = setup.start();
    let check = |server: &Server| {
        let told = server.stdout().join("\n");
        let line = format!("[storage] free_bytes_min = {MOST}");
        assert_eq!(told.contains(&line), scarce, "{told}");
        told
    };
    let told = check(&server);
    let asks = "never shown again. Once the disk has room, ask the first question:";
    assert_eq!(told.contains(asks), scarce, "{told}");
    server.stderr_line("free_bytes_min");
    let key = key(&server, "source");
    let answer = server.post_once(
        "/v1/coordination/effects",
        &key,
        "first",
        &serde_json::json!({"effect_key": "first", "kind": "filing"}),
    );
    assert_eq!(answer.status == 503, scarce, "{answer:?}");
    check(&server.restart(|setup| setup));
}

#[test]
fn a_first_start_needs_no_settings_file_and_closes_its_data() {
    let server = Setup::new().start();
    let data = server.data().path();
    assert_eq!(mode(&data), 0o700);
    let mut files = 0;
    let mut dirs = vec![data];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                assert_eq!(mode(&path), 0o700, "{}", path.display());
                dirs.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files >= 2, "a secret and a log");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path)
        .expect("a file that was listed")
        .permissions()
        .mode()
        & 0o777
}

#[test]
fn keys_are_shown_once_and_never_kept() {
    let server = Setup::new().start();
    let source = key(&server, "source");
    let operator = key(&server, "operator");
    assert!(curl_line(&server).contains(&source));
    assert_ne!(source, operator);
    let secret = source.rsplit('_').next().unwrap().to_owned();
    let data = server.data().clone();
    let server = server.restart(|setup| setup);
    let all = server.stdout().join("\n") + &server.stderr().join("\n");
    assert!(!all.contains(&secret), "{all}");
    assert_eq!(
        bash(&curl_line(&server), Some(&source))["decision"],
        "allow"
    );
    assert_eq!(server.terminate().code, Some(0));
    let log = fs::read(data.path().join("log/db")).unwrap();
    assert!(
        !log.windows(secret.len())
            .any(|part| part == secret.as_bytes())
    );
}

#[test]
fn a_second_start_says_what_it_found() {
    let server = Setup::new().start();
    bash(&curl_line(&server), None);
    let server = server.restart(|setup| setup);
    let found = server.line("found ");
    assert!(
        found.starts_with("found ./data: 1 space, 2 keys, "),
        "{found}"
    );
    assert!(found.contains("recovered in "), "{found}");
    assert_eq!(server.line("last run: "), "last run: ended in order");
    let server = server.kill().start();
    let last = server.line("last run: ");
    assert!(last.starts_with("last run: killed, "), "{last}");
}

#[test]
fn another_number_of_shards_finds_everything() {
    let server = Setup::new().shards(1).start();
    let key = key(&server, "source");
    let check = serde_json::json!({
        "agent": "closing", "intent": "follow_up", "direction": "outbound",
        "purpose": "service", "channel": "whatsapp", "effect_key": "invoice-7",
        "subject": {"type": "phone_e164", "value": "+5511987654321"},
    });
    let path = "/v1/coordination/check";
    assert_eq!(server.post(path, &key, &check).json()["decision"], "allow");
    let server = server.restart(|setup| setup.shards(0));
    let ready = server.line("ready ");
    assert!(
        !ready.contains(" shards=0 "),
        "as many as there are cores: {ready}"
    );
    let server = server.restart(|setup| setup.shards(3));
    assert!(server.line("ready ").contains(" shards=3 "));
    assert_eq!(server.post(path, &key, &check).json()["decision"], "deny");
}

#[test]
fn metrics_are_served_without_a_key() {
    let server = Setup::new().start();
    bash(&curl_line(&server), None);
    let metrics = server.get("/metrics", "");
    assert_eq!(metrics.status, 200);
    assert!(
        metrics.text.contains("interlock_memory_bytes_max"),
        "{metrics:?}"
    );
    for line in metrics.text.lines() {
        let Some(kind) = line.strip_prefix("# TYPE ") else {
            continue;
        };
        let name = kind.split(' ').next().expect("a name");
        assert!(
            metrics.text.contains(&format!("# HELP {name} ")),
            "{name} does not say what it means"
        );
    }
    assert!(
        !metrics.text.contains("5511987654321"),
        "no handle is a label"
    );
}

#[test]
fn in_memory_nothing_is_made_on_disk_and_the_ready_line_says_so() {
    let server = Setup::new()
        .config("[storage]\nengine = \"memory\"\n")
        .start();
    let ready = server.line("ready ");
    assert!(ready.ends_with(" engine=memory durability=none"), "{ready}");
    assert_eq!(bash(&curl_line(&server), None)["decision"], "allow");
    assert!(!server.data().path().exists());
}
