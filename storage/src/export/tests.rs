//! Exports of logs that go on, and logs made of them.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::Path;

use super::*;
use crate::log::{AppendError, Commit, Epoch, HistoryDay, Owned};
use crate::suite::support::{
    append, body, partition, read_snapshot, replay, snapshot, truncate_all,
};
use crate::{MemoryLog, SledLog, SledOptions};

const A: Group = Group(0);
const B: Group = Group(63);
const HEAD: Head<'_> = Head {
    program: "a test",
    at_ms: 7,
    note: b"note",
};
const ROOM: u64 = 1 << 40;

/// A log whose owner counts, in a meta value, the commits it made.
struct Source<'a> {
    log: &'a dyn Log,
    owned: RefCell<Vec<Owned>>,
    commits: Cell<u64>,
    snapshots: Cell<u64>,
}

impl<'a> Source<'a> {
    fn new(log: &'a dyn Log) -> Self {
        // Two starts, so that epochs and sequences differ.
        for _ in 0..2 {
            log.acquire(&[A, B]).expect("they can be acquired");
        }
        let owned = log.acquire(&[A, B]).expect("they can be acquired");
        Self {
            log,
            owned: RefCell::new(owned),
            commits: Cell::new(0),
            snapshots: Cell::new(0),
        }
    }

    /// One append to each group, and the count.
    fn commit(&self, number: u16) {
        self.commits.set(self.commits.get() + 1);
        let mut owned = self.owned.borrow_mut();
        let value = self.commits.get().to_be_bytes().to_vec();
        let commit = Commit {
            appends: owned
                .iter()
                .map(|owned| append(owned, &[number], 3_000))
                .collect(),
            meta: vec![(b"commits".to_vec(), Some(value))],
            ..Commit::default()
        };
        self.log.commit(&commit).expect("it is in order");
        for owned in &mut *owned {
            owned.last = owned.last.next();
        }
    }

    /// Snapshots of a partition of each group as of now; answers their slices.
    fn snapshot(&self, number: u16, length: usize) -> Vec<Vec<u8>> {
        self.snapshots.set(self.snapshots.get() + 1);
        let name = self.snapshots.get();
        let slices = vec![body(name, length); 3];
        for owned in self.owned.borrow().iter() {
            let partition = partition(owned.group, number);
            let whole = snapshot(partition, name, owned.last, &slices);
            self.log.commit(&whole).expect("it is in order");
        }
        slices
    }

    fn truncate(&self) {
        truncate_all(self.log, &self.log.coverage().positions(), 50);
    }

    fn history(&self, day: i32, rows: u8) {
        let last = |owned: &Owned| (owned.group, owned.last);
        let positions = self.owned.borrow().iter().map(last).collect();
        let rows: Vec<Row> = (0..rows).map(|row| (vec![row], body(9, 2_000))).collect();
        self.log
            .history_append(HistoryDay(day), &rows, &positions)
            .expect("it can be written");
    }
}

fn exported(log: &dyn Log, progress: &mut dyn FnMut(&Exported)) -> Result<Vec<u8>, ExportError> {
    let mut file = Vec::new();
    let told = export(log, HEAD, ROOM, &mut file, progress)?;
    assert_eq!(told.bytes, file.len() as u64);
    Ok(file)
}

fn imported(file: &[u8], dir: &Path) -> (Survey, SledLog) {
    let found = survey(file).expect("it is whole");
    let owned = file.to_vec();
    let mut open = || Ok(Box::new(io::Cursor::new(owned.clone())) as Box<dyn io::Read>);
    let log = import(&found, &mut open, dir, &mut |_| ()).expect("it can be imported");
    (found, log)
}

/// Everything that a log holds, but for epochs and numbers of commits.
#[derive(Debug, PartialEq)]
struct Content {
    journal: Vec<(Group, Sequence, Vec<u8>)>,
    meta: Vec<Row>,
    history: Vec<Row>,
}

fn content(log: &dyn Log) -> Content {
    let journal = replay(log, &Positions::new());
    let journal = journal
        .into_iter()
        .map(|one| (one.group, one.sequence, one.records));
    let mut history = Vec::new();
    for day in log.history_size().expect("it can be read").days {
        log.history_read(day, &[], &mut |key, value| {
            history.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })
        .expect("it can be read");
    }
    Content {
        journal: journal.collect(),
        meta: log.meta_scan(b"").expect("it can be read"),
        history,
    }
}

