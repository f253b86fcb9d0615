//! A destination that may not be contacted, as its customer keeps it.
//!
//! Here: one entry, its identity and when it is in force (`docs/spec/contact.md` §15). Not here:
//! the list that sources read.

use serde::{Deserialize, Serialize};

use crate::contact::name::{ChannelId, PurposeId, ReasonId, SourceId};
use crate::contact::window::Window;
use crate::ids::Id;
use crate::time::Timestamp;

/// One entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suppression {
    /// Its id in the list.
    pub entry: Id,
    /// Who added it.
    pub source: SourceId,
    /// For which purpose; [`PurposeId::ANY`] for every one.
    pub purpose: PurposeId,
    /// On which channel; `None` for every one.
    pub channel: Option<ChannelId>,
    /// Why; never shown.
    pub reason: ReasonId,
    /// Since when.
    pub since: Timestamp,
    /// Until when; `None`: no end.
    pub until: Option<Timestamp>,
    /// In which local hours; `None`: in all.
    pub window: Option<Window>,
}

impl Suppression {
    /// Whether it counts at `now`: `since <= now < until`.
    #[must_use]
    pub fn in_force(&self, now: Timestamp) -> bool {
        self.since <= now && self.until.is_none_or(|until| now < until)
    }

    /// Whether it is about a contact for `purpose` on `channel`.
    #[must_use]
    pub fn stops(&self, purpose: PurposeId, channel: Option<ChannelId>) -> bool {
        (self.purpose == purpose || self.purpose == PurposeId::ANY)
            && (self.channel.is_none() || self.channel == channel)
    }

    /// Whether it and `other` are one entry: same source, purpose, channel and window.
    #[must_use]
    pub fn same_identity(&self, other: &Self) -> bool {
        self.source == other.source
            && self.purpose == other.purpose
            && self.channel == other.channel
            && self.window == other.window
    }
}
