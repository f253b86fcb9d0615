//! Single values of a body: texts, names, numbers, ids, each with the rule it is judged by, the schema
//! that shows this rule, and how one is written.
//!
//! Here: what one value must be by the contract alone. Not here: whether a space declares a name
//! (`api`). Texts borrow from the body; only a text written with escapes is copied.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};
use serde_json::value::RawValue;

use crate::answer::Written;
use crate::json;
use crate::read::{Read, Trouble};
use crate::shape::{self, Components, RefOr, Schema, Shape};
use crate::time;

mod hash_text;
mod number;
mod word;

pub use self::hash_text::HashText;
pub use self::number::{
    AnyInteger, Attempt, CostUnits, Count, Days, DeclaredEpoch, LeaseSeconds, Limit, Number, Units,
    Weekday,
};
pub(crate) use self::word::one_of;

/// What a name is.
pub const NAME_PATTERN: &str = "^[a-z][a-z0-9_]{0,39}$";
/// What 32 bytes in base64url without padding are.
pub const HASH_PATTERN: &str = "^[A-Za-z0-9_-]{43}$";
/// What 16 bytes in base64url without padding are.
pub const SHORT_HASH_PATTERN: &str = "^[A-Za-z0-9_-]{22}$";
/// What a time of day is.
pub const TIME_OF_DAY_PATTERN: &str = "^([01][0-9]|2[0-3]):[0-5][0-9]$";

/// Reads any text.
#[derive(Clone, Copy, Debug)]
pub struct AnyText;

impl<'de> DeserializeSeed<'de> for AnyText {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for AnyText {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Reads a text and judges it.
fn judged<'de, D: Deserializer<'de>>(
    from: D,
    holds: impl FnOnce(&str) -> bool,
) -> Result<Cow<'de, str>, D::Error> {
    let text = from.deserialize_str(AnyText)?;
    if holds(&text) {
        Ok(text)
    } else {
        Err(D::Error::custom("text"))
    }
}

/// Whether a text has `min` to `max` characters. Counts them only where the bytes do not tell.
fn has_length(text: &str, min: usize, max: usize) -> bool {
    let bytes = text.len();
    // A character takes one to four bytes.
    bytes >= min && (bytes <= max || (bytes <= 4 * max && text.chars().count() <= max))
}

/// Whether a text is a name: [`NAME_PATTERN`].
#[must_use]
pub fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=40).contains(&bytes.len())
        && bytes[0].is_ascii_lowercase()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// Declares a kind of text: by its length, or by what follows "must be", its pattern and the test.
macro_rules! text {
    ($(#[$about:meta])* $name:ident, $what:literal $min:literal to $max:literal) => {
        text! {
            $(#[$about])* $name,
            concat!($what, $min, " to ", $max, " characters"),
            |text| has_length(text, $min, $max),
            shape::text(Some($min), Some($max))
        }
    };
    ($(#[$about:meta])* $name:ident, $rule:expr, $holds:expr, $shape:expr) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(transparent)]
        pub struct $name<'a>(pub Cow<'a, str>);

        impl<'de> Read<'de> for $name<'de> {
            const RULE: &'static str = $rule;

            fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
                judged(from, $holds).map(Self)
            }
        }

        impl std::ops::Deref for $name<'_> {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Shape for $name<'_> {
            fn shape(_: &mut Components) -> RefOr<Schema> {
                $shape
            }
        }

        impl Written<&str> for $name<'_> {
            fn write(out: &mut Vec<u8>, value: &&str) {
                json::text(out, value);
            }
        }
    };
}

text! {
    /// An agent, a holder, a scope, part of an object's name.
    Label, "a text of " 1 to 256
}
text! {
    /// An effect key, an object's id, an id of ours.
    LongLabel, "a text of " 1 to 512
}
text! {
    /// The value of a handle.
    HandleValue, "a text of " 1 to 320
}
text! {
    /// Why somebody asks for something.
    ReasonText, "a text of " 1 to 500
}
text! {
    /// Where a page starts: what the page before it said.
    Cursor, "a text of " 0 to 200
}
text! {
    /// A time zone's name; whether there is such a zone is judged later.
    Zone, "the name of a time zone, " 1 to 64
}
text! {
    /// A local time of day.
    TimeOfDay,
    "a time of day written HH:MM, from 00:00 to 23:59",
    time::is_time_of_day,
    shape::pattern(TIME_OF_DAY_PATTERN)
}
text! {
    /// A purpose, channel, intent, task, level, reason or gateway.
    Name,
    "a name: 1 to 40 lower-case letters, digits or underscores, a letter first",
    is_name,
    shape::pattern(NAME_PATTERN)
}

/// Any text; only ever written.
#[derive(Clone, Copy, Debug)]
pub struct Text;

impl Shape for Text {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::text(None, None)
    }
}

impl Written<&str> for Text {
    fn write(out: &mut Vec<u8>, value: &&str) {
        json::text(out, value);
    }
}

/// 32 bytes in base64url without padding: 43 characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash32(pub [u8; 32]);

impl Hash32 {
    /// Reads the 43 characters. The contract takes every last character, also one whose two low
    /// bits no encoder would set; they are dropped.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        base64url(text).map(Self)
    }
}

