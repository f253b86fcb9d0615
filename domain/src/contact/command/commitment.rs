//! What is told of offers.
//!
//! Here: the commands of commitments (`docs/spec/contact.md` §11). Not here: what they lead to (a file
//! for each, beside this folder).

use crate::contact::command::ClaimPlace;
use crate::contact::commitment::{CommitmentState, Score};
use crate::contact::text::Text;
use crate::key::KeyHash;
use crate::time::Timestamp;

/// Something was offered.
#[derive(Clone, Debug, PartialEq)]
pub struct MakeCommitment {
    /// To whom.
    pub customer: KeyHash,
    /// Its id.
    pub id: Text,
    /// Keyed hash of its id: ids are unique in the space.
    pub row: KeyHash,
    /// Its type's name.
    pub kind: Text,
    /// Its rank among those of a type where the best one holds.
    pub score: Option<Score>,
    /// Until when; `None`: no end.
    pub until: Option<Timestamp>,
    /// What was offered, sealed by the edge.
    pub terms: Option<Vec<u8>>,
}

/// What became of an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndCommitment {
    /// Whose it is, or where its id leads.
    pub place: ClaimPlace,
    /// Its id.
    pub id: Text,
    /// Keyed hash of its id.
    pub row: KeyHash,
    /// How it stands from now on: accepted, withdrawn or declined.
    pub state: CommitmentState,
}
