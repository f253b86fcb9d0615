//! The contact token and canonical destinations.
//!
//! Here: what a company embeds in its gateway, and what the server signs with. No server dependency,
//! no transport, no clock: times are arguments. [`Gateway`] is where to begin. The feature `redis`
//! brings a memory of used tokens that several processes share.

mod claims;
mod destination;
mod gateway;
mod hash;
mod keys;
#[cfg(feature = "redis")]
mod redis_seen;
mod seen;
mod sign;
mod verify;

pub use claims::{Claims, LIFETIME_S_MAX};
pub use destination::{NoDestination, canonical};
pub use gateway::{Gateway, NotLetThrough};
pub use hash::{decode_32, keyed_hash};
pub use keys::{KeySet, KeySource, NotAKeySet, REFRESH_S, UNKNOWN_REFRESH_S};
#[cfg(feature = "redis")]
pub use redis_seen::RedisSeen;
pub use seen::{MemorySeen, Seen, SeenError};
pub use sign::TokenKey;
pub use verify::{Identity, LEEWAY_S, Message, Refusal, verify, verify_hashed};

/// The page people start with; its blocks of Rust are run with the examples above.
#[cfg(doctest)]
#[doc = include_str!("../../docs/contact.md")]
struct ContactPage;
