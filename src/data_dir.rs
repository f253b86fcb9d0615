//! The data directory: that it exists, is ours, and is closed to others.
//!
//! Here: creating and checking the directory and writing a small file into it so that it survives a
//! power cut; in `data_dir/hold.rs` who may work on it. Not here: what the files mean. Called by
//! `serve`, `secret`, `export` and the verbs.

mod hold;

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

pub(crate) use self::hold::{Hold, expect_plain, in_use};
use crate::exit::{Exit, Stop};

/// Name of the file that holds the node's secret.
pub(crate) const SECRET_FILE: &str = "secret";
/// Name of the secret until the log knows it.
pub(crate) const SECRET_DRAFT_FILE: &str = "secret.new";
/// Name of the directory that holds the log.
pub(crate) const LOG_DIR: &str = "log";
/// Name of the socket that the verbs reach a running server by.
pub(crate) const ADMIN_SOCKET: &str = "admin.sock";
/// Name of the file that says what the last run was in the middle of.
pub(crate) const RUN_FILE: &str = "run";

/// Name of the file that keeps room for a start on a full disk.
pub(crate) const RESERVE_FILE: &str = "reserve";
/// Name of a log that an import makes, until it is whole.
pub(crate) const IMPORT_DIR: &str = "log.importing";

/// From here on every file and directory the process makes, also those an engine makes, is closed
/// to the group and to others.
pub(crate) fn close_to_others() {
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// Makes the directory, or checks the one that is there.
///
/// # Errors
/// When it cannot be made or used, or holds something else, or something of ours is a link.
pub(crate) fn prepare(path: &Path) -> Result<(), Stop> {
    let refuse = |what: String| {
        let message = format!("data directory {}: {what}", path.display());
        Stop::new(Exit::Data, message)
    };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .map_err(|error| refuse(format!("cannot be made: {error}")))?;
            let parent = parent_of(path);
            sync_dir(&parent).map_err(|error| refuse(format!("cannot be synced: {error}")))
        }
        Err(error) => Err(refuse(format!("cannot be read: {error}"))),
        Ok(found) if !found.is_dir() => Err(refuse("is not a directory".to_owned())),
        Ok(_) => {
            let strange =
                strange_entry(path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
            if let Some(name) = strange {
                return Err(refuse(format!(
                    "holds no interlock data but {name}; name an empty one"
                )));
            }
            expect_plain(path)?;
            close(path, 0o700).map_err(|error| refuse(format!("cannot be closed: {error}")))
        }
    }
}

/// In a directory that has neither secret nor log: the name of something else that is in it.
fn strange_entry(path: &Path) -> io::Result<Option<String>> {
    let ours = [SECRET_FILE, SECRET_DRAFT_FILE, LOG_DIR];
    if ours.iter().any(|name| path.join(name).exists()) {
        return Ok(None);
    }
    strange_among(path)
}

/// The name of something in a directory that is not ours.
fn strange_among(path: &Path) -> io::Result<Option<String>> {
    // Ours are also what a first start makes right now: it has the directory, and its lock tells so.
    let ours = [
        SECRET_FILE,
        SECRET_DRAFT_FILE,
        LOG_DIR,
        // What a first start, or an import, that was killed at once left.
        RUN_FILE,
        IMPORT_DIR,
        RESERVE_FILE,
        // What a killed server that kept nothing left.
        ADMIN_SOCKET,
        // The mark of a file system's own root, where a volume is mounted.
        "lost+found",
    ];
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if !ours.iter().any(|ours| name == *ours) {
            return Ok(Some(name.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

/// Takes the rights of the group and of others away, if they have any.
pub(crate) fn close(path: &Path, mode: u32) -> io::Result<()> {
    let now = fs::metadata(path)?.permissions().mode();
    if now & 0o077 == 0 {
        return Ok(());
    }
    tracing::warn!(path = %path.display(), "was open to others and is closed now");
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Writes a file so that it survives a power cut.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    sync_dir(&parent_of(path))
}

/// Makes a file so that it survives a power cut. One that is there is left as it is; what cannot be
/// written whole is removed again.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let written = written.and_then(|()| sync_dir(&parent_of(path)));
    written.inspect_err(|_| {
        fs::remove_file(path).ok();
    })
}

/// Gives a file or a directory a name that nothing has, so that it survives a power cut.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => sync_dir(&parent_of(to)),
        // Not every file system can.
        Err(rustix::io::Errno::INVAL) => rename(from, to),
        Err(error) => Err(error.into()),
    }
}

/// Gives a file its name so that it survives a power cut.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_dir(&parent_of(to))
}

/// Makes the names in a file's directory durable.
pub(crate) fn sync_dir_of(path: &Path) -> io::Result<()> {
    sync_dir(&parent_of(path))
}

fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The directory that a path is in.
pub(crate) fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    /// One of two first starts looks while the other makes them one by one.
    #[test]
    fn nothing_of_ours_is_strange_whenever_it_is_looked_at() {
        let ours = [
            SECRET_FILE,
            SECRET_DRAFT_FILE,
            LOG_DIR,
            RUN_FILE,
            IMPORT_DIR,
            RESERVE_FILE,
            ADMIN_SOCKET,
        ];
        for name in ours {
            let data = tempfile::tempdir().unwrap();
            fs::write(data.path().join(name), "").unwrap();
            assert_eq!(strange_among(data.path()).unwrap(), None, "{name}");
            fs::write(data.path().join("photo.jpg"), "").unwrap();
            let strange = strange_among(data.path()).unwrap();
            assert_eq!(strange.as_deref(), Some("photo.jpg"), "{name}");
        }
    }

    #[test]
    fn makes_a_closed_directory() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        prepare(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        prepare(&path).unwrap();
    }

    #[test]
    fn closes_one_that_is_open() {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
        prepare(root.path()).unwrap();
        assert_eq!(mode(root.path()), 0o700);
    }

    #[test]
    fn refuses_what_is_not_ours() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("letter.txt"), "x").unwrap();
        let stop = prepare(root.path()).unwrap_err();
        assert_eq!(stop.exit, Exit::Data);
        assert!(stop.message.contains("letter.txt"));
        let stop = prepare(&root.path().join("letter.txt")).unwrap_err();
        assert!(stop.message.ends_with("is not a directory"));
    }

    #[test]
    fn what_a_first_start_left_that_was_killed_at_once_is_ours() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(RUN_FILE), "").unwrap();
        prepare(root.path()).unwrap();
    }

    #[test]
    fn what_is_there_is_not_made_again() {
        let root = tempfile::tempdir().unwrap();
        let [path, other] = ["secret", "other"].map(|name| root.path().join(name));
        write_new(&path, b"one").unwrap();
        assert_eq!(mode(&path), 0o600);
        assert!(write_new(&path, b"two").is_err());
        fs::write(&other, "three").unwrap();
        assert!(rename_new(&other, &path).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read(&other).unwrap(), b"three");
    }

    #[test]
    fn a_new_file_is_closed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("secret");
        write(&path, b"one").unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(fs::read(&path).unwrap(), b"one");
    }
}
