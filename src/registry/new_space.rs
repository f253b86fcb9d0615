//! A space that does not exist yet, as a seed or a first start asks for it.
//!
//! Here: the request and what it may not say. Not here: how it is stored (`rows`). Built by
//! `seed` and `first_start`, taken by `registry`.

use std::collections::BTreeSet;
use std::fmt;

use interlock_api::directory::{Role, Scope};
use serde_json::Value;
use uuid::Uuid;

use super::key_text::KeyText;

/// The longest name of a space, a source or a vault value.
const NAME_BYTES_MAX: usize = 128;

/// The feature that turns the coordination routes on.
pub(crate) const COORDINATION: &str = "coordination";

/// A space to make.
#[derive(Debug)]
pub(crate) struct NewSpace {
    /// Its UUID.
    pub(crate) id: Uuid,
    /// Its name.
    pub(crate) name: String,
    /// What is on.
    pub(crate) features: Vec<String>,
    /// Its sources.
    pub(crate) sources: Vec<NewSource>,
    /// Its vault values.
    pub(crate) vault: Vec<VaultValue>,
    /// Its `coordination` document.
    pub(crate) coordination: Value,
}

/// A source to make.
#[derive(Debug)]
pub(crate) struct NewSource {
    /// Its name.
    pub(crate) name: String,
    /// Its keys.
    pub(crate) keys: Vec<NewKey>,
}

/// A key to make.
#[derive(Debug)]
pub(crate) struct NewKey {
    /// Its text.
    pub(crate) text: KeyText,
    /// What it may call.
    pub(crate) scopes: Vec<Scope>,
    /// What it may see and change.
    pub(crate) roles: Vec<Role>,
}

/// A named secret of 32 bytes. Never printed.
pub(crate) struct VaultValue {
    /// Its name.
    pub(crate) name: String,
    /// The bytes.
    pub(crate) bytes: [u8; 32],
}

impl fmt::Debug for VaultValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VaultValue({}, …)", self.name)
    }
}

impl NewSpace {
    /// What no single member can be refused for.
    ///
    /// # Errors
    /// What is wrong, without any key or secret.
    pub(crate) fn check(&self) -> Result<(), String> {
        named("a space", &self.name)?;
        if let Some(unknown) = self.features.iter().find(|name| *name != COORDINATION) {
            return Err(format!(
                "unknown feature `{unknown}`; there is `{COORDINATION}`"
            ));
        }
        unique("source", self.sources.iter().map(|source| &source.name))?;
        unique("vault value", self.vault.iter().map(|value| &value.name))?;
        let keys = || self.sources.iter().flat_map(|source| &source.keys);
        unique("key id", keys().map(|key| &key.text.key_id))?;
        Ok(())
    }
}

fn named(what: &str, name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(format!(
            "{what} needs a name of 1 to {NAME_BYTES_MAX} bytes without control characters"
        ));
    }
    Ok(())
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        named(&format!("a {what}"), name)?;
        if !seen.insert(name) {
            return Err(format!("the {what} `{name}` is there twice"));
        }
    }
    Ok(())
}
