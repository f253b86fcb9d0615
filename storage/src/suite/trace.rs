//! Reads what `strace -f -y` writes, and proves that a sync came before an acknowledgement.
//!
//! Here: a parser for whole and interrupted calls, and the proof. Not here: running anything.
//! Called by the tests of the engine and of the server, which differ only in what acknowledges: a
//! `write` to a pipe there, a `sendto` or `write` to a socket here.

use std::collections::BTreeMap;
use std::path::Path;

/// One system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Thread that made it.
    pub thread: u32,
    /// Its name.
    pub name: String,
    /// Everything between the parentheses.
    pub arguments: String,
    /// What it returned; `None` for `?` (the process ended in it).
    pub result: Option<i64>,
    /// Line on which it began.
    pub begun: usize,
    /// Line on which it had returned; the same unless other threads came between.
    pub ended: usize,
}

impl Call {
    /// What the descriptor in the first argument is open on, as `-y` shows it: a path, or
    /// something like `socket:[81]`.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        let (number, rest) = self.arguments.split_once('<')?;
        number.trim().parse::<u32>().ok()?;
        rest.split_once('>').map(|(target, _)| target)
    }

    /// Is this a call of that name on a descriptor of that file?
    #[must_use]
    pub fn is_on(&self, name: &str, path: &Path) -> bool {
        self.name == name
            && self
                .target()
                .is_some_and(|target| Path::new(target) == path)
    }
}

/// Parses a trace. Lines that are no calls (signals, exits) are skipped.
///
/// # Errors
/// When a line is cut short or resumes what was not begun.
pub fn parse(trace: &str) -> Result<Vec<Call>, String> {
    let mut open: BTreeMap<(u32, String), Call> = BTreeMap::new();
    let mut calls = Vec::new();
    for (number, line) in trace.lines().enumerate() {
        let bad = |why: &str| format!("line {}: {why}: {line}", number + 1);
        let (thread, rest) = split_thread(line);
        // The tracer was told to go while the call ran: what became of it is in no trace.
        let is_cut = rest.ends_with("<detached ...>");
        if is_cut || rest.is_empty() || rest.starts_with("+++") || rest.starts_with("---") {
            continue;
        }
        if let Some(resumed) = rest.strip_prefix("<... ") {
            let (name, rest) = resumed
                .split_once(" resumed>")
                .ok_or_else(|| bad("no name"))?;
            let mut call = open
                .remove(&(thread, name.to_owned()))
                .ok_or_else(|| bad("it was not begun"))?;
            let (arguments, result) = split_result(rest).ok_or_else(|| bad("no result"))?;
            call.arguments.push_str(arguments);
            (call.result, call.ended) = (result, number);
            calls.push(call);
            continue;
        }
        let Some((name, rest)) = rest.split_once('(') else {
            return Err(bad("no call"));
        };
        let mut call = Call {
            thread,
            name: name.to_owned(),
            arguments: String::new(),
            result: None,
            begun: number,
            ended: number,
        };
        if let Some((arguments, _)) = rest.split_once(" <unfinished ...>") {
            call.arguments = arguments.to_owned();
            open.insert((thread, name.to_owned()), call);
        } else {
            let (arguments, result) = split_result(rest).ok_or_else(|| bad("no result"))?;
            call.arguments = arguments.to_owned();
            call.result = result;
            calls.push(call);
        }
    }
    calls.sort_by_key(|call| call.begun);
    Ok(calls)
}

/// `[pid 12] ` or `12 ` before a line; nothing when there is one thread only.
fn split_thread(line: &str) -> (u32, &str) {
    let bare = line.strip_prefix("[pid").unwrap_or(line).trim_start();
    let Some((number, rest)) = bare.split_once([' ', ']']) else {
        return (0, line);
    };
    match number.parse() {
        Ok(thread) => (thread, rest.trim_start()),
        Err(_) => (0, line),
    }
}

fn split_result(rest: &str) -> Option<(&str, Option<i64>)> {
    let (arguments, result) = rest.rsplit_once(") ")?;
    let result = result.trim_start().strip_prefix("= ")?;
    let number: String = result
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '-')
        .collect();
    Some((arguments, number.parse().ok()))
}

