//! Bytes of the data directory are wrong: everything acknowledged is there, or the start refuses and
//! says where and what to do.
//!
//! Here: many copies of one directory that a kill left behind, each cut or flipped at a place that a
//! seed chose. Not here: the log's own tests of damage (`storage/src/sled`).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Server, Setup, count, figure, until};
use crate::raw::{Connection, post};
use crate::verbs::verb;

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const BATCH: &str = "/v1/coordination/check/batch";
const NOW: &str = "2026-01-05T12:00:00Z";
const CONFIG: &str = "[snapshots]\ninterval_ms = 100\n[journal]\njournal_bytes_max = 8_388_608\n";
/// Copies that the gate damages; `INTERLOCK_DAMAGES` asks for more.
const COPIES: usize = 40;
const EFFECTS: usize = 3_000;

/// A small generator: what it chose is printed, so a failure can be had again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        // splitmix64 (Steele, Lea and Flood 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

fn checks(from: usize, agent: &str) -> Value {
    let check = |number: usize| {
        json!({"agent": agent, "intent": "follow_up", "direction": "outbound",
            "purpose": "service", "effect_key": format!("e-{number}"),
            "subject": {"type": "phone_e164", "value": format!("+551196{number:07}")}})
    };
    let checks: Vec<Value> = (from..from + 500).map(check).collect();
    json!({"checks": checks})
}

/// Is it told that somebody has the effect? On a machine that is busy its lease may be over already.
fn is_known(result: &Value) -> bool {
    let reasons = &result["reasons"];
    [
        json!(["effect_in_flight"]),
        json!(["effect_unknown_outcome"]),
    ]
    .contains(reasons)
}

/// How many of the acknowledged effects are not known any more, which must be none: whoever asks is
/// told so, and no other answer counts.
fn lost(server: &Server) -> usize {
    let mut lost = 0;
    for from in (0..EFFECTS).step_by(500) {
        let answer = server.post(BATCH, KEY, &checks(from, "other"));
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        let results = answer["results"].as_array().expect("results");
        lost += results.iter().filter(|it| !is_known(it)).count();
    }
    lost
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &place);
        } else if entry.file_type().expect("a type").is_file() {
            fs::copy(&path, &place).expect("a copy");
        }
    }
}

/// Files that hold what was acknowledged, the largest first.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.metadata().is_ok_and(|it| it.is_file() && it.len() > 0) {
            found.push(path);
        }
    }
    found.sort_by_key(|path| std::cmp::Reverse(path.metadata().map_or(0, |it| it.len())));
    found
}

/// Damages the copy and says how.
fn damage(data: &Path, chance: &mut Chance) -> String {
    let files = files(data);
    // Half of the damage hits the log, the rest any file.
    let which = if chance.below(2) == 0 {
        0
    } else {
        chance.below(files.len() as u64) as usize
    };
    let path = &files[which];
    let name = path
        .strip_prefix(data)
        .expect("below")
        .display()
        .to_string();
    let mut bytes = fs::read(path).expect("a file");
    let length = bytes.len() as u64;
    let said = if chance.below(3) == 0 {
        let most = 1 << (4 + chance.below(14));
        let cut = 1 + chance.below(length.min(most));
        bytes.truncate((length - cut) as usize);
        format!("{name}: the last {cut} of {length} bytes cut")
    } else {
        let flips = 1 + chance.below(8);
        let start = chance.below(length);
        for _ in 0..flips {
            let at = (start + chance.below(64)).min(length - 1) as usize;
            bytes[at] ^= 1 << chance.below(8);
        }
        format!("{name}: {flips} bits flipped about byte {start} of {length}")
    };
    fs::write(path, bytes).expect("a file");
    said
}

