//! A space that does not exist yet, as a seed or a first start asks for it.
//!
//! Here: the request and what it may not say. Not here: how it is stored (`rows`). Built by
//! `seed`, `first_start` and the verb `spaces create`, taken by `registry`.

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use interlock_api::directory::{Role, Scope};
use interlock_wire::value::{NAME_PATTERN, is_name};
use serde_json::Value;
use uuid::Uuid;

use super::key_text::KeyText;

/// The longest name of a space or a source.
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
#[derive(Clone)]
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

impl VaultValue {
    /// A value from what a file holds: 32 bytes, or their base64url without padding.
    pub(crate) fn of_file(name: &str, content: &[u8]) -> Option<Self> {
        let text = || {
            let text = std::str::from_utf8(content).ok()?;
            URL_SAFE_NO_PAD.decode(text.trim()).ok()
        };
        let bytes = <[u8; 32]>::try_from(content).ok();
        let bytes = bytes.or_else(|| <[u8; 32]>::try_from(text()?).ok())?;
        let name = name.to_owned();
        Some(Self { name, bytes })
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
        for value in &self.vault {
            vault_named(&value.name)?;
        }
        let keys = || self.sources.iter().flat_map(|source| &source.keys);
        unique("key id", keys().map(|key| &key.text.key_id))?;
        Ok(())
    }
}

/// Is it a name that a document may point at as `vault:NAME`?
pub(super) fn vault_named(name: &str) -> Result<(), String> {
    if is_name(name) {
        return Ok(());
    }
    Err(format!(
        "a vault value needs a name of lower-case letters, digits and `_` that begins with a letter, \
         at most 40 of them ({NAME_PATTERN}): a gateway's `key_ref` is `vault:` and that name"
    ))
}

/// Is it a name as spaces and sources have it?
pub(super) fn named(what: &str, name: &str) -> Result<(), String> {
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
