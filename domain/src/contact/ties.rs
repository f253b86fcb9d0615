//! The effect keys that live as long as an object (`docs/spec/contact.md` §8).
//!
//! Here: the list that an object has of them, and its bound. An effect says only that it is tied, so
//! the list is the one way from a fact to its keys. Not here: how a key is tied (`reserve_effect`) and
//! freed (`end_fact`).

use serde::{Deserialize, Serialize};

use crate::key::KeyHash;
use crate::machine::Broken;

/// How many keys may be tied to one object.
pub const TIED_MAX: usize = 256;

/// The keys tied to one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ties {
    /// Their hashes, in the order in which they were tied.
    pub effects: Vec<KeyHash>,
}

/// What the end of a fact came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untied {
    /// Keys that are free now.
    pub freed: u32,
    /// Keys that stay until they are settled, and from then on for the days of their kind.
    pub kept: u32,
}

impl Ties {
    /// The bound, that there are any, and that none is listed twice.
    pub(super) fn check(&self) -> Result<(), Broken> {
        let mut sorted = self.effects.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() == self.effects.len() && (1..=TIED_MAX).contains(&sorted.len()) {
            return Ok(());
        }
        Err(Broken {
            invariant: "ties",
            seen: format!(
                "{} keys tied, {} of them different",
                self.effects.len(),
                sorted.len()
            ),
        })
    }
}
