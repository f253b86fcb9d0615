//! The proof that each acknowledgement follows a sync, from the system calls of a real process.
//!
//! The test runs this same test binary under strace; the child commits and writes a line after each
//! acknowledged commit. `docs/storage.md` §1.5.12.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use super::{A, acquired, commit_one};
use crate::log::{HistoryDay, Log, Positions, Sequence};
use crate::suite::support::{partition, snapshot, truncate_all};
use crate::suite::trace::{parse, prove_synced};
use crate::{SledLog, SledOptions};

const DIR_VARIABLE: &str = "INTERLOCK_SYNC_PROOF_DIR";
const THIS: &str = "sled::tests::sync_proof::commits_and_says_so";
const COMMITS: usize = 60;

/// The child's part; without a directory it is a test of its own in a temporary one.
#[test]
fn commits_and_says_so() {
    let temporary = tempfile::tempdir().expect("a directory");
    let dir = std::env::var_os(DIR_VARIABLE);
    let dir = dir.map_or(temporary.path().to_owned(), Into::into);
    let log = SledLog::open(&dir, &SledOptions::default()).expect("it opens");
    let mut owned = acquired(&log);
    for number in 0..COMMITS {
        commit_one(&log, &mut owned, number * 700);
        say(&format!("ack {number}\n"));
        if number % 10 == 9 {
            let whole = snapshot(
                partition(A, 0),
                number as u64,
                owned.last,
                &[vec![1; 9_000]],
            );
            log.commit(&whole).expect("the snapshot is in order");
            say(&format!("sealed {number}\n"));
            truncate_all(&log, &log.coverage().positions(), 100);
        }
    }
    log.history_append(HistoryDay(0), &[(vec![1], vec![2])], &Positions::new())
        .expect("rows can be written");
    say("history\n");
    assert_eq!(owned.last, Sequence(COMMITS as u64));
}

/// One `write` of its own, past the capture of the test harness.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).expect("somebody reads it");
    out.flush().expect("somebody reads it");
}

#[test]
fn every_acknowledgement_follows_a_sync_of_the_database_file() {
    let root = tempfile::tempdir().expect("a directory");
    let root = root.path().canonicalize().expect("it is there");
    let (dir, trace) = (root.join("log"), root.join("trace"));
    let calls = "trace=pwrite64,fdatasync,fsync,openat,sync_file_range,write,sendto";
    let outcome = Command::new("strace")
        .args(["-f", "-y", "-s", "64", "-e", calls, "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().expect("this binary has a path"))
        .args([THIS, "--exact", "--nocapture", "--test-threads=1"])
        .env(DIR_VARIABLE, &dir)
        .output();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => panic!("strace is needed for this proof and cannot be run: {error}"),
    };
    let said = String::from_utf8_lossy(&outcome.stdout);
    let errors = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "the child failed: {said}{errors}");
    let trace = std::fs::read_to_string(&trace).expect("strace wrote it");
    let calls = parse(&trace).expect("it is a trace");
    let says = |call: &crate::suite::trace::Call, words: &[&str]| {
        call.name == "write"
            && call.arguments.starts_with("1<")
            && words.iter().any(|word| call.arguments.contains(word))
    };
    let proven = prove_synced(&calls, &dir.join("db"), &|call| {
        says(call, &["\"ack ", "\"sealed "])
    })
    .expect("each acknowledgement follows a sync");
    assert_eq!(proven, COMMITS + COMMITS / 10, "every one of them was seen");
    let day = dir.join("history/1970-01-01/db");
    let proven = prove_synced(&calls, &day, &|call| says(call, &["\"history"]));
    assert_eq!(proven, Ok(1));
    expect_one_handle(&calls, &dir.join("db"));
}

/// Our handle was opened before anything was written, and is the one that is synced.
fn expect_one_handle(calls: &[crate::suite::trace::Call], db: &Path) {
    let first_write = calls
        .iter()
        .find(|call| call.is_on("pwrite64", db))
        .expect("the database was written");
    let descriptor = |call: &crate::suite::trace::Call| {
        let (number, _) = call.arguments.split_once('<').expect("-y shows the file");
        number.to_owned()
    };
    let synced: std::collections::BTreeSet<String> = calls
        .iter()
        .filter(|call| call.is_on("fdatasync", db))
        .map(descriptor)
        .collect();
    assert_eq!(synced.len(), 1, "one descriptor is synced: {synced:?}");
    let opened = calls.iter().find(|call| {
        call.name == "openat"
            && call.arguments.contains(&format!("\"{}\"", db.display()))
            && call.result.map(|number| number.to_string()).as_ref() == synced.first()
    });
    let opened = opened.expect("the descriptor was opened on the path");
    assert!(opened.ended < first_write.begun, "before the first write");
}
