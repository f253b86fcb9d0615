//! Contact tokens: the keys a space signs with, and the token of an allowed contact.
//!
//! Here: a space's signing keys, made of its secret and each key's number, so that nothing more has
//! to be kept than the number and the times it is used at; which of them signs at a time and which
//! are published; and the claims of a token (`docs/spec/contact.md` §13). Not here: the token's form
//! (`interlock_token`), when one is due (`domain`) and when keys change (the root package). Signing
//! runs on the HTTP workers.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use interlock_domain::contact::policy::{Gateway, Policy};
use interlock_domain::contact::reply::CheckReply;
use interlock_domain::key::SpaceId;
use interlock_domain::time::Timestamp;
use interlock_token::{Claims, LIFETIME_S_MAX, TokenKey, decode_32, keyed_hash};
use interlock_wire::contact::check::CheckRequest;

use crate::contact::identity;
use crate::directory::Caller;
use crate::hashing::{Label, PreparedKey};

/// How many bytes of a key's id are drawn from its hash: 16 letters.
const KID_BYTES: usize = 12;

/// The key a space signs with.
#[derive(Clone)]
pub struct SigningKeyOf {
    /// Its number in the space.
    pub number: u32,
    /// Its public id.
    pub kid: String,
    key: TokenKey,
}

impl fmt::Debug for SigningKeyOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKeyOf({})", self.kid)
    }
}

impl SigningKeyOf {
    /// The key of this number under a space's secret.
    #[must_use]
    pub fn new(secret: &PreparedKey, number: u32) -> Self {
        let part = number.to_be_bytes();
        let id = secret.labelled(Label::SigningId, &[&part]);
        Self {
            number,
            kid: URL_SAFE_NO_PAD.encode(&id[..KID_BYTES]),
            key: TokenKey::from_seed(&secret.labelled(Label::Signing, &[&part])),
        }
    }

    /// Its public half.
    #[must_use]
    pub fn public(&self) -> [u8; 32] {
        decode_32(&self.key.public()).unwrap_or_default()
    }
}

/// When a key is used. Every switch is a comparison with the time, so nothing has to happen at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTimes {
    /// Its number in the space, from 1, never used again.
    pub number: u32,
    /// From when on it is published.
    pub publish_at: Timestamp,
    /// From when on it signs, until a later key does.
    pub signs_from: Timestamp,
    /// From when on it verifies nothing; `None`: no end is known yet.
    pub not_after: Option<Timestamp>,
}

impl KeyTimes {
    /// Whether it is over.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.not_after.is_some_and(|end| end <= now)
    }
}

/// The keys of a space, in the order of their numbers.
#[derive(Clone, Debug)]
pub struct SigningKeys(Arc<[(KeyTimes, SigningKeyOf)]>);

/// A key as it is published.
#[derive(Clone, Copy, Debug)]
pub struct Published<'a> {
    /// The key.
    pub key: &'a SigningKeyOf,
    /// Another key signs by now; this one only verifies.
    pub retiring: bool,
    /// When a retiring key stops to verify.
    pub not_after: Option<Timestamp>,
}

impl SigningKeys {
    /// The keys of these numbers and times under a space's secret.
    ///
    /// # Panics
    /// There is none: a space always has a key that signs.
    #[must_use]
    pub fn new(secret: &PreparedKey, times: &[KeyTimes]) -> Self {
        assert!(!times.is_empty(), "a space has a key that signs");
        let keys = times.iter();
        let keys = keys.map(|times| (*times, SigningKeyOf::new(secret, times.number)));
        let mut keys: Vec<_> = keys.collect();
        keys.sort_by_key(|(times, _)| times.number);
        Self(keys.into())
    }

    /// The first key alone, as a new space has it.
    #[must_use]
    pub fn first(secret: &PreparedKey, since: Timestamp) -> Self {
        let times = KeyTimes {
            number: 1,
            publish_at: since,
            signs_from: since,
            not_after: None,
        };
        Self::new(secret, &[times])
    }

    /// The key that signs: the latest whose time has come. Before the time of all of them, as after
    /// a clock was put back, it is the first.
    #[must_use]
    pub fn signer(&self, now: Timestamp) -> &SigningKeyOf {
        let mut keys = self.0.iter().rev();
        let signs = keys.find(|(times, _)| times.signs_from <= now && !times.is_over(now));
        let (_, key) = signs.unwrap_or(&self.0[0]);
        key
    }

    /// The keys a gateway may meet now: the one that signs, the one that will, and those that did.
    pub fn published(&self, now: Timestamp) -> impl Iterator<Item = Published<'_>> {
        let signer = self.signer(now).number;
        let keys = self.0.iter();
        let keys = keys.filter(move |(times, key)| {
            key.number == signer || (times.publish_at <= now && !times.is_over(now))
        });
        keys.map(move |(times, key)| {
            let retiring = key.number < signer;
            Published {
                key,
                retiring,
                not_after: times.not_after.filter(|_| retiring),
            }
        })
    }

    fn numbered(&self, number: u32) -> Option<&SigningKeyOf> {
        let mut keys = self.0.iter().map(|(_, key)| key);
        keys.find(|key| key.number == number)
    }
}

/// The token of a decision; `None` when none is due, or the gateway, the channel or a canonical
/// recipient is missing (§13.2).
pub(crate) fn token(
    caller: &Caller,
    check: &CheckRequest<'_>,
    reply: &CheckReply,
) -> Option<String> {
    if !reply.sign {
        return None;
    }
    let policy = &caller.space.policy;
    let gateway = gateway(policy, check)?;
    let rcpt = match &check.destination_hash {
        Some(given) => given.as_str().to_owned(),
        None => {
            let subject = check.subject.as_ref()?;
            keyed_hash(&gateway.key, &identity::canonical(subject).ok()?)
        }
    };
    let iat = reply.decided_at.0.div_euclid(1_000);
    let signing = signing(caller, reply.signer);
    let claims = Claims {
        kid: signing.kid.clone(),
        space: uuid(caller.space.id),
        jti: hyphenated(&reply.decision_id.0),
        purpose: check.purpose.to_string(),
        channel: check.channel.as_ref()?.to_string(),
        rcpt,
        gateway: gateway.name.to_string(),
        iat,
        exp: iat + LIFETIME_S_MAX,
    };
    Some(signing.key.sign(&claims))
}

/// The key a reply was to be signed with: a repeat signs the same bytes, whatever key signs now. One
/// that has left the set is made once more; what it signs is as long over, or verifies nowhere.
fn signing(caller: &Caller, number: u32) -> Cow<'_, SigningKeyOf> {
    if let Some(known) = caller.space.signing.numbered(number) {
        return Cow::Borrowed(known);
    }
    let secret = caller.space.secret.prepared();
    Cow::Owned(SigningKeyOf::new(secret, number))
}

fn gateway<'a>(policy: &'a Policy, check: &CheckRequest<'_>) -> Option<&'a Gateway> {
    let id = policy.gateway(check.gateway_id.as_ref()?)?;
    policy.gateway_rules(id)
}

/// A space's id as tokens write it.
pub(crate) fn uuid(space: SpaceId) -> String {
    hyphenated(&space.0)
}

/// An id in its hyphenated form.
/// An id as answers write it.
pub(crate) fn hyphenated(id: &[u8; 16]) -> String {
    let mut out = Vec::with_capacity(36);
    interlock_wire::json::uuid(&mut out, id);
    String::from_utf8(out).unwrap_or_default()
}
