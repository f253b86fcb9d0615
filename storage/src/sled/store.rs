//! One sled database and our own handle for syncing it.
//!
//! Here: opening (lock, leftovers of an abrupt stop, modes, directory syncs), writing a batch,
//! syncing it for real, and turning sled's panics into errors. Not here: what keys mean. Called
//! within the sled engine, for the log itself and for each day of history.
//!
//! sled's own flush is no fsync on Linux (`docs/storage.md` §1.3), so the sync that counts is made
//! here, on a handle of the `db` file that was opened before the first write to it: such a handle
//! also reports errors of writing back that happened since.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use sled::{Batch, Db, IVec};

use super::files::{io_error, mark_opening, move_aside, prepare, settle, unmark_opening};
use super::heal::{self, Finding};
use super::lock::Lock;
use super::stages::Stage;
use super::told::Whose;
use super::worker::Worker;
use crate::log::LogError;

/// New keys of a batch from which on it pays to lay them out first: below, most of them find room
/// in a leaf that is there.
pub(super) const LAY_OUT_MIN: usize = 20;

/// Watches every sync of a database file; for tests that keep what a power cut would leave.
pub trait SyncObserver: Send + Sync {
    /// Called right before the sync. An error stands for a sync that failed.
    ///
    /// # Errors
    /// Whatever the test wants the engine to see.
    fn syncing(&self, _db: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Called right after the sync of this file has returned without an error, and before anything
    /// is acknowledged.
    fn synced(&self, _db: &Path) {}
}

/// How to open a store.
#[derive(Clone)]
pub(super) struct StoreOptions {
    pub(super) cache_bytes: u64,
    pub(super) accept_blobs: bool,
    pub(super) observer: Option<Arc<dyn SyncObserver>>,
    /// How long a write or a sync may take.
    pub(super) wait_max: Duration,
    /// See [`super::SledOptions::unordered`].
    pub(super) unordered: bool,
    /// What it holds.
    pub(super) whose: Whose,
}

/// What opening had to put right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Opened {
    /// See [`super::Recovery::moved_aside`].
    pub(super) moved_aside: Vec<PathBuf>,
    /// See [`super::Recovery::segments_cleared`].
    pub(super) segments_cleared: usize,
    /// See [`super::Recovery::writes_are_ordered`].
    pub(super) writes_are_ordered: bool,
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("cache_bytes", &self.cache_bytes)
            .field("accept_blobs", &self.accept_blobs)
            .finish_non_exhaustive()
    }
}

/// See the module.
pub(super) struct Store {
    core: Option<Arc<Core>>,
    worker: Mutex<Worker>,
    dir: PathBuf,
    lock: File,
    whose: Whose,
    wait_max: Duration,
    /// Set by the first failed write or sync, for good.
    failed: AtomicBool,
}

/// What the writing thread works on.
struct Core {
    db: Db,
    dir: PathBuf,
    file: File,
    accept_blobs: bool,
    observer: Option<Arc<dyn SyncObserver>>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("dir", &self.dir)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens or creates the database in `dir`; answers what had to be put right for it.
    pub(super) fn open(dir: &Path, options: &StoreOptions) -> Result<(Self, Opened), LogError> {
        prepare(dir)?;
        let path = dir.join("db");
        let file = File::open(&path).map_err(|error| io_error("open", &path, &error))?;
        let healed = {
            let lock = Lock::take(&file).map_err(|error| io_error("lock", dir, &error))?;
            let Some(_lock) = lock else {
                return Err(locked(dir));
            };
            let interrupted = mark_opening(dir)?;
            let found = heal::heal(dir, interrupted);
            match found.map_err(|error| io_error("check", &path, &error))? {
                Finding::Healed(segments) => segments,
                Finding::Lost => {
                    return Err(broken(options.whose, dir, "a part of its log is gone"));
                }
            }
        };
        let writes_are_ordered = order_writes(&file, options.unordered);
        let mut aside = Vec::new();
        let db = match open_sled(dir, options) {
            Ok(db) => db,
            Err(error @ (LogError::Locked(_) | LogError::Format(_))) => return Err(error),
            Err(error @ (LogError::Corrupt(_) | LogError::Io(_))) => {
                aside = move_aside(dir)?;
                if aside.is_empty() {
                    return Err(error);
                }
                // The first attempt may hold the lock for a moment longer.
                drop(Lock::take(&file));
                open_sled(dir, options)?
            }
        };
        // The lock is looked at once more after the database is closed.
        let lock = file
            .try_clone()
            .map_err(|error| io_error("open", &path, &error))?;
        let core = Core {
            db,
            dir: dir.to_owned(),
            file,
            accept_blobs: options.accept_blobs,
            observer: options.observer.clone(),
        };
        core.check_handle()?;
        core.check_blobs()
            .map_err(|why| options.whose.damaged(&why))?;
        settle(dir)?;
        unmark_opening(dir)?;
        let worker = Worker::start().map_err(|error| io_error("write to", dir, &error))?;
        let store = Self {
            core: Some(Arc::new(core)),
            worker: Mutex::new(worker),
            dir: dir.to_owned(),
            lock,
            whose: options.whose,
            wait_max: options.wait_max,
            failed: AtomicBool::new(false),
        };
        Ok((
            store,
            Opened {
                moved_aside: aside,
                segments_cleared: healed,
                writes_are_ordered,
            },
        ))
    }

