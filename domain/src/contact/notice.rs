//! What leaves with a decision for readers who follow along, once its record is durable.
//!
//! Here: the notices of the product. Not here: how they travel (`actors`) and who reads them (the
//! edge's copy of the suppression list). A notice is never stored.

use crate::contact::suppression::Suppression;
use crate::key::{KeyHash, SpaceId};

/// One notice.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// An entry of a suppression list was added, renewed or lifted.
    ListChanged(ListChanged),
}

/// An entry of a space's suppression list as it is now. Its number is the change's.
#[derive(Clone, Debug, PartialEq)]
pub struct ListChanged {
    /// Whose list.
    pub space: SpaceId,
    /// Who may not be contacted.
    pub customer: KeyHash,
    /// The entry.
    pub entry: Suppression,
}
