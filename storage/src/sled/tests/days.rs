//! Days of history that end too early, or are gone: told, whatever took what is missing.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use super::copy_dir;
use crate::log::{CHUNK_BYTES_MAX, HistoryDay, Log, LogError, Positions, Row};
use crate::sled::stages::Stage;
use crate::sled::{keys, values};
use crate::{SledLog, SledOptions};

const DAYS: [i32; 3] = [20_000, 20_001, 20_002];

fn open(dir: &Path, accept_truncation: bool) -> Result<SledLog, LogError> {
    let options = SledOptions {
        accept_truncation,
        ..SledOptions::default()
    };
    SledLog::open(dir, &options)
}

fn row(number: u32) -> Row {
    (number.to_be_bytes().to_vec(), vec![7; 2_000])
}

/// A log with three days of sixty rows, of which some were written twice.
fn written(dir: &Path) {
    let log = open(dir, false).expect("it opens");
    for day in DAYS {
        for from in (0..60).step_by(10) {
            let rows: Vec<Row> = (from..from + 10).map(row).collect();
            for _ in 0..2 {
                log.history_append(HistoryDay(day), &rows, &Positions::new())
                    .expect("rows can be written");
            }
        }
    }
    assert_eq!(log.lacking_days().expect("it can be read"), [""; 0]);
}

fn path_of(dir: &Path, day: &str) -> std::path::PathBuf {
    dir.join("history").join(day)
}

/// What a start says, and what a look at everything says after it was accepted.
fn told(dir: &Path, day: &str) -> (Option<String>, Vec<String>) {
    let place = path_of(dir, day).display().to_string();
    let refused = match open(dir, false) {
        Ok(log) => {
            let lacking = log.lacking_days().expect("it can be read");
            assert!(
                lacking.iter().all(|why| why.contains(&place)),
                "{lacking:?}"
            );
            return (None, lacking);
        }
        Err(LogError::Corrupt(why)) => why,
        Err(error) => panic!("{error}"),
    };
    for part in [&place, "put a copy", "--accept-truncation", "only reports"] {
        assert!(
            refused.to_lowercase().contains(&part.to_lowercase()),
            "{refused}"
        );
    }
    let log = open(dir, true).expect("the operator accepts it");
    assert_eq!(log.recovery().days.len(), 1);
    let lacking = log.lacking_days().expect("it can be read");
    drop(log);
    let log = open(dir, false).expect("it is accepted for good");
    assert_eq!(log.recovery().days.len(), 0);
    (Some(refused), lacking)
}

#[test]
fn a_sound_day_is_not_complained_of() {
    let root = tempfile::tempdir().expect("a directory");
    written(root.path());
    for _ in 0..2 {
        assert_eq!(told(root.path(), "2024-10-06"), (None, Vec::new()));
    }
    // Days that go take their marks along, also those that come back.
    let log = open(root.path(), false).expect("it opens");
    let gone = log.history_purge(HistoryDay(20_002)).expect("days can go");
    assert_eq!(gone.len(), 2);
    drop(log);
    let log = open(root.path(), false).expect("it opens");
    log.history_append(HistoryDay(20_000), &[row(1)], &Positions::new())
        .expect("rows can be written");
    drop(log);
    assert_eq!(told(root.path(), "2024-10-06"), (None, Vec::new()));
}

#[test]
fn the_newest_day_is_missed_at_once_and_older_ones_when_they_are_gone() {
    for day in ["2024-10-04", "2024-10-05", "2024-10-06"] {
        let root = tempfile::tempdir().expect("a directory");
        written(root.path());
        fs::remove_dir_all(path_of(root.path(), day)).expect("the disk works");
        let (refused, lacking) = told(root.path(), day);
        assert!(refused.is_some_and(|why| why.contains("is missing")));
        assert_eq!(lacking, [""; 0]);
    }
}

#[test]
fn a_day_that_was_cut_or_flipped_is_told() {
    let whole = tempfile::tempdir().expect("a directory");
    written(whole.path());
    for (day, newest) in [("2024-10-04", false), ("2024-10-06", true)] {
        for part in [1, 3, 5, 7] {
            for flip in [false, true] {
                let root = tempfile::tempdir().expect("a directory");
                copy_dir(whole.path(), root.path());
                let db = path_of(root.path(), day).join("db");
                let mut bytes = fs::read(&db).expect("it is there");
                let end = bytes.iter().rposition(|byte| *byte != 0).expect("bytes");
                let at = end / 8 * part;
                if flip {
                    bytes[at] ^= 1;
                } else {
                    bytes.truncate(at);
                }
                fs::write(&db, &bytes).expect("the disk works");
                expect_told(root.path(), day, newest);
            }
        }
    }
}

