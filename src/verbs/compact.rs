//! `compact`: writes a log anew, without what its engine keeps of data that is gone.
//!
//! The server is stopped. An export goes into a log beside the old one, and the two change places in
//! one step; whatever happens before leaves the old one as it was. Not here: what is written.

use std::fs;
use std::path::Path;

use interlock_actors::NodeClock;
use interlock_storage::export::import;
use interlock_storage::{LogError, SledLog};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};

use super::place::{self, Place};
use super::print;
use crate::admin::protocol::Answer;
use crate::console::{complain, say};
use crate::data_dir::{self, Hold, LOG_DIR};
use crate::exit::{Exit, Stop};
use crate::export::{Note, imported, reader, survey, to_file};
use crate::log_stop;

/// The new log until it takes the old one's place, and then the old one until it is removed.
const BESIDE: &str = "log.compact";
/// The export between them.
const FILE: &str = "compact.export";

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
}

/// What it came to.
#[derive(Debug, Serialize, Deserialize)]
struct Compacted {
    bytes_before: u64,
    bytes_after: u64,
}

impl Args {
    /// Writes the log anew and prints what it takes now.
    ///
    /// # Errors
    /// That a server uses the directory, or that there is no room; the old log stays then.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        let data = self.place.data()?;
        let dir = place::log(&data)?;
        data_dir::close_to_others();
        let busy = |what: &str| Stop::new(Exit::Locked, format!("{what}; stop the server first"));
        // Until the new log is in its place.
        let hold = Hold::try_take(&data)?.ok_or_else(|| busy(&data_dir::in_use(&data)))?;
        let old = place::open(&data, &dir).map_err(|error| match error {
            LogError::Locked(what) => busy(&what),
            LogError::Corrupt(_) | LogError::Format(_) | LogError::Io(_) => log_stop::read(error),
        })?;
        let bytes_before = SledLog::bytes_of(&dir).map_err(log_stop::read)?;
        clear(&data);
        let written = anew(&data, &old).and_then(|()| exchange(&data));
        drop(old);
        clear(&data);
        drop(hold);
        place::tell_of_owner(&data, &data);
        written?;
        let compacted = Compacted {
            bytes_before,
            bytes_after: SledLog::bytes_of(&dir).map_err(log_stop::read)?,
        };
        if self.place.json {
            print::json(&Answer::one(&compacted), None);
            return Ok(());
        }
        say(&format!(
            "{} took {bytes_before} bytes and takes {} now",
            dir.display(),
            compacted.bytes_after
        ));
        Ok(())
    }
}

fn anew(data: &Path, old: &SledLog) -> Result<(), Stop> {
    let file = data.join(FILE);
    let at_ms = NodeClock::system().now().0;
    let note = Note::default().to_bytes();
    complain("reading the log");
    let written = to_file(old, &file, at_ms, &note, u64::MAX, &mut |_| ());
    // The file is ours, and nobody named it.
    written.map_err(|stop| {
        if stop.exit == Exit::Refused {
            return Stop::new(Exit::Data, stop.message);
        }
        stop
    })?;
    complain("judging what was read");
    let found = survey(&file)?;
    complain("writing it anew");
    let beside = data.join(BESIDE);
    let log = import(&found, &mut || reader(&file), &beside, &mut |_| ());
    log.map(drop).map_err(imported)
}

/// The new log in the old one's place, and the other way round, in one step.
fn exchange(data: &Path) -> Result<(), Stop> {
    let (log, beside) = (data.join(LOG_DIR), data.join(BESIDE));
    renameat_with(CWD, &beside, CWD, &log, RenameFlags::EXCHANGE)
        .map_err(std::io::Error::from)
        .and_then(|()| data_dir::sync_dir_of(&log))
        .map_err(|error| {
            let message = format!(
                "{}: the file system cannot exchange two directories ({error}); export and import \
                 into another directory instead",
                data.display()
            );
            Stop::new(Exit::Data, message)
        })
}

/// Removes what a killed one left beside the log, whose lock the caller holds: it has what may be
/// erased from the log since. What was done, for the operator.
pub(crate) fn clear_left(data: &Path) -> Option<String> {
    let partial = format!("{FILE}.partial");
    let left = || {
        let names = [BESIDE, FILE, partial.as_str()].into_iter();
        let there: Vec<&str> = names
            .filter(|name| data.join(name).symlink_metadata().is_ok())
            .collect();
        (!there.is_empty()).then(|| there.join(", "))
    };
    let found = left()?;
    clear(data);
    Some(match left() {
        None => format!("compact: one that was cut left {found}; removed"),
        Some(stays) => format!(
            "compact: one that was cut left {stays} in {}, which cannot be removed; remove it by hand, \
             it keeps what is erased",
            data.display()
        ),
    })
}

/// Removes what this or a killed one left beside the log.
fn clear(data: &Path) {
    fs::remove_file(data.join(FILE)).ok();
    fs::remove_file(data.join(format!("{FILE}.partial"))).ok();
    fs::remove_dir_all(data.join(BESIDE)).ok();
}
