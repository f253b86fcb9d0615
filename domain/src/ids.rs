//! The stream of ids a decision draws from.
//!
//! Here: UUID version 7 values made of the decision's time and a seeded stream, so that the same
//! seed gives the same ids. Not here: the seed; `actors` brings it.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// A UUID we hand out (a decision, a claim); 16 bytes, version 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id(pub [u8; 16]);

/// Draws ids. One stream per shard.
#[derive(Debug)]
pub struct IdStream {
    random: ChaCha12Rng,
}

impl IdStream {
    /// A stream that gives the same ids for the same seed and times.
    #[must_use]
    pub fn new(seed: [u8; 32]) -> Self {
        Self {
            random: ChaCha12Rng::from_seed(seed),
        }
    }

    /// The next id, stamped with `now`.
    pub fn next(&mut self, now: Timestamp) -> Id {
        let mut bytes = [0_u8; 16];
        self.random.fill_bytes(&mut bytes[6..]);
        let stamp = now.0.max(0).to_be_bytes();
        bytes[..6].copy_from_slice(&stamp[2..]);
        bytes[6] = (bytes[6] & 0x0f) | 0x70;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Id(bytes)
    }
}
