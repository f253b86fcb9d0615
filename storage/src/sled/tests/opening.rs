//! Opening: locks, modes, leftovers of an abrupt stop, files that cannot be read, blobs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{A, acquired, commit_one, copy_dir};
use crate::log::{AppendError, Commit, HistoryDay, Log, LogError, Positions, Sequence};
use crate::sled::testing::SledFactory;
use crate::suite::Factory;
use crate::suite::support::{Rng, append, body, partition, places, snapshot, truncate_all};
use crate::{SledLog, SledOptions};

fn open(dir: &Path) -> Result<SledLog, LogError> {
    SledLog::open(dir, &SledOptions::default())
}

#[test]
fn a_directory_in_use_is_said_so_in_one_line() {
    let root = tempfile::tempdir().expect("a directory");
    let log = open(root.path()).expect("it opens");
    let Err(LogError::Locked(text)) = open(root.path()) else {
        panic!("two handles on one directory");
    };
    assert!(text.contains("in use by another process"), "{text}");
    assert!(text.contains(&root.path().display().to_string()), "{text}");
    assert_eq!(text.lines().count(), 1);
    drop(log);
    let log = open(root.path()).expect("closing gives the lock back");
    // The file system that tests run on may order writes or not; asking never keeps a log closed.
    let _either = log.recovery().writes_are_ordered;
}

#[test]
fn only_the_owner_may_read() {
    let root = tempfile::tempdir().expect("a directory");
    let dir = root.path().join("deep/down");
    for _ in 0..2 {
        let log = open(&dir).expect("it opens");
        let mut owned = acquired(&log);
        commit_one(&log, &mut owned, 10);
        let row = (vec![1], vec![2]);
        log.history_append(HistoryDay(0), &[row], &Positions::new())
            .expect("rows can be written");
    }
    let mut seen = Vec::new();
    let mut dirs = vec![root.path().join("deep")];
    while let Some(dir) = dirs.pop() {
        let mode = fs::metadata(&dir)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700, "{}", dir.display());
        for entry in fs::read_dir(&dir).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                dirs.push(path);
                continue;
            }
            let mode = fs::metadata(&path)
                .expect("it is there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
            seen.push(path);
        }
    }
    let day = dir.join("history/1970-01-01/db");
    assert!(
        seen.contains(&dir.join("db")) && seen.contains(&day),
        "{seen:?}"
    );
}

#[test]
fn half_written_snapshot_files_of_sled_are_moved_aside() {
    let root = tempfile::tempdir().expect("a directory");
    for round in 0..2 {
        let log = open(root.path()).expect("it opens");
        let mut owned = acquired(&log);
        commit_one(&log, &mut owned, 10);
        drop(log);
        let half = root.path().join("snap.FFFFFFFFFFFFFFF0.generating");
        fs::write(&half, b"half").expect("the disk works");
        let log = open(root.path()).expect("it opens all the same");
        let moved = &log.recovery().moved_aside;
        assert_eq!(moved.len(), 1);
        assert!(moved[0].exists() && !half.exists());
        assert_eq!(places(&log).len(), round + 1);
    }
}

