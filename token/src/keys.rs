//! The keys a space publishes, and a gateway's copy of them.
//!
//! Here: the key set as `GET /.well-known/niadra-contact-keys.json` answers it, and when a gateway
//! reads it again (`docs/spec/contact.md` §13.4). Not here: any transport; the company brings a
//! [`KeySource`].

use ed25519_dalek::{Signature, VerifyingKey};
use serde::Deserialize;

use crate::claims::{is_kid, is_uuid};
use crate::hash::decode_32;

/// How old a copy may be before it is read again, in seconds.
pub const REFRESH_S: i64 = 3_600;
/// How long a copy is not read again for an unknown key or after it could not be read, in seconds.
pub const UNKNOWN_REFRESH_S: i64 = 60;

/// One published key that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PublishedKey {
    kid: String,
    space: String,
    key: VerifyingKey,
    /// In seconds since 1970.
    not_after: Option<i64>,
}

/// The keys of a space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySet(Vec<PublishedKey>);

/// Why a key set cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAKeySet;

impl std::fmt::Display for NotAKeySet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not a set of contact keys: an object with the list `keys` is wanted")
    }
}

impl std::error::Error for NotAKeySet {}

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct KeyDocument {
    kty: String,
    crv: String,
    x: String,
    kid: String,
    space: String,
    #[serde(default)]
    not_after: Option<String>,
}

impl KeySet {
    /// Reads the published document. A key of another kind, or one that cannot be read, is left
    /// out: it verifies nothing.
    ///
    /// # Errors
    /// It is not such a document at all.
    pub fn read(document: &[u8]) -> Result<Self, NotAKeySet> {
        let document: Document = serde_json::from_slice(document).map_err(|_| NotAKeySet)?;
        let keys = document.keys.into_iter();
        Ok(Self(keys.filter_map(published).collect()))
    }

    /// Whether there is a key of this id and space that is still in use.
    pub(crate) fn has(&self, kid: &str, space: &str, now: i64) -> bool {
        self.find(kid, space, now).is_some()
    }

    /// Whether the key of this id and space signed the text; `None` when there is no such key.
    pub(crate) fn verifies(
        &self,
        (kid, space): (&str, &str),
        now: i64,
        text: &str,
        signature: &[u8; 64],
    ) -> Option<bool> {
        let key = self.find(kid, space, now)?;
        let signature = Signature::from_bytes(signature);
        Some(key.key.verify_strict(text.as_bytes(), &signature).is_ok())
    }

    fn find(&self, kid: &str, space: &str, now: i64) -> Option<&PublishedKey> {
        self.0.iter().find(|key| {
            key.kid == kid && key.space == space && key.not_after.is_none_or(|end| now < end)
        })
    }
}

fn published(key: serde_json::Value) -> Option<PublishedKey> {
    let key: KeyDocument = serde_json::from_value(key).ok()?;
    let usable = key.kty == "OKP" && key.crv == "Ed25519" && is_kid(&key.kid);
    if !usable || !is_uuid(&key.space) {
        return None;
    }
    let not_after = match &key.not_after {
        None => None,
        // A time that cannot be read must not make a key eternal.
        Some(text) => Some(instant(text)?),
    };
    Some(PublishedKey {
        key: VerifyingKey::from_bytes(&decode_32(&key.x)?).ok()?,
        kid: key.kid,
        space: key.space,
        not_after,
    })
}

/// Seconds since 1970 of an RFC 3339 instant, rounded down.
fn instant(text: &str) -> Option<i64> {
    let at: jiff::Timestamp = text.parse().ok()?;
    Some(at.as_second())
}

/// Where a gateway reads the key set from.
pub trait KeySource {
    /// The published document of the gateway's space.
    ///
    /// # Errors
    /// It cannot be read now; the last copy stays in use.
    fn read(&mut self) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>>;
}

impl<F> KeySource for F
where
    F: FnMut() -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>>,
{
    fn read(&mut self) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        self()
    }
}

/// A gateway's copy of the key set.
#[derive(Debug, Default)]
pub(crate) struct KeyCopy {
    pub(crate) keys: KeySet,
    /// When it was last tried, in seconds since 1970; `None`: never.
    tried_at: Option<i64>,
    /// When it was last read, in seconds since 1970; `None`: never.
    read_at: Option<i64>,
}

impl KeyCopy {
    /// Reads the set again when it is due: never read, an hour old, or without the wanted key; after
    /// a try not within a minute. A set that cannot be read leaves the copy as it is.
    pub(crate) fn refresh(&mut self, source: &mut dyn KeySource, wanted: bool, now: i64) {
        // Also when the clock was put back.
        let past = |at: Option<i64>, least: i64| {
            at.is_none_or(|at| now.saturating_sub(at) >= least || now < at)
        };
        let is_old = wanted || past(self.read_at, REFRESH_S);
        if !is_old || !past(self.tried_at, UNKNOWN_REFRESH_S) {
            return;
        }
        self.tried_at = Some(now);
        let read = source.read().ok();
        if let Some(keys) = read.and_then(|document| KeySet::read(&document).ok()) {
            self.keys = keys;
            self.read_at = Some(now);
        }
    }
}
