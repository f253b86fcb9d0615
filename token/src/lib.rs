//! The contact token and canonical destinations.
//!
//! Here: what a company embeds in its gateway. No server dependency.

mod destination;
mod hash;

pub use destination::{NoDestination, canonical};
pub use hash::{decode_32, keyed_hash};
