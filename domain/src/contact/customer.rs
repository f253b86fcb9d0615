//! A customer: contacts counted, suppressions, claims, messages seen, commitments.
//!
//! Here: the customer entity, what its events do to it and when it may be forgotten. Not here:
//! what is decided about it (`check` and the declarations) and how budgets count (`budget`).

use serde::{Deserialize, Serialize};

use crate::contact::claim::Claim;
use crate::contact::name::{ChannelId, PurposeId};
use crate::contact::suppression::Suppression;
use crate::contact::text::Text;
use crate::ids::Id;
use crate::time::Timestamp;

/// What is known of a customer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Customer {
    /// Contacts that may still count, oldest first.
    pub contacts: Vec<Contact>,
    /// Suppressions, in the order they came.
    pub suppressions: Vec<Suppression>,
    /// Claims on the customer, live or ended.
    pub claims: Vec<Claim>,
    /// The newest message of the customer on each channel.
    pub messages: Vec<LastMessage>,
    /// Tokens that declarations named, oldest first, at most [`TOKENS_KEPT`].
    pub tokens: Vec<SeenToken>,
    /// What was offered.
    pub commitments: Vec<Commitment>,
    /// How often a declaration named a token already named.
    pub tokens_reused: u32,
}

/// How many named tokens a customer keeps.
pub const TOKENS_KEPT: usize = 32;

/// One contact. 40 bytes: a busy space keeps tens of millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// When.
    pub at: Timestamp,
    /// From which share: an intent's number, or 0 for the unsliced share.
    pub share: u64,
    /// The decision, or the log row's id.
    pub id: Id,
    /// For which purpose.
    pub purpose: PurposeId,
    /// For how many hours it is remembered.
    pub keep_hours: u16,
    /// How it stands.
    pub state: ContactState,
}

/// How a contact stands. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContactState {
    /// Allowed, not yet declared.
    Reserved,
    /// Allowed and declared.
    Made,
    /// Declared without a decision held.
    Declared,
}

/// The newest message of the customer on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastMessage {
    /// On which channel.
    pub channel: ChannelId,
    /// When it was written.
    pub at: Timestamp,
    /// For how many hours it is remembered.
    pub keep_hours: u16,
}

/// A token a declaration named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenToken {
    /// The token's id.
    pub jti: Id,
    /// When.
    pub at: Timestamp,
}

/// Something offered to the customer that holds or held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commitment {
    /// Its id, as declared.
    pub id: Text,
    /// Its type's name.
    pub kind: Text,
    /// It holds: not superseded, withdrawn or declined.
    pub holds: bool,
    /// Until when; `None`: no end.
    pub until: Option<Timestamp>,
}