/// Whatever is damaged of whichever day, a start that accepts it goes on, writes that day again, and the
/// next start has nothing to say; a folder that cannot be read is beside it, whole.
#[test]
fn any_damaged_day_is_given_up_when_the_operator_says_so() {
    let whole = tempfile::tempdir().expect("a directory");
    written(whole.path());
    let mut put_aside = 0;
    for (number, day) in [(20_000, "2024-10-04"), (20_002, "2024-10-06")] {
        for file in ["db", "conf"] {
            for keep in [0, 20, 1_000, 60_000] {
                let root = tempfile::tempdir().expect("a directory");
                copy_dir(whole.path(), root.path());
                let path = path_of(root.path(), day);
                let bytes = fs::read(path.join(file)).expect("it is there");
                let mut damaged = bytes.clone();
                damaged.truncate(keep);
                damaged.resize(bytes.len(), 0xa5);
                fs::write(path.join(file), &damaged).expect("the disk works");
                let log = open(root.path(), true).expect("the operator accepts it");
                let days = &log.recovery().days;
                assert!(days.iter().all(|why| why.contains(day)), "{days:?}");
                for aside in &log.recovery().days_aside {
                    put_aside += 1;
                    assert!(!days.is_empty() && aside.join("db").exists(), "{aside:?}");
                    assert_eq!(aside.parent(), path.parent());
                }
                log.history_append(HistoryDay(number), &[row(999)], &Positions::new())
                    .expect("rows can be written");
                drop(log);
                let log = open(root.path(), false).expect("it is given up for good");
                assert_eq!(log.lacking_days().expect("it can be read"), [""; 0]);
            }
        }
    }
    assert!(put_aside > 0, "nothing was damaged beyond reading");
}

/// It has everything, or a start refuses it, or a thorough look finds it; the newest day is not left
/// to the thorough look.
fn expect_told(dir: &Path, day: &str, newest: bool) {
    let opened = match open(dir, false) {
        Err(LogError::Corrupt(_)) => return,
        Err(error) => panic!("{error}"),
        Ok(log) => log,
    };
    let number = DAYS[if newest { 2 } else { 0 }];
    let mut rows = 0;
    let read = opened.history_read(HistoryDay(number), &[], &mut |_, _| {
        rows += 1;
        std::ops::ControlFlow::Continue(())
    });
    if read.is_ok() && rows == 60 {
        return;
    }
    assert!(!newest, "{day} has {rows} rows, and the start said nothing");
    match opened.lacking_days() {
        Ok(lacking) => assert_eq!(lacking.len(), 1, "{lacking:?}"),
        Err(LogError::Corrupt(why)) => assert!(why.contains(day), "{why}"),
        Err(error) => panic!("{error}"),
    }
}

/// Keys that a stop left without their rows count for nothing, and the rows can be written after all.
#[test]
fn rows_that_were_only_laid_out_are_as_if_they_were_not() {
    let root = tempfile::tempdir().expect("a directory");
    written(root.path());
    let day = HistoryDay(DAYS[2]);
    let read = |log: &SledLog| {
        let mut rows = Vec::new();
        log.history_read(day, &[], &mut |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })
        .expect("it can be read");
        rows
    };
    let db = sled::open(path_of(root.path(), "2024-10-06")).expect("the log is closed");
    let late: Vec<Row> = (55..100).map(row).collect();
    for (key, _) in &late[5..] {
        let name = keys::chunk(&keys::row(keys::HISTORY_ROW, key), 0);
        db.insert(name, b"").expect("it can be written");
    }
    drop(db);
    let log = open(root.path(), false).expect("it opens");
    assert_eq!(read(&log), (0..60).map(row).collect::<Vec<_>>());
    assert_eq!(log.lacking_days().expect("it can be read"), [""; 0]);
    log.history_append(day, &late, &Positions::new())
        .expect("they can be written");
    assert_eq!(read(&log), (0..100).map(row).collect::<Vec<_>>());
    assert_eq!(log.history.marks()[&day].rows, 100);
    assert_eq!(log.lacking_days().expect("it can be read"), [""; 0]);
}

/// For as long as a batch is applied no other database goes on, so a row that counts by itself comes
/// without one. Several chunks count together: in the place of one, and one in their place.
#[test]
fn only_rows_of_several_chunks_take_a_batch() {
    let root = tempfile::tempdir().expect("a directory");
    let log = open(root.path(), false).expect("it opens");
    let name = keys::row(keys::HISTORY_ROW, &[1]);
    let lengths = [1, 2, 3 * CHUNK_BYTES_MAX, 3, 4];
    for (length, takes) in lengths.into_iter().zip([false, false, true, true, false]) {
        let value = vec![7; length];
        let mut stage = Stage::default();
        values::put_alone(&log.store, &mut stage, &name, &value).expect("it can be read");
        let batch = stage.take_batch();
        assert_eq!(batch.is_some(), takes, "{length} bytes");
        if let Some(batch) = batch {
            *stage.batch() = batch;
        }
        log.store.write_stage(stage).expect("the disk works");
        let read = values::read(&log.store, &name).expect("it can be read");
        assert!(read == Some(value), "{length} bytes");
    }
}

/// Between two syncs of one append other things go on: readers see what is durable, and commits land.
#[test]
fn others_go_between_the_syncs_of_an_append() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let log = open(dir.path(), false).expect("it opens");
    let day = HistoryDay(20_000);
    let rows: Vec<Row> = (0..200).map(row).collect();
    let read = || {
        let mut count = 0;
        let visit = &mut |_: &[u8], _: &[u8]| {
            count += 1;
            ControlFlow::Continue(())
        };
        log.history_read(day, &[], visit).expect("it can be read");
        count
    };
    let mut seen = Vec::new();
    log.history_append_paced(day, &rows, &Positions::new(), &mut || seen.push(read()))
        .expect("rows can be written");
    assert!(seen.len() >= 3, "{seen:?}");
    assert!(seen.is_sorted() && seen[0] > 0, "{seen:?}");
    assert!(seen.iter().all(|&count| count < rows.len()), "{seen:?}");
    assert_eq!(read(), rows.len());
}
