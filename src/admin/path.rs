//! Where the socket is, whatever the length of the directory's path.
//!
//! Here: the address of a socket takes 108 bytes, so both ends name it from an open handle of the
//! directory. Not here: what is said (`protocol`). Called by `listen` and `client`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::data_dir::ADMIN_SOCKET;

/// The socket's directory, open as long as its short name is in use.
#[derive(Debug)]
pub(crate) struct SocketDir {
    dir: File,
    path: PathBuf,
}

impl SocketDir {
    /// Opens the directory.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            dir: File::open(path)?,
            path: path.to_owned(),
        })
    }

    /// A name of the socket that is short enough for its address.
    pub(crate) fn short(&self) -> PathBuf {
        PathBuf::from(format!(
            "/proc/self/fd/{}/{ADMIN_SOCKET}",
            self.dir.as_raw_fd()
        ))
    }

    /// The socket's name for people and for removing it.
    pub(crate) fn socket(&self) -> PathBuf {
        self.path.join(ADMIN_SOCKET)
    }
}
