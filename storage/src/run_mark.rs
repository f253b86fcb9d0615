//! A small file that tells the next start in the middle of what the last run ended, and how much the
//! log must have.
//!
//! Here: writing it without a sync, and reading it once. After SIGKILL the kernel still has what
//! was written. Nothing is recovered from it, but a log that ends too early looks like one that was
//! written less: the mark tells them apart. It is written after the sync of what it counts, so a log
//! that has less has lost something, and opening refuses it. It is synced when it is made, before the
//! log is, and at an end in order; so after a power cut it may be stale, and counts less than the log
//! has, but it is there. One that is missing beside a log, or whose check sum does not hold, tells
//! nothing, and opening refuses that too. Called by the committer's thread (writes), by the start and
//! by the offline verbs (reads).

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use crate::LogError;

/// What a node is in the middle of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunState {
    /// The run was ended in order.
    pub ended: bool,
    /// A partition's snapshot is being written.
    pub snapshot: bool,
    /// The journal is being truncated.
    pub truncation: bool,
    /// Entities that are on loan.
    pub on_loan: u64,
    /// Appends that are durable, over all groups. A log that has fewer has lost some.
    pub appended: u64,
}

/// What is known of the run before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// No mark was there.
    Never,
    /// Something that is no mark was there.
    Damaged,
    /// This is how it ended.
    Known(RunState),
}

impl Last {
    /// How it ended, if that is known.
    #[must_use]
    pub const fn state(self) -> Option<RunState> {
        match self {
            Self::Known(state) => Some(state),
            Self::Never | Self::Damaged => None,
        }
    }

    /// What the log beside the mark in `path` must have.
    #[must_use]
    pub fn acknowledged(self, path: &Path) -> Acknowledged {
        let untold = |how| Acknowledged::Untold(format!("{} is {how}", path.display()));
        match self {
            Self::Never => untold("missing"),
            Self::Damaged => untold("damaged"),
            Self::Known(state) => Acknowledged::AtLeast(state.appended),
        }
    }
}

/// How much a log must have to be taken for whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// So many appends over all groups.
    AtLeast(u64),
    /// Nobody knows, and why: only a log without an append is whole.
    Untold(String),
}

impl Default for Acknowledged {
    /// Anything will do: for logs that no node has answered from.
    fn default() -> Self {
        Self::AtLeast(0)
    }
}

/// The mark of a run.
#[derive(Debug)]
pub struct RunMark {
    file: File,
    written: Option<RunState>,
}

/// Every state is written in this many bytes, so that a later one covers an earlier one whole.
const LINE_BYTES: usize = 128;

impl RunMark {
    /// Opens the mark, or makes it durably, and says what the last run left.
    ///
    /// # Errors
    /// When the file cannot be opened, or made.
    pub fn open(path: &Path) -> Result<(Self, Last), LogError> {
        let last = look(path)?;
        if last == Last::Never {
            return Ok((Self::make(path)?, last));
        }
        let file = OpenOptions::new().write(true).open(path);
        let file = file.map_err(|error| refused(path, &error))?;
        let written = None;
        Ok((Self { file, written }, last))
    }

    /// Makes the mark of a log that nobody answered from, durably. One that is there is left as it is.
    ///
    /// # Errors
    /// When one is there, or it cannot be made; nothing is left of it then.
    pub fn make(path: &Path) -> Result<Self, LogError> {
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        let file = options.open(path).map_err(|error| refused(path, &error))?;
        let write = || {
            file.write_all_at(&render(RunState::default()), 0)?;
            file.sync_all()?;
            if let Some(dir) = path.parent() {
                File::open(dir)?.sync_all()?;
            }
            Ok(())
        };
        write().map_err(|error| {
            std::fs::remove_file(path).ok();
            refused(path, &error)
        })?;
        let written = None;
        Ok(Self { file, written })
    }

    /// Notes a state; costs one small write when it changed, and never fails a run: one that is
    /// behind refuses nothing.
    pub fn note(&mut self, state: RunState) {
        if self.written != Some(state) {
            self.written = Some(state);
            self.file.write_all_at(&render(state), 0).ok();
            if state.ended {
                self.file.sync_data().ok();
            }
        }
    }
}