/// Proves that each acknowledgement followed a sync of its own: since the one before, a write to
/// the database file had ended, then a `fdatasync` or `fsync` on a descriptor of the same file
/// began and returned 0, and only then the acknowledgement began. Answers how many were proven.
///
/// # Errors
/// Names the first acknowledgement that no sync came before.
pub fn prove_synced(
    calls: &[Call],
    db: &Path,
    is_acknowledgement: &dyn Fn(&Call) -> bool,
) -> Result<usize, String> {
    let mut proven = 0;
    let mut since = 0;
    for acknowledgement in calls.iter().filter(|call| is_acknowledgement(call)) {
        let before = |call: &&Call| call.begun >= since && call.ended < acknowledgement.begun;
        let written = calls
            .iter()
            .filter(before)
            .find(|call| call.is_on("pwrite64", db) && call.result.is_some_and(|n| n > 0));
        let Some(written) = written else {
            return Err(format!(
                "nothing was written to {} before the acknowledgement on line {}: {}",
                db.display(),
                acknowledgement.begun + 1,
                acknowledgement.arguments
            ));
        };
        let synced = calls.iter().filter(before).any(|call| {
            (call.is_on("fdatasync", db) || call.is_on("fsync", db))
                && call.result == Some(0)
                && call.begun > written.ended
        });
        if !synced {
            return Err(format!(
                "no sync of {} came before the acknowledgement on line {}: {}",
                db.display(),
                acknowledgement.begun + 1,
                acknowledgement.arguments
            ));
        }
        proven += 1;
        since = acknowledgement.ended;
    }
    Ok(proven)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
7 openat(AT_FDCWD, \"/d/db\", O_RDONLY|O_CLOEXEC) = 3</d/db>
7 pwrite64(4</d/db>, \"\\1) = 2\"..., 512, 0) = 512
8 fdatasync(9</d/other> <unfinished ...>
7 fdatasync(3</d/db> <unfinished ...>
8 <... fdatasync resumed>) = 0
7 <... fdatasync resumed>) = 0
7 write(1<pipe:[5]>, \"ack 1\\n\", 6) = 6
--- SIGCHLD {si_signo=SIGCHLD} ---
8 +++ exited with 0 +++
";

    fn prove(trace: &str) -> Result<usize, String> {
        prove_synced(&parse(trace)?, Path::new("/d/db"), &|call| {
            call.name == "write" && call.arguments.contains("ack ")
        })
    }

    #[test]
    fn a_sync_between_write_and_acknowledgement_is_proven() {
        assert_eq!(prove(GOOD), Ok(1));
        let calls = parse(GOOD).expect("it is a trace");
        assert_eq!(calls.len(), 5);
        assert_eq!(calls[3].thread, 7);
        assert_eq!((calls[3].begun, calls[3].ended), (3, 5));
        assert_eq!(calls[4].target(), Some("pipe:[5]"));
    }

    #[test]
    fn a_call_that_ran_when_the_tracer_left_proves_nothing_and_spoils_nothing() {
        let left = "\
8 write(1<pipe:[5]>, \"ack 2\\n\", 6 <unfinished ...>
7 fdatasync(3</d/db> <detached ...>
8 <... write resumed> <detached ...>
";
        assert_eq!(prove(&format!("{GOOD}{left}")), Ok(1));
        let unproven = GOOD.replace("7 <... fdatasync resumed>) = 0\n", "");
        assert!(prove(&format!("{unproven}{left}")).is_err());
    }

    #[test]
    fn what_does_not_prove_it_is_refused() {
        let lines: Vec<&str> = GOOD.lines().collect();
        let with = |order: &[usize]| {
            let lines: Vec<&str> = order.iter().map(|&at| lines[at]).collect();
            prove(&lines.join("\n"))
        };
        assert!(with(&[0, 1, 6]).is_err(), "no sync");
        assert!(with(&[0, 1, 2, 4, 6]).is_err(), "a sync of another file");
        assert!(with(&[0, 3, 5, 1, 6]).is_err(), "the sync came first");
        assert!(with(&[0, 1, 3, 6, 5]).is_err(), "the sync had not returned");
        assert!(
            with(&[0, 1, 3, 5, 6, 6]).is_err(),
            "one sync, two acknowledgements"
        );
        assert!(prove(&GOOD.replace("resumed>) = 0", "resumed>) = -1 EIO")).is_err());
    }
}
