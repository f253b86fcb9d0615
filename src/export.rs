//! A log's file: writing it whole or not at all, sealing the node's secret into it, and one export
//! of a running server.
//!
//! Here: what the verbs `export`, `import` and `compact` share, and what the server does for the
//! first of them. Not here: what is in the file (`interlock_storage::export`). Called by the verbs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use interlock_storage::Log;
use interlock_storage::export::{self, ExportError, Exported, Head, ImportError, Survey};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::data_dir;
use crate::exit::{Exit, Stop};
use crate::log_stop;
use crate::registry::seal::Sealer;
use crate::secret::{self, Secret};

/// What a file is called until it is whole.
const PARTIAL: &str = ".partial";
/// What the secret is sealed for.
const SECRET_ROW: &[u8] = b"export/secret";
/// Bounds of a file whose bytes seal the secret.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 32..=4_096;
/// Bytes read or written at once.
const BUFFER_BYTES: usize = 1024 * 1024;
/// The program, as a file names it.
const PROGRAM: &str = concat!("interlock ", env!("CARGO_PKG_VERSION"));

/// What an export keeps for the import.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    /// The node's secret, sealed; not there when it is kept elsewhere.
    pub(crate) secret: Option<Vec<u8>>,
}

impl Note {
    /// With the secret of a data directory, sealed by a key file.
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub(crate) fn sealing(data: &Path, key: &Path) -> Result<Self, Stop> {
        if open_to_others(key) {
            let key = key.display();
            let message = format!(
                "--seal-with {key}: the group or others can read it; take that away (chmod go= \
                 {key})"
            );
            return Err(Stop::new(Exit::Refused, message));
        }
        let sealer = sealer(key)?;
        let secret = secret::read_file(&data.join(data_dir::SECRET_FILE))?;
        let sealed = sealer.seal(SECRET_ROW, secret.bytes());
        let none = || Stop::new(Exit::Data, "no random bytes");
        Ok(Self {
            secret: Some(sealed.ok_or_else(none)?),
        })
    }

    /// As the file keeps it.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("it has text keys")
    }

    /// What a file keeps.
    ///
    /// # Errors
    /// When a newer program wrote it.
    pub(crate) fn of(survey: &Survey) -> Result<Self, Stop> {
        serde_json::from_slice(&survey.note).map_err(|_| imported(ImportError::Newer))
    }

    /// The secret, with the key file that sealed it or from a file of its own.
    ///
    /// # Errors
    /// When the one that is needed is not given, or does not fit.
    pub(crate) fn open(&self, key: Option<&Path>, plain: Option<&Path>) -> Result<Secret, Stop> {
        let refuse = |what: &str| Err(Stop::new(Exit::Secret, what));
        match (&self.secret, key, plain) {
            (_, _, Some(plain)) => secret::read_file(plain)
                .map_err(|stop| Stop::new(Exit::Refused, format!("--secret {}", stop.message))),
            (Some(sealed), Some(key), None) => {
                let opened = sealer(key)?.open(SECRET_ROW, sealed);
                match opened.and_then(|bytes| Secret::of(&bytes)) {
                    Some(secret) => Ok(secret),
                    None => refuse("--seal-with names another key than the one that sealed it"),
                }
            }
            (Some(_), None, None) => {
                refuse("the secret is sealed in the file: name the key with --seal-with")
            }
            (None, Some(_), None) => refuse(
                "the secret is not in the file: name a copy of the old data directory's file \
                 secret with --secret",
            ),
            (None, None, None) => refuse(
                "the secret is not in the file, and the data cannot be read without it: name a \
                 copy of the old data directory's file secret with --secret",
            ),
        }
    }
}

/// Can the group or others read this file? What is no file has no such rights.
pub(crate) fn open_to_others(key: &Path) -> bool {
    let found = fs::metadata(key);
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o077 != 0)
}

/// Seals with the bytes of a file.
fn sealer(key: &Path) -> Result<Sealer, Stop> {
    let refuse = |what: String| {
        let message = format!("--seal-with {}: {what}", key.display());
        Stop::new(Exit::Refused, message)
    };
    let mut bytes = Vec::new();
    File::open(key)
        .and_then(|file| {
            file.take(*KEY_BYTES.end() as u64 + 1)
                .read_to_end(&mut bytes)
        })
        .map_err(|error| refuse(format!("cannot be read: {error}")))?;
    if !KEY_BYTES.contains(&bytes.len()) {
        return Err(refuse(format!(
            "must have {} to {} bytes; make one with (umask 077; head -c 32 /dev/urandom > FILE)",
            KEY_BYTES.start(),
            KEY_BYTES.end()
        )));
    }
    Ok(Sealer::new(&secret::derived_of(
        &bytes,
        secret::Use::Export,
    )))
}

