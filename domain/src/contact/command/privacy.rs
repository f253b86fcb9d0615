//! Who is erased, and what is kept from it.
//!
//! Here: the commands of erasures and legal holds (`docs/spec/contact.md` §21, §24). Not here: what
//! they lead to (a file for each, beside this folder).

use crate::contact::legal_hold::HoldTarget;
use crate::contact::text::Text;
use crate::ids::Id;
use crate::key::KeyHash;

/// A customer is erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgetCustomer {
    /// Who.
    pub customer: KeyHash,
    /// The erasure's id; the edge gives it, for its row is one of the command's keys.
    pub new_id: Id,
    /// The customer's offers as the edge read them: id, and the keyed hash its row is found by. Those
    /// that the customer has forgotten have a row and no id. One
    /// that was offered since turns the command down as [`Reply::Moved`](crate::contact::reply::Reply).
    pub offers: Vec<(Text, KeyHash)>,
    /// The customer's handoffs, read likewise.
    pub handoffs: Vec<Id>,
}

/// A legal hold is placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceHold {
    /// On what.
    pub target: HoldTarget,
    /// The hold's id.
    pub new_id: Id,
    /// The handoffs that it keeps: those there are of the customer or the conversation.
    pub handoffs: Vec<Id>,
}

/// A legal hold is released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseHold {
    /// Which.
    pub hold: Id,
    /// The handoffs that it kept.
    pub handoffs: Vec<Id>,
    /// What it is on.
    pub place: HoldPlace,
}

/// What a hold named by its id is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldPlace {
    /// Not looked up yet.
    ToFind,
    /// On this.
    At(HoldTarget),
    /// There is no such hold, or it is forgotten.
    Nowhere,
}

/// What a hold is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindHold {
    /// Which hold.
    pub hold: Id,
}