/// Reads a mark and changes nothing.
///
/// # Errors
/// When the file is there and cannot be read.
pub fn look(path: &Path) -> Result<Last, LogError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Last::Never),
        Err(error) => return Err(refused(path, &error)),
    };
    let mut bytes = Vec::with_capacity(LINE_BYTES);
    let read = file.take(LINE_BYTES as u64).read_to_end(&mut bytes);
    read.map_err(|error| refused(path, &error))?;
    let text = std::str::from_utf8(&bytes).ok();
    Ok(text.and_then(parse).map_or(Last::Damaged, Last::Known))
}

fn refused(path: &Path, error: &io::Error) -> LogError {
    LogError::Io(format!("{}: {error}", path.display()))
}

fn render(state: RunState) -> [u8; LINE_BYTES] {
    let RunState {
        ended,
        snapshot,
        truncation,
        on_loan,
        appended,
    } = state;
    let (ended, snapshot, truncation) = (u8::from(ended), u8::from(snapshot), u8::from(truncation));
    let text = format!(
        "ended {ended} snapshot {snapshot} truncation {truncation} loans {on_loan} appended {appended}"
    );
    let text = format!("{text} sum {}", crc32fast::hash(text.as_bytes()));
    let mut line = [b' '; LINE_BYTES];
    let length = text.len().min(LINE_BYTES - 1);
    line[..length].copy_from_slice(&text.as_bytes()[..length]);
    line[LINE_BYTES - 1] = b'\n';
    line
}

fn parse(text: &str) -> Option<RunState> {
    let (text, sum) = text.trim_end().split_once(" sum ")?;
    if sum.parse() != Ok(crc32fast::hash(text.as_bytes())) {
        return None;
    }
    let mut words = text.split_whitespace();
    let mut value = |name: &str| -> Option<u64> {
        (words.next()? == name).then_some(())?;
        words.next()?.parse().ok()
    };
    Some(RunState {
        ended: value("ended")? == 1,
        snapshot: value("snapshot")? == 1,
        truncation: value("truncation")? == 1,
        on_loan: value("loans")?,
        appended: value("appended")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_start_reads_the_last_state() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run");
        let (mut mark, last) = RunMark::open(&path).expect("opens");
        assert_eq!(last, Last::Never);
        assert_eq!(
            look(&path).expect("reads"),
            Last::Known(RunState::default())
        );
        let state = RunState {
            on_loan: u64::MAX,
            appended: u64::MAX,
            snapshot: true,
            truncation: true,
            ended: true,
        };
        mark.note(state);
        assert_eq!(look(&path).expect("reads"), Last::Known(state));
        let shorter = RunState {
            on_loan: 3,
            ..state
        };
        mark.note(shorter);
        drop(mark);
        let (_, last) = RunMark::open(&path).expect("opens");
        assert_eq!(last, Last::Known(shorter));
    }

    #[test]
    fn a_mark_that_is_there_is_not_made_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run");
        let (mut mark, _) = RunMark::open(&path).expect("opens");
        let state = RunState {
            appended: 7,
            ..RunState::default()
        };
        mark.note(state);
        RunMark::make(&path).expect_err("it is there");
        assert_eq!(look(&path).expect("reads"), Last::Known(state));
    }

    #[test]
    fn bytes_of_others_and_flipped_bits_say_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run");
        drop(RunMark::open(&path).expect("opens"));
        let mark = std::fs::read(&path).expect("reads");
        let told = mark.iter().rposition(|byte| byte.is_ascii_digit());
        for at in 0..=told.expect("a sum") {
            for bit in 0..8 {
                let mut bytes = mark.clone();
                bytes[at] ^= 1 << bit;
                std::fs::write(&path, bytes).expect("writes");
                assert_eq!(look(&path).expect("reads"), Last::Damaged, "{at} {bit}");
            }
        }
        for bytes in [&[0xff_u8; 200][..], b"", &mark[..40]] {
            std::fs::write(&path, bytes).expect("writes");
            let (_, last) = RunMark::open(&path).expect("opens");
            assert_eq!(last, Last::Damaged);
            let why = last.acknowledged(&path);
            let Acknowledged::Untold(why) = why else {
                panic!("{why:?}")
            };
            assert!(why.ends_with("run is damaged"), "{why}");
        }
    }
}
