//! A handoff: a customer is passed to another holder, who owes an outcome.
//!
//! Here: the handoff entity, its states and what its events do to it (`docs/spec/contact.md` §16). In
//! `handoff/`: one file per command. Not here: the hold, which is a claim of the customer like any
//! other (`claim`), and the texts of a handoff, which only the edge reads.

pub(super) mod accept;
mod answer;
pub(super) mod close;
pub mod command;
pub(super) mod create;
pub(super) mod effects;
pub(super) mod find;
pub(super) mod note;
pub(super) mod read;

use serde::{Deserialize, Serialize};

use crate::contact::command::EffectKind;
use crate::contact::event::{HandoffHeld, HandoffTurned};
use crate::contact::key;
use crate::contact::legal_hold::HoldTarget;
use crate::contact::promise::Promise;
use crate::contact::reply::{CommitmentView, EffectState, OwnerView};
use crate::contact::text::Text;
use crate::ids::Id;
use crate::key::{EntityKey, KeyHash, Kind, SpaceId};
use crate::machine::Broken;
use crate::time::Timestamp;

/// How many handoffs of one customer may wait for their outcome.
pub const OPEN_MAX: usize = 16;

/// How many handoffs of one customer are kept, open and ended ones.
pub const KEPT_MAX: usize = 256;

/// How long a closed or an expired handoff is kept, in seconds. One that is due is never forgotten.
pub const ENDED_KEPT_S: i64 = 90 * 86_400;

/// One handoff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    /// Whom it passes on.
    pub customer: KeyHash,
    /// Who is to take over.
    pub target: Text,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its outcome is due.
    pub expected_by: Timestamp,
    /// Where it is; never [`HandoffStatus::Expired`], which only time makes of it.
    pub state: HandoffStatus,
    /// When it came to stand so.
    pub turned_at: Timestamp,
    /// How it ended.
    pub outcome: Option<Text>,
    /// Its texts, sealed by the edge: the handle, the reason, the conversation, the agent.
    pub sealed: Vec<u8>,
    /// The destination, sealed by the edge as an entry of the suppression list keeps it; empty when
    /// the handle is none, and then no outcome can suppress it.
    pub destination: Box<[u8]>,
    /// What was known of the customer when it was made.
    pub package: Package,
    /// The conversation it came from.
    pub conversation: Option<KeyHash>,
    /// Legal holds that keep it.
    pub holds: Vec<Id>,
}

/// Where a handoff is. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HandoffStatus {
    /// It waits for its target.
    Created,
    /// The target took it.
    Accepted,
    /// It has an outcome.
    Closed,
    /// Its outcome did not come in time.
    Expired,
}

impl HandoffStatus {
    /// The word on the wire.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Accepted => "accepted",
            Self::Closed => "closed",
            Self::Expired => "expired",
        }
    }
}

/// What was known of the customer when the handoff was made; it never changes. A coordinator knows
/// nothing of a customer that a receiving side of the level `V0` may not read, and of no record but
/// the ones somebody names, so it lists no open objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Who held the customer before.
    pub owner: Option<OwnerView>,
    /// What was offered and held.
    pub commitments: Vec<CommitmentView>,
    /// What the company owed.
    pub promises: Vec<Promise>,
    /// The purposes the customer was suppressed for, on any channel.
    pub suppressions: Vec<Text>,
    /// The newest effects the customer was checked with.
    pub effects: Vec<EffectSeen>,
    /// The outcomes there were.
    pub vocabulary: Vec<Text>,
}

/// An effect as a package shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectSeen {
    /// Its public id.
    pub id: [u8; 32],
    /// What it is.
    pub kind: EffectKind,
    /// How it stood.
    pub state: EffectState,
}

impl Handoff {
    /// The handoff before its first event: over since ever.
    pub(super) fn empty() -> Self {
        Self {
            customer: KeyHash([0; 16]),
            target: Text::from(""),
            created_at: Timestamp(i64::MIN),
            expected_by: Timestamp(i64::MIN),
            state: HandoffStatus::Created,
            turned_at: Timestamp(i64::MIN),
            outcome: None,
            sealed: Vec::new(),
            destination: Box::default(),
            package: Package::default(),
            conversation: None,
            holds: Vec::new(),
        }
    }

    /// Where it is at `now`: due until `now` reaches `expected_by`.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> HandoffStatus {
        if self.is_expired(now) {
            return HandoffStatus::Expired;
        }
        self.state
    }

    /// Whether its outcome did not come in time: `handoffs_expired` of the overview counts those.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.state != HandoffStatus::Closed && self.expected_by <= now && !self.is_erased()
    }

    /// Whether it went with its customer; nothing of it is left, and the next sweep takes it.
    #[must_use]
    pub fn is_erased(&self) -> bool {
        self.created_at == Timestamp(i64::MIN)
    }

    pub(super) fn erase(&mut self) {
        *self = Self::empty();
    }

    /// When it may be forgotten; `None` while a legal hold keeps it.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        if !self.holds.is_empty() {
            return None;
        }
        let ended = match self.state {
            HandoffStatus::Closed => self.turned_at,
            HandoffStatus::Created | HandoffStatus::Accepted | HandoffStatus::Expired => {
                self.expected_by
            }
        };
        Some(ended.plus_s(ENDED_KEPT_S))
    }

    /// Whether a legal hold on `target` is about it.
    #[must_use]
    pub fn is_of(&self, target: HoldTarget) -> bool {
        match target {
            HoldTarget::Customer(customer) => self.customer == customer,
            HoldTarget::Conversation(conversation) => self.conversation == Some(conversation),
            HoldTarget::Object(_) => false,
        }
    }

    /// Whether what a declaration says of whose it is, if anything, is so.
    pub(super) fn may_be_of(&self, subject: Option<KeyHash>) -> bool {
        subject.is_none_or(|subject| subject == self.customer)
    }

    pub(super) fn hold(&mut self, event: &HandoffHeld) {
        self.holds.retain(|hold| *hold != event.hold);
        if event.placed {
            self.holds.push(event.hold);
        }
    }

    pub(super) fn turn(&mut self, event: &HandoffTurned) {
        self.state = event.state;
        self.turned_at = event.at;
        self.outcome.clone_from(&event.outcome);
    }

    /// C8, as far as one state shows it.
    pub(super) fn check(&self) -> Result<(), Broken> {
        let is_closed = self.state == HandoffStatus::Closed;
        if is_closed == self.outcome.is_some() && self.state != HandoffStatus::Expired {
            return Ok(());
        }
        Err(Broken {
            invariant: "C8",
            seen: format!("a handoff in state {:?} and its outcome", self.state),
        })
    }
}

/// The name of a handoff, by the id it was handed out under.
#[must_use]
pub const fn handoff_key(space: SpaceId, id: Id) -> EntityKey {
    key(space, Kind::Handoff, KeyHash(id.0))
}
