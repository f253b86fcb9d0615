//! `import`: a data directory from an export.
//!
//! The file is judged whole before anything is made. The directory is taken before anything is made in
//! it; then the log is made beside its place and takes its name last, so a directory is whole or refused
//! by a start. Only what this import made is ever removed. Not here: what the file looks like
//! (`interlock_storage::export`).

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use interlock_storage::export::{Survey, import};
use interlock_storage::run_mark::{RunMark, RunState};

use super::export::Holds;
use super::place::{self, Place};
use super::print;
use crate::admin::protocol::Answer;
use crate::console::{complain, say};
use crate::data_dir::{self, Hold, IMPORT_DIR, LOG_DIR, RUN_FILE, SECRET_DRAFT_FILE, SECRET_FILE};
use crate::exit::{Exit, Stop};
use crate::export::{Note, imported, open_to_others, reader, survey};
use crate::log_stop;
use crate::secret::Secret;

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
        let made_here = !data.exists();
        data_dir::prepare(&data)?;
        let hold = Hold::take(&data)?;
        expect_empty(&data)?;
        let building = data.join(IMPORT_DIR);
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
        drop(hold);
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
        let message = format!("{}: cannot be made: {error}", building.display());
        Stop::new(Exit::Data, message)
    })
}

/// Refuses a directory that a node, or a part of one, lies in. The caller has taken it.
fn expect_empty(data: &Path) -> Result<(), Stop> {
    if let Some(cut_off) = left(data) {
        return Err(cut_off);
    }
    let ours = [LOG_DIR, SECRET_FILE, SECRET_DRAFT_FILE, RUN_FILE];
    if ours.iter().any(|name| data.join(name).exists()) {
        let message = format!(
            "data directory {}: holds a node already; name an empty one with --data",
            data.display()
        );
        return Err(Stop::new(Exit::Data, message));
    }
    Ok(())
}

/// What is said of a directory in which an import was cut off, with what leads out; `None` where none
/// was. The caller has taken the directory, so none is at work.
pub(crate) fn left(data: &Path) -> Option<Stop> {
    data.join(IMPORT_DIR).symlink_metadata().ok()?;
    // Without a log the others are that import's too: it begins where there is none of them.
    let others = match data.join(LOG_DIR).join("db").exists() {
        true => [].as_slice(),
        false => [LOG_DIR, SECRET_FILE, RUN_FILE].as_slice(),
    };
    let there = others.iter().filter(|name| data.join(name).exists());
    let names = [IMPORT_DIR].into_iter().chain(there.copied());
    let paths: Vec<String> = names
        .map(|name| place::quoted(&data.join(name).display().to_string()))
        .collect();
    let message = format!(
        "data directory {}: an import was cut off in it; remove what it left and import again: rm -r {}",
        data.display(),
        paths.join(" ")
    );
    Some(Stop::new(Exit::Data, message))
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
    let mut mark = RunMark::make(&run).map_err(log_stop::read)?;
    let placed = data_dir::write_new(&path, secret.bytes()).and_then(|()| {
        let named = data_dir::rename_new(building, &data.join(LOG_DIR));
        named.inspect_err(|_| {
            fs::remove_file(&path).ok();
        })
    });
    placed.map_err(|error| {
        fs::remove_file(&run).ok();
        let message = format!("data directory {}: {error}", data.display());
        Stop::new(Exit::Data, message)
    })?;
    // Else the next start would tell of a run that was killed, and there was none.
    mark.note(RunState {
        ended: true,
        ..RunState::default()
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use interlock_storage::run_mark;

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

    #[test]
    fn what_was_imported_is_no_run_that_was_killed() {
        let data = tempfile::tempdir().expect("a directory");
        let building = data.path().join(IMPORT_DIR);
        begin(&building).expect("a directory");
        let secret = Secret::random().expect("random bytes");
        put_in_place(data.path(), &building, &secret).expect("nothing is there");
        let last = run_mark::look(&data.path().join(RUN_FILE)).expect("a file");
        assert!(last.state().is_some_and(|state| state.ended), "{last:?}");
    }

    /// Whatever another process has put there at whichever step, it stays as it is.
    #[test]
    fn what_another_made_meanwhile_is_not_touched() {
        let secret = Secret::random().expect("random bytes");
        for (theirs, before) in [(RUN_FILE, 0), (SECRET_FILE, 0), (LOG_DIR, 0)] {
            let data = tempfile::tempdir().expect("a directory");
            let building = data.path().join(IMPORT_DIR);
            begin(&building).expect("a directory");
            let path = data.path().join(theirs);
            match theirs {
                LOG_DIR => fs::create_dir(&path).expect("a directory"),
                _ => fs::write(&path, "theirs").expect("a file"),
            }
            let stop = put_in_place(data.path(), &building, &secret);
            assert_eq!(stop.expect_err("it is there").exit, Exit::Data, "{theirs}");
            fs::remove_dir(&building).expect("it is empty");
            let left = fs::read_dir(data.path()).expect("a directory").count();
            assert_eq!(left, before + 1, "{theirs} alone is left");
            if theirs != LOG_DIR {
                assert_eq!(fs::read(&path).expect("a file"), b"theirs");
            }
        }
    }

    #[test]
    fn an_import_that_was_cut_off_is_told_with_what_leads_out() {
        let data = tempfile::tempdir().expect("a directory");
        assert_eq!(left(data.path()), None);
        for (name, also) in [
            (IMPORT_DIR, vec![IMPORT_DIR]),
            (RUN_FILE, vec![IMPORT_DIR, RUN_FILE]),
            (SECRET_FILE, vec![IMPORT_DIR, SECRET_FILE, RUN_FILE]),
        ] {
            match name {
                IMPORT_DIR => fs::create_dir(data.path().join(name)).expect("a directory"),
                _ => fs::write(data.path().join(name), "x").expect("a file"),
            }
            let told = left(data.path()).expect("it is told").message;
            let paths: Vec<String> = also
                .iter()
                .map(|name| data.path().join(name).display().to_string())
                .collect();
            let way = format!("rm -r {}", paths.join(" "));
            assert!(told.ends_with(&way), "{told} does not end with {way}");
        }
    }
}
