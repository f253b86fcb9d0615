//! Directory rows: from the id of a claim, an offer or an admission to the entity it is on.
//!
//! Here: the row entity (`ARCHITECTURE.md`, directory row). It is written in the record that hands
//! the id out, and where it leads never changes. Not here: whether the claim is still there; its
//! entity knows. An admission lives in its row, because nothing else needs it (`admission`).

use serde::{Deserialize, Serialize};

use crate::contact::admission::{Admission, AdmissionState};
use crate::contact::erasure::Erased;
use crate::contact::key;
use crate::ids::Id;
use crate::key::{EntityKey, KeyHash, Kind, SpaceId};
use crate::time::Timestamp;

/// How long an id leads to its claim, in seconds: for as long as a claim may be renewed under it,
/// the longest lease, and the time an ended claim is remembered.
pub const KEPT_S: i64 = RENEWED_S + 2 * 86_400;

/// For how long a claim keeps its id through renewals, in seconds. A renewal after that hands out a
/// new id, so that rows need not live for ever.
pub const RENEWED_S: i64 = 90 * 86_400;

/// How long the id of an offer leads to its customer after the offer's end, or after it was made when
/// it has none, in seconds.
pub const OFFER_KEPT_S: i64 = 400 * 86_400;

/// What a claim is on, or an admission draws on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// A customer.
    Customer(KeyHash),
    /// An object.
    Object(KeyHash),
    /// An operation's budget of the space; no claim is on it.
    Space(KeyHash),
}

impl Target {
    /// The entity's name.
    #[must_use]
    pub const fn key(self, space: SpaceId) -> EntityKey {
        match self {
            Self::Customer(hash) => key(space, Kind::Customer, hash),
            Self::Object(hash) => key(space, Kind::Object, hash),
            Self::Space(hash) => key(space, Kind::SpaceBudget, hash),
        }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryRow {
    /// Where the id leads.
    pub target: Target,
    /// Until when it is kept.
    pub until: Timestamp,
    /// The terms of an offer, sealed by the edge; an erasure takes them.
    pub terms: Option<Vec<u8>>,
    /// Of the id of an erasure: what it took.
    pub erased: Option<Box<Erased>>,
    /// The admission of this id.
    pub admission: Option<Box<Admission>>,
}

impl DirectoryRow {
    /// The row before its first event: over since ever.
    pub(super) const EMPTY: Self = Self {
        target: Target::Customer(KeyHash([0; 16])),
        until: Timestamp(i64::MIN),
        terms: None,
        erased: None,
        admission: None,
    };

    pub(super) fn settle(&mut self, state: AdmissionState) {
        if let Some(admission) = &mut self.admission {
            admission.state = state;
        }
    }
}

/// The name of an id's row.
#[must_use]
pub const fn row_key(space: SpaceId, id: Id) -> EntityKey {
    key(space, Kind::Directory, KeyHash(id.0))
}
