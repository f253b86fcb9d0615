//! A hash that is handed on as it was written.

use std::fmt;

use serde::Serialize;
use serde::de::{Deserializer, Error};

use super::{AnyText, HASH_PATTERN, Hash32};
use crate::read::{Read, Trouble};
use crate::shape::{self, Components, RefOr, Schema, Shape};

/// Characters of 32 bytes in base64url without padding.
const LENGTH: usize = 43;

/// 32 bytes in base64url without padding, as they were written. Two bits of the last character belong
/// to no byte, and whoever compares texts compares those too, so writing the bytes anew would be
/// another hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashText([u8; LENGTH]);

impl HashText {
    /// Reads the 43 characters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Hash32::parse(text)?;
        text.as_bytes().try_into().ok().map(Self)
    }

    /// The characters.
    ///
    /// # Panics
    /// Never: they were read as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).expect("digits of base64url are ASCII")
    }
}

impl fmt::Debug for HashText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashText(…)")
    }
}

impl Serialize for HashText {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Read<'de> for HashText {
    const RULE: &'static str = <Hash32 as Read<'de>>::RULE;

    fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
        let text = from.deserialize_str(AnyText)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("hash"))
    }
}

impl Shape for HashText {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::pattern(HASH_PATTERN)
    }
}
