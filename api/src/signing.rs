//! Contact tokens: the keys a space signs with, and the token of an allowed contact.
//!
//! Here: a space's signing key, made of its secret and the key's number, so that nothing more has to
//! be kept than the number; and the claims of a token (`docs/spec/contact.md` §13). Not here: the
//! token's form (`interlock_token`) and when one is due (`domain`). Signing runs on the HTTP workers.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use interlock_domain::contact::policy::{Gateway, Policy};
use interlock_domain::contact::reply::CheckReply;
use interlock_domain::key::SpaceId;
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
    let rcpt = match check.destination_hash {
        Some(given) => URL_SAFE_NO_PAD.encode(given.0),
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

/// The key a reply was to be signed with: a repeat signs the same bytes, whatever key signs now.
fn signing(caller: &Caller, number: u32) -> std::borrow::Cow<'_, SigningKeyOf> {
    let current = &caller.space.signing;
    if current.number == number {
        return std::borrow::Cow::Borrowed(current);
    }
    let secret = caller.space.secret.prepared();
    std::borrow::Cow::Owned(SigningKeyOf::new(secret, number))
}

fn gateway<'a>(policy: &'a Policy, check: &CheckRequest<'_>) -> Option<&'a Gateway> {
    let id = policy.gateway(check.gateway_id.as_ref()?)?;
    policy.gateway_rules(id)
}

/// A space's id as tokens write it.
pub(crate) fn uuid(space: SpaceId) -> String {
    hyphenated(&space.0)
}

fn hyphenated(id: &[u8; 16]) -> String {
    let mut out = Vec::with_capacity(36);
    interlock_wire::json::uuid(&mut out, id);
    String::from_utf8(out).unwrap_or_default()
}
