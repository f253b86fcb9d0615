//! The embedded engine: a group-committed journal in one sled database.
//!
//! Here: [`SledLog`] and the order of its steps. Not here: opening and syncing (`sled/store.rs`),
//! recovery (`sled/recover.rs`), names and layouts (`sled/keys.rs`, `sled/chunk.rs`). Called by the
//! wiring, which opens it, and through [`crate::Log`] by the committer and recovery.
//!
//! `docs/storage.md` §1.5 is binding for this file and those beside it. In short: one tree, chunks
//! that stay below sled's blob files, one batch and one sync of our own per commit (several for a
//! large one, see `sled/stages.rs`), and any failure to write or sync is final for the handle.
//!
//! Locks: `writer` is held for a whole commit with its sync, `book` only for a look or an entry,
//! `values` keeps readers of many-chunk values off a batch. In this order.

mod begin;
mod chunk;
#[cfg(any(test, feature = "suite"))]
pub mod codec;
mod copy;
mod day_mark;
mod engine;
mod files;
mod heal;
mod history;
mod keys;
mod landmarks;
mod lock;
mod record;
mod recover;
mod stages;
mod store;
#[cfg(any(test, feature = "suite"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod told;
mod values;
mod worker;

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use sled::{Batch, IVec};

pub(crate) use self::begin::Beginning;
use self::day_mark::{DayMark, Look};
use self::history::History;
pub use self::recover::Recovery;
use self::stages::{Stage, Stages};
pub use self::store::SyncObserver;
use self::store::{Store, StoreOptions};
use self::told::Whose;
use crate::book::Book;
use crate::log::{Commit, Group, HistoryDay, LogError, Positions, Sequence};
use crate::pin::Pin;
use crate::run_mark::Acknowledged;

/// sled's page cache. The hot state lives in our own maps.
const CACHE_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes written before one sync. A larger commit is written in several stages, of which only the
/// last makes it whole: see `stages.rs`.
const STAGE_BYTES: usize = 256 * 1024;
/// How long a write or a sync may take before its outcome counts as unknown.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// How to open a [`SledLog`].
#[derive(Clone, Default)]
pub struct SledOptions {
    /// Give up a damaged commit in the middle and everything after it, instead of refusing to open
    /// (`--accept-truncation`).
    pub accept_truncation: bool,
    /// How much it must have; less refuses to open too, unless `accept_truncation` is set.
    pub acknowledged: Acknowledged,
    /// Open although `blobs/` holds files, and do not refuse commits for it: only to export what
    /// can be read.
    pub accept_blobs: bool,
    /// Do not ask the file system to order the writes between two syncs: faster, and a power cut in
    /// the middle of a commit may leave a log that refuses to open. What was acknowledged is synced
    /// either way.
    pub unordered: bool,
    /// Watches syncs; for tests.
    pub observer: Option<Arc<dyn SyncObserver>>,
    /// How long a write or a sync may take before its outcome counts as unknown; 30 s if not set.
    pub wait_max: Option<Duration>,
}

impl fmt::Debug for SledOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SledOptions")
            .field("accept_truncation", &self.accept_truncation)
            .field("accept_blobs", &self.accept_blobs)
            .finish_non_exhaustive()
    }
}

/// What truncation took off the list and has not removed yet.
#[derive(Debug, Default)]
struct Writer {
    /// Commit, its keys, and the first of them that is still there.
    doomed: VecDeque<(u64, u32, u32)>,
}

/// See the module.
#[derive(Debug)]
pub struct SledLog {
    store: Store,
    history: History,
    recovery: Recovery,
    writer: Mutex<Writer>,
    book: Mutex<Book>,
    values: RwLock<()>,
    pin: Pin,
}

impl SledLog {
    /// Opens or creates the log in a directory of its own.
    ///
    /// # Errors
    /// `Locked` when another process has it, `Corrupt` when it cannot be trusted, `Format` when a
    /// newer program wrote it, `Io` when the operating system refuses.
    pub fn open(dir: &Path, options: &SledOptions) -> Result<Self, LogError> {
        let store_options = Self::store_options(options);
        let (store, opened) = Store::open(dir, &store_options)?;
        let (book, marks, mut recovery) =
            recover::recover(&store, &options.acknowledged, options.accept_truncation)?;
        recovery.moved_aside = opened.moved_aside;
        recovery.segments_cleared = opened.segments_cleared;
        recovery.writes_are_ordered = opened.writes_are_ordered;
        let history = History::open(dir.join("history"), &store_options, marks)?;
        let mut log = Self {
            store,
            history,
            recovery,
            writer: Mutex::new(Writer::default()),
            book: Mutex::new(book),
            values: RwLock::new(()),
            pin: Pin::default(),
        };
        log.look_at_days(options.accept_truncation)?;
        Ok(log)
    }

