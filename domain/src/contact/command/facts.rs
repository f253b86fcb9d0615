//! What is asked about the life of an object that effect keys are tied to.
//!
//! Here: the commands (`docs/spec/contact.md` §8). Not here: what they lead to (`end_fact`,
//! `find_ties`), and how a key is tied (`reserve_effect`).

use crate::key::KeyHash;

/// The life of an object is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndFact {
    /// Which.
    pub object: KeyHash,
    /// The keys that are tied to it, at most [`TIED_MAX`](crate::contact::ties::TIED_MAX); `None`:
    /// not looked up yet.
    pub keys: Option<Vec<KeyHash>>,
}

/// Which keys are tied to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindTies {
    /// Which.
    pub object: KeyHash,
}
