//! `export`: everything a data directory holds, in one file, as of one moment.
//!
//! A running server writes the file itself and goes on answering meanwhile; without one the log is
//! opened here. The file is read again before it is called whole. Not here: what it looks like
//! (`interlock_storage::export`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use interlock_actors::NodeClock;
use interlock_domain::time::Timestamp;
use interlock_storage::export::Exported;
use interlock_storage::{LogError, SledLog};
use serde::{Deserialize, Serialize};

use super::place::{self, Place};
use super::print;
use super::table::table;
use crate::admin::Admin;
use crate::admin::protocol::{Answer, Answered, No};
use crate::console::{complain, say};
use crate::data_dir::Hold;
use crate::exit::{Exit, Stop};
use crate::export::{Note, State, survey, to_file};
use crate::log_stop;

/// The verb on the socket that begins one.
pub(crate) const NAME: &str = "export";
/// The verb on the socket that tells how far it is.
pub(crate) const PROGRESS: &str = "export progress";

/// How long a server that is asked how far it is waits for the end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes between two lines on the terminal, without a server.
const BYTES_TOLD: u64 = 256 * 1024 * 1024;

/// The flags.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("secret").required(true)))]
#[command(override_usage = "\
    interlock export [OPTIONS] --to <FILE>\n       \
    <--seal-with <FILE>|--without-secret>")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The file to write; it must not be there.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Seals the node's secret into the file with the bytes of this one (32 to 4,096); keep it
    /// elsewhere: the two together are the whole node.
    #[arg(long, value_name = "FILE", group = "secret")]
    seal_with: Option<PathBuf>,
    /// Leaves the node's secret out: keep a copy of the data directory's file `secret` yourself,
    /// since nothing can be imported without it.
    #[arg(long, group = "secret")]
    without_secret: bool,
}

/// What is asked of a server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    to: PathBuf,
    note: Vec<u8>,
}

/// How far it is.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    bytes: u64,
    ended: bool,
    failed: Option<String>,
    /// The code that it ends with then.
    exit: Option<u8>,
}

/// What a file holds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Holds {
    file: PathBuf,
    /// As of when, as RFC 3339.
    at: String,
    secret_sealed: bool,
    bytes: u64,
    history_days: u64,
    history_rows: u64,
    snapshots: u64,
    meta_values: u64,
    appends: u64,
}

impl Holds {
    pub(super) fn new(file: &Path, at_ms: i64, note: &Note, all: &Exported) -> Self {
        Self {
            file: file.to_owned(),
            at: print::time(Timestamp(at_ms)),
            secret_sealed: note.secret.is_some(),
            bytes: all.bytes,
            history_days: all.history_days,
            history_rows: all.history_rows,
            snapshots: all.snapshots,
            meta_values: all.meta,
            appends: all.appends,
        }
    }

    pub(super) fn table(&self) -> String {
        let rows = [
            ("as of", self.at.clone()),
            ("bytes", self.bytes.to_string()),
            ("snapshots of partitions", self.snapshots.to_string()),
            ("appends after them", self.appends.to_string()),
            ("spaces, keys and so on", self.meta_values.to_string()),
            ("days of history", self.history_days.to_string()),
            (
                "rows of history, of many receipts",
                self.history_rows.to_string(),
            ),
        ];
        let rows: Vec<Vec<String>> = rows
            .map(|(name, value)| vec![name.to_owned(), value])
            .into();
        table(&["found", "value"], &rows)
    }
}

impl Args {
    /// Writes the file and prints what it holds.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        let data = self.place.data()?;
        let to = std::path::absolute(&self.to).map_err(|error| {
            let message = format!("--to {}: {error}", self.to.display());
            Stop::new(Exit::Usage, message)
        })?;
        let dir = place::log(&data)?;
        let note = match &self.seal_with {
            Some(key) => Note::sealing(&data, key)?,
            None => Note::default(),
        };
        let hold = Hold::try_take(&data)?;
        let opened = hold.as_ref().map(|_| place::open(&data, &dir));
        match opened {
            Some(Ok(log)) => {
                let written = of_log(&log, &to, &note);
                drop(log);
                // Opening makes files, also when nothing came of it.
                place::tell_of_owner(&data, &data);
                written?;
            }
            None | Some(Err(LogError::Locked(_))) => self.by_server(&to, &note)?,
            Some(Err(error)) => return Err(log_stop::read(error)),
        }
        drop(hold);
        // What was written is not what can be read until it was read.
        let found = survey(&to)?;
        let holds = Holds::new(&to, found.at_ms, &note, &found.holds);
        if self.place.json {
            print::json(&Answer::one(&holds), None);
            return Ok(());
        }
        let secret = match holds.secret_sealed {
            true => "the secret is sealed in it; keep the key file elsewhere",
            false => "the secret is not in it; keep a copy of the file secret elsewhere",
        };
        let table = holds.table();
        say(&format!("{table}\n\n{} is whole; {secret}", to.display()));
        Ok(())
    }

    fn by_server(&self, to: &Path, note: &Note) -> Result<(), Stop> {
        let wanted = Wanted {
            to: to.to_owned(),
            note: note.to_bytes(),
        };
        self.place.ask(NAME, &wanted)?;
        loop {
            let answer = self.place.ask(PROGRESS, &())?;
            let told: Told = print::done(&answer)?;
            if let Some(what) = told.failed {
                let exit = told.exit.and_then(Exit::of).unwrap_or(Exit::Refused);
                return Err(Stop::new(exit, what));
            }
            if told.ended {
                return Ok(());
            }
            complain(&format!("wrote {} bytes", told.bytes));
        }
    }
}

fn of_log(log: &SledLog, to: &Path, note: &Note) -> Result<(), Stop> {
    let at_ms = NodeClock::system().now().0;
    let mut told = 0;
    to_file(log, to, at_ms, &note.to_bytes(), u64::MAX, &mut |so_far| {
        if so_far.bytes / BYTES_TOLD > told {
            told = so_far.bytes / BYTES_TOLD;
            complain(&format!("wrote {} bytes", so_far.bytes));
        }
    })
    .map(|_| ())
}

/// Begins one.
pub(super) fn serve(admin: &Admin, wanted: Wanted) -> Answered {
    let Wanted { to, note } = wanted;
    if !to.is_absolute() {
        return Err(No::Refused("the file's path is not absolute".to_owned()));
    }
    let now = admin.node().clock().now();
    let begun = admin.exports().begin(admin.log(), to, now.0, note);
    begun.map_err(No::Refused)?;
    Ok(Answer::one(&()))
}

/// Tells how far the last one is.
pub(super) async fn progress(admin: &Admin) -> Answered {
    let Some(State { so_far, ended }) = admin.exports().state(PATIENCE).await else {
        return Err(No::Refused("no export was begun".to_owned()));
    };
    let is_over = ended.is_some();
    let failed = ended.and_then(Result::err);
    Ok(Answer::one(&Told {
        bytes: so_far.bytes,
        ended: is_over,
        exit: failed.as_ref().map(|stop| stop.exit as u8),
        failed: failed.map(|stop| stop.message),
    }))
}
