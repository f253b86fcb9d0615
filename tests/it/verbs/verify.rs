//! A data directory that no server uses.

use interlock_storage::run_mark::{self, RunMark};
use serde_json::json;

use super::{ME, facts, new_key, reserve, started, text, verb};

/// Every file below a directory with its bytes.
fn files(root: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let bytes = std::fs::read(&path).expect("a file");
            found.push((path, bytes));
        }
    }
    found.sort_unstable();
    found
}

/// Pitfall 34.
#[test]
fn verify_reads_what_a_kill_left_and_changes_nothing() {
    let (server, setup) = started();
    let made = new_key(&setup);
    let key = text(&made, "key");
    for number in 0..20 {
        reserve(&server, key, &format!("order-{number}"));
    }
    let busy = verb(&setup, &["verify"]);
    assert!(busy.line(5).contains("in use"), "{busy:?}");
    let setup = server.kill();
    let data = setup.data().path();
    // A killed server leaves its socket, which is no file to compare.
    std::fs::remove_file(data.join("admin.sock")).expect("the socket");
    let before = files(&data);
    let scratch = setup.data().home().join("scratch");
    std::fs::create_dir(&scratch).expect("a directory");
    let words = ["verify", "--scratch", "scratch"];
    let found = facts(&setup, &words);
    assert_eq!((&found["spaces"], &found["keys"]), (&json!(1), &json!(3)));
    let effects = json!({"kind": "effect", "count": 20});
    let entities = found["entities"].as_array().expect("a list");
    assert!(entities.contains(&effects), "{found}");
    let said = verb(&setup, &words);
    assert!(said.stderr.contains("read 4 of 4 parts"), "{said:?}");
    let said = said.done();
    assert!(said.contains("./data is well"), "{said}");
    assert!(files(&data) == before, "verify changed a file");
    let left = std::fs::read_dir(&scratch).expect("a directory").count();
    assert_eq!(left, 0, "the copy is removed");
    verb(&setup, &["verify", "--data", "none"]).line(10);
    let server = setup.start();
    assert_eq!(server.get(ME, key).status, 200);
}

/// Pitfall 34.
#[test]
fn verify_refuses_a_log_that_lost_commits_or_its_secret() {
    let (server, setup) = started();
    let made = new_key(&setup);
    reserve(&server, text(&made, "key"), "order-1");
    assert_eq!(server.terminate().code, Some(0));
    let data = setup.data().path();
    let path = data.join("run");
    let run = std::fs::read(&path).expect("a mark");
    let last = run_mark::look(&path).expect("a mark").state();
    let mut more = last.expect("a sound one");
    more.appended += 8;
    std::fs::remove_file(&path).expect("a mark");
    RunMark::make(&path).expect("a mark").note(more);
    let said = verb(&setup, &["verify"]);
    assert!(said.last_line(6).contains("has lost 8 of "), "{said:?}");
    std::fs::write(&path, run).expect("a mark");
    verb(&setup, &["verify"]).done();
    std::fs::write(data.join("secret"), [7; 32]).expect("a secret");
    verb(&setup, &["verify"]).line(7);
}
