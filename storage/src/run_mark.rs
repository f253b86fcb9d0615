//! A small file that tells the next start in the middle of what the last run ended.
//!
//! Here: writing it without a sync, and reading it once. After SIGKILL the kernel still has what
//! was written, which is all it is for: a report to the operator and to tests. Nothing is recovered
//! from it. It is written after the sync of what it counts, so a log that has less than the mark says
//! has lost something, and a start refuses it; after a power cut the mark may be stale or missing.
//! Called by the committer's thread (writes) and by the start (reads).

use std::fs::{File, OpenOptions};
use std::io::Read;
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

/// The mark of a run.
#[derive(Debug)]
pub struct RunMark {
    file: File,
    last: Option<RunState>,
    written: Option<RunState>,
}

/// Every state is written in this many bytes, so that a later one covers an earlier one whole.
const LINE_BYTES: usize = 128;

impl RunMark {
    /// Opens the mark and reads what the last run left; `None` at the first start.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: &Path) -> Result<(Self, Option<RunState>), LogError> {
        let refused = |error: std::io::Error| LogError::Io(format!("{}: {error}", path.display()));
        let mut options = OpenOptions::new();
        let options = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let mut file = options.open(path).map_err(refused)?;
        let mut text = String::new();
        let mut bounded = (&mut file).take(LINE_BYTES as u64);
        // Bytes that are no text are no mark of ours: nothing is known of the last run then.
        let last = bounded
            .read_to_string(&mut text)
            .ok()
            .and_then(|_| parse(&text));
        Ok((
            Self {
                file,
                last,
                written: None,
            },
            last,
        ))
    }

    /// What the last run left.
    #[must_use]
    pub const fn last(&self) -> Option<RunState> {
        self.last
    }

    /// Notes a state; costs one small write when it changed, and never fails a run: the mark is a
    /// report, not a record.
    pub fn note(&mut self, state: RunState) {
        if self.written != Some(state) {
            self.written = Some(state);
            self.file.write_all_at(&render(state), 0).ok();
        }
    }
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
    let mut line = [b' '; LINE_BYTES];
    let length = text.len().min(LINE_BYTES - 1);
    line[..length].copy_from_slice(&text.as_bytes()[..length]);
    line[LINE_BYTES - 1] = b'\n';
    line
}

fn parse(text: &str) -> Option<RunState> {
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
        assert_eq!(last, None);
        let state = RunState {
            on_loan: u64::MAX,
            appended: u64::MAX,
            snapshot: true,
            truncation: true,
            ended: false,
        };
        mark.note(state);
        mark.note(RunState {
            on_loan: 3,
            ..state
        });
        drop(mark);
        let (_, last) = RunMark::open(&path).expect("opens");
        assert_eq!(
            last,
            Some(RunState {
                on_loan: 3,
                ..state
            })
        );
    }

    #[test]
    fn bytes_of_others_say_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run");
        std::fs::write(&path, [0xff_u8; 200]).expect("writes");
        let (_, last) = RunMark::open(&path).expect("opens");
        assert_eq!(last, None);
    }
}
