//! What the log's meta values hold of spaces and keys.
//!
//! Here: the stored forms (JSON, so that an export can be read) and the names they are stored
//! under. A row names its format; a newer one than this build knows stops the start. Not here: any
//! secret in clear; those are sealed rows.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::diff::Difference;

/// The newest format this build reads, and the one it writes.
pub(crate) const FORMAT: u32 = 1;

/// Where spaces are.
pub(crate) const SPACES: &[u8] = b"space/";
/// Where keys are.
pub(crate) const KEYS: &[u8] = b"key/";

/// Where versions of documents are.
pub(crate) const VERSIONS: &[u8] = b"version/";
/// Where edits of documents are.
pub(crate) const DIFFS: &[u8] = b"diff/";

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
    /// The version of its `features` document, from 1.
    pub(crate) features_version: u32,
    /// The version of its rules, from 1.
    pub(crate) policy_version: u32,
    /// The keys that sign its tokens, in the order of their numbers; there is always one.
    pub(crate) signing: Vec<SigningRow>,
    /// Its `coordination` document, as it was given.
    pub(crate) coordination: serde_json::Value,
}

/// A key that signs, has signed or will sign. The key itself is a function of the space's secret and
/// the number. Times are in milliseconds since 1970; each switch is a comparison with them, so no
/// row has to change at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SigningRow {
    /// Its number, from 1, never reused.
    pub(crate) number: u32,
    /// From when on it is published.
    pub(crate) publish_at: i64,
    /// From when on it signs, until a later one does.
    pub(crate) signs_from: i64,
    /// From when on it verifies nothing and leaves the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) not_after: Option<i64>,
}

/// A source of a space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceRow {
    /// Its number, from 1, never reused.
    pub(crate) id: u32,
    /// Its name.
    pub(crate) name: String,
    /// The number of the salt of its copy of the suppression list; rows that do not say have 0.
    #[serde(default)]
    pub(crate) salt: u32,
    /// Since when, in milliseconds since 1970; 0 for the first.
    #[serde(default)]
    pub(crate) salt_since: i64,
}

impl SourceRow {
    /// A new source.
    pub(crate) const fn new(id: u32, name: String) -> Self {
        Self {
            id,
            name,
            salt: 0,
            salt_since: 0,
        }
    }
}

/// A version that a document had or has. Rows of the last versions are kept; the one in force is in
/// the space's row too.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct VersionRow {
    /// See [`FORMAT`].
    pub(crate) format: u32,
    /// Whose it is.
    pub(crate) space: Uuid,
    /// Which document: `features` or `coordination`.
    pub(crate) kind: String,
    /// Its number, from 1.
    pub(crate) version: u32,
    /// When it came into force, in milliseconds since 1970.
    pub(crate) at: i64,
    /// Who put it in force: a key's id, or nobody with a key (a verb, a seed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// Why, in the words of whoever proposed it.
    pub(crate) reason: String,
    /// The edit it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<Uuid>,
    /// Who agreed to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) approvals: Vec<ApprovalRow>,
    /// The document as it was given, for whoever goes back to it. Not kept in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) document: Option<serde_json::Value>,
}

/// A role's agreement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ApprovalRow {
    /// The role.
    pub(crate) role: String,
    /// The id of the key that gave it.
    pub(crate) key_id: String,
    /// When, in milliseconds since 1970.
    pub(crate) at: i64,
}

/// An edit of a document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DiffRow {
    /// See [`FORMAT`].
    pub(crate) format: u32,
    /// Whose document it is of.
    pub(crate) space: Uuid,
    /// Its number in the space, from 1, in the order they came.
    pub(crate) number: u64,
    /// Its id, as it is named from outside.
    pub(crate) id: Uuid,
    /// Which document.
    pub(crate) kind: String,
    /// The version it was made against.
    pub(crate) from_version: u32,
    /// The whole new document. Of an edit that is closed it is not kept in memory, of one that is
    /// superseded not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) document: Option<serde_json::Value>,
    /// Why.
    pub(crate) reason: String,
    /// The id of the key that proposed it.
    pub(crate) proposed_by: String,
    /// When, in milliseconds since 1970.
    pub(crate) proposed_at: i64,
    /// What differs, as many as are listed. Of an edit that is closed the values are cut in memory.
    pub(crate) differences: Vec<Difference>,
    /// How many differ.
    pub(crate) differences_count: u64,
    /// What it touches that the role `security` has to agree to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sensitive: Vec<String>,
    /// The roles that have to agree.
    pub(crate) needs: Vec<String>,
    /// Those that have.
    pub(crate) approvals: Vec<ApprovalRow>,
    /// How it ended; `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<EndedRow>,
}

impl DiffRow {
    /// As much as is kept in memory once it is closed.
    pub(crate) fn lean(self) -> Self {
        let differences = self.differences.iter().map(Difference::cut).collect();
        Self {
            document: None,
            differences,
            ..self
        }
    }
}

/// How an edit ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EndedRow {
    /// What became of it.
    pub(crate) state: Ended,
    /// When, in milliseconds since 1970.
    pub(crate) at: i64,
    /// The id of the key that applied or rejected it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// The version it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u32>,
}

/// What became of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ended {
    /// It is in force, or was.
    Applied,
    /// Somebody turned it down.
    Rejected,
    /// Another version came in.
    Superseded,
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

/// The row of a version.
pub(crate) fn version_name(row: &VersionRow) -> Vec<u8> {
    let VersionRow {
        space,
        kind,
        version,
        ..
    } = row;
    // With zeros in front, so that rows are in the order of versions.
    format!("version/{space}/{kind}/{version:010}").into_bytes()
}

/// The row of an edit.
pub(crate) fn diff_name(space: Uuid, number: u64) -> Vec<u8> {
    format!("diff/{space}/{number:020}").into_bytes()
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
