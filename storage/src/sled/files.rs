//! Directories and files of a database: created, made private, made durable.
//!
//! Here: what the operating system has to do around sled. Not here: the database itself. Called by
//! the store and by history.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::log::LogError;

/// Creates what is missing, readable by the owner only, before sled would create it with the
/// process's umask.
pub(super) fn prepare(dir: &Path) -> Result<(), LogError> {
    create_dir(dir)?;
    create_dir(&dir.join("blobs"))?;
    for name in ["db", "conf"] {
        let path = dir.join(name);
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| io_error("create", &path, &error))?;
    }
    Ok(())
}

/// Creates a directory (and those above it) with mode 0700, durably.
pub(super) fn create_dir(dir: &Path) -> Result<(), LogError> {
    let mut missing: Vec<&Path> = Vec::new();
    for path in dir.ancestors() {
        if path.as_os_str().is_empty() || path.exists() {
            break;
        }
        missing.push(path);
    }
    for path in missing.iter().rev() {
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error("create", path, &error)),
        }
        sync_dir(&parent_of(path))?;
    }
    restrict(dir, 0o700)
}

fn restrict(path: &Path, mode: u32) -> Result<(), LogError> {
    let now = fs::metadata(path).map_err(|error| io_error("look at", path, &error))?;
    if now.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(|error| io_error("change the mode of", path, &error))
}

fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

pub(super) fn sync_dir(dir: &Path) -> Result<(), LogError> {
    File::open(dir)
        .and_then(|handle| handle.sync_all())
        .map_err(|error| io_error("sync", dir, &error))
}

/// Stands in the directory while sled opens it. sled clears parts of its file which its snapshot file
/// covers, before the name of that file is durable: see `heal.rs`.
pub(super) const OPENING: &str = "opening";

/// Notes durably that sled is about to open the directory; answers whether the last time it did not
/// come to its end.
pub(super) fn mark_opening(dir: &Path) -> Result<bool, LogError> {
    let path = dir.join(OPENING);
    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(&path) {
        Ok(_) => sync_dir(dir).map(|()| false),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(true),
        Err(error) => Err(io_error("create", &path, &error)),
    }
}

/// Takes the mark of [`mark_opening`] away, once everything that opening did is durable.
pub(super) fn unmark_opening(dir: &Path) -> Result<(), LogError> {
    let path = dir.join(OPENING);
    fs::remove_file(&path).map_err(|error| io_error("remove", &path, &error))?;
    sync_dir(dir)
}

/// After opening: modes of what sled created, and a sync of everything it left unsynced (its
/// configuration file and the names of its files).
pub(super) fn settle(dir: &Path) -> Result<(), LogError> {
    let entries = fs::read_dir(dir).map_err(|error| io_error("read", dir, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| io_error("read", dir, &error))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name == "db" || name == "conf" || name.starts_with("snap.") {
            restrict(&entry.path(), 0o600)?;
        }
    }
    let conf = dir.join("conf");
    File::open(&conf)
        .and_then(|handle| handle.sync_all())
        .map_err(|error| io_error("sync", &conf, &error))?;
    sync_dir(dir)?;
    sync_dir(&parent_of(dir))
}

/// Moves half-written snapshot files of sled aside: they keep it from opening, and hold nothing
/// that the log does not.
pub(super) fn move_aside(dir: &Path) -> Result<Vec<PathBuf>, LogError> {
    let mut moved = Vec::new();
    let entries = fs::read_dir(dir).map_err(|error| io_error("read", dir, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| io_error("read", dir, &error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !(name.starts_with("snap.") && name.ends_with(".generating")) {
            continue;
        }
        let free = (0..1_000)
            .map(|number| dir.join(format!("aside.{number}.{name}")))
            .find(|path| !path.exists());
        let Some(to) = free else {
            let why = format!("{} holds too many files set aside", dir.display());
            return Err(LogError::Io(why));
        };
        fs::rename(entry.path(), &to)
            .map_err(|error| io_error("move aside", &entry.path(), &error))?;
        moved.push(to);
    }
    if !moved.is_empty() {
        sync_dir(dir)?;
    }
    Ok(moved)
}

/// Bytes of the files in a directory. One that goes meanwhile, as snapshots of sled do, counts
/// nothing.
pub(super) fn bytes_in(dir: &Path) -> Result<u64, LogError> {
    let mut bytes = 0;
    let entries = fs::read_dir(dir).map_err(|error| io_error("read", dir, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| io_error("read", dir, &error))?;
        match entry.metadata() {
            Ok(metadata) if metadata.is_file() => bytes += metadata.len(),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("look at", &entry.path(), &error)),
        }
    }
    Ok(bytes)
}

pub(super) fn io_error(verb: &str, path: &Path, error: &io::Error) -> LogError {
    LogError::Io(format!("cannot {verb} {}: {error}", path.display()))
}