    pub(super) fn db(&self) -> &Db {
        &self.core().db
    }

    fn core(&self) -> &Arc<Core> {
        self.core.as_ref().expect("only dropping takes it")
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What it holds.
    pub(super) const fn whose(&self) -> Whose {
        self.whose
    }

    /// Has a write or sync failed on this handle?
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Ends all writing on this handle.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Release);
    }

    /// Applies a batch and makes it durable. After an error the outcome is unknown: the kernel may
    /// have dropped the dirty pages, so a later sync that succeeds proves nothing.
    ///
    /// Every batch is synced, also where the log does not need it: a power cut then finds at most
    /// one batch half written, and sled's background threads never have more on their hands than
    /// they can take (see `worker.rs`).
    pub(super) fn write(&self, batch: Batch) -> Result<(), String> {
        self.write_stage(Stage::of(batch))
    }

    /// Writes a stage and makes it durable, as [`Self::write`] does a batch.
    pub(super) fn write_stage(&self, stage: Stage) -> Result<(), String> {
        self.once(move |core| {
            core.put_stage(stage).map_err(|error| error.to_string())?;
            core.sync()
        })
    }

    /// Writes a stage without the sync.
    #[cfg(test)]
    pub(super) fn write_unsynced(&self, stage: Stage) -> sled::Result<()> {
        self.core().put_stage(stage)
    }

    /// Runs a writing step unless an earlier one failed; a failure, a panic or no answer is final.
    fn once(
        &self,
        step: impl FnOnce(&Core) -> Result<(), String> + Send + 'static,
    ) -> Result<(), String> {
        if self.has_failed() {
            return Err("an earlier write or sync has failed".to_owned());
        }
        let core = Arc::clone(self.core());
        let step = Box::new(move || step(&core));
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = worker.run(self.wait_max, step);
        if outcome.is_err() {
            self.fail();
        }
        outcome
    }

    /// Reads one value.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<IVec>, LogError> {
        self.read(|| self.db().get(key))
    }

    /// Reads at most `limit` pairs in key order, from `from` on, whose key starts with `prefix`.
    pub(super) fn page(
        &self,
        prefix: &[u8],
        from: &[u8],
        limit: usize,
    ) -> Result<Vec<(IVec, IVec)>, LogError> {
        let start = from.max(prefix);
        self.read(|| {
            self.db()
                .range(start..)
                .take(limit)
                .take_while(|pair| {
                    pair.as_ref()
                        .map_or(true, |(key, _)| key.starts_with(prefix))
                })
                .collect()
        })
    }

    /// Size of the files, for metrics.
    pub(super) fn size_on_disk(&self) -> Result<u64, LogError> {
        self.read(|| self.db().size_on_disk())
    }

    fn read<T>(&self, step: impl FnOnce() -> sled::Result<T>) -> Result<T, LogError> {
        match catch_unwind(AssertUnwindSafe(step)) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(sled_error(self.whose, &self.dir, &error)),
            Err(panic) => Err(broken(self.whose, &self.dir, &text_of(&*panic))),
        }
    }
}

impl Core {
    /// Is our handle the file that the path names?
    fn check_handle(&self) -> Result<(), LogError> {
        let path = self.dir.join("db");
        let (ours, theirs) = self
            .file
            .metadata()
            .and_then(|ours| Ok((ours, fs::metadata(&path)?)))
            .map_err(|error| io_error("look at", &path, &error))?;
        if (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()) {
            return Ok(());
        }
        Err(LogError::Locked(format!(
            "{} was replaced while it was being opened: the data directory is in use by another process",
            path.display()
        )))
    }

    /// sled never syncs what it puts under `blobs/`, so there must be nothing.
    fn check_blobs(&self) -> Result<(), String> {
        let path = self.dir.join("blobs");
        match fs::read_dir(&path).map(|mut entries| entries.next().is_none()) {
            Ok(true) => Ok(()),
            Ok(false) if self.accept_blobs => Ok(()),
            Ok(false) => Err(format!(
                "{} holds a file, which is never synced",
                path.display()
            )),
            Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
        }
    }

    /// Puts a stage into sled and has sled write it to the file.
    ///
    /// A batch keeps every database of the process from reading and writing for as long as it is
    /// applied (one lock inside sled serves them all), so what needs none comes without.
    fn put_stage(&self, mut stage: Stage) -> sled::Result<()> {
        if stage.new.len() >= LAY_OUT_MIN {
            self.lay_out(&stage.new)?;
        }
        let batch = stage.take_batch();
        for (key, value) in stage.alone {
            self.db.insert(key, value)?;
        }
        if let Some(batch) = batch {
            self.db.apply_batch(batch)?;
        }
        self.db.flush().map(|_| ())
    }

