//! From what lies in the database to the book of the log.
//!
//! Here: verifying every commit, removing a torn last one, refusing a damaged one in the middle
//! (or giving up what follows, when the operator has said so), clearing what an interrupted
//! truncation or snapshot left. Not here: reading for replay. Called once, by opening.
//!
//! Keeps: a commit number is never used twice, a number is missing only where a gap is recorded,
//! and after a torn commit was removed nothing of it is left.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use sled::Batch;

use super::chunk::{self, Defect};
use super::day_mark::DayMarks;
use super::keys;
use super::landmarks::{self, Landmarks};
use super::record;
use super::store::Store;
use super::values;
use crate::book::{Book, Entry};
use crate::log::{GROUPS, Group, LogError, Partition, Sequence};
use crate::run_mark::Acknowledged;

/// Keys removed in one batch: few enough for sled's background threads (see `worker.rs`).
pub(super) const REMOVE_MAX: usize = 250;

/// What opening found and did, for the start line and the operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The torn last commit that was removed, and what was wrong with it.
    pub torn: Option<(u64, String)>,
    /// The first and last commit that were given up because the operator accepted it, and what was
    /// wrong with the first.
    pub given_up: Option<(u64, u64, String)>,
    /// What the log lacks of what was acknowledged, where the operator accepted it.
    pub lacks: Vec<String>,
    /// The days of history that lack something, each in a sentence, where the operator accepted it.
    pub days: Vec<String>,
    /// Where the folders of those that cannot be read are now.
    pub days_aside: Vec<PathBuf>,
    /// Half-written snapshot files of sled that were moved aside.
    pub moved_aside: Vec<PathBuf>,
    /// Parts of sled's own log that a power cut left beyond its end, and that were cleared.
    pub segments_cleared: usize,
    /// Does the file system write sled's file in order? If not, a power cut during a large commit,
    /// on a disk with a volatile cache, may leave a log that does not open.
    pub writes_are_ordered: bool,
}

/// The journal as far as it can be read.
struct Scan<'a> {
    marks: &'a Landmarks,
    /// What the current snapshots cover.
    covered: BTreeMap<Partition, Sequence>,
    /// What verified commits up to the first bad one say.
    book: Book,
    /// The first commit that is not as it was written.
    bad: Option<(u64, String)>,
    /// The newest number seen.
    newest: u64,
    /// The newest sequences seen after a bad commit.
    beyond: BTreeMap<Group, Sequence>,
}

/// Verifies the log and makes it ready for work.
pub(super) fn recover(
    store: &Store,
    acknowledged: &Acknowledged,
    accept_truncation: bool,
) -> Result<(Book, DayMarks, Recovery), LogError> {
    let mut marks = landmarks::read(store)?;
    if marks.format.is_none() {
        landmarks::create(store)?;
    }
    // What an interrupted truncation or repair left.
    let kept = keys::journal(marks.floor + 1);
    remove_range(store, keys::JOURNAL, keys::JOURNAL, &kept)?;
    for (&first, &last) in &marks.gaps {
        let (from, to) = (keys::journal(first), keys::journal(last + 1));
        remove_range(store, keys::JOURNAL, &from, &to)?;
    }
    let (mut book, end, recovery) = {
        let scan = scan_journal(store, &marks)?;
        // Before anything is repaired: what is refused is left as it is.
        let lacks = scan.lacks(acknowledged);
        if let Some(lacks) = lacks.as_ref().filter(|_| !accept_truncation) {
            return Err(refusal(store, lacks));
        }
        let (end, jumps, mut recovery) = repair(store, &scan, accept_truncation)?;
        recovery.lacks.extend(lacks);
        let book = scan.book;
        marks.jumps.extend(jumps);
        (book, end, recovery)
    };
    for &(group, next) in &marks.jumps {
        book.raise(group, Sequence(next.0.saturating_sub(1)));
    }
    for info in &marks.seals {
        book.raise(info.partition.group(), info.position);
        book.seal(info.clone());
    }
    book.epochs = marks.epochs;
    book.history = marks.history;
    let days = marks.days;
    book.last_number = end;
    sort_snapshots(store, &mut book)?;
    Ok((book, days, recovery))
}