fn filled(log: &dyn Log) -> Source<'_> {
    let source = Source::new(log);
    for number in 0..20 {
        source.commit(number % 4);
    }
    for number in 0..4 {
        source.snapshot(number, 10);
        source.snapshot(number, 50_000);
    }
    source.history(20_000, 40);
    source.history(20_001, 200);
    source.truncate();
    for number in 0..5 {
        source.commit(number);
    }
    source
}

fn each_engine(test: &dyn Fn(&dyn Log)) {
    test(&MemoryLog::new());
    let root = tempfile::tempdir().expect("a directory");
    let options = SledOptions::default();
    test(&SledLog::open(root.path(), &options).expect("it opens"));
}

/// Pitfall 31, too: whoever the source had let in is refused by the copy.
#[test]
fn a_log_comes_back_and_goes_on() {
    each_engine(&|log| {
        let source = filled(log);
        let file = exported(log, &mut |_| ()).expect("it can be exported");
        let root = tempfile::tempdir().expect("a directory");
        let dir = root.path().join("log");
        let (found, copy) = imported(&file, &dir);
        assert_eq!((found.program.as_str(), found.at_ms), ("a test", 7));
        assert_eq!(found.note, b"note");
        assert_eq!((found.holds.snapshots, found.holds.history_rows), (8, 240));
        assert_eq!(content(&copy), content(log));
        for number in 0..4 {
            let one = partition(A, number);
            assert_eq!(read_snapshot(&copy, one), read_snapshot(log, one));
        }
        assert_eq!(copy.history_position().ok(), log.history_position().ok());
        drop(copy);
        // Another start goes on where the source was, and fences whoever the source had let in.
        let copy = SledLog::open(&dir, &SledOptions::default()).expect("it opens");
        let before = source.owned.borrow().clone();
        let owned = copy.acquire(&[A, B]).expect("they can be acquired");
        for (before, now) in before.iter().zip(&owned) {
            assert_eq!(before.last, now.last);
            assert!(before.epoch < now.epoch);
        }
        let old = Commit {
            appends: vec![append(&before[0], &[0], 10)],
            ..Commit::default()
        };
        let fenced = copy.commit(&old).expect_err("its epoch is over");
        assert!(matches!(fenced, AppendError::Fenced { .. }), "{fenced}");
        let next = Commit {
            appends: vec![append(&owned[0], &[0], 10)],
            ..Commit::default()
        };
        copy.commit(&next).expect("it goes on");
        truncate_all(&copy, &Positions::new(), 10);
    });
}

/// While the file is written, commits land, snapshots replace those that are being read, history
/// grows and truncation is asked for: the file is of one moment all the same.
#[test]
fn an_export_is_of_one_moment() {
    each_engine(&|log| {
        let source = filled(log);
        let mut slices = Vec::new();
        let file = exported(log, &mut |_| {
            source.commit(1);
            slices.push((source.owned.borrow()[0].last, source.snapshot(1, 100)));
            source.history(20_002, 3);
            source.truncate();
        });
        let file = file.expect("it can be exported");
        let root = tempfile::tempdir().expect("a directory");
        let (_, copy) = imported(&file, &root.path().join("log"));
        let groups = copy.cut().expect("it can be read").groups;
        let lasts: Vec<u64> = groups.iter().map(|owned| owned.last.0).collect();
        let commits = copy.meta(b"commits").expect("it can be read");
        let commits = commits.expect("it is there");
        let commits = u64::from_be_bytes(commits.try_into().expect("eight bytes"));
        assert_eq!(lasts, [commits, commits], "meta values are of that moment");
        assert!(commits > 25 && commits < source.commits.get());
        // Whatever no snapshot covers is in the journal.
        let journal = replay(&copy, &Positions::new());
        let info = copy.snapshots().expect("they can be listed");
        let info = info.iter().find(|info| info.partition == partition(A, 1));
        let position = info.expect("it is there").position;
        let after = journal
            .iter()
            .filter(|one| one.group == A && one.sequence > position);
        assert_eq!(after.count() as u64, commits - position.0);
        let known = slices.iter().find(|(at, _)| *at == position);
        let read = read_snapshot(&copy, partition(A, 1));
        if let Some((_, slices)) = known {
            assert_eq!(read.as_ref(), Some(slices));
        }
        // Afterwards truncation catches up.
        let before = log.journal_size().bytes;
        for number in 0..5 {
            source.snapshot(number, 10);
        }
        source.history(20_002, 0);
        source.truncate();
        assert!(log.journal_size().bytes < before);
        assert!(log.pin().take(1).is_some(), "the pin was given back");
    });
}