    /// Puts nothing under keys that are about to be filled.
    ///
    /// sled splits a leaf at its seventeenth value and writes both halves anew, with all the values
    /// in them, so that each chunk of a large commit was written three times. With the keys laid
    /// out, leaves split while they are next to empty, and chunks are written once, as changes to
    /// leaves that are there. Ascending, because a split then leaves nine keys behind, and nine
    /// changes are what sled takes before it writes a leaf as a whole.
    ///
    /// After a stop in between such a key belongs to a commit that did not come to its end or to a
    /// snapshot that nothing names, which recovery removes, or to a row of history, which is as good
    /// as not there until it is written again.
    fn lay_out(&self, new: &[IVec]) -> sled::Result<()> {
        for key in new {
            self.db.insert(key, IVec::default())?;
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), String> {
        self.check_blobs()?;
        let path = self.dir.join("db");
        let failed = |error: io::Error| format!("sync of {}: {error}", path.display());
        if let Some(observer) = &self.observer {
            observer.syncing(&path).map_err(failed)?;
        }
        self.file.sync_data().map_err(failed)?;
        if let Some(observer) = &self.observer {
            observer.synced(&path);
        }
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // sled flushes when it is dropped, and panics when that fails. Nothing was promised about
        // what was not synced, so there is nothing to do about it here. A lost writing thread keeps
        // the database; the process is about to end.
        let core = self.core.take();
        drop(catch_unwind(AssertUnwindSafe(move || drop(core))));
        // Whoever dropped us may open the directory again at once.
        if !self.has_failed() {
            drop(Lock::take(&self.lock));
        }
    }
}

/// Asks the file system to make each write to the file durable before it returns (`chattr +S`).
/// sled relies on its writes reaching the disk in order, and only asks for that with
/// `sync_file_range`, which neither writes a new file size nor empties the disk's cache. Our sync
/// after each commit is what counts for the commit; this is for the writes between two syncs.
/// Not every file system can; a file keeps the mark until it is opened without the wish for it.
fn order_writes(file: &File, unordered: bool) -> bool {
    let Ok(flags) = ioctl_getflags(file) else {
        return false;
    };
    if unordered {
        if flags.contains(IFlags::SYNC) {
            ioctl_setflags(file, flags - IFlags::SYNC).ok();
        }
        return false;
    }
    ioctl_setflags(file, flags | IFlags::SYNC).is_ok()
}

fn open_sled(dir: &Path, options: &StoreOptions) -> Result<Db, LogError> {
    let config = sled::Config::new()
        .path(dir)
        .cache_capacity(options.cache_bytes)
        .use_compression(false)
        // The background thread is the only caller of sled's garbage collection; its flushes count
        // for nothing here.
        .flush_every_ms(Some(500));
    match catch_unwind(AssertUnwindSafe(|| config.open())) {
        Ok(Ok(db)) => Ok(db),
        Ok(Err(error)) => Err(sled_error(options.whose, dir, &error)),
        Err(panic) => Err(broken(options.whose, dir, &text_of(&*panic))),
    }
}

fn sled_error(whose: Whose, dir: &Path, error: &sled::Error) -> LogError {
    match error {
        sled::Error::Io(io) if io.to_string().contains("could not acquire lock") => locked(dir),
        // A file that ends before what its own headers promise was cut, whoever cut it.
        sled::Error::Io(io) if io.kind() == std::io::ErrorKind::UnexpectedEof => {
            broken(whose, dir, "its file ends early")
        }
        sled::Error::Io(io) => LogError::Io(format!("{}: {io}", dir.display())),
        // The engine's format has not changed since we use it, so this is what damage to its own
        // settings file looks like.
        sled::Error::Unsupported(_) => settings_broken(whose, dir),
        sled::Error::Corruption { .. } => broken(whose, dir, "its check sums do not hold"),
        sled::Error::ReportableBug(_) | sled::Error::CollectionNotFound(_) => {
            broken(whose, dir, &error.to_string())
        }
    }
}

pub(super) fn locked(dir: &Path) -> LogError {
    LogError::Locked(format!(
        "the data directory {} is in use by another process",
        dir.display()
    ))
}

/// In our words: the engine's own speak of another version and of an upgrade, which helps nobody.
fn settings_broken(whose: Whose, dir: &Path) -> LogError {
    whose.damaged(&format!(
        "the engine's settings in {} are damaged",
        dir.join("conf").display()
    ))
}

fn broken(whose: Whose, dir: &Path, why: &str) -> LogError {
    let why = why.lines().next().unwrap_or_default();
    whose.damaged(&format!(
        "the database {} cannot be read (the engine says: {why})",
        dir.join("db").display()
    ))
}

pub(super) fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "a panic without a text".to_owned())
}