/// Writes a log into a file that is not there yet; it has its name once it is whole and durable.
///
/// # Errors
/// When it is there, or cannot be written, or the log cannot be read.
pub(crate) fn to_file(
    log: &dyn Log,
    to: &Path,
    at_ms: i64,
    note: &[u8],
    journal_bytes_max: u64,
    progress: &mut dyn FnMut(&Exported),
) -> Result<Exported, Stop> {
    let stop = |exit, what: String| Stop::new(exit, format!("{}: {what}", to.display()));
    // The file was named by whoever asked, so what keeps it from being made is a refusal.
    let refuse = |what: String| stop(Exit::Refused, what);
    if to.exists() {
        return Err(refuse("is there already; name another file".to_owned()));
    }
    let partial = partial_of(to);
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600);
    let file = file.open(&partial).map_err(|error| {
        let left = "is there: another export writes it, or one was killed; then remove it";
        match error.kind() == io::ErrorKind::AlreadyExists {
            true => refuse(format!("{} {left}", partial.display())),
            false => refuse(format!("cannot be made: {error}")),
        }
    })?;
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
    let head = Head {
        program: PROGRAM,
        at_ms,
        note,
    };
    let told = export::export(log, head, journal_bytes_max, &mut out, progress);
    let named = told.map_err(exported).and_then(|told| {
        let file = out.into_inner().map_err(io::IntoInnerError::into_error);
        file.and_then(|file| file.sync_all())
            .and_then(|()| data_dir::rename_new(&partial, to))
            .map_err(|error| stop(Exit::Data, format!("cannot be written: {error}")))?;
        Ok(told)
    });
    if named.is_err() {
        // It is no export; whoever left it would only wonder.
        fs::remove_file(&partial).ok();
    }
    named
}

fn partial_of(to: &Path) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(PARTIAL);
    PathBuf::from(name)
}

/// Opens a file to import it.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn reader(from: &Path) -> io::Result<Box<dyn Read>> {
    let file = File::open(from)?;
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, file)))
}

/// Reads a file and judges it.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn survey(from: &Path) -> Result<Survey, Stop> {
    let named = |stop: Stop| Stop::new(stop.exit, format!("{}: {}", from.display(), stop.message));
    let file = reader(from).map_err(|error| named(imported(error.into())))?;
    export::survey(file).map_err(|error| named(imported(error)))
}

/// What the operator reads when an import is refused.
pub(crate) fn imported(error: ImportError) -> Stop {
    let said = error.to_string();
    if ["No space left on device", "StorageFull"]
        .iter()
        .any(|full| said.contains(full))
    {
        // Nobody waits for the outcome of what was being written: it is removed.
        let message = format!("no room for the log that is written; make room ({said})");
        return Stop::new(Exit::Data, message);
    }
    let exit = match error {
        ImportError::Log(error) => return log_stop::read(error),
        ImportError::Damaged(_) => Exit::Corrupt,
        ImportError::Newer => Exit::Format,
        ImportError::File(_) => Exit::Data,
        ImportError::Refused(_) => Exit::Storage,
    };
    Stop::new(exit, said)
}

fn exported(error: ExportError) -> Stop {
    match error {
        ExportError::Log(error) => log_stop::read(error),
        ExportError::Busy | ExportError::Outgrown(_) => Stop::new(Exit::Refused, error.to_string()),
        ExportError::File(_) => Stop::new(Exit::Data, error.to_string()),
    }
}

/// The exports of a running server, one at a time.
#[derive(Debug)]
pub(crate) struct Exports {
    /// The last one.
    last: Mutex<Option<watch::Receiver<State>>>,
    /// What the journal may grow to meanwhile, in bytes.
    journal_bytes_max: u64,
}

/// How far an export is.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// What was written.
    pub(crate) so_far: Exported,
    /// How it ended.
    pub(crate) ended: Option<Result<(), Stop>>,
}

impl Exports {
    /// Truncation waits for an export until the journal has three quarters of what it may have, so
    /// that no request is refused for it.
    pub(crate) const fn new(journal_bytes_max: u64) -> Self {
        Self {
            last: Mutex::new(None),
            journal_bytes_max: journal_bytes_max / 4 * 3,
        }
    }

    /// Begins one on a thread of its own. It ends with the process, whatever its client does.
    ///
    /// # Errors
    /// When one is under way, or there is no thread.
    pub(crate) fn begin(
        &self,
        log: Arc<dyn Log>,
        to: PathBuf,
        at_ms: i64,
        note: Vec<u8>,
    ) -> Result<(), String> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = |last: &watch::Receiver<State>| last.borrow().ended.is_none();
        if last.as_ref().is_some_and(goes_on) {
            return Err("an export is under way; wait until it has ended".to_owned());
        }
        let (told, state) = watch::channel(State::default());

        let most = self.journal_bytes_max;
        thread::Builder::new()
            .name("export".to_owned())
            .spawn(move || {
                let progress = &mut |so_far: &Exported| {
                    told.send_modify(|state| state.so_far = *so_far);
                };
                let outcome = to_file(&*log, &to, at_ms, &note, most, progress);
                told.send_modify(|state| state.ended = Some(outcome.map(|_| ())));
            })
            .map_err(|error| format!("no thread for it: {error}"))?;
        *last = Some(state);
        Ok(())
    }

    /// How far the last one is when it has ended, at the latest after so long; `None` when there was
    /// none.
    pub(crate) async fn state(&self, patience: Duration) -> Option<State> {
        let last = {
            let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            last.clone()
        };
        let mut last = last?;
        let ended = last.wait_for(|state| state.ended.is_some());
        // What counts is how far it is now, whether it has ended or not.
        drop(timeout(patience, ended).await);
        let state = last.borrow().clone();
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    use interlock_storage::{AppendError, LogError};

    use super::*;

    #[test]
    fn a_full_disk_asks_for_room() {
        let full = "write failed: No space left on device (os error 28)".to_owned();
        for error in [
            ImportError::Refused(AppendError::Unknown(full.clone())),
            ImportError::Log(LogError::Io(full)),
        ] {
            let stop = imported(error);
            assert_eq!(stop.exit, Exit::Data);
            assert!(stop.message.contains("make room"), "{}", stop.message);
        }
        let other = imported(ImportError::Refused(AppendError::Unknown("no".to_owned())));
        assert_eq!(other.exit, Exit::Storage);
    }
}