#[test]
fn truncation_does_not_wait_for_ever() {
    each_engine(&|log| {
        let source = filled(log);
        let mut file = Vec::new();
        let bound = log.journal_size().bytes + 30_000;
        let outcome = export(log, HEAD, bound, &mut file, &mut |_| {
            source.commit(1);
            for number in 0..5 {
                source.snapshot(number, 10);
            }
            source.history(20_002, 1);
            source.truncate();
        });
        assert!(
            matches!(outcome, Err(ExportError::Outgrown(_))),
            "{outcome:?}"
        );
        assert!(log.journal_size().bytes <= bound);
        assert!(survey(&file[..]).is_err(), "it is no export");
        exported(log, &mut |_| ()).expect("the next one may be better off");
    });
}

#[test]
fn one_export_at_a_time() {
    let log = MemoryLog::new();
    filled(&log);
    let mut second = None;
    exported(&log, &mut |_| {
        second.get_or_insert_with(|| exported(&log, &mut |_| ()));
    })
    .expect("the first goes on");
    assert!(matches!(second, Some(Err(ExportError::Busy))));
}

#[test]
fn numbers_that_were_given_up_stay_used() {
    let root = tempfile::tempdir().expect("a directory");
    let dir = root.path().join("log");
    let beginning = crate::sled::Beginning {
        epochs: [(A, Epoch(4))].into(),
        lasts: [(A, Sequence(10))].into(),
    };
    let options = SledOptions::default();
    let log = SledLog::begin(&dir, &beginning, &options).expect("it can be made");
    assert!(SledLog::begin(&dir, &beginning, &options).is_err(), "once");
    let owned = log.acquire(&[A]).expect("it can be acquired");
    assert_eq!((owned[0].epoch, owned[0].last), (Epoch(5), Sequence(10)));
    // What a repair leaves: appends 11 and 15.
    let mut file = Vec::new();
    let mut writer = Writer::begin(&mut file).expect("it can be written");
    let append = |sequence| Frame::Append {
        group: 0,
        sequence,
        partitions: vec![3],
        records: b"records",
    };
    for frame in [
        Frame::Head {
            program: "",
            at_ms: 0,
            note: b"",
        },
        Frame::Taken { positions: None },
        Frame::Cut {
            groups: vec![(0, 5, 15)],
        },
        append(11),
        append(15),
    ] {
        writer.write(&frame).expect("it can be written");
    }
    writer.end().expect("it can be written");
    let (_, copy) = imported(&file, &root.path().join("copy"));
    let journal = replay(&copy, &Positions::new());
    let records: Vec<usize> = journal.iter().map(|one| one.records.len()).collect();
    assert_eq!(records, [7, 0, 0, 0, 7]);
    assert_eq!(journal[4].sequence, Sequence(15));
}

/// Every byte that is another, every length that is too short, and every frame that is missing,
/// twice or elsewhere is found before anything is made.
#[test]
fn a_file_that_is_not_whole_is_refused() {
    let log = MemoryLog::new();
    let source = Source::new(&log);
    source.commit(0);
    source.snapshot(0, 10);
    source.commit(1);
    source.history(3, 2);
    let file = exported(&log, &mut |_| ()).expect("it can be exported");
    survey(&file[..]).expect("it is whole");
    for length in 0..file.len() {
        assert!(survey(&file[..length]).is_err(), "{length} bytes of it");
    }
    for at in 0..file.len() {
        let mut other = file.clone();
        other[at] ^= 1 << (at % 8);
        assert!(survey(&other[..]).is_err(), "byte {at}");
    }
    assert!(survey(&[&file[..], &[0]].concat()[..]).is_err());
    let mut frames = Vec::new();
    let mut at = frame::MAGIC.len();
    while at < file.len() {
        let length = u32::from_be_bytes(file[at..at + 4].try_into().expect("four")) as usize;
        frames.push(&file[at..at + 8 + length]);
        at += 8 + length;
    }
    let whole = |frames: &[&[u8]]| [frame::MAGIC, &frames.concat()].concat();
    assert_eq!(whole(&frames), file);
    for one in 0..frames.len() {
        for to in 0..frames.len() {
            let mut moved = frames.clone();
            let frame = moved.remove(one);
            assert!(survey(&whole(&moved)[..]).is_err(), "without {one}");
            moved.insert(to, frame);
            assert!(
                one == to || survey(&whole(&moved)[..]).is_err(),
                "{one} at {to}"
            );
            let mut twice = frames.clone();
            twice.insert(to, frame);
            assert!(survey(&whole(&twice)[..]).is_err(), "{one} twice");
        }
    }
}
