//! Where a verb asks, and how it prints.
//!
//! Here: the flags that all verbs share, and the log of a data directory. Not here: what they ask.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use interlock_storage::run_mark;
use interlock_storage::{LogError, SledLog, SledOptions};
use serde::Serialize;

use crate::admin::client;
use crate::admin::protocol::Answer;
use crate::config::Config;
use crate::console::complain;
use crate::data_dir::{self, LOG_DIR, RUN_FILE};
use crate::exit::{Exit, Stop};
use crate::panics;

/// Which data directory, and for whom the answer is.
#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// The server's data directory ([storage] data_dir).
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The settings file; without it `./config.toml` is read when there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Prints one JSON document instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Place {
    /// The flags that find the same server, as they were given, each with a blank in front.
    pub(crate) fn flags(&self) -> String {
        let given = [("--data", &self.data), ("--config", &self.config)];
        let flags = given.into_iter().filter_map(|(flag, path)| {
            let path = path.as_ref()?;
            Some(format!(" {flag} {}", quoted(&path.display().to_string())))
        });
        flags.collect()
    }

    /// The data directory, as `serve` would take it.
    ///
    /// # Errors
    /// When the settings file is refused.
    pub(crate) fn data(&self) -> Result<PathBuf, Stop> {
        if let Some(data) = &self.data {
            return Ok(data.clone());
        }
        let config = Config::load(self.config.as_deref())?;
        Ok(PathBuf::from(config.storage.data_dir))
    }

    /// Asks the server of the data directory.
    ///
    /// # Errors
    /// That none answers, or that it refuses.
    pub(crate) fn ask(&self, verb: &str, args: &impl Serialize) -> Result<Answer, Stop> {
        client::ask(&self.data()?, verb, args)
    }
}

/// The log in a data directory.
///
/// # Errors
/// When it holds none, or something in its place.
pub(crate) fn log(data: &Path) -> Result<PathBuf, Stop> {
    data_dir::expect_plain(data)?;
    let log = data.join(LOG_DIR);
    if log.join("db").exists() {
        return Ok(log);
    }
    let message = format!(
        "{} holds no log; name a data directory with --data",
        data.display()
    );
    Err(Stop::new(Exit::Data, message))
}

/// Says what gives the files back when a verb made some below `path` as another user than the one
/// that `like` belongs to: root made them, and the server is not root.
pub(super) fn tell_of_owner(path: &Path, like: &Path) {
    // Who cannot look has no rights to give anything back either.
    let owner = fs::metadata(like).map(|found| found.uid());
    if owner.is_ok_and(|owner| is_anothers(path, owner).unwrap_or(false)) {
        let [path, like] = [path, like].map(|path| quoted(&path.display().to_string()));
        complain(&format!(
            "what was made in {path} belongs to another user than {like}; give it back: chown -R \
             --reference={like} {path}"
        ));
    }
}

/// Does anything from here down belong to another user?
fn is_anothers(path: &Path, owner: u32) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    if found.uid() != owner {
        return Ok(true);
    }
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            if is_anothers(&entry?.path(), owner)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Opens the log of a data directory that no server uses, which must have all that was acknowledged.
///
/// # Errors
/// Why it does not open: what is locked is the caller's to explain.
pub(crate) fn open(data: &Path, dir: &Path) -> Result<SledLog, LogError> {
    let run = data.join(RUN_FILE);
    let options = SledOptions {
        acknowledged: run_mark::look(&run)?.acknowledged(&run),
        ..SledOptions::default()
    };
    panics::unsaid(|| SledLog::open(dir, &options))
}

/// A word as a shell takes it.
pub(super) fn quoted(word: &str) -> String {
    let plain = |one: char| one.is_ascii_alphanumeric() || "/._-+=:@%,".contains(one);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_said_again_as_a_shell_takes_them() {
        let place = |data: Option<&str>, config: Option<&str>| Place {
            data: data.map(PathBuf::from),
            config: config.map(PathBuf::from),
            json: false,
        };
        assert_eq!(place(None, None).flags(), "");
        assert_eq!(place(Some("/var/a"), None).flags(), " --data /var/a");
        assert_eq!(
            place(Some("it's here"), Some("c.toml")).flags(),
            r" --data 'it'\''s here' --config c.toml"
        );
    }
}