fn scan_journal<'a>(store: &Store, marks: &'a Landmarks) -> Result<Scan<'a>, LogError> {
    let seals = marks.seals.iter();
    let mut scan = Scan {
        marks,
        covered: seals.map(|info| (info.partition, info.position)).collect(),
        book: Book::default(),
        bad: None,
        newest: marks.floor,
        beyond: BTreeMap::new(),
    };
    scan.book.last_number = marks.floor;
    for (&group, &sequence) in &marks.lasts {
        scan.book.raise(group, sequence);
    }
    values::scan(store, keys::JOURNAL, keys::JOURNAL, &mut |prefix, value| {
        let Some(number) = keys::parse_journal(&keys::chunk(prefix, 0)) else {
            let why = Defect::Damaged("it is no journal key".to_owned());
            return Err(values::damaged(store, prefix, why));
        };
        match value {
            Ok(bytes) => scan.take(number, &bytes),
            Err(defect @ Defect::Newer(_)) => return Err(values::damaged(store, prefix, defect)),
            Err(Defect::Damaged(why)) => scan.spoil(number, why),
            Err(Defect::Unfilled) => scan.spoil(number, chunk::UNFILLED.to_owned()),
        }
        Ok(true)
    })?;
    Ok(scan)
}

impl Scan<'_> {
    fn take(&mut self, number: u64, bytes: &[u8]) {
        let missing = self.marks.first_unrecorded(self.newest + 1, number);
        if let Some(missing) = missing {
            self.spoil(missing, "it is missing".to_owned());
        }
        self.newest = number;
        let Some(mut appends) = record::decode(bytes) else {
            return self.spoil(number, "it is no journal record".to_owned());
        };
        if self.bad.is_some() {
            for append in appends {
                self.beyond.insert(append.group, append.sequence);
            }
            return;
        }
        for append in &appends {
            let last = self.book.coverage.last(append.group);
            let place = (append.group, append.sequence);
            let follows = append.sequence == last.next() || self.marks.jumps.contains(&place);
            if !follows || append.sequence <= last {
                let (group, sequence) = (append.group, append.sequence.0);
                return self.spoil(
                    number,
                    format!("{group} has sequence {sequence} after {}", last.0),
                );
            }
        }
        for append in &mut appends {
            // What the current snapshot has is covered already, also if the partition was touched
            // again since.
            append.partitions.retain(|partition| {
                let position = self.covered.get(partition).copied().unwrap_or_default();
                append.sequence > position
            });
            self.book
                .coverage
                .appended(append.group, append.sequence, &append.partitions);
        }
        self.book.push(Entry {
            number,
            bytes: bytes.len() as u64,
            keys: chunk::count_of(bytes.len()),
            appends: appends.iter().map(|a| (a.group, a.sequence)).collect(),
        });
    }

    /// What is missing of what was acknowledged, if anything is.
    fn lacks(&self, acknowledged: &Acknowledged) -> Option<String> {
        let mut lasts: BTreeMap<Group, u64> = BTreeMap::new();
        let jumps = self.marks.jumps.iter();
        let jumps = jumps.map(|(group, next)| (*group, next.0.saturating_sub(1)));
        let seals = self.marks.seals.iter();
        let seals = seals.map(|info| (info.partition.group(), info.position.0));
        let sound = (0..GROUPS).map(Group);
        let sound = sound.map(|group| (group, self.book.coverage.last(group).0));
        for (group, last) in sound.chain(jumps).chain(seals) {
            let known = lasts.entry(group).or_default();
            *known = last.max(*known);
        }
        let appended: u64 = lasts.values().sum();
        match acknowledged {
            Acknowledged::AtLeast(least) if appended < *least => Some(format!(
                "it has lost {} of {least} appends that were acknowledged, the last ones or those from a \
                 damaged place on (an append is what a group of entities recorded in one commit: one \
                 answer, or hundreds)",
                least - appended
            )),
            Acknowledged::Untold(why) if appended > 0 => Some(format!(
                "nothing tells whether its {appended} appends are all that were acknowledged, \
                 because {why}"
            )),
            Acknowledged::AtLeast(_) | Acknowledged::Untold(_) => None,
        }
    }

    fn spoil(&mut self, number: u64, why: String) {
        self.newest = self.newest.max(number);
        self.bad.get_or_insert((number, why));
    }
}

/// What the operator reads of a log that lacks something.
fn refusal(store: &Store, lacks: &str) -> LogError {
    LogError::Corrupt(format!(
        "the log in {} is not whole: {lacks}. Put a copy of the data directory from before in its \
         place, `interlock import` an export into an empty one, or start with `--accept-truncation` to \
         go on with what it has; `interlock verify` says what that is",
        store.dir().join("db").display()
    ))
}

type Jumps = BTreeSet<(Group, Sequence)>;