/// The same of a server that may end meanwhile, which it also does when it has to write what it decides
/// into a damaged day; `None` when it has.
fn asked(server: &Server) -> Option<usize> {
    let mut lost = 0;
    // The first makes something to write, which the others leave time for.
    for from in [EFFECTS].into_iter().chain((0..EFFECTS).step_by(500)) {
        let mut connection = Connection::try_new(server.url())?;
        let body = checks(from, "other").to_string();
        let (status, text) = connection.ask(&post(BATCH, KEY, None, &body)).ok()?;
        if status == 503 {
            return None;
        }
        assert_eq!(status, 200, "{text}");
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        let results = answer["results"].as_array().expect("results").iter();
        let other = results.filter(|it| !is_known(it));
        lost += if from < EFFECTS { other.count() } else { 0 };
        until("history to be written, or the end", || {
            let metrics = b"GET /metrics HTTP/1.1\r\nhost: test\r\n\r\n";
            let Ok((200, text)) = connection.ask(metrics) else {
                return Some(());
            };
            let lag = text
                .lines()
                .find_map(|line| line.strip_prefix("interlock_history_lag_commits "));
            lag?.parse().is_ok_and(|lag: f64| lag < 1.0).then_some(())
        });
    }
    Some(lost)
}

/// A refusal names the place that was damaged, and says what to do in words that are not the engine's;
/// every flag and verb that it tells to use is there.
fn expect_told(setup: &Setup, told: &str, said: &str) {
    let low = told.to_lowercase();
    let has = |any: &[&str]| any.iter().any(|it| low.contains(it));
    let remedy = ["put a copy", "right one back", "must be 32 bytes"];
    assert!(has(&remedy), "{said}: {told}");
    assert!(!has(&["upgrade", "pagecache"]), "{said}: {told}");
    let place = place(said);
    assert!(told.contains(&place), "{said}: {place} is not in: {told}");
    let ends = |c: char| !(c.is_ascii_lowercase() || c == '-');
    let named = |mark: &str| -> Vec<String> {
        let after = told.split(mark).skip(1);
        let words = after.filter_map(|rest| rest.split(ends).next());
        words
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    };
    for flag in named(" --") {
        let help = verb(setup, &["serve", "--help"]).done();
        assert!(
            help.contains(&format!("--{flag}")),
            "{said}: --{flag}: {told}"
        );
    }
    for name in named("`interlock ") {
        let help = verb(setup, &["--help"]).done();
        assert!(
            help.contains(&format!("  {name} ")),
            "{said}: {name}: {told}"
        );
    }
}

/// The place that a refusal must name for what was done: the day of history, the log, or a file beside it.
fn place(said: &str) -> String {
    let (file, _) = said.split_once(": ").expect("a file and what was done");
    let parts: Vec<&str> = file.split('/').collect();
    match parts.as_slice() {
        ["log", "history", day, ..] => format!("./data/log/history/{day}"),
        ["log", ..] => "./data/log".to_owned(),
        _ => format!("./data/{file}"),
    }
}

