//! Who has a customer, an object or a task.
//!
//! Here: claims and locks as entities keep them, and which of several holds
//! (`docs/spec/contact.md` §9, §10). Not here: which are accepted (`claim_target`, `observe_owner`,
//! `lock_task`) and how they are given back (`release_claim`).

pub(super) mod answer;
pub(super) mod naming;

use serde::{Deserialize, Serialize};

use crate::contact::event::ClaimReleased;
use crate::contact::name::{AgentId, IntentId, TaskId};
use crate::contact::reply::{ClaimReply, LockView, OwnerView};
use crate::contact::text::Text;
use crate::ids::Id;
use crate::machine::Broken;
use crate::time::Timestamp;

/// What a claim is. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ClaimKind {
    /// The holder answers for the target.
    Owner,
    /// The holder has a case open on the target.
    Case,
    /// The holder has one task of an object.
    TaskLock,
}

impl ClaimKind {
    /// The word on the wire.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Case => "case",
            Self::TaskLock => "task_lock",
        }
    }
}

/// The way a claim came. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ClaimVia {
    /// Somebody declared it.
    Declaration,
    /// A mapped event.
    Mapping,
    /// An ownership source reported it.
    Worker,
    /// The hold of a handoff. To a client it is a declaration; nobody renews it or gives it back but
    /// the handoff's outcome.
    Handoff,
}

impl ClaimVia {
    /// The word on the wire.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Declaration | Self::Handoff => "declaration",
            Self::Mapping => "mapping",
            Self::Worker => "worker",
        }
    }

    /// Whether a source outside says so.
    #[must_use]
    pub const fn is_observed(self) -> bool {
        match self {
            Self::Mapping | Self::Worker => true,
            Self::Declaration | Self::Handoff => false,
        }
    }
}

/// A holder has a customer or an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its id.
    pub id: Id,
    /// `owner` or `case`; task locks are [`TaskLock`]s.
    pub kind: ClaimKind,
    /// Its holder.
    pub holder: Text,
    /// Its level's name.
    pub level: Text,
    /// Its level's place among the space's levels when it was accepted; 0 is the strictest.
    pub rank: u8,
    /// The source it came from, by name.
    pub source: Text,
    /// The way it came.
    pub via: ClaimVia,
    /// Since when it holds.
    pub since: Timestamp,
    /// When it was last accepted: renewals included.
    pub accepted_at: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// Its epoch; grows over all claims of the target.
    pub epoch: u64,
    /// The intents others may follow.
    pub intents: Vec<IntentId>,
    /// When what an ownership source reported was so; of a declaration, when it was accepted.
    pub observed_at: Timestamp,
    /// When its id was handed out.
    pub named_at: Timestamp,
}

/// A holder has one task of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLock {
    /// Its id.
    pub id: Id,
    /// Its holder.
    pub holder: Text,
    /// The task.
    pub task: Text,
    /// The source it came from, by name.
    pub source: Text,
    /// Since when it holds.
    pub since: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// Its epoch.
    pub epoch: u64,
    /// The level its answer shows.
    pub level: Text,
    /// When it was last accepted: renewals included.
    pub accepted_at: Timestamp,
    /// When its id was handed out.
    pub named_at: Timestamp,
}

/// How long an ended claim or lock is remembered, in seconds: a release that comes again is
/// answered as before, and an observation that comes late is known to be older.
pub const ENDED_KEPT_S: i64 = 86_400;

/// How many ended claims, and as many ended locks, a target remembers; the newest stay.
pub const ENDED_KEPT_MAX: usize = 32;

/// How many live claims a target has at most. Declared ones are bounded by the levels and reported
/// ones by the sources of a document; only changed documents come near it.
pub const CLAIMS_LIVE_MAX: usize = 128;

/// How many live locks an object has at most: 400 tasks at once, each with the longest holder, stay
/// below the 1 MiB of an entity.
pub const LOCKS_LIVE_MAX: usize = 400;

/// What claims and locks have in common: a life and a name.
pub(super) trait Held: Clone {
    fn id(&self) -> Id;
    fn epoch(&self) -> u64;
    fn until(&self) -> Timestamp;
    fn end(&mut self, at: Timestamp);
    fn reply(&self) -> ClaimReply;
}

impl Held for Claim {
    fn id(&self) -> Id {
        self.id
    }

    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn until(&self) -> Timestamp {
        self.until
    }

    fn end(&mut self, at: Timestamp) {
        self.until = self.until.min(at);
    }

