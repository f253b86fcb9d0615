//! The node's secret: what every other secret of the data directory is kept under.
//!
//! Here: the file, and the keys that are derived from it, one per use, so that no use can reveal
//! another's. Not here: what is sealed or hashed with them (`registry`). The log keeps a check
//! value, so that a swapped or lost secret is refused instead of answering every key with 401.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use hmac::{Hmac, Mac};
use interlock_storage::{Commit, Log};
use sha2::Sha256;

use crate::data_dir::{self, LOG_DIR, SECRET_DRAFT_FILE, SECRET_FILE};
use crate::exit::{Exit, Stop};
use crate::log_stop;

/// Where the log keeps the check value.
const CHECK_KEY: &[u8] = b"node/secret-check";

/// The secret. Never printed.
#[derive(Clone)]
pub(crate) struct Secret([u8; 32]);

/// What a derived key is for. The words are part of what is stored and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Telling whether this is the secret the log was written with.
    Check,
    /// Hashing the text of API keys.
    Keys,
    /// Sealing values at rest.
    Seal,
    /// Sealing the secret itself, under a key of the operator's.
    Export,
}

impl Use {
    const fn word(self) -> &'static str {
        match self {
            Self::Check => "interlock/1/check",
            Self::Keys => "interlock/1/keys",
            Self::Seal => "interlock/1/seal",
            Self::Export => "interlock/1/export",
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// A new one.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub(crate) fn random() -> Result<Self, Stop> {
        random_bytes().map(Self)
    }

    /// The secret in a file's bytes, when they are one.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        <[u8; 32]>::try_from(bytes).ok().map(Self)
    }

    /// The key for one use.
    pub(crate) fn derive(&self, what: Use) -> [u8; 32] {
        derived_of(&self.0, what)
    }

    /// Its bytes, for a file that is closed to others or sealed.
    pub(crate) const fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Was this log written under it?
    ///
    /// # Errors
    /// When it was not, or the log cannot be read.
    pub(crate) fn fits(&self, log: &dyn Log) -> Result<(), Stop> {
        let check = log.meta(CHECK_KEY).map_err(log_stop::read)?;
        if check == Some(self.derive(Use::Check).to_vec()) {
            return Ok(());
        }
        let message = "the secret is not the one this data was written with; name the right one with --secret";
        Err(Stop::new(Exit::Secret, message))
    }
}

/// A key for one use, of any bytes that are secret.
pub(crate) fn derived_of(bytes: &[u8], what: Use) -> [u8; 32] {
    let keyed = <Hmac<Sha256> as Mac>::new_from_slice(bytes);
    let mut mac = keyed.expect("HMAC takes keys of any length");
    mac.update(what.word().as_bytes());
    mac.finalize().into_bytes().into()
}

/// The secret in a file, whatever log it belongs to.
///
/// # Errors
/// When there is none.
pub(crate) fn read_file(path: &Path) -> Result<Secret, Stop> {
    let refuse = |what: &str| Stop::new(Exit::Secret, format!("{} {what}", path.display()));
    let bytes = read(path).map_err(|error| refuse(&format!("cannot be read: {error}")))?;
    let bytes = bytes.ok_or_else(|| refuse("is not there"))?;
    Secret::of(&bytes).ok_or_else(|| refuse("must be 32 bytes"))
}

/// 32 random bytes of the operating system.
///
/// # Errors
/// When it gives none.
pub(crate) fn random_bytes() -> Result<[u8; 32], Stop> {
    let mut bytes = [0; 32];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(Stop::new(Exit::Data, format!("no random bytes: {error}"))),
    }
}

/// The secret of a data directory whose log is open (and so locked); makes one at the first start.
///
/// A first start writes the secret under another name, then its check value into the log, and then
/// gives the file its name. So a file of that name says that the log knew it: a log that does not
/// any more was lost or replaced, and is refused instead of taken for a new one.
///
/// # Errors
/// When the log was written under another secret, its secret is gone, or the log itself is.
pub(crate) fn open(data: &Path, log: &dyn Log) -> Result<Secret, Stop> {
    let path = data.join(SECRET_FILE);
    let draft = data.join(SECRET_DRAFT_FILE);
    let refuse = |what: &str| Stop::new(Exit::Secret, format!("{} {what}", path.display()));
    let failed = |error: io::Error| refuse(&format!("cannot be used: {error}"));
    let check = log.meta(CHECK_KEY).map_err(log_stop::read)?;
    let secret = match (read(&path).map_err(failed)?, check) {
        (Some(bytes), Some(check)) => {
            let secret = Secret::of(&bytes).ok_or_else(|| refuse("must be 32 bytes"))?;
            if check != secret.derive(Use::Check) {
                return Err(refuse(
                    "is not the secret this data was written with; put the right one back",
                ));
            }
            secret
        }
        (Some(_), None) => return Err(lost(data)),
        (None, Some(check)) => {
            // A first start that ended before its last step.
            let bytes = read(&draft).map_err(failed)?.unwrap_or_default();
            Secret::of(&bytes)
                .filter(|secret| check == secret.derive(Use::Check))
                .ok_or_else(|| {
                    refuse(
                        "is gone, and the data cannot be read without it; put it back from a \
                         backup",
                    )
                })?
        }
        (None, None) => {
            let secret = Secret::random()?;
            data_dir::write(&draft, &secret.0).map_err(failed)?;
            remember(log, &secret)?;
            secret
        }
    };
    if !path.exists() {
        data_dir::rename(&draft, &path).map_err(failed)?;
    }
    data_dir::close(&path, 0o600).map_err(failed)?;
    Ok(secret)
}

