//! From a space's `coordination` document to the rules it is decided by.
//!
//! Here: the one call into the contact product's reader. Called by `registry` when a space is made
//! and when it is loaded.

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
    let vault: Vault = vault
        .iter()
        .map(|value| (value.name.clone(), value.bytes.to_vec()))
        .collect();
    Policy::load(version, &document.to_string(), &vault)
        .map(Arc::new)
        .map_err(|error| error.to_string())
}

/// The document of a space that says nothing: the five standard purposes and the usual channels.
pub(crate) fn default_document() -> Value {
    Value::Object(serde_json::Map::new())
}
