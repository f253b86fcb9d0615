//! `GET /.well-known/niadra-contact-keys.json`.

use crate::answer::{Written, answer};
use crate::json;
use crate::shape::{self, Components, RefOr, Schema, Shape};
use crate::value::{Hash32, Instant, Uuid, one_of};

answer! {
    /// The keys a gateway verifies contact tokens of a space with, offline.
    derive(Clone, Debug)
    ContactKeys<'a> {
        /// The keys.
        keys: present Vec<ContactKey<'a>> as ContactKey<'_>,
    }
}

answer! {
    /// A public key (a JWK of RFC 8037).
    derive(Clone, Debug)
    ContactKey<'a> {
        /// Its type.
        kty: required KeyType as KeyType,
        /// Its curve.
        crv: required KeyCurve as KeyCurve,
        /// The key.
        x: required [u8; 32] as Hash32,
        /// Its id, which a token names.
        kid: required &'a str as KeyId,
        /// The space whose tokens it signs.
        space: required [u8; 16] as Uuid,
        /// Whether it signs.
        status: required KeyStatus as KeyStatus,
        /// When it stops to verify.
        not_after: optional i64 as Instant,
    }
}

one_of! {
    /// A key's type.
    KeyType: "one of `OKP`" {
        /// An octet key pair.
        Okp = "OKP",
    }
}

one_of! {
    /// A key's curve.
    KeyCurve: "one of `Ed25519`" {
        /// Edwards curve 25519.
        Ed25519 = "Ed25519",
    }
}

one_of! {
    /// Whether a key signs.
    KeyStatus: "one of `active`, `retiring`" {
        /// It signs and verifies.
        Active = "active",
        /// It only verifies.
        Retiring = "retiring",
    }
}

/// The id of a key.
#[derive(Clone, Copy, Debug)]
pub struct KeyId;

impl Shape for KeyId {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::pattern("^[A-Za-z0-9_-]{8,64}$")
    }
}

impl Written<&str> for KeyId {
    fn write(out: &mut Vec<u8>, value: &&str) {
        json::text(out, value);
    }
}