#[test]
fn damaged_bytes_are_refused_or_nothing_is_lost() {
    let server = Setup::new()
        .seed(SEED)
        .config(CONFIG)
        .shards(2)
        .test_clock(NOW)
        .start();
    for from in (0..EFFECTS).step_by(500) {
        let answer = server.post(BATCH, KEY, &checks(from, "first"));
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert_eq!(lost(&server), 0);
    let whole = server.kill();
    let (mut refused, mut recovered, mut later) = (0, 0, 0);
    for seed in 0..count("INTERLOCK_DAMAGES", COPIES) as u64 {
        let setup = Setup::new().seed(SEED).config(CONFIG).test_clock(NOW);
        copy(&whole.data().path(), &setup.data().path());
        let said = damage(&setup.data().path(), &mut Chance(seed));
        // A look changes nothing, and what it finds well starts.
        let look = verb(&setup, &["verify"]);
        let refuses = matches!(look.code, Some(6 | 7 | 9 | 10));
        assert!(
            look.code == Some(0) || refuses,
            "seed {seed}: {said}: {look:?}"
        );
        match setup.try_start() {
            // A start does not read days through (`docs/reliability.md`): it may serve and be told of the
            // damage when it comes upon it. `verify` was told before.
            Ok(server) if look.code != Some(0) && said.starts_with("log/history") => {
                match asked(&server) {
                    Some(lost) => {
                        assert_eq!(lost, 0, "seed {seed}: {said}");
                        recovered += 1;
                    }
                    None => {
                        let ended = server.ended();
                        assert_eq!(ended.code, Some(6), "seed {seed}: {said}: {ended:?}");
                        expect_told(&setup, &ended.stderr.join("\n"), &said);
                        later += 1;
                    }
                }
            }
            Ok(server) => {
                assert_eq!(lost(&server), 0, "seed {seed}: {said}");
                recovered += 1;
            }
            Err(ended) => {
                assert!(refuses, "seed {seed}: {said}: {ended:?}");
                assert!(
                    matches!(ended.code, Some(6 | 7 | 9 | 10)),
                    "seed {seed}: {said}: {ended:?}"
                );
                expect_told(&setup, &ended.stderr.join("\n"), &said);
                refused += 1;
            }
        }
    }
    figure(format_args!(
        "{refused} copies of a damaged directory refused, {later} ended by a day of history when they came upon \
         it, {recovered} recovered, nothing lost"
    ));
    assert!(refused > 0 && recovered > 0, "{refused} and {recovered}");
}

/// Any flipped bit of the engine's settings, of the log and of a day, is told with the file, and never as
/// an old version that wants an upgrade.
#[test]
fn damaged_settings_of_the_engine_are_told_by_their_file() {
    let server = Setup::new().seed(SEED).test_clock(NOW).start();
    let answer = server.post(BATCH, KEY, &checks(0, "first"));
    assert_eq!(answer.status, 200, "{answer:?}");
    let setup = server.setup();
    assert_eq!(server.terminate().code, Some(0));
    let conf = setup.data().path().join("log/conf");
    let whole = fs::read(&conf).expect("settings");
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&conf, &bytes).expect("a file");
        let look = verb(&setup, &["verify"]);
        if look.code == Some(0) {
            continue;
        }
        assert_eq!(look.code, Some(6), "byte {at}: {look:?}");
        let told = look.stderr.to_lowercase();
        assert!(told.contains("./data/log"), "byte {at}: {told}");
        assert!(told.contains("put a copy"), "byte {at}: {told}");
        assert!(!told.contains("upgrade"), "byte {at}: {told}");
        assert!(!told.contains("pagecache"), "byte {at}: {told}");
    }
    fs::write(&conf, &whole).expect("a file");
    setup.start();
}

/// A day of history may be opened long after the start: its damage is told as damage then, not as a
/// disk that failed, which a restart might mend.
#[test]
fn a_damaged_day_of_history_is_told_as_damage() {
    let server = Setup::new()
        .seed(SEED)
        .config(CONFIG)
        .test_clock(NOW)
        .start();
    let answer = server.post(BATCH, KEY, &checks(0, "first"));
    assert_eq!(answer.status, 200, "{answer:?}");
    let setup = server.setup();
    assert_eq!(server.terminate().code, Some(0));
    let conf = setup.data().path().join("log/history/2026-01-05/conf");
    let bytes = fs::read(&conf).expect("a day of history");
    fs::write(&conf, &bytes[..bytes.len() - 4]).expect("a file");
    let server = match setup.try_start() {
        Ok(server) => server,
        Err(ended) => {
            assert_eq!(ended.code, Some(6), "{ended:?}");
            return;
        }
    };
    // What is decided now has to be written into that day.
    server.post(BATCH, KEY, &checks(500, "first"));
    let ended = server.ended();
    assert_eq!(ended.code, Some(6), "{ended:?}");
    assert!(ended.stderr.join(" ").contains("put a copy"), "{ended:?}");
}