/// The first 16 bytes of a hash in base64url without padding: 22 characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShortHash(pub [u8; 16]);

impl ShortHash {
    /// Reads the 22 characters, the last one as [`Hash32::parse`] does.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        base64url(text).map(Self)
    }
}

impl fmt::Debug for ShortHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShortHash(…)")
    }
}

impl Shape for ShortHash {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::pattern(SHORT_HASH_PATTERN)
    }
}

impl Written<[u8; 16]> for ShortHash {
    fn write(out: &mut Vec<u8>, value: &[u8; 16]) {
        out.push(b'"');
        json::hash(out, value);
        out.push(b'"');
    }
}

/// Reads exactly `N` bytes in base64url without padding; low bits that are too many are dropped.
fn base64url<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != (8 * N).div_ceil(6) {
        return None;
    }
    let mut bytes = [0_u8; N];
    let mut at = 0;
    let mut bits = 0_u32;
    let mut held = 0_u32;
    for digit in digits {
        held = (held << 6) | u32::from(sextet(*digit)?);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes[at] = u8::try_from((held >> bits) & 0xff).ok()?;
            at += 1;
        }
    }
    Some(bytes)
}

/// The value of a digit of base64url.
const fn sextet(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    }
}

impl fmt::Debug for Hash32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash32(…)")
    }
}

impl Serialize for Hash32 {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Read<'de> for Hash32 {
    const RULE: &'static str = "43 characters of base64url (32 bytes without padding)";

    fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
        let text = from.deserialize_str(AnyText)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("hash"))
    }
}

impl Shape for Hash32 {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::pattern(HASH_PATTERN)
    }
}

impl Written<[u8; 32]> for Hash32 {
    fn write(out: &mut Vec<u8>, value: &[u8; 32]) {
        out.push(b'"');
        json::hash(out, value);
        out.push(b'"');
    }
}

/// A UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// Reads the hyphenated form, in either case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        if text.len() != 36 {
            return None;
        }
        let mut value = 0_u128;
        for (at, digit) in text.iter().enumerate() {
            if matches!(at, 8 | 13 | 18 | 23) {
                if *digit != b'-' {
                    return None;
                }
            } else {
                value = (value << 4) | u128::from(char::from(*digit).to_digit(16)?);
            }
        }
        Some(Self(value.to_be_bytes()))
    }
}

impl<'de> Read<'de> for Uuid {
    const RULE: &'static str = "a UUID in its hyphenated form";

    fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
        let text = from.deserialize_str(AnyText)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("uuid"))
    }
}

impl Shape for Uuid {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::format("uuid")
    }
}

impl Written<[u8; 16]> for Uuid {
    fn write(out: &mut Vec<u8>, value: &[u8; 16]) {
        out.push(b'"');
        json::uuid(out, value);
        out.push(b'"');
    }
}

/// An instant in milliseconds since 1970, sent as RFC 3339 with an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Instant(pub i64);

impl<'de> Read<'de> for Instant {
    const RULE: &'static str = "an RFC 3339 date and time with an offset";

    fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
        let text = from.deserialize_str(AnyText)?;
        time::parse(&text)
            .map(Self)
            .ok_or_else(|| D::Error::custom("instant"))
    }
}

impl Shape for Instant {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::format("date-time")
    }
}

impl Written<i64> for Instant {
    fn write(out: &mut Vec<u8>, value: &i64) {
        out.push(b'"');
        time::push(out, *value);
        out.push(b'"');
    }
}

/// `true` or `false`.
impl<'de> Read<'de> for bool {
    const RULE: &'static str = "true or false";

    fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
        serde::Deserialize::deserialize(from)
    }
}

impl Shape for bool {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::boolean()
    }
}

impl Written<Self> for bool {
    fn write(out: &mut Vec<u8>, value: &Self) {
        let word: &[u8] = if *value { b"true" } else { b"false" };
        out.extend_from_slice(word);
    }
}

/// Any JSON value, kept as it was sent until its shape is known.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct Raw<'a>(pub &'a RawValue);

impl PartialEq for Raw<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl<'de> Read<'de> for Raw<'de> {
    const RULE: &'static str = "an object";

    fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
        serde::Deserialize::deserialize(from).map(Self)
    }
}

impl Shape for Raw<'_> {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::any_object()
    }
}

/// An object of any members, kept as it was sent.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct AnyObject<'a>(pub &'a RawValue);

impl PartialEq for AnyObject<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl Default for AnyObject<'_> {
    /// An object without members.
    fn default() -> Self {
        Self(serde_json::from_str("{}").expect("an object"))
    }
}

impl<'de> Read<'de> for AnyObject<'de> {
    const RULE: &'static str = "an object";

    fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
        let raw: &RawValue = serde::Deserialize::deserialize(from)?;
        if raw.get().starts_with('{') {
            Ok(Self(raw))
        } else {
            Err(D::Error::custom("object"))
        }
    }
}

impl Shape for AnyObject<'_> {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::any_object()
    }
}

/// Written as it is, so it has to be one JSON object.
impl Written<&str> for AnyObject<'_> {
    fn write(out: &mut Vec<u8>, value: &&str) {
        debug_assert!(value.starts_with('{'), "not an object");
        out.extend_from_slice(value.as_bytes());
    }
}
