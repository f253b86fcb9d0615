//! The process's own words: standard output for what was asked for, standard error for refusals.
//!
//! Here: the only two places that write there beside the log. A reader that went away is no reason
//! to stop serving, so a failed write is let go.

use std::io::{self, Write};

/// Prints lines on standard output and flushes, so that a script that waits for them sees them.
pub(crate) fn say(lines: &str) {
    let mut out = io::stdout().lock();
    if writeln!(out, "{lines}").is_ok() {
        out.flush().ok();
    }
}

/// Prints one line on standard error.
pub(crate) fn complain(line: &str) {
    // What is refused may be named in the line, and must not move a terminal's cursor.
    let line: String = line
        .chars()
        .map(|one| if one.is_control() { '\u{fffd}' } else { one })
        .collect();
    writeln!(io::stderr().lock(), "interlock: {line}").ok();
}
