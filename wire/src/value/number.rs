//! Numbers of a body, each with its bounds.

use std::fmt;

use serde::Serialize;
use serde::de::{Deserializer, Error, Visitor};

use crate::answer::Written;
use crate::json;
use crate::read::{Read, Trouble};
use crate::shape::{self, Components, RefOr, Schema, Shape};

/// A number, with or without a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Number(pub f64);

impl<'de> Read<'de> for Number {
    const RULE: &'static str = "a number";

    fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
        serde::Deserialize::deserialize(from).map(Self)
    }
}

impl Shape for Number {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::number()
    }
}

/// Reads a whole number, also one written with a fraction of zero. One above `u64` reads as the
/// largest `u64`, since no rule of the contract tells such numbers apart.
struct WholeNumber;

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

/// Declares a whole number with its bounds, and what it is when it is left out.
macro_rules! whole_number {
    ($(#[$about:meta])* $name:ident($type:ty): $range:expr, $rule:literal $(, or $or:literal)?) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub $type);

        $(
            impl Default for $name {
                /// What a request means when it does not say.
                fn default() -> Self {
                    Self($or)
                }
            }
        )?

        impl<'de> Read<'de> for $name {
            const RULE: &'static str = $rule;

            fn read<D: Deserializer<'de>>(from: D, _: &Trouble) -> Result<Self, D::Error> {
                let number = from.deserialize_u64(WholeNumber)?;
                if Self::RANGE.contains(&number) {
                    Ok(Self(<$type>::try_from(number).unwrap_or(<$type>::MAX)))
                } else {
                    Err(D::Error::custom("number"))
                }
            }
        }

        impl $name {
            /// What it may be.
            pub const RANGE: std::ops::RangeInclusive<u64> = $range;
        }

        impl Shape for $name {
            fn shape(_: &mut Components) -> RefOr<Schema> {
                shape::integer(*Self::RANGE.start(), *Self::RANGE.end())
            }
        }

        impl Written<$type> for $name {
            fn write(out: &mut Vec<u8>, value: &$type) {
                json::number(out, (*value).into());
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
    CostUnits(u64): 0..=u64::MAX, "a whole number of at least 0", or 0
}
whole_number! {
    /// Units of a paid operation.
    Units(u32): 0..=1_000_000_000, "a whole number of units from 0 to 1000000000"
}
whole_number! {
    /// A day of the week, Monday first.
    Weekday(u8): 1..=7, "a whole number from 1 (Monday) to 7"
}

whole_number! {
    /// How many days of messages a shadow run looks at.
    Days(u32): 1..=90, "a whole number from 1 to 90", or 30
}
whole_number! {
    /// How many items a page may have.
    Limit(u32): 1..=200, "a whole number from 1 to 200"
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

impl Shape for AnyInteger {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::any_integer()
    }
}

/// A count; only ever written.
#[derive(Clone, Copy, Debug)]
pub struct Count;

impl Shape for Count {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::integer(0, u64::MAX)
    }
}

impl Written<u64> for Count {
    fn write(out: &mut Vec<u8>, value: &u64) {
        json::number(out, *value);
    }
}

impl Written<usize> for Count {
    fn write(out: &mut Vec<u8>, value: &usize) {
        json::number(out, u64::try_from(*value).unwrap_or(u64::MAX));
    }
}

impl Written<u32> for Count {
    fn write(out: &mut Vec<u8>, value: &u32) {
        json::number(out, u64::from(*value));
    }
}
