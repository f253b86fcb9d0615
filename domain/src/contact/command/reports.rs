//! What is told of messages, and what is asked about shadow runs.
//!
//! Here: the commands of messages and reports (`docs/spec/contact.md` §12, §18). Not here: what they
//! lead to (a file for each, beside this folder).

use crate::contact::command::Command;
use crate::contact::key;
use crate::contact::name::{AgentId, ChannelId, IntentId, PurposeId};
use crate::contact::text::Text;
use crate::ids::Id;
use crate::key::{EntityKey, KeyHash, Kind};
use crate::time::Timestamp;

/// A customer's message was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObserveMessage {
    /// Whose.
    pub customer: KeyHash,
    /// On which channel.
    pub channel: ChannelId,
    /// When it was written, as told; never taken as later than now.
    pub occurred_at: Timestamp,
}

/// A message to a customer went. It changes nothing; reports read its note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteMessage {
    /// To whom.
    pub customer: KeyHash,
    /// On which channel; `None`: on one that the space does not declare.
    pub channel: Option<ChannelId>,
    /// Who wrote it.
    pub agent: AgentId,
    /// The agent's name, when it is short and that of a program.
    pub name: Option<Text>,
    /// Why, as far as it is told.
    pub purpose: Option<PurposeId>,
    /// The step it was, as far as it is told.
    pub intent: Option<IntentId>,
    /// The token it went with.
    pub jti: Option<Id>,
    /// When it was written, as told; never taken as later than now.
    pub occurred_at: Timestamp,
    /// It is an approved template.
    pub template: bool,
}

impl NoteMessage {
    /// The customer, unless there is a receipt: that is enough of a key, and the customer may be a
    /// busy one.
    pub(in crate::contact) fn key(&self, command: &Command) -> Option<EntityKey> {
        let customer = key(command.space, Kind::Customer, self.customer);
        command.receipt.is_none().then_some(customer)
    }
}

/// A shadow run is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestReport {
    /// How many days of messages it looks at, 1 to 90.
    pub days: u8,
}

/// A shadow run came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndReport {
    /// Which.
    pub id: Id,
    /// What it found, at most `reports::SUMMARY_BYTES_MAX` bytes; `None`: it failed.
    pub summary: Option<Vec<u8>>,
}

/// A page of the shadow runs of a space, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadReports {
    /// Only those asked for before the one of this number.
    pub before: Option<u32>,
    /// How many at most, 1 or more.
    pub limit: usize,
}
