//! The lock of a database directory, which sled takes as well.
//!
//! Here: taking it on a handle of our own, with patience. Not here: what it protects. Called by the
//! store, before sled opens and after it has closed.
//!
//! sled gives its lock back when the last of its background tasks is gone, which may be a moment
//! after the database was dropped; and a process that was just killed takes a moment to end.

use std::fs::File;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// How often the lock is tried, and how long to wait between: 2 s in all.
const TRIES: u32 = 400;
const PAUSE: Duration = Duration::from_millis(5);

/// The lock, given back when dropped.
#[derive(Debug)]
pub(super) struct Lock<'a>(&'a File);

impl<'a> Lock<'a> {
    /// Takes the lock; `None` when somebody else keeps it.
    pub(super) fn take(file: &'a File) -> io::Result<Option<Self>> {
        for _ in 0..TRIES {
            match flock(file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Self(file))),
                Err(Errno::WOULDBLOCK | Errno::INTR) => pause(),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a lock on a file can be waited for without a bound or not at all"
)]
fn pause() {
    thread::sleep(PAUSE);
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // Closing the handle would give it back as well.
        let _given_back = flock(self.0, FlockOperation::Unlock);
    }
}
