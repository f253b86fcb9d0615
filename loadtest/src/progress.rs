//! How a run goes on, for a person who waits: one moving line on a terminal, a line every few seconds
//! elsewhere, always on standard error.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows progress.
#[derive(Debug)]
pub(crate) struct Progress {
    moving: bool,
    last: Option<Instant>,
}

impl Progress {
    /// On this process's standard error.
    pub(crate) fn new() -> Self {
        Self {
            moving: std::io::stderr().is_terminal(),
            last: None,
        }
    }

    /// Shows how it stands. Lines that cannot be written are no fault.
    pub(crate) fn show(&mut self, line: &str) {
        let mut out = std::io::stderr();
        if self.moving {
            drop(write!(out, "\r\x1b[2K{line}").and_then(|()| out.flush()));
        } else if self.last.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
            self.last = Some(Instant::now());
            drop(writeln!(out, "{line}"));
        }
    }

    /// The line is over.
    pub(crate) fn end(&mut self) {
        if self.moving {
            let mut out = std::io::stderr();
            drop(write!(out, "\r\x1b[2K").and_then(|()| out.flush()));
        }
    }
}

/// Says what comes next, as a line of its own.
pub(crate) fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}
