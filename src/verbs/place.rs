//! Where a verb asks, and how it prints.
//!
//! Here: the flags that all verbs share. Not here: what they ask.

use std::path::PathBuf;

use serde::Serialize;

use crate::admin::client;
use crate::admin::protocol::Answer;
use crate::config::Config;
use crate::exit::Stop;

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