/// The secret of a log that is only looked at; nothing is written.
///
/// # Errors
/// When it is not there, or is not the one the log was written with.
pub(crate) fn look(data: &Path, log: &dyn Log) -> Result<Secret, Stop> {
    let check = log.meta(CHECK_KEY).map_err(log_stop::read)?;
    let path = data.join(SECRET_FILE);
    let refuse = |what: &str| Stop::new(Exit::Secret, format!("{} {what}", path.display()));
    for name in [SECRET_FILE, SECRET_DRAFT_FILE] {
        let bytes = read(&data.join(name));
        let bytes = bytes.map_err(|error| refuse(&format!("cannot be read: {error}")))?;
        let secret = bytes.and_then(|bytes| Secret::of(&bytes));
        let ours = secret.filter(|secret| check == Some(secret.derive(Use::Check).to_vec()));
        if let Some(secret) = ours {
            return Ok(secret);
        }
    }
    match check {
        None => Err(lost(data)),
        Some(_) => Err(refuse(
            "is not the secret this data was written with, or is gone; put the right one back",
        )),
    }
}

/// The bytes of a file, `None` when there is none.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What is said of a log that is gone.
pub(crate) fn lost(data: &Path) -> Stop {
    let message = format!(
        "{log} holds nothing, though {secret} says that it was in use: put the log back from a copy of \
         the directory, `interlock import` an export into an empty one, or name an empty one with --data",
        log = data.join(LOG_DIR).display(),
        secret = data.join(SECRET_FILE).display(),
    );
    Stop::new(Exit::Corrupt, message)
}

/// A secret for a log that forgets everything at the end.
///
/// # Errors
/// When the operating system gives no random bytes.
pub(crate) fn for_memory(log: &dyn Log) -> Result<Secret, Stop> {
    let secret = Secret::random()?;
    remember(log, &secret)?;
    Ok(secret)
}

fn remember(log: &dyn Log, secret: &Secret) -> Result<(), Stop> {
    let value = secret.derive(Use::Check).to_vec();
    let commit = Commit {
        meta: vec![(CHECK_KEY.to_vec(), Some(value))],
        ..Commit::default()
    };
    log.commit(&commit).map_err(log_stop::write)
}

#[cfg(test)]
mod tests {
    use interlock_storage::MemoryLog;

    use super::*;

    fn home() -> (tempfile::TempDir, MemoryLog) {
        (tempfile::tempdir().unwrap(), MemoryLog::new())
    }

    #[test]
    fn the_second_start_finds_the_secret_of_the_first() {
        let (home, log) = home();
        let made = open(home.path(), &log).unwrap();
        let found = open(home.path(), &log).unwrap();
        assert_eq!(made.0, found.0);
        assert!(!home.path().join(SECRET_DRAFT_FILE).exists());
        assert_eq!(format!("{made:?}"), "Secret(…)");
    }

    #[test]
    fn a_first_start_may_end_after_any_step() {
        let (home, log) = home();
        let draft = home.path().join(SECRET_DRAFT_FILE);
        // After the first: another secret is made, as nothing was written under that one.
        data_dir::write(&draft, &[1; 32]).unwrap();
        let secret = open(home.path(), &log).unwrap();
        // After the second.
        std::fs::rename(home.path().join(SECRET_FILE), &draft).unwrap();
        assert_eq!(open(home.path(), &log).unwrap().0, secret.0);
        assert!(home.path().join(SECRET_FILE).exists());
    }

    #[test]
    fn a_lost_log_is_not_taken_for_a_new_one() {
        let (home, log) = home();
        open(home.path(), &log).unwrap();
        let stop = open(home.path(), &MemoryLog::new()).unwrap_err();
        assert_eq!(stop.exit, Exit::Corrupt);
    }

    #[test]
    fn a_lost_or_swapped_secret_is_refused() {
        let (home, log) = home();
        open(home.path(), &log).unwrap();
        let path = home.path().join(SECRET_FILE);
        for bytes in [&[7; 32][..], &[7; 31], b""] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(open(home.path(), &log).unwrap_err().exit, Exit::Secret);
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(open(home.path(), &log).unwrap_err().exit, Exit::Secret);
    }

    #[test]
    fn each_use_has_a_key_of_its_own() {
        let secret = Secret([1; 32]);
        assert_ne!(secret.derive(Use::Keys), secret.derive(Use::Seal));
        assert_ne!(secret.derive(Use::Keys), secret.derive(Use::Check));
        assert_eq!(secret.derive(Use::Keys), Secret([1; 32]).derive(Use::Keys));
    }
}