/// Deals with a journal that does not end well; answers the newest number ever used.
fn repair(
    store: &Store,
    scan: &Scan<'_>,
    accept_truncation: bool,
) -> Result<(u64, Jumps, Recovery), LogError> {
    let marks = scan.marks;
    let mut recovery = Recovery::default();
    let newest = scan.newest.max(marks.newest_gap());
    let end = newest.max(marks.newest_tag);
    let (number, why) = match &scan.bad {
        Some(bad) => bad.clone(),
        // A value names a commit which the journal does not have: its end is gone.
        None if end > newest => (
            newest + 1,
            "it is missing, but a value it wrote is there".to_owned(),
        ),
        None => return Ok((newest, Jumps::new(), recovery)),
    };
    // A torn end was never acknowledged. If values of that commit are there all the same, then it
    // was whole once, and taking its records away would not undo it.
    let is_torn_end = number == end && marks.newest_tag < number;
    let mut jumps = Jumps::new();
    if is_torn_end {
        recovery.torn = Some((number, why));
    } else if accept_truncation {
        recovery.given_up = Some((number, end, why));
        jumps = jumps_past(scan, end - number + 1);
    } else {
        return Err(LogError::Corrupt(format!(
            "journal commit {number} in {} is damaged ({why}), and it is not merely a torn end: \
             numbers up to {end} were used, so {} commits are lost or follow it, each with one answer or \
             hundreds. Put a copy of the data directory from before in its place, `interlock import` an \
             export into an empty one, or start with `--accept-truncation` to give up commit {number} \
             and everything after it",
            store.dir().join("db").display(),
            end - number + 1
        )));
    }
    // The gap comes first: what it covers is removed by the next start, should this one not get
    // to it.
    let mut batch = Batch::default();
    values::put(
        store,
        &mut batch,
        &keys::gap(number),
        Some(&end.to_be_bytes()),
    )?;
    for &(group, sequence) in &jumps {
        values::insert(&mut batch, &keys::jump(group, sequence), &[]);
    }
    store.write(batch).map_err(LogError::Io)?;
    let first = keys::journal(number);
    remove_range(store, keys::JOURNAL, &first, keys::META)?;
    Ok((end, jumps, recovery))
}

/// Where groups go on when commits that were acknowledged once are given up: their sequences are
/// not used again. A commit adds at most one sequence to a group, which bounds those of commits
/// that cannot be read.
fn jumps_past(scan: &Scan<'_>, commits: u64) -> Jumps {
    let mut jumps = Jumps::new();
    for &group in scan.marks.epochs.keys() {
        let mut last = scan.book.coverage.last(group).0 + commits;
        if let Some(beyond) = scan.beyond.get(&group) {
            last = last.max(beyond.0);
        }
        for info in &scan.marks.seals {
            if info.partition.group() == group {
                last = last.max(info.position.0);
            }
        }
        jumps.insert((group, Sequence(last + 1)));
    }
    jumps
}

/// Removes all keys from `from` on that start with `head` and lie before `to`, in batches.
fn remove_range(store: &Store, head: &[u8], from: &[u8], to: &[u8]) -> Result<(), LogError> {
    loop {
        let mut page = store.page(head, from, REMOVE_MAX)?;
        page.retain(|(key, _)| key.as_ref() < to);
        if page.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::default();
        for (key, _) in page {
            batch.remove(key);
        }
        store.write(batch).map_err(LogError::Io)?;
    }
}

/// Finds the snapshots that are there: replaced ones are left to truncation, unsealed ones are
/// removed at once, because their names may be used again.
fn sort_snapshots(store: &Store, book: &mut Book) -> Result<(), LogError> {
    let mut unsealed = BTreeSet::new();
    let mut next = keys::SNAPSHOTS.to_vec();
    while let Some((key, _)) = store.page(keys::SNAPSHOTS, &next, 1)?.pop() {
        let Some((partition, snapshot)) = keys::parse_slice(&key) else {
            let why = Defect::Damaged("it is no snapshot key".to_owned());
            return Err(values::damaged(store, &key, why));
        };
        let current = book.sealed.get(&partition).map(|info| info.snapshot);
        if current.is_some_and(|current| snapshot < current) {
            book.garbage.insert((partition, snapshot));
        } else if current != Some(snapshot) {
            unsealed.insert((partition, snapshot));
        }
        next = [&keys::snapshot_of(partition, snapshot)[..], &[u8::MAX; 9]].concat();
    }
    for (partition, snapshot) in unsealed {
        let name = keys::snapshot_of(partition, snapshot);
        remove_range(store, &name, &name, keys::PAST_SNAPSHOTS)?;
    }
    Ok(())
}
