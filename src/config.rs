//! The settings of the server: what `config.toml` says, checked, typed, with the flags on top.
//!
//! Here: reading the file and the relations between settings. The table lives in the section files
//! beside this one, one line per setting. Not here: what a setting does. Called by `serve`, read by
//! `wiring` and `telemetry`.

mod deadlines;
mod document;
mod history;
mod journal;
mod limits;
mod memory;
pub(crate) mod nearest;
mod parse;
mod server;
mod setting;
mod shards;
mod signing;
mod snapshots;
mod storage;
mod telemetry;

use std::path::Path;

use self::parse::Values;
use self::setting::Section;
use crate::exit::{Exit, Stop};

pub(crate) use self::deadlines::Deadlines;
pub(crate) use self::history::History;
pub(crate) use self::journal::Journal;
pub(crate) use self::limits::Limits;
pub(crate) use self::memory::Memory;
pub(crate) use self::server::Server;
pub(crate) use self::shards::Shards;
pub(crate) use self::signing::Signing;
pub(crate) use self::snapshots::Snapshots;
pub(crate) use self::storage::Storage;
pub(crate) use self::telemetry::Telemetry;

/// Every section, in the order of the file.
const TABLE: &[Section] = &[
    Server::SECTION,
    Shards::SECTION,
    Storage::SECTION,
    Journal::SECTION,
    Snapshots::SECTION,
    History::SECTION,
    Limits::SECTION,
    Memory::SECTION,
    Deadlines::SECTION,
    Signing::SECTION,
    Telemetry::SECTION,
];

/// The file that is read when no other is named.
const DEFAULT_FILE: &str = "config.toml";
/// A node cannot work in less.
const MEMORY_BYTES_MIN: u64 = 128 * 1024 * 1024;
/// A larger file is no settings file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// All settings.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// `[server]`
    pub(crate) server: Server,
    /// `[shards]`
    pub(crate) shards: Shards,
    /// `[storage]`
    pub(crate) storage: Storage,
    /// `[journal]`
    pub(crate) journal: Journal,
    /// `[snapshots]`
    pub(crate) snapshots: Snapshots,
    /// `[history]`
    pub(crate) history: History,
    /// `[limits]`
    pub(crate) limits: Limits,
    /// `[memory]`
    pub(crate) memory: Memory,
    /// `[deadlines]`
    pub(crate) deadlines: Deadlines,
    /// `[signing]`
    pub(crate) signing: Signing,
    /// `[telemetry]`
    pub(crate) telemetry: Telemetry,
}

impl Config {
    /// Reads the named file, or `./config.toml` when there is one, or nothing.
    ///
    /// # Errors
    /// When the file cannot be read or says something that is refused.
    pub(crate) fn load(named: Option<&Path>) -> Result<Self, Stop> {
        let path = named.unwrap_or(Path::new(DEFAULT_FILE));
        if named.is_none() && !path.exists() {
            return Self::from_text("", path);
        }
        let refuse = |what: String| {
            let message = format!("config {}: {what}", path.display());
            Stop::new(Exit::Config, message)
        };
        let size = std::fs::metadata(path)
            .map_err(|error| refuse(format!("cannot be read: {error}")))?
            .len();
        if size > FILE_BYTES_MAX {
            return Err(refuse(format!("is larger than {FILE_BYTES_MAX} bytes")));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| refuse(format!("cannot be read: {error}")))?;
        Self::from_text(&text, path)
    }

    fn from_text(text: &str, path: &Path) -> Result<Self, Stop> {
        let refuse = |what: String| {
            let message = format!("config {}: {what}", path.display());
            Stop::new(Exit::Config, message)
        };
        let values = parse::parse(text, TABLE).map_err(|wrong| refuse(wrong.to_string()))?;
        let config = Self::read(&values);
        config.relations().map_err(refuse)?;
        Ok(config)
    }

    fn read(values: &Values) -> Self {
        Self {
            server: Server::read(values),
            shards: Shards::read(values),
            storage: Storage::read(values),
            journal: Journal::read(values),
            snapshots: Snapshots::read(values),
            history: History::read(values),
            limits: Limits::read(values),
            memory: Memory::read(values),
            deadlines: Deadlines::read(values),
            signing: Signing::read(values),
            telemetry: Telemetry::read(values),
        }
    }

    /// What no single setting can be refused for.
    fn relations(&self) -> Result<(), String> {
        let limits = &self.limits;
        // Else one space alone could leave no room for the next one's batch.
        if limits.commands_in_flight_per_space_max + 500 > limits.commands_in_flight_max {
            return Err(
                "[limits] commands_in_flight_per_space_max leaves less than 500 of \
                 commands_in_flight_max to others"
                    .to_owned(),
            );
        }
        let bounds = [
            ("bodies_bytes_max", limits.bodies_bytes_max),
            ("bytes_in_flight_max", limits.bytes_in_flight_max),
        ];
        for (name, bound) in bounds {
            if limits.batch_bytes_max > bound || limits.body_bytes_max > bound {
                return Err(format!("[limits] {name} is below what one body may have"));
            }
        }
        let memory = self.memory.memory_bytes_max;
        if memory != 0 && memory < MEMORY_BYTES_MIN {
            return Err(format!(
                "[memory] memory_bytes_max = {memory} is below {MEMORY_BYTES_MIN}; 0 takes a share"
            ));
        }
        if self.journal.journal_bytes_max < 4 * self.journal.commit_bytes_max {
            return Err(
                "[journal] journal_bytes_max is below four times commit_bytes_max".to_owned(),
            );
        }
        Ok(())
    }
}

/// The file with every setting and its default.
pub(crate) fn document() -> String {
    document::render(TABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_hold_their_relations() {
        let config = Config::from_text("", Path::new("none")).unwrap();
        assert_eq!(config.server.listen, "127.0.0.1:7440");
        assert_eq!(config.deadlines.check_deadline_ms, 150);
    }

    #[test]
    fn refuses_settings_that_contradict_each_other() {
        let text = "[limits]\ncommands_in_flight_max = 512\n";
        let stop = Config::from_text(text, Path::new("a.toml")).unwrap_err();
        assert_eq!(stop.exit, Exit::Config);
        assert!(stop.message.starts_with("config a.toml: [limits]"));
    }

    #[test]
    fn names_are_unique_over_the_sections() {
        let mut names: Vec<&str> = TABLE
            .iter()
            .flat_map(|section| section.settings.iter().map(|set| set.name))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "a hint names one section only");
    }
}
