//! `import`: a data directory from an export.
//!
//! The file is judged whole before anything is made. The log is made beside its place and takes its
//! name last, so a directory is whole or refused by a start. Not here: what the file looks like
//! (`interlock_storage::export`).

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use interlock_storage::export::{Survey, import};
use interlock_storage::run_mark::RunMark;

use super::export::Holds;
use super::place::{self, Place};
use super::print;
use crate::admin::protocol::Answer;
use crate::console::{complain, say};
use crate::data_dir::{self, LOG_DIR, RUN_FILE, SECRET_DRAFT_FILE, SECRET_FILE};
use crate::exit::{Exit, Stop};
use crate::export::{Note, imported, open_to_others, reader, survey};
use crate::log_stop;
use crate::secret::Secret;

/// The log until it is whole.
const IMPORTING: &str = "log.importing";
/// Bytes between two lines on the terminal.
const BYTES_TOLD: u64 = 256 * 1024 * 1024;

/// The flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The file that `export` wrote.
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The key file that sealed the node's secret, when it is in the file.
    #[arg(long, value_name = "FILE", conflicts_with = "secret")]
    seal_with: Option<PathBuf>,
    /// A copy of the old data directory's file `secret`.
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,
}

impl Args {
    /// Makes the data directory and prints what it holds.
    ///
    /// # Errors
    /// What is wrong with the file, the secret or the directory; nothing is left of it then.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        let data = self.place.data()?;
        let found = survey(&self.from)?;
        let note = Note::of(&found)?;
        let secret = note.open(self.seal_with.as_deref(), self.secret.as_deref())?;
        if let Some(key) = self.seal_with.as_deref().filter(|key| open_to_others(key)) {
            let key = key.display();
            complain(&format!(
                "--seal-with {key}: the group or others can read it; take that away (chmod go= {key})"
            ));
        }
        data_dir::close_to_others();
        let building = data.join(IMPORTING);
        if building.exists() {
            return Err(half_made(&building));
        }
        let made_here = !data.exists();
        data_dir::prepare(&data)?;
        for name in [LOG_DIR, SECRET_FILE, SECRET_DRAFT_FILE] {
            if data.join(name).exists() {
                let message = format!(
                    "data directory {}: holds a node already; name an empty one with --data",
                    data.display()
                );
                return Err(Stop::new(Exit::Data, message));
            }
        }
        begin(&building)?;
        let made = make(&found, &self.from, &building, &secret)
            .and_then(|()| put_in_place(&data, &building, &secret));
        if let Err(stop) = made {
            // What is left has no use, and a start refuses it.
            fs::remove_dir_all(&building).ok();
            if made_here {
                fs::remove_dir(&data).ok();
            }
            return Err(stop);
        }
        place::tell_of_owner(&data, &data_dir::parent_of(&data));
        let holds = Holds::new(&self.from, found.at_ms, &note, &found.holds);
        if self.place.json {
            print::json(&Answer::one(&holds), None);
            return Ok(());
        }
        let table = holds.table();
        let shown = data.display();
        say(&format!(
            "{table}\n\n{shown} is ready; start it with interlock serve --data {shown}"
        ));
        Ok(())
    }
}

/// Makes the place of the log that is not whole yet, for one import alone: what this one did not make
/// it never removes.
fn begin(building: &Path) -> Result<(), Stop> {
    let made = DirBuilder::new().mode(0o700).create(building);
    made.map_err(|error| {
        if error.kind() == ErrorKind::AlreadyExists {
            return half_made(building);
        }
        Stop::new(Exit::Data, format!("{}: {error}", building.display()))
    })
}

fn half_made(building: &Path) -> Stop {
    let message = format!(
        "{} is there: another import is at work, or one was cut off; when none is, remove it and \
         import again",
        building.display()
    );
    Stop::new(Exit::Data, message)
}

fn make(found: &Survey, from: &Path, building: &Path, secret: &Secret) -> Result<(), Stop> {
    let mut told = 0;
    let log = import(found, &mut || reader(from), building, &mut |bytes| {
        if bytes / BYTES_TOLD > told {
            told = bytes / BYTES_TOLD;
            complain(&format!("read {bytes} of {} bytes", found.holds.bytes * 2));
        }
    })
    .map_err(imported)?;
    secret.fits(&log)
}

fn put_in_place(data: &Path, building: &Path, secret: &Secret) -> Result<(), Stop> {
    let (path, run) = (data.join(SECRET_FILE), data.join(RUN_FILE));
    // Nobody was answered from it yet.
    RunMark::make(&run).map_err(log_stop::read)?;
    data_dir::write(&path, secret.bytes())
        .and_then(|()| data_dir::rename(building, &data.join(LOG_DIR)))
        .map_err(|error| {
            fs::remove_file(&path).ok();
            fs::remove_file(&run).ok();
            let message = format!("data directory {}: {error}", data.display());
            Stop::new(Exit::Data, message)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_put_in_its_place_leaves_nothing() {
        let data = tempfile::tempdir().expect("a directory");
        let secret = Secret::random().expect("random bytes");
        let stop = put_in_place(data.path(), &data.path().join("none"), &secret);
        assert_eq!(stop.expect_err("there is no log").exit, Exit::Data);
        let left = fs::read_dir(data.path()).expect("a directory").count();
        assert_eq!(left, 0);
    }
}
