//! A process killed in the middle of its commits, with its acknowledgements as the oracle.
//!
//! The kernel keeps what was written before the kill, in order. Where the file system orders
//! writes (`Recovery::writes_are_ordered`) this is also all that a power cut can leave, but for the
//! write it interrupts.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::{A, acquired};
use crate::log::{Commit, Log, Positions, Sequence};
use crate::suite::support::{Rng, append, body, partition, places, snapshot, truncate_all};
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
        let length = rng.index(60_000);
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
        log.commit(&commit).expect("the commit is in order");
        owned.last = sequence;
        let line = format!("ack {}\n", sequence.0);
        let mut out = std::io::stdout().lock();
        out.write_all(line.as_bytes()).expect("somebody reads it");
        out.flush().expect("somebody reads it");
        if sequence.0.is_multiple_of(9) {
            truncate_all(&log, &log.coverage().positions(), 50);
        }
    }
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
        let log = SledLog::open(&dir, &SledOptions::default())
            .unwrap_or_else(|error| panic!("round {round}: {error}"));
        let last = acquired(&log).last.0;
        assert!(
            last >= acknowledged,
            "round {round}: {last} < {acknowledged}"
        );
        assert!(last <= acknowledged + 1, "round {round}: one was in flight");
        let value = log.meta(b"last").expect("it can be read");
        assert_eq!(value, Some(last.to_be_bytes().to_vec()), "round {round}");
        let found = places(&log);
        let first = found.first().map_or(last + 1, |place| place.1.0);
        let expected: Vec<_> = (first..=last).map(|s| (A, Sequence(s))).collect();
        assert_eq!(found, expected, "round {round}");
        let covered = log.coverage().truncatable(A);
        assert!(Sequence(first) <= covered.next(), "round {round}");
        truncate_all(&log, &Positions::new(), 10);
    }
    assert!(acknowledged > 60, "{acknowledged}");
}