    /// Refuses days of history that lack something. Where the operator accepts it, their marks are given
    /// up, and the folder of one that cannot be read is put aside: every day is read for that, so that
    /// the next start, and the writing of history, find no other.
    fn look_at_days(&mut self, accept_truncation: bool) -> Result<(), LogError> {
        let marks = self.history.marks().clone();
        let look = match accept_truncation {
            true => Look::Thorough,
            false => Look::Quick,
        };
        for lacking in day_mark::lacking(&self.history, &marks, look)? {
            if !accept_truncation {
                return Err(lacking.refusal);
            }
            if !lacking.readable {
                let aside = self.history.put_aside(lacking.day)?;
                self.recovery.days_aside.extend(aside);
            }
            self.mark_day(Batch::default(), lacking.day, None)?;
            self.recovery.days.push(lacking.why);
        }
        Ok(())
    }

    /// The days of history that have less than was written to them, each in a sentence. Reads all.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn lacking_days(&self) -> Result<Vec<String>, LogError> {
        let marks = self.history.marks().clone();
        let lacking = day_mark::lacking(&self.history, &marks, Look::Thorough)?;
        Ok(lacking.into_iter().map(|lacking| lacking.why).collect())
    }

    /// Writes a batch and the mark of a day with it, or takes the mark away.
    fn mark_day(
        &self,
        mut batch: Batch,
        day: HistoryDay,
        mark: Option<DayMark>,
    ) -> Result<(), LogError> {
        DayMark::put(mark.as_ref(), &self.store, &mut batch, day)?;
        self.write(batch).map_err(LogError::Io)?;
        let mut marks = self.history.marks();
        match mark {
            Some(mark) => marks.insert(day, mark),
            None => marks.remove(&day),
        };
        Ok(())
    }

    fn store_options(options: &SledOptions) -> StoreOptions {
        StoreOptions {
            cache_bytes: CACHE_BYTES,
            accept_blobs: options.accept_blobs,
            observer: options.observer.clone(),
            wait_max: options.wait_max.unwrap_or(WAIT_MAX),
            unordered: options.unordered,
            whose: Whose::Log,
        }
    }

    /// What opening found and did.
    #[must_use]
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The directory the log lies in.
    #[must_use]
    pub fn dir(&self) -> PathBuf {
        self.store.dir().to_owned()
    }

    /// Size of the database file as sled counts it, for metrics.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn size_on_disk(&self) -> Result<u64, LogError> {
        self.store.size_on_disk()
    }

    /// Did a write or sync fail? Then every later commit is refused as unknown.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.store.has_failed()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a batch durably. Readers of values wait: they see it whole, and only once it is durable.
    fn write(&self, batch: Batch) -> Result<(), String> {
        let _readers_wait = self.values.write().unwrap_or_else(PoisonError::into_inner);
        self.store.write(batch)
    }

    /// Writes a stage of a commit durably, as [`Self::write`] does a batch.
    fn write_stage(&self, stage: Stage) -> Result<(), String> {
        let _readers_wait = self.values.write().unwrap_or_else(PoisonError::into_inner);
        self.store.write_stage(stage)
    }

    /// Everything a commit writes, and the size of its journal part in bytes.
    fn stages_of(&self, number: u64, commit: &Commit) -> Result<(Stages, u64), LogError> {
        let mut stages = Stages::default();
        for slice in &commit.slices {
            let name = keys::slice(slice.partition, slice.snapshot, slice.index);
            stages.add(&name, &slice.bytes);
        }
        let head = record::head(commit);
        let parts = record::parts(&head, commit);
        stages.add_last(&keys::journal(number), &parts);
        for seal in &commit.seals {
            let pointer = landmarks::encode_pointer(number, seal);
            let name = keys::pointer(seal.partition);
            values::put(&self.store, stages.last(), &name, Some(&pointer))?;
        }
        for (key, value) in &commit.meta {
            let value = value.as_ref().map(|v| landmarks::encode_user(number, v));
            let name = keys::row(keys::USER, key);
            values::put(&self.store, stages.last(), &name, value.as_deref())?;
        }
        Ok((stages, parts.iter().map(|part| part.len() as u64).sum()))
    }

    /// Removes keys of doomed commits, at most `limit`; the floor that covers them is written
    /// already or in the same batch. Answers how many went.
    fn sweep_journal(
        &self,
        writer: &mut Writer,
        mut batch: Batch,
        limit: usize,
    ) -> Result<usize, String> {
        let mut removed = 0;
        let mut in_batch = 0;
        while removed < limit
            && let Some((number, keys, next)) = writer.doomed.front_mut()
        {
            batch.remove(keys::chunk(&keys::journal(*number), *next));
            *next += 1;
            removed += 1;
            in_batch += 1;
            if next == keys {
                writer.doomed.pop_front();
            }
            if in_batch == recover::REMOVE_MAX {
                self.write(std::mem::take(&mut batch))?;
                in_batch = 0;
            }
        }
        if in_batch > 0 {
            self.write(batch)?;
        }
        Ok(removed)
    }

    /// Removes chunks of replaced snapshots, at most `limit`.
    fn sweep_snapshots(&self, limit: usize) -> Result<(), LogError> {
        let mut left = limit;
        while left > 0 {
            let Some((partition, snapshot)) = self.book().garbage.first().copied() else {
                return Ok(());
            };
            let name = keys::snapshot_of(partition, snapshot);
            let want = left.min(recover::REMOVE_MAX);
            let page = self.store.page(&name, &name, want)?;
            let found = page.len();
            if found > 0 {
                let mut batch = Batch::default();
                for (key, _) in page {
                    batch.remove(key);
                }
                self.write(batch).map_err(LogError::Io)?;
            }
            if found < want {
                self.book().garbage.remove(&(partition, snapshot));
            }
            left -= found.min(left);
        }
        Ok(())
    }

    /// The floor and the last sequences that go with commits taken off the list.
    fn floor_batch(&self, floor: u64, lasts: &Positions) -> Result<Batch, LogError> {
        let mut batch = Batch::default();
        let floor = floor.to_be_bytes();
        values::put(&self.store, &mut batch, keys::FLOOR, Some(&floor))?;
        for (&group, sequence) in lasts {
            self.put_position(&mut batch, &keys::last(group), *sequence)?;
        }
        Ok(batch)
    }

    /// Writes how far history has come, and how far a day of it.
    fn put_history(
        &self,
        position: &Positions,
        day: HistoryDay,
        mark: DayMark,
    ) -> Result<(), LogError> {
        let _writer = self.writer();
        let mut taken = self.book().history.clone().unwrap_or_default();
        let mut batch = Batch::default();
        values::put(&self.store, &mut batch, keys::HISTORY, Some(&[]))?;
        for (&group, &sequence) in position {
            let known: &mut Sequence = taken.entry(group).or_default();
            if sequence > *known {
                *known = sequence;
                self.put_position(&mut batch, &keys::history(group), sequence)?;
            }
        }
        // A day without a row has no database.
        let mark = (!mark.last.is_empty()).then_some(mark);
        self.mark_day(batch, day, mark)?;
        self.book().history = Some(taken);
        Ok(())
    }

    fn put_position(
        &self,
        batch: &mut Batch,
        name: &[u8],
        sequence: Sequence,
    ) -> Result<(), LogError> {
        values::put(&self.store, batch, name, Some(&sequence.0.to_be_bytes())).map(|_| ())
    }

    /// The journal part of a commit; `None` when it was truncated meanwhile.
    fn read_commit(&self, number: u64) -> Result<Option<Vec<crate::log::Replayed>>, LogError> {
        let name = keys::journal(number);
        let damaged = |why: &str| {
            let defect = chunk::Defect::Damaged(why.to_owned());
            Err(values::damaged(&self.store, &name, defect))
        };
        let bytes = match values::read(&self.store, &name) {
            Ok(Some(bytes)) => bytes,
            Ok(None) | Err(_) if !self.book().holds(number) => return Ok(None),
            Ok(None) => return damaged("it is missing"),
            Err(error) => return Err(error),
        };
        match record::decode(&bytes) {
            Some(appends) => Ok(Some(appends)),
            None => damaged("it is no journal record"),
        }
    }

    fn epochs_batch(&self, groups: &[Group]) -> Result<Batch, LogError> {
        let mut batch = Batch::default();
        let book = self.book();
        for &group in groups {
            let epoch: IVec = IVec::from(&(book.epoch(group).0 + 1).to_be_bytes()[..]);
            values::put(&self.store, &mut batch, &keys::epoch(group), Some(&epoch))?;
        }
        Ok(batch)
    }
}