#[test]
fn what_cannot_be_read_is_corrupt_and_not_a_panic() {
    let root = tempfile::tempdir().expect("a directory");
    let dir = root.path().join("log");
    let log = open(&dir).expect("it opens");
    let mut owned = acquired(&log);
    for _ in 0..20 {
        commit_one(&log, &mut owned, 30_000);
    }
    drop(log);
    drop(open(&dir).expect("it opens, and sled writes its snapshot file"));
    for entry in fs::read_dir(&dir).expect("it can be read") {
        let path = entry.expect("it can be read").path();
        if path.to_string_lossy().contains("snap.") {
            fs::write(path, b"not a snapshot of sled").expect("the disk works");
        }
    }
    let error = open(&dir).expect_err("it cannot be trusted");
    let LogError::Corrupt(text) = &error else {
        panic!("it is corrupt: {error}");
    };
    assert!(text.contains(&dir.display().to_string()), "{text}");
    assert!(text.contains("copy of the data directory"), "{text}");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn a_cut_or_flipped_file_never_gives_anything_but_a_beginning() {
    let root = tempfile::tempdir().expect("a directory");
    let good = root.path().join("good");
    let log = open(&good).expect("it opens");
    let mut owned = acquired(&log);
    for number in 0..60 {
        commit_one(&log, &mut owned, number * 400);
    }
    drop(log);
    let length = fs::metadata(good.join("db")).expect("it is there").len();
    let mut rng = Rng::new(5);
    let mut opened = 0;
    for round in 0..60_u64 {
        let bad = root.path().join(format!("bad{round}"));
        copy_dir(&good, &bad);
        if round % 3 > 0 {
            // Without sled's own snapshot file all of its log is read.
            for entry in fs::read_dir(&bad).expect("it can be read") {
                let path = entry.expect("it can be read").path();
                if path.to_string_lossy().contains("snap.") {
                    fs::remove_file(path).expect("the disk works");
                }
            }
        }
        let db = bad.join("db");
        if round % 2 == 0 {
            let cut = 1 + rng.below(length.min(1 << (round / 3)));
            let file = fs::File::options().write(true).open(&db);
            file.and_then(|file| file.set_len(length - cut))
                .expect("the disk works");
        } else {
            let mut bytes = fs::read(&db).expect("the disk works");
            let from = rng.index(bytes.len());
            let count = 1 + rng.index(16);
            for byte in bytes.iter_mut().skip(from).take(count) {
                *byte ^= 0x5A;
            }
            fs::write(&db, bytes).expect("the disk works");
        }
        match open(&bad) {
            Ok(log) => {
                opened += 1;
                let expected: Vec<_> = (1..=places(&log).len() as u64)
                    .map(|sequence| (A, Sequence(sequence)))
                    .collect();
                assert_eq!(places(&log), expected, "round {round}");
            }
            Err(LogError::Corrupt(text) | LogError::Io(text)) => {
                assert!(text.contains(&bad.display().to_string()), "{text}");
            }
            Err(error) => panic!("round {round}: {error}"),
        }
        fs::remove_dir_all(&bad).expect("the disk works");
    }
    assert!(opened > 0, "some damage is only at the end");
}

#[test]
fn a_blob_ends_the_handle_and_keeps_the_next_from_opening() {
    let root = tempfile::tempdir().expect("a directory");
    let log = open(root.path()).expect("it opens");
    let mut owned = acquired(&log);
    commit_one(&log, &mut owned, 10);
    let blob = root.path().join("blobs/123");
    fs::write(&blob, b"never synced").expect("the disk works");
    let next = Commit {
        appends: vec![append(&owned, &[0], 10)],
        ..Commit::default()
    };
    let error = log.commit(&next).expect_err("it cannot be acknowledged");
    assert!(
        matches!(&error, AppendError::Unknown(why) if why.contains("blobs")),
        "{error}"
    );
    fs::remove_file(&blob).expect("the disk works");
    log.commit(&next).expect_err("the failure is final");
    drop(log);
    // sled removes names above the end of its log when it opens, so this one is below.
    fs::write(root.path().join("blobs/0"), b"never synced").expect("the disk works");
    let Err(LogError::Corrupt(text)) = open(root.path()) else {
        panic!("it cannot be trusted");
    };
    assert!(text.contains("copy of the data directory"), "{text}");
    let options = SledOptions {
        accept_blobs: true,
        ..SledOptions::default()
    };
    let log = SledLog::open(root.path(), &options).expect("it can be exported");
    assert!(!places(&log).is_empty());
}

/// Several hundred megabytes would be nearer to a day's run; this is what fits a test. The pattern
/// is the one that left blobs with larger chunks: snapshots that replace each other while the
/// journal is truncated.
#[test]
fn a_long_run_leaves_no_blobs() {
    let root = tempfile::tempdir().expect("a directory");
    let factory = SledFactory::without_copies(root.path());
    let log = factory.open_sled(false).expect("it opens");
    let mut owned = acquired(&log);
    let mut rng = Rng::new(11);
    let mut written = 0;
    for round in 0..40_u64 {
        for number in 0..8_u16 {
            let length = 150_000 + rng.index(250_000);
            let slices: Vec<Vec<u8>> = (0..1 + rng.below(3))
                .map(|index| body(round << 8 | index, length))
                .collect();
            written += slices.len() * length;
            let position = owned.last;
            let mut commit = snapshot(partition(A, number), round + 1, position, &slices);
            let length = 20_000 + rng.index(60_000);
            written += length;
            commit.appends.push(append(&owned, &[number], length));
            log.commit(&commit).expect("the commit is in order");
            owned.last = owned.last.next();
            if number % 3 == 0 {
                let upto = log.coverage().positions();
                truncate_all(&log, &upto, 200 + rng.index(1_500));
            }
        }
        factory.check();
    }
    assert!(written > 100_000_000, "{written} bytes");
    let size = log.size_on_disk().expect("it can be read");
    assert!(size < 200_000_000, "space is used again: {size} bytes");
}

/// Pitfall 32.
#[test]
fn the_largest_commit_is_taken() {
    let root = tempfile::tempdir().expect("a directory");
    let log = open(root.path()).expect("it opens");
    let mut owned = acquired(&log);
    commit_one(&log, &mut owned, crate::COMMIT_BYTES_MAX);
    drop(log);
    let log = open(root.path()).expect("it opens");
    let mut length = 0;
    log.replay(&Positions::new(), &mut |append| {
        length = append.records.len();
        std::ops::ControlFlow::Continue(())
    })
    .expect("it can be replayed");
    assert_eq!(length, crate::COMMIT_BYTES_MAX);
    assert!(log.free_bytes().is_some_and(|free| free > 0));
}

/// A copy is refused while somebody has the log, and taking one changes nothing of it.
#[test]
fn a_copy_needs_the_lock_and_changes_nothing() {
    let home = tempfile::tempdir().expect("a directory");
    let (dir, to) = (home.path().join("log"), home.path().join("copy"));
    let log = SledLog::open(&dir, &SledOptions::default()).expect("opens");
    let commit = Commit {
        meta: vec![(b"a".to_vec(), Some(b"1".to_vec()))],
        ..Commit::default()
    };
    log.commit(&commit).expect("commits");
    let refused = SledLog::copy(&dir, &to).expect_err("it is in use");
    assert!(matches!(refused, LogError::Locked(_)), "{refused}");
    assert!(!to.exists());
    drop(log);
    let before = fs::read(dir.join("db")).expect("a file");
    assert!(SledLog::bytes_of(&dir).expect("sizes") >= before.len() as u64);
    SledLog::copy(&dir, &to).expect("copies");
    let copy = SledLog::open(&to, &SledOptions::default()).expect("opens");
    assert_eq!(copy.meta(b"a").expect("reads"), Some(b"1".to_vec()));
    drop(copy);
    assert!(fs::read(dir.join("db")).expect("a file") == before);
    SledLog::copy(&home.path().join("none"), &to).expect_err("there is none");
}
