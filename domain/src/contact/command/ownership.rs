//! What is asked about who has a customer, an object or a task.
//!
//! Here: the commands of claims, locks and observations (`docs/spec/contact.md` §9, §10). Not here:
//! what they lead to (a file for each, beside this folder).

use crate::contact::claim::{ClaimKind, ClaimVia};
use crate::contact::directory::Target;
use crate::contact::name::IntentId;
use crate::contact::text::Text;
use crate::ids::Id;
use crate::key::KeyHash;
use crate::time::Timestamp;

/// Somebody takes a customer or an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimTarget {
    /// What is taken.
    pub target: Target,
    /// `owner` or `case`.
    pub kind: ClaimKind,
    /// By whom.
    pub holder: Text,
    /// How strictly, by name; `None`: the least strict level.
    pub level: Option<Text>,
    /// For how many seconds, 1 to 86,400; the rules may shorten it.
    pub lease_s: u32,
    /// What others may still do.
    pub intents: Vec<IntentId>,
    /// The declaring source's name, shown with the owner.
    pub source: Text,
    /// The id a new claim gets. Given by the edge, so that the id's directory row is one of the
    /// command's keys.
    pub new_id: Id,
}

/// An ownership source says who has a customer or an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObserveOwner {
    /// What it is about; its `source` is the ownership source's name.
    pub claim: ClaimTarget,
    /// When it was so, as told; `None`: now. Never taken as later than now.
    pub observed_at: Option<Timestamp>,
    /// [`ClaimVia::Worker`] or [`ClaimVia::Mapping`].
    pub via: ClaimVia,
}

/// A mapped event ends what its source said about a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndObservation {
    /// What it is about.
    pub target: Target,
    /// The ownership source's name.
    pub source: Text,
    /// When it was so, as told; `None`: now. Never taken as later than now.
    pub observed_at: Option<Timestamp>,
    /// The id an end gets that came before what it ends; see [`ClaimTarget::new_id`].
    pub new_id: Id,
}

/// Somebody takes one task of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockTask {
    /// The object.
    pub object: KeyHash,
    /// The task.
    pub task: Text,
    /// By whom.
    pub holder: Text,
    /// The level shown in the answer; `None`: the least strict one. It decides nothing (§10).
    pub level: Option<Text>,
    /// For how many seconds, 1 to 86,400; the rules may shorten it.
    pub lease_s: u32,
    /// The declaring source's name.
    pub source: Text,
    /// The id a new lock gets; see [`ClaimTarget::new_id`].
    pub new_id: Id,
}

/// A claim or a lock is given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseClaim {
    /// Which.
    pub claim: Id,
    /// The epoch the caller knows; another one changes nothing. No claim has a negative one.
    pub epoch: i64,
    /// Where it is.
    pub place: ClaimPlace,
}

/// Where a claim named by its id is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimPlace {
    /// Not looked up yet.
    ToFind,
    /// The id's directory row leads here.
    At(Target),
    /// There is no such id, or it is forgotten.
    Nowhere,
}

/// Which entity a claim or a lock is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindClaim {
    /// Which claim.
    pub claim: Id,
}
