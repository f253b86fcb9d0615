//! Room on the disk that is kept for one start.
//!
//! The engine writes while it opens, so a disk without a free byte would keep a server from starting,
//! and its operator from seeing what is there. A file without content holds the room: a start that
//! finds the disk full gives it up, and the next one that finds room makes it anew. Not here: the
//! bound under which nothing new is reserved (`[storage] free_bytes_min`), but for the line that says so
//! at a start. Called by `wiring`, `serve` and `running`.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate, statvfs};

use crate::data_dir::RESERVE_FILE;

/// Its size, in bytes: the least that `[storage] free_bytes_min` may be.
const RESERVE_BYTES: u64 = 16 << 20;

/// Gives the room up when the disk has less free than the reserve holds. What was done, for the
/// operator.
pub(crate) fn give_up(data: &Path) -> Option<String> {
    let path = data.join(RESERVE_FILE);
    if !path.exists() || free(data).is_none_or(|free| free >= RESERVE_BYTES) {
        return None;
    }
    match fs::remove_file(&path) {
        Ok(()) => Some(format!(
            "disk: full; the {} MiB that {} held are given up for this start, make room before \
             the next one",
            RESERVE_BYTES >> 20,
            path.display()
        )),
        Err(error) => Some(format!("disk: full, and {}: {error}", path.display())),
    }
}

/// Makes the file where it is missing and the disk keeps `free_bytes_min` beside it. A file system
/// that cannot set room aside goes without.
pub(crate) fn make(data: &Path, free_bytes_min: u64) {
    let path = data.join(RESERVE_FILE);
    let wanted = free_bytes_min.saturating_add(RESERVE_BYTES);
    if path.exists() || free(data).is_none_or(|free| free < wanted) {
        return;
    }
    if let Err(error) = allocate(&path) {
        tracing::debug!(path = %path.display(), %error, "no room is kept for a start on a full disk");
        // Half of it is worth nothing.
        fs::remove_file(&path).ok();
    }
}

fn allocate(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES)?;
    Ok(())
}

/// The line of a start on a disk that has less free than the bound: what is asked next is not allowed.
pub(crate) fn scarce(free: Option<u64>, free_bytes_min: u64) -> Option<String> {
    let free = free.filter(|free| *free < free_bytes_min)?;
    Some(format!(
        "disk: {free} bytes are free, and nothing new is reserved (503 `capacity`) below [storage] \
         free_bytes_min = {free_bytes_min}: make room, or set it lower"
    ))
}

/// Free bytes of the disk, for us.
fn free(data: &Path) -> Option<u64> {
    let space = statvfs(data).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_with_too_little_room_is_told_with_the_setting() {
        assert_eq!(scarce(None, 10), None);
        assert_eq!(scarce(Some(10), 10), None);
        let told = scarce(Some(9), 10).expect("a line");
        assert!(
            told.contains("[storage] free_bytes_min = 10") && told.contains("make room"),
            "{told}"
        );
    }

    #[test]
    fn room_is_kept_once_and_only_where_there_is_enough() {
        let data = tempfile::tempdir().expect("a directory");
        let path = data.path().join(RESERVE_FILE);
        make(data.path(), u64::MAX);
        assert!(!path.exists(), "no disk has that much");
        make(data.path(), 0);
        let held = path.metadata().expect("a file").len();
        assert_eq!(held, RESERVE_BYTES);
        make(data.path(), 0);
        assert_eq!(give_up(data.path()), None, "the disk has room");
        assert!(path.exists());
    }
}
