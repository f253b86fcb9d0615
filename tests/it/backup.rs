//! `export`, `import` and `compact`: what a data directory holds is in one file, and comes back.
//!
//! Here: a drill that loses the directory under load, the two verbs without a server, what cannot be
//! imported, and a log that is written anew and killed meanwhile. Not here: the file's own tests
//! (`storage/src/export`).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use interlock_storage::{Commit, Log, SledLog, SledOptions};
use serde_json::{Value, json};

use crate::harness::{Server, Setup, until};
use crate::verbs::{Said, facts, verb};

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const BATCH: &str = "/v1/coordination/check/batch";
const CHECK: &str = "/v1/coordination/check";
const NOW: &str = "2026-01-05T12:00:00Z";
const CONFIG: &str = "[snapshots]\ninterval_ms = 100\n[journal]\njournal_bytes_max = 8_388_608\n";
/// The same with room for all that one client writes while an export reads, on however busy a machine.
const ROOMY: &str = "[snapshots]\ninterval_ms = 100\n[journal]\njournal_bytes_max = 134_217_728\n";
const SIZE: usize = 100;
/// What an operator seals with.
const KEY_FILE: &str = "thirty-two bytes of an operator, say";

fn setup() -> Setup {
    Setup::new().seed(SEED).config(CONFIG).test_clock(NOW)
}

fn check(number: usize, agent: &str) -> Value {
    json!({"agent": agent, "intent": "follow_up", "direction": "outbound",
        "purpose": "service", "effect_key": format!("e-{number}"),
        "subject": {"type": "phone_e164", "value": format!("+551196{number:07}")}})
}

fn batch(from: usize, agent: &str) -> Value {
    let checks: Vec<Value> = (from..from + SIZE).map(|one| check(one, agent)).collect();
    json!({"checks": checks})
}

/// A new key of the space that the checks are asked in.
fn new_key(setup: &Setup) -> String {
    let words = [
        "keys",
        "create",
        "--space",
        "conformance",
        "--source",
        "agents",
    ];
    let made = facts(setup, &words);
    made["key"].as_str().expect("a key").to_owned()
}

/// Reserves the effects of a batch.
fn reserve(server: &Server, from: usize) {
    let answer = server.post(BATCH, KEY, &batch(from, "first"));
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// How many effects of a batch the server knows to be in flight. Another agent asks, so those it does
/// not know are reserved by this.
fn in_flight(server: &Server, from: usize) -> usize {
    let answer = server.post(BATCH, KEY, &batch(from, "other"));
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    let results = answer["results"].as_array().expect("results");
    let known = |it: &&Value| it["reasons"] == json!(["effect_in_flight"]);
    results.iter().filter(known).count()
}

fn filled(server: &Server, batches: usize) {
    for number in 0..batches {
        reserve(server, number * SIZE);
    }
}

fn expect_all(server: &Server, batches: usize) {
    for number in 0..batches {
        assert_eq!(in_flight(server, number * SIZE), SIZE, "batch {number}");
    }
}

/// Loses the data directory, and makes another of the export.
fn restore(setup: &Setup, words: &[&str]) {
    fs::remove_dir_all(setup.data().path()).expect("the disaster");
    let said = verb(setup, &[&["import", "--from", "export"], words].concat()).done();
    assert!(said.contains("./data is ready"), "{said}");
    let wide = |line: &str| line.chars().count() > 80;
    assert!(!said.lines().any(wide), "{said}");
}

/// Pitfall 34.
#[test]
fn a_node_comes_back_from_an_export_that_was_made_under_load() {
    let server = setup().config(ROOMY).shards(2).start();
    let setup = server.setup();
    setup.data().write_closed("key", KEY_FILE);
    let new = new_key(&setup);
    let keyed = json!({"agent": "a", "intent": "i", "direction": "outbound", "purpose": "service",
        "subject": {"type": "phone_e164", "value": "+5511900000001"}});
    let first = server.post_once(CHECK, &new, "drill", &keyed);
    assert_eq!(first.status, 200, "{first:?}");
    // One client, so that what was acknowledged is a row of whole batches.
    let (acknowledged, end) = (AtomicUsize::new(0), AtomicBool::new(false));
    let before = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !end.load(Ordering::Acquire) {
                reserve(&server, acknowledged.load(Ordering::Acquire) * SIZE);
                acknowledged.fetch_add(1, Ordering::AcqRel);
            }
        });
        let reached = |batches: usize| {
            until("batches", || {
                let now = acknowledged.load(Ordering::Acquire);
                (now >= batches).then_some(now)
            })
        };
        let before = reached(20);
        let words = ["export", "--to", "export", "--seal-with", "key"];
        let told = facts(&setup, &words);
        assert_eq!(told["secret_sealed"], json!(true), "{told}");
        let after = acknowledged.load(Ordering::Acquire);
        reached(after + 5);
        end.store(true, Ordering::Release);
        before
    });
    let late = new_key(&setup);
    let acknowledged = acknowledged.load(Ordering::Acquire);
    server.kill();
    restore(&setup, &["--seal-with", "key"]);
    let verified = facts(&setup, &["verify"]);
    assert!(verified["commits"].as_u64() > Some(0), "{verified}");
    let server = setup.shards(5).start();
    // Everything from before the export began; then whole batches, part of one, and none.
    let counts: Vec<usize> = (0..acknowledged)
        .map(|number| in_flight(&server, number * SIZE))
        .collect();
    let whole = counts.iter().take_while(|&&count| count == SIZE).count();
    assert!(whole >= before, "{before} were acknowledged: {counts:?}");
    let rest: usize = counts.iter().skip(whole + 1).sum();
    assert_eq!(rest, 0, "of one moment: {counts:?}");
    assert!(whole < acknowledged, "some came after that moment");
    let again = server.post_once(CHECK, &new, "drill", &keyed);
    assert_eq!((again.status, again.text), (200, first.text));
    assert_eq!(server.get("/v1/sources/me", &late).status, 401);
    // And it is a node like any other: it is killed, starts, and is exported again.
    let server = server.restart(|setup| setup.shards(3));
    expect_all(&server, acknowledged);
    let told = facts(
        &server.setup(),
        &["export", "--to", "next", "--without-secret"],
    );
    assert_eq!(told["secret_sealed"], json!(false), "{told}");
}

