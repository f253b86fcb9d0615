//! The gateway's check of a contact token.
//!
//! Here: the steps of `docs/spec/contact.md` §13.3 that need nothing but the token, the keys and the
//! message, in their order; the first that applies is the refusal. Not here: step 13, once
//! (`gateway`), which needs a memory.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::claims::{Claims, LIFETIME_S_MAX};
use crate::hash::keyed_hash;
use crate::keys::KeySet;

/// The longest token, in characters.
const TOKEN_MAX: usize = 1_024;
/// How far a gateway's clock may be from the server's, in seconds.
pub const LEEWAY_S: i64 = 5;

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not a token.
    Malformed,
    /// It is a token of another version.
    UnsupportedVersion,
    /// No published key of its space has its key's id.
    UnknownKey,
    /// The signature is not the key's over this payload.
    BadSignature,
    /// It is of another space.
    WrongSpace,
    /// It is for another gateway.
    WrongGateway,
    /// It would live too long, or not at all.
    LifetimeTooLong,
    /// It begins later.
    NotYetValid,
    /// It is over.
    Expired,
    /// It is for another channel.
    WrongChannel,
    /// It is for somebody else.
    WrongRecipient,
    /// It was used.
    Replayed,
}

impl Refusal {
    /// The code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::UnsupportedVersion => "unsupported_version",
            Self::UnknownKey => "unknown_key",
            Self::BadSignature => "bad_signature",
            Self::WrongSpace => "wrong_space",
            Self::WrongGateway => "wrong_gateway",
            Self::LifetimeTooLong => "lifetime_too_long",
            Self::NotYetValid => "not_yet_valid",
            Self::Expired => "expired",
            Self::WrongChannel => "wrong_channel",
            Self::WrongRecipient => "wrong_recipient",
            Self::Replayed => "replayed",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl std::error::Error for Refusal {}

/// Who checks.
#[derive(Clone)]
pub struct Identity {
    /// The gateway's id in the space's rules.
    pub gateway_id: String,
    /// The space: a hyphenated UUID; its case does not matter.
    pub space: String,
    /// The 32 bytes the gateway shares with the space. Never printed.
    pub key: [u8; 32],
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("gateway_id", &self.gateway_id)
            .field("space", &self.space)
            .finish_non_exhaustive()
    }
}

/// The message that is about to leave.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// On which channel.
    pub channel: &'a str,
    /// To whom: a canonical destination ([`crate::canonical`]).
    pub destination: &'a str,
}

/// A token taken apart, not believed yet.
pub(crate) struct Parts<'a> {
    pub(crate) claims: Claims,
    signed: &'a str,
    signature: [u8; 64],
}

/// Steps 1 to 3: what the token is.
///
/// # Errors
/// It is no token this verifier knows.
pub(crate) fn take_apart(token: &str) -> Result<Parts<'_>, Refusal> {
    let mut parts = token.split('.');
    let (Some(version), Some(payload), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Refusal::Malformed);
    };
    let whole = [version, payload, signature]
        .iter()
        .all(|part| !part.is_empty());
    if !whole || token.chars().count() > TOKEN_MAX {
        return Err(Refusal::Malformed);
    }
    if version != "nct1" {
        return Err(Refusal::UnsupportedVersion);
    }
    let claims = Claims::read(payload).ok_or(Refusal::Malformed)?;
    let signed = token
        .get(..version.len() + 1 + payload.len())
        .ok_or(Refusal::Malformed)?;
    let signature = URL_SAFE_NO_PAD
        .decode(signature)
        .ok()
        .and_then(|bytes| <[u8; 64]>::try_from(bytes).ok())
        .ok_or(Refusal::Malformed)?;
    Ok(Parts {
        claims,
        signed,
        signature,
    })
}

/// Steps 4 to 12: whether it is ours, and for this message.
///
/// # Errors
/// The first refusal that applies.
pub(crate) fn judge(
    parts: &Parts<'_>,
    keys: &KeySet,
    identity: &Identity,
    (channel, recipient): (&str, &str),
    now: i64,
) -> Result<(), Refusal> {
    let claims = &parts.claims;
    let name = (claims.kid.as_str(), claims.space.as_str());
    match keys.verifies(name, now, parts.signed, &parts.signature) {
        None => return Err(Refusal::UnknownKey),
        Some(false) => return Err(Refusal::BadSignature),
        Some(true) => {}
    }
    let lifetime = claims.exp.saturating_sub(claims.iat);
    let refusals = [
        (
            !claims.space.eq_ignore_ascii_case(&identity.space),
            Refusal::WrongSpace,
        ),
        (claims.gateway != identity.gateway_id, Refusal::WrongGateway),
        (
            !(1..=LIFETIME_S_MAX).contains(&lifetime),
            Refusal::LifetimeTooLong,
        ),
        (
            claims.iat.saturating_sub(LEEWAY_S) > now,
            Refusal::NotYetValid,
        ),
        (now >= claims.exp.saturating_add(LEEWAY_S), Refusal::Expired),
        (claims.channel != channel, Refusal::WrongChannel),
        (
            !same(&claims.rcpt, recipient, &identity.key),
            Refusal::WrongRecipient,
        ),
    ];
    let first = refusals.into_iter().find(|(applies, _)| *applies);
    first.map_or(Ok(()), |(_, refusal)| Err(refusal))
}

/// Whether two texts are the same, in a time that tells nothing about where they differ: the tag of
/// one is checked against the other's.
fn same(a: &str, b: &str, key: &[u8; 32]) -> bool {
    let tag = |text: &str| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
        mac.update(text.as_bytes());
        mac
    };
    tag(a).verify(&tag(b).finalize().into_bytes()).is_ok()
}

/// Checks a token against a key set, without remembering it: steps 1 to 12.
///
/// # Errors
/// The first refusal that applies.
///
/// `now` is in whole seconds since 1970.
pub fn verify(
    token: &str,
    keys: &KeySet,
    identity: &Identity,
    message: Message<'_>,
    now: i64,
) -> Result<Claims, Refusal> {
    let recipient = keyed_hash(&identity.key, message.destination);
    verify_hashed(token, keys, identity, message.channel, &recipient, now)
}

/// The same for a recipient that is hashed under the gateway's key already ([`keyed_hash`]).
///
/// # Errors
/// The first refusal that applies.
///
/// `now` is in whole seconds since 1970.
pub fn verify_hashed(
    token: &str,
    keys: &KeySet,
    identity: &Identity,
    channel: &str,
    recipient: &str,
    now: i64,
) -> Result<Claims, Refusal> {
    let parts = take_apart(token)?;
    judge(&parts, keys, identity, (channel, recipient), now)?;
    Ok(parts.claims)
}