    fn reply(&self) -> ClaimReply {
        ClaimReply {
            claim_id: self.id,
            epoch: self.epoch,
            holder: self.holder.clone(),
            kind: self.kind,
            level: self.level.clone(),
            valid_until: self.until,
        }
    }
}

impl Held for TaskLock {
    fn id(&self) -> Id {
        self.id
    }

    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn until(&self) -> Timestamp {
        self.until
    }

    fn end(&mut self, at: Timestamp) {
        self.until = self.until.min(at);
    }

    fn reply(&self) -> ClaimReply {
        ClaimReply {
            claim_id: self.id,
            epoch: self.epoch,
            holder: self.holder.clone(),
            kind: ClaimKind::TaskLock,
            level: self.level.clone(),
            valid_until: self.until,
        }
    }
}

/// Puts an accepted claim in the place of the one with its id, or behind the others, and forgets
/// what ended long ago; under a legal hold only what is more than may be kept.
pub(super) fn accept<T: Held>(known: &mut Vec<T>, accepted: &T, now: Timestamp, held: bool) {
    match known.iter_mut().find(|one| one.id() == accepted.id()) {
        Some(one) => one.clone_from(accepted),
        None => known.push(accepted.clone()),
    }
    known.retain(|one| held || now < forgotten_at(one.until()));
    let ended = known.iter().filter(|one| one.until() <= now).count();
    for _ in ENDED_KEPT_MAX..ended {
        let oldest = known
            .iter()
            .enumerate()
            .filter(|(_, one)| one.until() <= now)
            .min_by_key(|(_, one)| (one.until(), one.epoch()));
        if let Some((place, _)) = oldest {
            known.remove(place);
        }
    }
}

/// Ends the one with the event's id, if it is here.
pub(super) fn end<T: Held>(known: &mut [T], event: &ClaimReleased) {
    if let Some(one) = known.iter_mut().find(|one| one.id() == event.id) {
        one.end(event.at);
    }
}

/// When something that ends at `until` is forgotten.
pub(super) const fn forgotten_at(until: Timestamp) -> Timestamp {
    until.plus_s(ENDED_KEPT_S)
}

impl Claim {
    /// Whether it holds at `now`.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.until
    }

    /// Its name, and when that was handed out.
    pub(super) const fn named(&self) -> naming::Named {
        (self.id, self.named_at)
    }

    /// Whether it stops `agent` from `intent`: another holder, and an intent it does not list.
    #[must_use]
    pub fn stops(&self, agent: AgentId, intent: IntentId) -> bool {
        AgentId::of(&self.holder) != agent && !self.intents.contains(&intent)
    }

    /// As an answer shows it.
    #[must_use]
    pub fn view(&self) -> OwnerView {
        OwnerView {
            holder: self.holder.clone(),
            kind: self.kind,
            level: self.level.clone(),
            source: self.source.clone(),
            via: self.via,
            since: self.since,
            valid_until: self.until,
            epoch: self.epoch,
        }
    }

    /// Orders claims: the strictest first, of equals the last accepted. The epoch only settles
    /// two of one instant; it compares within one target.
    fn strictness(&self) -> impl Ord {
        let newest_first = std::cmp::Reverse((self.accepted_at, self.epoch));
        (self.rank, newest_first)
    }
}

impl TaskLock {
    /// Whether it holds at `now`.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.until
    }

    /// Whether it stops `agent` from `task`.
    #[must_use]
    pub fn stops(&self, agent: AgentId, task: TaskId) -> bool {
        TaskId::of(&self.task) == task && AgentId::of(&self.holder) != agent
    }

    /// As an answer shows it.
    #[must_use]
    pub fn view(&self) -> LockView {
        LockView {
            holder: self.holder.clone(),
            task: self.task.clone(),
            until: self.until,
        }
    }
}

/// The claim that governs: over one target, or over a customer and an object together.
#[must_use]
pub fn governing<'a>(claims: impl Iterator<Item = &'a Claim>, now: Timestamp) -> Option<&'a Claim> {
    claims
        .filter(|claim| claim.is_live(now))
        .min_by_key(|claim| claim.strictness())
}

/// C4: no two claims of one target have one epoch.
pub(super) fn check_epochs(epochs: impl Iterator<Item = u64>) -> Result<(), Broken> {
    let mut epochs: Vec<u64> = epochs.collect();
    epochs.sort_unstable();
    if epochs.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Broken {
            invariant: "C4",
            seen: "two claims of one target have one epoch".to_owned(),
        });
    }
    Ok(())
}