#[test]
fn without_a_server_the_log_is_read_as_well() {
    let server = setup().start();
    filled(&server, 5);
    let setup = server.setup();
    let socket = setup.data().path().join("admin.sock");
    assert_eq!(server.terminate().code, Some(0));
    assert!(!socket.exists(), "nobody is there to be asked");
    let before = facts(&setup, &["verify"]);
    let words = "export --to export --without-secret";
    say(&setup, words).done();
    // The same code as with a server.
    let again = say(&setup, words);
    assert!(again.line(13).contains("is there already"), "{again:?}");
    let nowhere = say(&setup, "export --to none/export --without-secret");
    assert!(nowhere.line(13).contains("cannot be made"), "{nowhere:?}");
    fs::copy(
        setup.data().path().join("secret"),
        setup.data().home().join("kept"),
    )
    .expect("a copy");
    restore(&setup, &["--secret", "kept"]);
    let after = facts(&setup, &["verify"]);
    for what in ["spaces", "keys", "entities", "history_receipts"] {
        assert_eq!(before[what], after[what], "{what}");
    }
    expect_all(&setup.start(), 5);
}

/// A verb with its words.
fn say(setup: &Setup, words: &str) -> Said {
    verb(setup, &words.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let server = setup().start();
    let setup = server.setup();
    setup.data().write_closed("key", KEY_FILE);
    setup.data().write_closed("short", "a word");
    setup.data().write("open", KEY_FILE);
    say(&setup, "export --to export").line(2);
    for (key, told) in [
        ("short", "--seal-with short: must have 32 to 4096 bytes"),
        ("none", "--seal-with none: cannot be read"),
        ("open", "--seal-with open: the group or others can read it"),
    ] {
        let said = say(&setup, &format!("export --to export --seal-with {key}"));
        assert!(said.line(13).contains(told), "{said:?}");
    }
    let sealed = "export --to export --seal-with key";
    say(&setup, sealed).done();
    let again = say(&setup, sealed);
    assert!(again.line(13).contains("is there already"), "{again:?}");
    let nowhere = say(&setup, "export --to none/export --without-secret");
    assert!(nowhere.line(13).contains("cannot be made"), "{nowhere:?}");
    setup.data().write("half.partial", "");
    let half = say(&setup, "export --to half --without-secret");
    assert!(half.line(13).contains("half.partial is there"), "{half:?}");
    for words in [
        "export --to x --without-secret",
        "export --to x --seal-with key",
        "verify",
        "compact",
    ] {
        let said = say(&setup, &format!("{words} --data none"));
        let told = "none holds no log; name a data directory with --data";
        assert!(said.line(10).contains(told), "{words}: {said:?}");
    }
    let busy = say(&setup, "compact");
    assert!(busy.line(5).contains("stop the server"), "{busy:?}");
}

/// Nothing is left of an import that is refused, and whatever is there is not touched.
#[test]
fn what_cannot_be_imported_is_refused_whole() {
    let server = setup().start();
    filled(&server, 2);
    let setup = server.setup();
    let home = setup.data().home().to_owned();
    setup.data().write_closed("key", KEY_FILE);
    setup
        .data()
        .write("other", "thirty-two bytes of somebody else's.");
    say(&setup, "export --to export --seal-with key").done();
    say(&setup, "export --to bare --without-secret").done();
    let here = say(&setup, "import --from export --seal-with key");
    assert!(here.line(5).contains("name another directory"), "{here:?}");
    let bytes = fs::read(home.join("export")).expect("a file");
    fs::write(home.join("cut"), &bytes[..bytes.len() - 1]).expect("a file");
    let mut flipped = bytes;
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    fs::write(home.join("flipped"), flipped).expect("a file");
    for (words, code, told) in [
        ("export", 7, "--seal-with"),
        ("export --seal-with other", 7, "another key"),
        (
            "export --secret other",
            13,
            "--secret other must be 32 bytes",
        ),
        ("export --secret none", 13, "--secret none is not there"),
        ("export --seal-with none", 13, "--seal-with none"),
        ("bare", 7, "--secret"),
        ("bare --seal-with key", 7, "--secret"),
        ("cut --seal-with key", 6, "ends early"),
        ("flipped --seal-with key", 6, "at byte"),
        ("key --seal-with key", 6, "no export"),
        ("none --seal-with key", 10, "cannot be read"),
    ] {
        let said = say(&setup, &format!("import --data new --from {words}"));
        assert!(said.line(code).contains(told), "{words}: {said:?}");
        assert!(!home.join("new").exists(), "{words}");
    }
    // A secret that is one, and another's, shows once the log is there.
    fs::write(home.join("strange"), [7; 32]).expect("a file");
    let said = say(&setup, "import --data new --from bare --secret strange");
    assert!(said.line(7).contains("not the one"), "{said:?}");
    assert!(!home.join("new").exists());
    // An empty directory that was there stays, and stays empty.
    fs::create_dir(home.join("new")).expect("a directory");
    say(&setup, "import --data new --from bare --secret strange").line(7);
    let left = fs::read_dir(home.join("new")).expect("a directory").count();
    assert_eq!(left, 0);
    let done = say(&setup, "import --data new --from export --seal-with key");
    assert_eq!(done.stderr, "");
    done.done();
    // In need, a key that others can read is taken, and told of.
    setup.data().write("open", KEY_FILE);
    let done = say(
        &setup,
        "import --data second --from export --seal-with open",
    );
    assert!(done.stderr.contains("chmod go= open"), "{done:?}");
    done.done();
    expect_all(&server, 2);
}

/// Of imports into one place one makes it; the others leave what it makes alone.
#[test]
fn imports_at_once_make_one_node() {
    let server = setup().start();
    filled(&server, 2);
    let setup = server.setup();
    setup.data().write_closed("key", KEY_FILE);
    say(&setup, "export --to export --seal-with key").done();
    let words = "import --data new --from export --seal-with key";
    let said: Vec<Said> = std::thread::scope(|scope| {
        let each: Vec<_> = (0..4).map(|_| scope.spawn(|| say(&setup, words))).collect();
        each.into_iter()
            .map(|one| one.join().expect("a verb"))
            .collect()
    });
    let done = said.iter().filter(|said| said.code == Some(0)).count();
    assert_eq!(done, 1, "{said:?}");
    for said in said.iter().filter(|said| said.code != Some(0)) {
        // It had waited until the first was done, or no longer.
        let (code, told) = match said.code {
            Some(5) => (5, "in use"),
            _ => (10, "a node already"),
        };
        assert!(said.last_line(code).contains(told), "{said:?}");
    }
    say(&setup, "verify --data new").done();
    // What was cut off is told, with what to do.
    let half = setup.data().home().join("cut/log.importing");
    fs::create_dir_all(&half).expect("a directory");
    let words = words.replace("new", "cut");
    assert!(
        say(&setup, &words)
            .line(10)
            .contains("rm -r cut/log.importing")
    );
    fs::remove_dir(&half).expect("a directory");
    say(&setup, &words).done();
}

/// What root makes for a server that is not root is of no use to it. Who is not root cannot make
/// such a place, and is told nothing.
#[test]
fn what_root_made_for_another_user_is_told_with_what_gives_it_back() {
    let server = setup().start();
    let setup = server.setup();
    say(&setup, "export --to export --without-secret").done();
    assert_eq!(server.terminate().code, Some(0));
    let home = setup.data().home();
    fs::copy(setup.data().path().join("secret"), home.join("kept")).expect("a copy");
    fs::create_dir(home.join("theirs")).expect("a directory");
    let chown = |place: &str| std::os::unix::fs::chown(home.join(place), Some(4_242), None);
    let is_root = chown("theirs").is_ok();
    let told = |words: &str, line: &str| {
        let said = say(&setup, words);
        assert_eq!(said.stderr.contains(line), is_root, "{words}: {said:?}");
        said.done();
    };
    told(
        "import --from export --secret kept --data theirs/data",
        "chown -R --reference=theirs theirs/data",
    );
    if is_root {
        chown("data").expect("root may");
    }
    let line = "chown -R --reference=./data ./data";
    told("compact", line);
    told("export --to another --without-secret", line);
}

/// A log of which much is gone: the engine keeps its bytes until it is written anew.
pub(crate) fn bloated() -> (Setup, u64) {
    const VALUES: u8 = 24;
    let server = setup().start();
    filled(&server, 20);
    let setup = server.setup();
    assert_eq!(server.terminate().code, Some(0));
    let dir = setup.data().path().join("log");
    let log = SledLog::open(&dir, &SledOptions::default()).expect("it opens");
    let write = |number: u8, value: Option<Vec<u8>>| {
        let commit = Commit {
            meta: vec![(vec![b'~', number], value)],
            ..Commit::default()
        };
        log.commit(&commit).expect("it is in order");
    };
    (0..VALUES).for_each(|number| write(number, Some(vec![number; 512 << 10])));
    (0..VALUES).for_each(|number| write(number, None));
    drop(log);
    let bytes = facts(&setup, &["verify"])["log_bytes"].as_u64();
    (setup, bytes.expect("a number"))
}

#[test]
fn a_log_that_is_written_anew_takes_less_and_holds_the_same() {
    let (setup, bytes) = bloated();
    let before = facts(&setup, &["verify"]);
    let data = setup.data().path();
    // What a killed one left is no hindrance.
    fs::create_dir(data.join("log.compact")).expect("a directory");
    fs::write(data.join("log.compact/db"), "junk").expect("a file");
    fs::write(data.join("compact.export"), "junk").expect("a file");
    fs::write(data.join("compact.export.partial"), "junk").expect("a file");
    let told = facts(&setup, &["compact"]);
    let after = facts(&setup, &["verify"]);
    assert_eq!(told["bytes_after"], after["log_bytes"], "{told}");
    assert!(after["log_bytes"].as_u64() < Some(bytes), "{told} {before}");
    for what in ["spaces", "keys", "entities", "history_receipts"] {
        assert_eq!(before[what], after[what], "{what}");
    }
    let names = |dir: &Path| -> Vec<String> {
        let entries = fs::read_dir(dir).expect("a directory");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .filter(|name| name.contains("compact"))
            .collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(&data), Vec::<String>::new());
    let server = setup.start();
    expect_all(&server, 20);
    reserve(&server, 50 * SIZE);
    expect_all(&server.restart(|setup| setup), 20);
}

/// What a killed one left has what is erased later: the next start removes it and says so.
#[test]
fn a_start_removes_what_a_killed_compact_left() {
    let server = Setup::new().start();
    let setup = server.kill();
    let data = setup.data().path();
    fs::create_dir(data.join("log.compact")).expect("a directory");
    for file in ["log.compact/db", "compact.export", "compact.export.partial"] {
        fs::write(data.join(file), "junk").expect("a file");
    }
    let server = setup.start();
    for left in ["log.compact", "compact.export", "compact.export.partial"] {
        assert!(!data.join(left).exists(), "{left}");
    }
    let said = server.line("compact: ");
    assert!(
        said.ends_with("removed") && said.contains("log.compact"),
        "{said}"
    );
    // Another start has nothing to say.
    let server = server.restart(|setup| setup);
    let lines = server.stdout();
    assert!(
        !lines.iter().any(|line| line.contains("compact")),
        "{lines:?}"
    );
}

/// Killed at any step, it leaves the old log or the new one in its place, and each holds everything.
#[test]
fn a_killed_compact_leaves_a_whole_log() {
    let (setup, _) = bloated();
    let data = setup.data().path();
    for step in [
        "compact.export.partial",
        "compact.export",
        "log.compact",
        "log.compact/db",
    ] {
        let child = Command::new(env!("CARGO_BIN_EXE_interlock"))
            .current_dir(setup.data().home())
            .arg("compact")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.expect("the built program runs");
        until(step, || {
            let ended = child.try_wait().expect("it can be asked").is_some();
            (ended || data.join(step).exists()).then_some(())
        });
        child.kill().ok();
        child.wait().expect("it has ended");
        let server = setup.start();
        expect_all(&server, 20);
        server.terminate();
    }
    verb(&setup, &["compact"]).done();
    expect_all(&setup.start(), 20);
}
