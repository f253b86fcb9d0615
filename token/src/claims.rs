//! What a contact token says: its nine members, written and read.
//!
//! Here: the payload (`docs/spec/contact.md` §13.1). Not here: the signature around it (`sign`,
//! `verify`). No member is personal: the recipient is a keyed hash.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};

/// The longest life of a token, in seconds.
pub const LIFETIME_S_MAX: i64 = 120;

/// The claims of one token. The order of the members is the order on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The id of the key that signs: 8 to 64 characters of base64url.
    pub kid: String,
    /// The space: a hyphenated UUID in lower case.
    pub space: String,
    /// The token's id, which is the decision's: a hyphenated UUID in lower case.
    pub jti: String,
    /// Why the contact goes: a name.
    pub purpose: String,
    /// Where: a name.
    pub channel: String,
    /// To whom: 43 characters, the destination under the gateway's key.
    pub rcpt: String,
    /// Through which gateway: a name.
    pub gateway: String,
    /// Issued, in seconds since 1970.
    #[serde(deserialize_with = "whole")]
    pub iat: i64,
    /// Over, in seconds since 1970.
    #[serde(deserialize_with = "whole")]
    pub exp: i64,
}

impl Claims {
    /// Compact JSON in base64url without padding.
    #[must_use]
    pub(crate) fn payload(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        debug_assert!(!json.is_empty(), "texts and numbers serialise");
        URL_SAFE_NO_PAD.encode(json)
    }

    /// Reads a payload; `None` when it is not strict base64url of an object with exactly these
    /// members, each of its form.
    #[must_use]
    pub(crate) fn read(payload: &str) -> Option<Self> {
        let json = URL_SAFE_NO_PAD.decode(payload).ok()?;
        let claims: Self = serde_json::from_slice(&json).ok()?;
        claims.is_well_formed().then_some(claims)
    }

    fn is_well_formed(&self) -> bool {
        is_kid(&self.kid)
            && is_uuid(&self.space)
            && is_uuid(&self.jti)
            && is_name(&self.purpose)
            && is_name(&self.channel)
            && is_name(&self.gateway)
            && self.rcpt.len() == 43
            && self.rcpt.bytes().all(is_base64url)
    }
}

/// A whole number, and nothing that only reads as one.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    struct Whole;

    impl Visitor<'_> for Whole {
        type Value = i64;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a whole number")
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
            Ok(number)
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<i64, E> {
            i64::try_from(number).map_err(E::custom)
        }
    }

    from.deserialize_any(Whole)
}

const fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

/// Whether a text may be the id of a key.
#[must_use]
pub(crate) fn is_kid(text: &str) -> bool {
    (8..=64).contains(&text.len()) && text.bytes().all(is_base64url)
}

/// Whether a text is a hyphenated UUID in lower case.
#[must_use]
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
}

/// Whether a text is a name.
fn is_name(text: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=40).contains(&text.len())
        && text.as_bytes()[0].is_ascii_lowercase()
        && text.bytes().all(rest)
}
