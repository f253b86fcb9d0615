//! A destination that may not be contacted, as its customer keeps it.
//!
//! Here: one entry, its identity, when it is in force and how long it is remembered
//! (`docs/spec/contact.md` §15). An entry needs nothing but itself: it stays in force and in the list
//! when everything else of its customer is gone. Not here: the numbers of changes (`feed`) and the
//! list that sources read (the edge).

use serde::{Deserialize, Serialize};

use crate::contact::name::{ChannelId, PurposeId, ReasonId, SourceId};
use crate::contact::text::Text;
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
    /// The number of its last change in the space's list, from 1.
    pub number: u64,
    /// When it was lifted; `None`: it was not.
    pub lifted: Option<Timestamp>,
    /// The purpose's name as it was declared, for the list; it may be declared no more.
    pub purpose_name: Text,
    /// The channel's name as it was declared, for the list.
    pub channel_name: Option<Text>,
    /// The destination in its canonical form, sealed by the edge: opaque here.
    pub destination: Box<[u8]>,
}

/// For how many days the last change of an entry that is lifted or over is remembered. A reader
/// whose position is older than that is sent the whole list, so a document may keep changes for
/// one day less at most (`suppression.keep_changes_days`).
pub const CHANGES_KEPT_DAYS: i64 = 31;

impl Suppression {
    /// Whether it counts at `now`: `since <= now < until`, and it was not lifted.
    #[must_use]
    pub fn in_force(&self, now: Timestamp) -> bool {
        self.lifted.is_none() && self.since <= now && self.until.is_none_or(|until| now < until)
    }

    /// Whether it is lifted, or its end has passed.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.lifted.is_some() || self.until.is_some_and(|until| until <= now)
    }

    /// From when on nobody needs it any more: it is lifted or over, and every reader has heard of
    /// its last change or starts anew. `None` while it has no end.
    #[must_use]
    pub fn forgotten_at(&self) -> Option<Timestamp> {
        let kept = |changed: Timestamp| changed.plus_s(CHANGES_KEPT_DAYS * 86_400);
        match (self.lifted, self.until) {
            (Some(lifted), _) => Some(kept(lifted)),
            (None, Some(until)) => Some(until.max(kept(self.since))),
            (None, None) => None,
        }
    }

    /// Whether it is still remembered at `now`.
    #[must_use]
    pub fn is_kept(&self, now: Timestamp) -> bool {
        self.forgotten_at().is_none_or(|end| now < end)
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
