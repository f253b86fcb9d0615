//! From a space's `coordination` document to the rules it is decided by.
//!
//! Here: the one call into the contact product's reader. Called by `registry` when a space is made
//! or loaded and when its rules change.

use std::sync::Arc;

use interlock_domain::contact::policy::{Policy, Vault};
use serde_json::Value;

use super::new_space::VaultValue;

/// The rules of a document.
///
/// # Errors
/// What is wrong with the document, in one line that names the member.
pub(crate) fn build(
    document: &Value,
    version: u32,
    vault: &[VaultValue],
) -> Result<Arc<Policy>, String> {
    Policy::load(version, &document.to_string(), &named(vault))
        .map(Arc::new)
        .map_err(|error| error.to_string())
}

/// A document as text, judged as text: a value would already have lost a member that is there
/// twice.
///
/// # Errors
/// What is wrong with the document, in one line that names the member.
pub(crate) fn read(text: &str, vault: &[VaultValue]) -> Result<Value, String> {
    let vault = named(vault);
    Policy::load(1, text, &vault).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// What each section is when it is left out.
pub(super) fn defaults() -> Value {
    serde_json::from_str(Policy::DEFAULT_SECTIONS).expect("a test reads it")
}

/// A vault as the reader of documents takes it.
pub(super) fn named(vault: &[VaultValue]) -> Vault {
    let values = vault.iter();
    values
        .map(|value| (value.name.clone(), value.bytes.to_vec()))
        .collect()
}

/// The document of a space that says nothing: the five standard purposes and the usual channels.
pub(crate) fn default_document() -> Value {
    Value::Object(serde_json::Map::new())
}
