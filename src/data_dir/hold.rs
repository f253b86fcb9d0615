//! Who works on the data directory, and what its files must be.
//!
//! Here: the lock that whoever makes or opens anything in the directory takes first and keeps until it
//! is done, so that of two that come together one has nothing to undo; and the one rule about links and
//! special files. Not here: the engine's own lock of its database, which a program that knows nothing
//! of this one meets. Called by `serve` and by the verbs that work without a server.

use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::{IMPORT_DIR, LOG_DIR, RESERVE_FILE, RUN_FILE, SECRET_DRAFT_FILE, SECRET_FILE};
use crate::exit::{Exit, Stop};

/// How often the lock is tried, and how long to wait between: 2 s in all, as a process that was just
/// killed takes a moment to end.
const TRIES: u32 = 400;
const PAUSE: Duration = Duration::from_millis(5);

/// What a name in the directory must be, when it is there.
const KINDS: [(&str, Kind); 10] = [
    (LOG_DIR, Kind::Directory),
    ("log/db", Kind::File),
    ("log/conf", Kind::File),
    ("log/blobs", Kind::Directory),
    ("log/history", Kind::Directory),
    (IMPORT_DIR, Kind::Directory),
    (RUN_FILE, Kind::File),
    (SECRET_FILE, Kind::File),
    (SECRET_DRAFT_FILE, Kind::File),
    (RESERVE_FILE, Kind::File),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
}

/// The data directory for this process alone, until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Hold {
    _locked: File,
}

impl Hold {
    /// Takes the directory.
    ///
    /// # Errors
    /// That another process has it, or that it cannot be locked.
    pub(crate) fn take(data: &Path) -> Result<Self, Stop> {
        Self::try_take(data)?.ok_or_else(|| Stop::new(Exit::Locked, in_use(data)))
    }

    /// Takes the directory; `None` when another process has it.
    ///
    /// # Errors
    /// That it cannot be locked.
    pub(crate) fn try_take(data: &Path) -> Result<Option<Self>, Stop> {
        lock(data)
            .map(|locked| locked.map(|file| Self { _locked: file }))
            .map_err(|error| {
                let message = format!(
                    "data directory {}: cannot be locked: {error}",
                    data.display()
                );
                Stop::new(Exit::Data, message)
            })
    }
}

/// The words for a directory that another process has.
pub(crate) fn in_use(data: &Path) -> String {
    format!(
        "the data directory {} is in use by another process",
        data.display()
    )
}

fn lock(data: &Path) -> io::Result<Option<File>> {
    let file = File::open(data)?;
    for _ in 0..TRIES {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if is_named(&file, data)? => return Ok(Some(file)),
            // Whoever had it has removed it.
            Ok(()) => return Ok(None),
            Err(Errno::WOULDBLOCK | Errno::INTR) => pause(),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Is this file the one that has the name?
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(theirs) => Ok((ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a lock on a file can be waited for without a bound or not at all"
)]
fn pause() {
    thread::sleep(PAUSE);
}

/// Refuses links and special files in the place of the directory's own: a link is replaced or followed
/// by one step and not by another, and a pipe is waited for without an end. The directory itself may be
/// a link.
///
/// # Errors
/// Which name it is, and what to do.
pub(crate) fn expect_plain(data: &Path) -> Result<(), Stop> {
    for (name, kind) in KINDS {
        let Ok(found) = fs::symlink_metadata(data.join(name)) else {
            // What is not there is made, and what cannot be looked at cannot be opened.
            continue;
        };
        if let Some(what) = strange(found.file_type(), kind) {
            let message = format!(
                "data directory {}: `{name}` {what}; put the thing itself there, and to keep the data \
                 on another disk name a directory of it with --data",
                data.display()
            );
            return Err(Stop::new(Exit::Data, message));
        }
    }
    Ok(())
}

fn strange(found: FileType, kind: Kind) -> Option<&'static str> {
    match kind {
        _ if found.is_symlink() => Some("is a symbolic link"),
        Kind::Directory if !found.is_dir() => Some("is no directory"),
        Kind::File if !found.is_file() => Some("is no regular file"),
        Kind::Directory | Kind::File => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType as Make, Mode, mknodat};

    use super::*;

    #[test]
    fn one_has_it_at_a_time() {
        let data = tempfile::tempdir().unwrap();
        let first = Hold::take(data.path()).unwrap();
        let stop = Hold::take(data.path()).unwrap_err();
        assert_eq!(stop.exit, Exit::Locked);
        assert!(stop.message.contains("stop it, or name"), "{stop}");
        drop(first);
        Hold::take(data.path()).unwrap();
    }

    /// Who failed has removed what it made, while another waited for it.
    #[test]
    fn a_directory_that_is_gone_is_not_taken() {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        fs::create_dir(&data).unwrap();
        let file = File::open(&data).unwrap();
        assert!(is_named(&file, &data).unwrap());
        fs::remove_dir(&data).unwrap();
        assert!(!is_named(&file, &data).unwrap());
        fs::create_dir(&data).unwrap();
        fs::create_dir(root.path().join("other")).unwrap();
        fs::remove_dir(&data).unwrap();
        fs::rename(root.path().join("other"), &data).unwrap();
        assert!(!is_named(&file, &data).unwrap());
    }

    #[test]
    fn links_and_special_files_are_refused_by_their_name() {
        for (name, kind) in KINDS {
            for link in [true, false] {
                let data = tempfile::tempdir().unwrap();
                let path = data.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                expect_plain(data.path()).unwrap();
                if link {
                    // To what it would have to be.
                    let target = data.path().join("elsewhere");
                    match kind {
                        Kind::Directory => fs::create_dir(&target).unwrap(),
                        Kind::File => fs::write(&target, "x").unwrap(),
                    }
                    symlink(&target, &path).unwrap();
                } else {
                    mknodat(CWD, &path, Make::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
                }
                let stop = expect_plain(data.path()).unwrap_err();
                assert_eq!(stop.exit, Exit::Data);
                assert!(stop.message.contains(&format!("`{name}` is")), "{stop}");
                assert!(stop.message.contains("--data"), "{stop}");
            }
        }
    }
}
