//! A gateway: it lets a message through when its token is ours, for this message, and new.
//!
//! Here: the whole check of `docs/spec/contact.md` §13.3, over a copy of the published keys. Not
//! here: how keys are read and used tokens are shared; the company brings both.

use std::fmt;

use crate::claims::Claims;
use crate::hash::keyed_hash;
use crate::keys::{KeyCopy, KeySource};
use crate::seen::{Seen, SeenError};
use crate::verify::{self, Identity, LEEWAY_S, Message, Refusal};

/// Why a message must not leave.
#[derive(Debug)]
pub enum NotLetThrough {
    /// The token is refused, for good: only a new check gives a new one.
    Refused(Refusal),
    /// Nobody can say whether the token was used; it may be tried again.
    Unknown(SeenError),
}

impl fmt::Display for NotLetThrough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "the token is refused: {refusal}"),
            Self::Unknown(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NotLetThrough {}

impl From<Refusal> for NotLetThrough {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A company's dispatch point.
///
/// ```
/// use interlock_token::{Gateway, Identity, MemorySeen, Message, NotLetThrough, Refusal};
///
/// let identity = Identity {
///     gateway_id: "wa_gateway".to_owned(),
///     space: "0192f5a0-0000-7000-8000-00000000a004".to_owned(),
///     key: [7; 32], // the key that the space's vault has for this gateway
/// };
/// // In production: GET /.well-known/niadra-contact-keys.json?space=… of the server.
/// let keys = || Ok(br#"{"keys": []}"#.to_vec());
/// let mut gateway = Gateway::new(identity, keys, MemorySeen::new(1_000_000));
///
/// let message = Message {
///     channel: "whatsapp",
///     destination: "phone:+5511987654321", // interlock_token::canonical("phone_e164", …)
/// };
/// let now = 1_790_000_010; // whole seconds since 1970
/// let answer = gateway.let_through("nct1.not.a-token", message, now);
/// assert!(matches!(answer, Err(NotLetThrough::Refused(Refusal::Malformed))));
/// ```
pub struct Gateway<K, S> {
    identity: Identity,
    source: K,
    copy: KeyCopy,
    seen: S,
}

impl<K, S> fmt::Debug for Gateway<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

impl<K: KeySource, S: Seen> Gateway<K, S> {
    /// A gateway that has read no keys yet.
    pub fn new(identity: Identity, source: K, seen: S) -> Self {
        Self {
            identity,
            source,
            copy: KeyCopy::default(),
            seen,
        }
    }

    /// Whether a message may leave with this token. `now` is in whole seconds since 1970. Reads the
    /// published keys when its copy is an hour old, and for an unknown key at most once a minute.
    ///
    /// # Errors
    /// The token is refused, or the memory of used tokens cannot be asked. The message must not
    /// leave.
    pub fn let_through(
        &mut self,
        token: &str,
        message: Message<'_>,
        now: i64,
    ) -> Result<Claims, NotLetThrough> {
        let parts = verify::take_apart(token)?;
        let claims = &parts.claims;
        self.copy.refresh(&mut self.source, false, now);
        if !self.copy.keys.has(&claims.kid, &claims.space, now) {
            self.copy.refresh(&mut self.source, true, now);
        }
        let recipient = keyed_hash(&self.identity.key, message.destination);
        let to = (message.channel, recipient.as_str());
        verify::judge(&parts, &self.copy.keys, &self.identity, to, now)?;
        let until = claims.exp.saturating_add(LEEWAY_S);
        match self.seen.first_time(&claims.jti, until, now) {
            Ok(true) => Ok(parts.claims),
            Ok(false) => Err(Refusal::Replayed.into()),
            Err(error) => Err(NotLetThrough::Unknown(error)),
        }
    }
}
