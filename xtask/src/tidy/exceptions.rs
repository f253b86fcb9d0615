//! `xtask/tidy.toml`: what a rule lets pass, each with its reason. An entry that nothing needs any
//! more is a fault, so the list cannot rot.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::Fault;
use crate::shell::Outcome;

/// One exception.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The rule's name.
    rule: String,
    /// The file.
    path: String,
    /// The word the rule found.
    word: String,
    reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    allow: Vec<Entry>,
}

/// All exceptions, and which of them were needed.
#[derive(Debug, Default)]
pub(super) struct Exceptions {
    entries: Vec<Entry>,
    used: RefCell<Vec<bool>>,
}

impl Exceptions {
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(super) fn parse(text: &str) -> Outcome<Self> {
        let list: List = toml::from_str(text).map_err(|error| error.to_string())?;
        if let Some(entry) = list
            .allow
            .iter()
            .find(|entry| entry.reason.trim().len() < 10)
        {
            return Err(format!("{} in {} has no reason", entry.word, entry.path));
        }
        let used = RefCell::new(vec![false; list.allow.len()]);
        Ok(Self {
            entries: list.allow,
            used,
        })
    }

    /// Whether the word may stand there.
    pub(super) fn allow(&self, rule: &str, path: &str, word: &str) -> bool {
        let found = self
            .entries
            .iter()
            .position(|entry| entry.rule == rule && entry.path == path && entry.word == word);
        if let Some(index) = found {
            self.used.borrow_mut()[index] = true;
        }
        found.is_some()
    }

    /// Entries that let nothing pass.
    pub(super) fn unused(&self) -> Vec<Fault> {
        let used = self.used.borrow();
        let idle = self
            .entries
            .iter()
            .zip(used.iter())
            .filter(|(_, used)| !**used);
        idle.map(|(entry, _)| {
            let what = format!(
                "{} of {}: nothing needs it any more",
                entry.rule, entry.path
            );
            Fault::new("xtask/tidy.toml", 0, what)
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[[allow]]\nrule = \"shared\"\npath = \"a.rs\"\nword = \"Mutex\"\n\
                       reason = \"only at start-up\"\n";

    #[test]
    fn an_exception_names_rule_file_and_word_and_must_be_needed() {
        let exceptions = Exceptions::parse(ONE).expect("reads");
        assert!(!exceptions.allow("shared", "b.rs", "Mutex"));
        assert!(!exceptions.allow("files", "a.rs", "Mutex"));
        assert_eq!(exceptions.unused().len(), 1);
        assert!(exceptions.allow("shared", "a.rs", "Mutex"));
        assert_eq!(exceptions.unused(), []);
    }

    #[test]
    fn an_exception_without_a_reason_is_refused() {
        assert!(Exceptions::parse(&ONE.replace("only at start-up", " ")).is_err());
        assert!(Exceptions::parse("").is_ok());
    }
}
