//! The decision receipt: what stays of every decision, without the handle.
//!
//! Here: the row of `docs/spec/contact.md` §21, as compact numbers; the time and the space are in
//! the record around it. Not here: where it is kept and for how long (`storage`, `actors`).

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::contact::command::{Command, Direction, Route};
use crate::contact::name::{AgentId, ChannelId, IntentId, PurposeId, SourceId};
use crate::contact::reason::{Reason, Refusal, Verdict};
use crate::contact::text::Text;
use crate::ids::Id;
use crate::key::KeyHash;
use crate::time::Timestamp;

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
    /// The numbers that were compared.
    pub facts: Facts,
    /// What it counts as in reports.
    pub mark: Option<Mark>,
}

/// What a decision counts as in reports (`docs/spec/contact.md` §18). Stored: append only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    /// An `allow` reserved a contact.
    ContactReserved,
    /// A contact that was allowed is declared; the note's decision is the one that allowed it.
    ContactMade,
    /// A contact that no decision allowed is declared.
    ContactDeclared,
    /// A claim was accepted beside a live one of another holder.
    OwnershipOverlap,
    /// A message came or went. Its text is nowhere.
    Message(Box<MessageNoted>),
}

/// What stays of a message, beside the channel, the purpose and the direction of its note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageNoted {
    /// Whose, as a keyed hash.
    pub customer: KeyHash,
    /// When it was written; never later than when it was noted.
    pub occurred_at: Timestamp,
    /// Who wrote it; `None`: the customer.
    pub agent: Option<AgentId>,
    /// The agent's name, when it is short and that of a program.
    pub name: Option<Text>,
    /// The step it was.
    pub intent: Option<IntentId>,
    /// The token it went with.
    pub jti: Option<Id>,
    /// It is an approved template.
    pub template: bool,
}

/// Numbers of a decision, in the order they were compared.
pub type Facts = SmallVec<[(Fact, i64); 2]>;

/// What a number of a decision is. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// Contacts that count in the window, or things there are of a bounded kind.
    Used,
    /// Units left, after the decision.
    Remaining,
    /// How many there may be.
    Limit,
    /// The window, in hours.
    PerHours,
    /// When a unit is free again, in milliseconds since 1970.
    NextMs,
    /// When what decided ends, in milliseconds since 1970.
    UntilMs,
    /// The attempt of the effect.
    Attempt,
    /// The asked level's place; 0 is the strictest.
    RankAsked,
    /// The held level's place; 0 is the strictest.
    RankHeld,
    /// The epoch that was named.
    EpochAsked,
    /// The claim's epoch.
    Epoch,
    /// Units that were asked for, or that the call costs.
    Units,
    /// The most units of one call.
    Ceiling,
}

impl Fact {
    /// A word for people and machines; what ends in `_ms` is an instant.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::Remaining => "remaining",
            Self::Limit => "limit",
            Self::PerHours => "per_hours",
            Self::NextMs => "next_ms",
            Self::UntilMs => "until_ms",
            Self::Attempt => "attempt",
            Self::RankAsked => "rank_asked",
            Self::RankHeld => "rank_held",
            Self::EpochAsked => "epoch_asked",
            Self::Epoch => "epoch",
            Self::Units => "units",
            Self::Ceiling => "ceiling",
        }
    }
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
            facts: Facts::new(),
            mark: None,
        }
    }
}
