//! A process that ends in the middle of its commits, with its acknowledgements as the oracle: it is
//! killed, or there is no room for its file.
//!
//! The kernel keeps what was written before the kill, in order. Where the file system orders
//! writes (`Recovery::writes_are_ordered`) this is also all that a power cut can leave, but for the
//! write it interrupts.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{A, acquired};
use crate::log::{AppendError, Commit, Log, LogError, Sequence};
use crate::suite::support::{Rng, append, body, partition, places, snapshot};
use crate::{SledLog, SledOptions};

const DIR_VARIABLE: &str = "INTERLOCK_KILLED_DIR";
const COMMITS_VARIABLE: &str = "INTERLOCK_KILLED_COMMITS";
const THIS: &str = "sled::tests::killed::commits_until_it_is_killed";

/// The child's part: commits with snapshots and truncations, one line for each acknowledgement.
/// Without a directory it is a short run in a temporary one.
#[test]
fn commits_until_it_is_killed() {
    let temporary = tempfile::tempdir().expect("a directory");
    let dir = std::env::var_os(DIR_VARIABLE);
    let dir = dir.map_or(temporary.path().to_owned(), Into::into);
    let commits = std::env::var(COMMITS_VARIABLE).map_or(20, |text| {
        text.parse::<u64>().expect("the parent gives a number")
    });
    let log = SledLog::open(&dir, &SledOptions::default()).expect("it opens");
    let mut owned = acquired(&log);
    let mut rng = Rng::new(owned.last.0);
    for _ in 0..commits {
        let sequence = owned.last.next();
        // Some are long enough to span several segments of sled's log.
        let most = if sequence.0 % 7 == 3 {
            2_000_000
        } else {
            60_000
        };
        let length = rng.index(most);
        let mut commit = Commit {
            meta: vec![(b"last".to_vec(), Some(sequence.0.to_be_bytes().to_vec()))],
            ..Commit::default()
        };
        if sequence.0.is_multiple_of(9) {
            let slices = [body(sequence.0, 90_000)];
            commit = Commit {
                meta: commit.meta,
                ..snapshot(partition(A, 0), sequence.0, owned.last, &slices)
            };
        }
        commit.appends = vec![append(&owned, &[0], length)];
        match log.commit(&commit) {
            Ok(()) => say(&format!("ack {}\n", sequence.0)),
            Err(AppendError::Unknown(_)) => {
                let again = log.commit(&commit);
                assert!(matches!(again, Err(AppendError::Unknown(_))), "it is final");
                say("unknown\n");
                return;
            }
            Err(error) => panic!("{error}"),
        }
        owned.last = sequence;
        if sequence.0.is_multiple_of(9) {
            let upto = log.coverage().positions();
            loop {
                match log.truncate(&upto, 50) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(LogError::Io(_)) => return say("unknown\n"),
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).expect("somebody reads it");
    out.flush().expect("somebody reads it");
}

/// Everything acknowledged is there, and at most the one commit in flight beside it.
fn expect_all(dir: &Path, acknowledged: u64, place: &str) {
    let log = SledLog::open(dir, &SledOptions::default())
        .unwrap_or_else(|error| panic!("{place}: {error}"));
    let last = acquired(&log).last.0;
    assert!(last >= acknowledged, "{place}: {last} < {acknowledged}");
    assert!(last <= acknowledged + 1, "{place}: one was in flight");
    let value = log.meta(b"last").expect("it can be read");
    assert_eq!(value, Some(last.to_be_bytes().to_vec()), "{place}");
    let found = places(&log);
    let first = found.first().map_or(last + 1, |place| place.1.0);
    let expected: Vec<_> = (first..=last).map(|s| (A, Sequence(s))).collect();
    assert_eq!(found, expected, "{place}");
    let covered = log.coverage().truncatable(A);
    assert!(Sequence(first) <= covered.next(), "{place}");
}

/// A limit on the size of files makes writes fail as a full disk does, and needs no privilege.
#[test]
fn nothing_acknowledged_is_lost_when_there_is_no_room() {
    let root = tempfile::tempdir().expect("a directory");
    let dir = root.path().join("log");
    let script = "trap '' XFSZ; ulimit -f 20000; exec \"$0\" \"$@\"";
    let outcome = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().expect("this binary has a path"))
        .args([THIS, "--exact", "--nocapture", "--test-threads=1"])
        .env(DIR_VARIABLE, &dir)
        .env(COMMITS_VARIABLE, "5000")
        .output()
        .expect("sh can be run");
    let said = String::from_utf8_lossy(&outcome.stdout);
    let errors = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "{said}{errors}");
    assert!(said.lines().any(|line| line == "unknown"), "{said}{errors}");
    let mut acknowledged = said.lines().rev().filter_map(|l| l.strip_prefix("ack "));
    let last = acknowledged.next().expect("there was room for some");
    expect_all(
        &dir,
        last.parse().expect("it is a number"),
        "after the error",
    );
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let root = tempfile::tempdir().expect("a directory");
    let dir = root.path().join("log");
    let mut rng = Rng::new(3);
    let mut acknowledged = 0;
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().expect("this binary has a path"))
            .args([THIS, "--exact", "--nocapture", "--test-threads=1"])
            .env(DIR_VARIABLE, &dir)
            .env(COMMITS_VARIABLE, "1000000")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("this binary can be run");
        let out = child.stdout.take().expect("it is piped");
        let mut left = 5 + rng.below(60);
        for line in BufReader::new(out).lines() {
            let line = line.expect("it can be read");
            if let Some(number) = line.strip_prefix("ack ") {
                acknowledged = number.parse().expect("it is a number");
                left = left.saturating_sub(1);
                if left == 0 {
                    // Lines that are still on their way are read below.
                    child.kill().expect("it runs");
                }
            }
        }
        child.wait().expect("it has ended");
        expect_all(&dir, acknowledged, &format!("round {round}"));
    }
    assert!(acknowledged > 60, "{acknowledged}");
}
