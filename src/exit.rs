//! How the process ends: one number for each reason, and the one place it ends in.
//!
//! Here: the exit codes, which are a contract with whoever supervises the process, and [`Stop`],
//! what a verb hands up when it cannot go on. Not here: why. Called by every verb and by `main`.

use std::fmt;
use std::process::ExitCode;

/// Why the process ends. The numbers never change; 1 is left to shells and 101 to the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Everything asked for was done; also after SIGTERM and a drain.
    Done = 0,
    /// The command line makes no sense.
    Usage = 2,
    /// The settings file cannot be read or says something that is refused.
    Config = 3,
    /// The address cannot be listened on, or must not be in the clear.
    Listen = 4,
    /// Another process holds the data directory.
    Locked = 5,
    /// The log is not what was written.
    Corrupt = 6,
    /// The data directory belongs to another secret, or its secret is gone.
    Secret = 7,
    /// The machine's clock is too far from the last record.
    Clock = 8,
    /// The log was written by a newer version.
    Format = 9,
    /// The data directory cannot be used: permissions, a full disk.
    Data = 10,
    /// The seed cannot be read or says something that is refused.
    Seed = 11,
    /// No server answers on the socket of the data directory.
    NoServer = 12,
    /// What was asked is refused; nothing was done.
    Refused = 13,
    /// A gateway must not let the message through.
    NotAccepted = 14,
    /// The disk failed while the node ran; what was not answered is unknown.
    Storage = 20,
    /// A bug; the next start recovers from the log.
    Bug = 21,
    /// A second signal came before the drain was over.
    Forced = 22,
}

/// The table that `--help` of each verb shows.
pub(crate) const HELP: &str = "\
Exit codes:
   0  done, also after SIGTERM and a drain
   2  the command line makes no sense
   3  the settings file cannot be read or is refused
   4  the address cannot be listened on, or must not be in the clear
   5  another process holds the data directory
   6  the log is damaged
   7  the data directory belongs to another secret
   8  the machine's clock is too far from the last record
   9  the log was written by a newer version
  10  the data directory cannot be used
  11  the seed cannot be read or is refused
  12  no server answers on the socket of the data directory
  13  what was asked is refused, and nothing was done
  14  the token is refused, and the message must not leave
  20  the disk failed while the node ran
  21  a bug; the next start recovers from the log
  22  a second signal came before the drain was over";

/// Why a verb cannot go on: the code, and one line for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// The code.
    pub(crate) exit: Exit,
    /// One line, without the program's name.
    pub(crate) message: String,
}

impl Stop {
    /// A stop with one line. Line breaks that a library put into its message become commas, and what
    /// to do is added where only the system's words or the engine's are there.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        let message: String = message.into();
        let lines: Vec<&str> = message
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let mut message = lines.join(", ");
        message.push_str(remedy(exit, &message));
        Self { exit, message }
    }
}

/// What to do, as the end of a line that does not say it.
fn remedy(exit: Exit, message: &str) -> &'static str {
    if exit == Exit::Locked && !message.contains("stop") {
        return "; stop it, or name another directory with --data";
    }
    // The system's words for a full disk, which any write may meet.
    if message.contains("No space left on device") && !message.contains("make room") {
        return "; make room on the disk";
    }
    if message.contains("Read-only file system") {
        return "; make it writable (mount -o remount,rw), or copy what is there to another disk and name \
                that with --data";
    }
    let said = |words: &str| message.to_ascii_lowercase().contains(words);
    let ways = ["put a copy", "another copy", "put the log back"];
    if exit == Exit::Corrupt && !message.is_empty() && !ways.into_iter().any(said) {
        return "; how much is lost cannot be said; put a copy of the data directory from before in its \
                place, or `interlock import` an export into an empty one";
    }
    ""
}

impl Stop {
    /// The form for machines.
    fn document(&self) -> String {
        let error = serde_json::json!({"exit": self.exit as u8, "message": self.message});
        serde_json::json!({ "error": error }).to_string()
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The code `main` returns. With `json` a refusal is one JSON document on standard output as well,
/// `{"error": {"exit": …, "message": …}}` whatever the verb.
pub(crate) fn code(outcome: Result<(), Stop>, json: bool) -> ExitCode {
    let exit = match outcome {
        Ok(()) => Exit::Done,
        Err(stop) => {
            // Without a message the verb has said it.
            if !stop.message.is_empty() {
                if json {
                    crate::console::say(&stop.document());
                }
                crate::console::complain(&stop.message);
            }
            stop.exit
        }
    };
    ExitCode::from(exit as u8)
}

/// Ends the process now, without a drain and without destructors: for a second signal, and for
/// failures after which nothing may be written any more.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(crate) fn at_once(stop: &Stop) -> ! {
    crate::console::complain(&stop.message);
    std::process::exit(i32::from(stop.exit as u8))
}

impl Exit {
    /// The code of a number.
    pub(crate) fn of(number: u8) -> Option<Self> {
        ALL.into_iter().find(|exit| *exit as u8 == number)
    }
}

/// Every code.
pub(crate) const ALL: [Exit; 17] = [
    Exit::Done,
    Exit::Usage,
    Exit::Config,
    Exit::Listen,
    Exit::Locked,
    Exit::Corrupt,
    Exit::Secret,
    Exit::Clock,
    Exit::Format,
    Exit::Data,
    Exit::Seed,
    Exit::NoServer,
    Exit::Refused,
    Exit::NotAccepted,
    Exit::Storage,
    Exit::Bug,
    Exit::Forced,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_one_line() {
        let stop = Stop::new(Exit::Config, "a\n  b\n\nc");
        assert_eq!(stop.message, "a, b, c");
    }

    #[test]
    fn what_to_do_is_said_once() {
        let said = |exit, message: &str| Stop::new(exit, message).message;
        assert_eq!(
            said(Exit::Locked, "it is in use by another process"),
            "it is in use by another process; stop it, or name another directory with --data"
        );
        assert_eq!(said(Exit::Locked, "stop the server"), "stop the server");
        let full = "write: No space left on device (os error 28)";
        let told = said(Exit::Data, full);
        assert_eq!(told, format!("{full}; make room on the disk"));
        assert_eq!(said(Exit::Data, &told), told);
        assert_eq!(said(Exit::Data, "no rights"), "no rights");
        let told = said(
            Exit::Data,
            "cannot create x: Read-only file system (os error 30)",
        );
        assert!(
            told.contains("remount,rw") && told.contains("--data"),
            "{told}"
        );
        let told = said(Exit::Corrupt, "a record cannot be read");
        for way in [
            "how much is lost cannot be said",
            "put a copy",
            "interlock import",
        ] {
            assert!(told.contains(way), "{told}");
        }
        assert_eq!(said(Exit::Corrupt, &told), told);
        assert_eq!(said(Exit::Corrupt, ""), "", "it was said before");
    }

    #[test]
    fn the_help_lists_the_codes() {
        for exit in ALL {
            let number = format!("\n{:>4}  ", exit as u8);
            assert!(HELP.contains(&number), "{exit:?}");
        }
    }
}
