//! What a power cut leaves of a directory: each synced file as of its last sync.
//!
//! Here: [`PowerModel`], which watches an engine's syncs and keeps those contents, and puts them in
//! place of the directory. sled's snapshot files are synced, and so are their names, before the
//! first sync that is watched. Files that were never synced and everything under `blobs/` are lost.
//! Not here: the engine. Called by tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::SyncObserver;

/// See the module.
#[derive(Debug)]
pub struct PowerModel {
    live: PathBuf,
    kept: PathBuf,
    syncs: AtomicU64,
    failing: AtomicBool,
}

impl PowerModel {
    /// Watches the directory `live` and keeps synced contents under `kept`.
    #[must_use]
    pub fn new(live: PathBuf, kept: PathBuf) -> Self {
        Self {
            live,
            kept,
            syncs: AtomicU64::new(0),
            failing: AtomicBool::new(false),
        }
    }

    /// How many syncs were seen.
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Acquire)
    }

    /// From now on every sync fails (or no longer does).
    pub fn fail_syncs(&self, failing: bool) {
        self.failing.store(failing, Ordering::Release);
    }

    /// Replaces the directory by what a power cut leaves. The log on it is closed already; what
    /// closing wrote is lost as well. `conf` survives, because opening syncs it.
    pub fn cut(&self) {
        let days = names(&self.live.join("history"));
        for day in names(&self.kept.join("history")) {
            // Removing a day is made durable by a sync of the directory.
            if !days.contains(&day) {
                remove(&self.kept.join("history").join(day));
            }
        }
        for dir in databases(&self.live) {
            let relative = dir.strip_prefix(&self.live).expect("it lies below");
            let kept = self.kept.join(relative);
            let conf = fs::read(dir.join("conf")).expect("every database has its configuration");
            remove(&dir);
            let db = kept.join("db");
            // A database that was never synced leaves an empty file, if any.
            if db.exists() {
                fs::create_dir_all(dir.join("blobs")).expect("the disk works");
                fs::write(dir.join("conf"), conf).expect("the disk works");
                fs::copy(&db, dir.join("db")).expect("the disk works");
                for name in snapshots(&kept) {
                    fs::copy(kept.join(&name), dir.join(&name)).expect("the disk works");
                }
            }
        }
    }
}

/// The directories of databases: days first, so that the log's own is replaced last.
fn databases(live: &Path) -> Vec<PathBuf> {
    let history = live.join("history");
    let mut dirs: Vec<PathBuf> = names(&history)
        .into_iter()
        .map(|name| history.join(name))
        .filter(|dir| dir.join("db").exists())
        .collect();
    dirs.push(live.to_owned());
    dirs
}

fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    entries
        .map(|entry| {
            let entry = entry.expect("the disk works");
            entry.file_name().to_string_lossy().into_owned()
        })
        .collect()
}

/// sled's snapshot files; it writes them while it opens, and at no other time.
fn snapshots(dir: &Path) -> Vec<String> {
    let mut names = names(dir);
    names.retain(|name| name.starts_with("snap."));
    names
}

/// Removes a database's own files, and a day's directory.
fn remove(dir: &Path) {
    for name in names(dir) {
        let path = dir.join(&name);
        if name == "history" {
            continue;
        }
        let outcome = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        outcome.expect("the disk works");
    }
    if names(dir).is_empty() && dir.exists() {
        fs::remove_dir(dir).expect("the disk works");
    }
}

/// Copies a file as it is at one moment. The engine's background thread may write meanwhile; a copy
/// that has a later write and not an earlier one would be a disk that writes out of order, which is
/// another model.
fn keep(db: &Path, kept: &Path) {
    let mut bytes = fs::read(db).expect("the disk works");
    for _ in 0..1_000 {
        let again = fs::read(db).expect("the disk works");
        if again == bytes {
            fs::write(kept, &bytes).expect("the disk works");
            return;
        }
        bytes = again;
    }
    panic!("{} changes all the time", db.display());
}

impl SyncObserver for PowerModel {
    fn syncing(&self, _db: &Path) -> std::io::Result<()> {
        if self.failing.load(Ordering::Acquire) {
            return Err(std::io::Error::other("injected by the test"));
        }
        Ok(())
    }

    fn synced(&self, db: &Path) {
        let relative = db.strip_prefix(&self.live).expect("it lies below");
        let kept = self.kept.join(relative);
        let dirs = db.parent().zip(kept.parent());
        let (from, to) = dirs.expect("both are files in a directory");
        fs::create_dir_all(to).expect("the disk works");
        keep(db, &kept);
        let (now, before) = (snapshots(from), snapshots(to));
        for name in before.iter().filter(|name| !now.contains(name)) {
            fs::remove_file(to.join(name)).expect("the disk works");
        }
        for name in now.iter().filter(|name| !before.contains(name)) {
            fs::copy(from.join(name), to.join(name)).expect("the disk works");
        }
        self.syncs.fetch_add(1, Ordering::AcqRel);
    }
}
