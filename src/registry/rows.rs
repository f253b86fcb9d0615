//! What the log's meta values hold of spaces and keys.
//!
//! Here: the stored forms (JSON, so that an export can be read) and the names they are stored
//! under. A row names its format; a newer one than this build knows stops the start. Not here: any
//! secret in clear; those are sealed rows.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The newest format this build reads, and the one it writes.
pub(crate) const FORMAT: u32 = 1;

/// Where spaces are.
pub(crate) const SPACES: &[u8] = b"space/";
/// Where keys are.
pub(crate) const KEYS: &[u8] = b"key/";

/// What every row says of itself.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Format {
    /// See [`FORMAT`].
    pub(crate) format: u32,
}

/// A space.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SpaceRow {
    /// See [`FORMAT`].
    pub(crate) format: u32,
    /// Its UUID.
    pub(crate) id: Uuid,
    /// Its name.
    pub(crate) name: String,
    /// What is on.
    pub(crate) features: Vec<String>,
    /// Its sources, in the order they came.
    pub(crate) sources: Vec<SourceRow>,
    /// The names of its vault values; each is a sealed row.
    pub(crate) vault: Vec<String>,
    /// The version of its rules, from 1.
    pub(crate) policy_version: u32,
    /// The number of the key that signs its tokens, from 1.
    #[serde(default = "first")]
    pub(crate) signing: u32,
    /// Its `coordination` document, as it was given.
    pub(crate) coordination: serde_json::Value,
}

/// The number of the first key: rows that do not say have it.
const fn first() -> u32 {
    1
}

/// A source of a space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceRow {
    /// Its number, from 1, never reused.
    pub(crate) id: u32,
    /// Its name.
    pub(crate) name: String,
}

/// An API key. The row's name ends with the keyed hash of its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyRow {
    /// See [`FORMAT`].
    pub(crate) format: u32,
    /// Its public id.
    pub(crate) key_id: String,
    /// Whose it is.
    pub(crate) space: Uuid,
    /// The source it speaks for.
    pub(crate) source: u32,
    /// Whether it is a test key.
    pub(crate) test: bool,
    /// The region in its text.
    pub(crate) region: String,
    /// What it may call.
    pub(crate) scopes: Vec<String>,
    /// What it may see and change.
    pub(crate) roles: Vec<String>,
    /// Turned off for good.
    pub(crate) revoked: bool,
}

/// The row of a space.
pub(crate) fn space_name(id: Uuid) -> Vec<u8> {
    format!("space/{id}").into_bytes()
}

/// The row of a key.
pub(crate) fn key_name(digest: &[u8; 32]) -> Vec<u8> {
    let mut name = KEYS.to_vec();
    for byte in digest {
        name.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    name
}

/// The keyed hash a key's row is named by.
pub(crate) fn key_digest(name: &[u8]) -> Option<[u8; 32]> {
    let hex = std::str::from_utf8(name.strip_prefix(KEYS)?).ok()?;
    let mut digest = [0; 32];
    if hex.len() != 2 * digest.len() {
        return None;
    }
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(digest)
}

/// The sealed row of a secret of a space.
pub(crate) fn sealed_name(id: Uuid, what: Sealed<'_>) -> Vec<u8> {
    match what {
        Sealed::Space => format!("sealed/{id}/space"),
        Sealed::Vault(name) => format!("sealed/{id}/vault/{name}"),
    }
    .into_bytes()
}

/// A secret of a space.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sealed<'a> {
    /// What its handles, effect keys and object ids are hashed under.
    Space,
    /// A value the document points at.
    Vault(&'a str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keys_row_is_found_again() {
        let mut digest = [0; 32];
        digest[0] = 0xab;
        digest[31] = 0x01;
        assert_eq!(key_digest(&key_name(&digest)), Some(digest));
        assert_eq!(key_digest(b"key/ab"), None);
        assert_eq!(key_digest(b"space/ab"), None);
    }
}
