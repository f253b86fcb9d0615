//! The decision receipt: what stays of every decision, without the handle.
//!
//! Here: the row of `docs/spec/contact.md` §21, as compact numbers; the time and the space are in
//! the record around it. Not here: where it is kept and for how long (`storage`, `actors`).

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::contact::command::{Command, Direction, Route};
use crate::contact::name::{ChannelId, PurposeId, SourceId};
use crate::contact::reason::{Reason, Refusal, Verdict};
use crate::ids::Id;

/// What stays of a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The route it came by.
    pub route: Route,
    /// Who asked.
    pub source: SourceId,
    /// The decision's id, where it has one.
    pub decision_id: Option<Id>,
    /// What was decided.
    pub decision: Noted,
    /// Why.
    pub reasons: SmallVec<[Reason; 2]>,
    /// For which purpose.
    pub purpose: Option<PurposeId>,
    /// On which channel.
    pub channel: Option<ChannelId>,
    /// Which way.
    pub direction: Option<Direction>,
}

/// What was decided. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Noted {
    /// A check.
    Check(Verdict),
    /// A declaration or a route was taken.
    Accepted,
    /// A declaration that named a token already named once (`tokens_reused`).
    AcceptedTokenReused,
    /// The machines turned it down.
    Refused(Refusal),
    /// A declaration that found nothing of its own to change.
    NothingToChange,
}

impl Note {
    /// A note of a decision about nothing in particular; callers fill in what they know.
    pub(super) fn new(command: &Command, decision: Noted) -> Self {
        Self {
            route: command.route,
            source: command.source,
            decision_id: None,
            decision,
            reasons: SmallVec::new(),
            purpose: None,
            channel: None,
            direction: None,
        }
    }
}
