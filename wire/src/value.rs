//! Single values of a body: texts, names, numbers, ids, each with the rule it is judged by.
//!
//! Here: what one value must be by the contract alone. Not here: whether a space declares a name
//! (`api`). Texts borrow from the body; only a text written with escapes is copied.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};
use serde_json::value::RawValue;

use crate::read::{Read, Trouble};
use crate::time;

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

/// Whether a text is a name: `^[a-z][a-z0-9_]{0,39}$`.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=40).contains(&bytes.len())
        && bytes[0].is_ascii_lowercase()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// Declares a kind of text: what follows "must be", and the test.
macro_rules! text {
    ($(#[$about:meta])* $name:ident, $rule:literal, $holds:expr) => {
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
    };
}

text! {
    /// An agent, a holder, a scope, part of an object's name.
    Label, "a text of 1 to 256 characters", |text| has_length(text, 1, 256)
}
text! {
    /// An effect key, an object's id.
    LongLabel, "a text of 1 to 512 characters", |text| has_length(text, 1, 512)
}
text! {
    /// The value of a handle.
    HandleValue, "a text of 1 to 320 characters", |text| has_length(text, 1, 320)
}
text! {
    /// A time zone's name; whether there is such a zone is judged later.
    Zone, "the name of a time zone, 1 to 64 characters", |text| has_length(text, 1, 64)
}
text! {
    /// A local time of day.
    TimeOfDay,
    "a time of day written HH:MM, from 00:00 to 23:59",
    time::is_time_of_day
}
text! {
    /// A purpose, channel, intent, task, level, reason or gateway.
    Name,
    "a name: 1 to 40 lower-case letters, digits or underscores, a letter first",
    is_name
}

/// 32 bytes in base64url without padding: 43 characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash32(pub [u8; 32]);

impl Hash32 {
    /// Reads the 43 characters. The contract takes every last character, also one whose two low
    /// bits no encoder would set; they are dropped.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 43 {
            return None;
        }
        let mut bytes = [0_u8; 32];
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
        Some(Self(bytes))
    }
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

/// `true` or `false`.
impl<'de> Read<'de> for bool {
    const RULE: &'static str = "true or false";

    fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
        serde::Deserialize::deserialize(from)
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

/// Reads a whole number, also one written with a fraction of zero. One above `u64` reads as the
/// largest `u64`, since no rule of the contract tells such numbers apart.
pub(crate) struct WholeNumber;

impl Visitor<'_> for WholeNumber {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        if number < 0.0 || number.fract() != 0.0 {
            return Err(E::custom("number"));
        }
        // The conversion saturates, which is what is wanted.
        Ok(number as u64)
    }
}

/// Declares a whole number with its bounds.
macro_rules! whole_number {
    ($(#[$about:meta])* $name:ident($type:ty): $range:expr, $rule:literal) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub $type);

        impl<'de> Read<'de> for $name {
            const RULE: &'static str = $rule;

            fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
                let number = from.deserialize_u64(WholeNumber)?;
                let range: std::ops::RangeInclusive<u64> = $range;
                if range.contains(&number) {
                    Ok(Self(<$type>::try_from(number).unwrap_or(<$type>::MAX)))
                } else {
                    Err(D::Error::custom("number"))
                }
            }
        }
    };
}

whole_number! {
    /// The number of an attempt. Above `u32` it cannot be a current one; the largest stands for it.
    Attempt(u32): 1..=u64::MAX, "a whole number of at least 1"
}
whole_number! {
    /// Units of cost.
    CostUnits(u64): 0..=u64::MAX, "a whole number of at least 0"
}
whole_number! {
    /// A day of the week, Monday first.
    Weekday(u8): 1..=7, "a whole number from 1 (Monday) to 7"
}

whole_number! {
    /// The length of a lease in seconds: at most a day.
    LeaseSeconds(u32): 1..=86_400, "a whole number of seconds from 1 to 86400"
}
whole_number! {
    /// An epoch. Above `i64` no claim has one.
    DeclaredEpoch(u64): 0..=u64::MAX, "a whole number of at least 0"
}

/// Any whole number. One beyond `i64` reads as the nearest that is within.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct AnyInteger(pub i64);

impl<'de> Read<'de> for AnyInteger {
    const RULE: &'static str = "a whole number";

    fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
        struct Whole;

        impl Visitor<'_> for Whole {
            type Value = i64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
                Ok(number)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<i64, E> {
                Ok(i64::try_from(number).unwrap_or(i64::MAX))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<i64, E> {
                if number.fract() != 0.0 {
                    return Err(E::custom("number"));
                }
                // The conversion saturates, which is what is wanted.
                Ok(number as i64)
            }
        }

        from.deserialize_i64(Whole).map(Self)
    }
}

/// Declares a closed set of words.
macro_rules! one_of {
    ($(#[$about:meta])* $name:ident: $rule:literal {
        $($(#[$of:meta])* $variant:ident = $word:literal,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize)]
        pub enum $name { $($(#[$of])* #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// All of them, in the contract's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// How it is spelled.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl<'de> $crate::read::Read<'de> for $name {
            const RULE: &'static str = $rule;

            fn read<D: ::serde::Deserializer<'de>>(
                from: D,
                _: &$crate::read::Trouble,
            ) -> Result<Self, D::Error> {
                let word = from.deserialize_str($crate::value::AnyText)?;
                match &*word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(::serde::de::Error::custom("word")),
                }
            }
        }
    };
}

pub(crate) use one_of;
