//! Signing contact tokens.
//!
//! Here: `nct1.<payload>.<signature>` under an Ed25519 key (`docs/spec/contact.md` §13.1). Ed25519 is
//! deterministic: the same claims and key give the same bytes. Not here: when a token is due.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer, SigningKey};

use crate::claims::Claims;

/// A key that signs. Never printed.
#[derive(Clone)]
pub struct TokenKey(SigningKey);

impl TokenKey {
    /// Takes the 32 bytes of the seed.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// The public half as 43 characters of base64url: `x` of the published key.
    #[must_use]
    pub fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.verifying_key().as_bytes())
    }

    /// The token of these claims.
    #[must_use]
    pub fn sign(&self, claims: &Claims) -> String {
        let mut token = format!("nct1.{}", claims.payload());
        let signature = self.0.sign(token.as_bytes());
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature.to_bytes(), &mut token);
        token
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenKey({}, …)", self.public())
    }
}
