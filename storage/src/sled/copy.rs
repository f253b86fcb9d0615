//! A copy of a log that no process uses, to look at without changing anything.
//!
//! Here: copying the files while the directory is locked. Opening a database is itself a change
//! (sled writes its own snapshots, an unfinished commit is removed), so an offline look opens a copy.
//! Not here: what is looked at. Called by the verb `verify`.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::files::io_error;
use super::lock::Lock;
use super::{SledLog, store};
use crate::log::LogError;

/// Directories below each other: the log, `history`, a day, its `blobs`.
const DEPTH_MAX: u32 = 4;

impl SledLog {
    /// Bytes that the files of a log take.
    ///
    /// # Errors
    /// `Io` when there is none, or it cannot be read.
    pub fn bytes_of(dir: &Path) -> Result<u64, LogError> {
        let mut bytes = 0;
        walk(dir, DEPTH_MAX, &mut |path| {
            bytes += fs::metadata(path)?.len();
            Ok(())
        })
        .map_err(|error| io_error("read", dir, &error))?;
        Ok(bytes)
    }

    /// Copies the log in `dir` into `to`, which must not exist. Nobody writes it meanwhile; nothing
    /// in `dir` changes.
    ///
    /// # Errors
    /// `Locked` when another process has it, `Io` when there is none or it cannot be copied.
    pub fn copy(dir: &Path, to: &Path) -> Result<(), LogError> {
        let db = dir.join("db");
        let file = File::open(&db).map_err(|error| io_error("open", &db, &error))?;
        let lock = Lock::take(&file).map_err(|error| io_error("lock", dir, &error))?;
        let Some(_lock) = lock else {
            return Err(store::locked(dir));
        };
        make(to).map_err(|error| io_error("make", to, &error))?;
        walk(dir, DEPTH_MAX, &mut |path| {
            let below = path.strip_prefix(dir).map_err(io::Error::other)?;
            let target = to.join(below);
            if let Some(parent) = target.parent().filter(|parent| !parent.exists()) {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(parent)?;
            }
            fs::copy(path, target).map(|_| ())
        })
        .map_err(|error| io_error("copy", dir, &error))
    }
}

fn make(dir: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(dir)
}

fn walk(dir: &Path, depth: u32, visit: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_file() {
            visit(&entry.path())?;
        } else if kind.is_dir() && depth > 1 {
            walk(&entry.path(), depth - 1, visit)?;
        }
    }
    Ok(())
}
