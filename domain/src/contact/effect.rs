//! An external act that must happen once.
//!
//! Here: the effect entity and its transitions (`docs/spec/contact.md` §8), which a check, a
//! reservation and a settlement share. Not here: the key, which only the edge sees in clear.
//! Keeps C2: one attempt at a time, and a new one only after `failed`.
//!
//! A lapsed lease needs no event: whoever reads the effect after its end reads an unknown outcome,
//! and the next event carries all that is needed.

use serde::{Deserialize, Serialize};

use crate::contact::command::{EffectKind, EffectRef, SettledBy, Settlement};
use crate::contact::event::{EffectReserved, EffectSettled};
use crate::contact::name::SourceId;
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{EffectReply, EffectState};
use crate::machine::Broken;
use crate::time::Timestamp;

/// One effect, 32 bytes: a space keeps one for each act of the last months.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// When the current attempt was reserved.
    pub reserved_at: Timestamp,
    /// Reserved: when the lease ends. Else: when the attempt was settled.
    pub turned_at: Timestamp,
    /// The current attempt; 0 before the first.
    pub attempt: u32,
    /// The source that holds the attempt.
    pub source: SourceId,
    /// Done or failed: for how many days it is remembered.
    pub keep_days: u16,
    /// What it is; fixed by the first reservation.
    pub kind: EffectKind,
    /// How it stands, a lapsed lease not yet taken into account.
    pub state: EffectState,
    /// It lives as long as an object, whose entity lists it; the days do not count.
    pub tied: bool,
}

/// How a key stands for somebody who wants to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing holds it; this would be the attempt.
    Free {
        /// The attempt a reservation opens.
        attempt: u32,
    },
    /// It is held, in this state; never [`EffectState::Failed`].
    Held {
        /// The state, a lapsed lease taken into account.
        state: EffectState,
        /// The attempt that holds it.
        attempt: u32,
    },
}

/// An attempt as somebody names it to settle it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettleRequest {
    /// The attempt; `None`, which only others than the holder say, is the current one.
    pub attempt: Option<u32>,
    /// Who calls; counts only for the holder.
    pub source: SourceId,
    /// How it ended.
    pub settlement: Settlement,
    /// Who says so.
    pub by: SettledBy,
}

/// Why a settlement was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSettled {
    /// There is no such effect, or it is forgotten.
    Unknown,
    /// The machine refuses it.
    Refused(Refusal),
}

impl Effect {
    /// The effect before its first event.
    pub(super) const EMPTY: Self = Self {
        reserved_at: Timestamp(0),
        turned_at: Timestamp(0),
        attempt: 0,
        source: SourceId(0),
        keep_days: 0,
        kind: EffectKind::Delivery,
        state: EffectState::Failed,
        tied: false,
    };

    /// Its state at `now`.
    #[must_use]
    pub fn state_at(&self, now: Timestamp) -> EffectState {
        match self.state {
            EffectState::Reserved if self.turned_at <= now => EffectState::UnknownOutcome,
            state @ (EffectState::Reserved
            | EffectState::Done
            | EffectState::Failed
            | EffectState::UnknownOutcome) => state,
        }
    }

    /// When it may be forgotten: only what is settled as done or failed ever is, and not while it is
    /// tied to an object.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        let by_days = self.is_settled() && !self.tied;
        by_days.then(|| self.turned_at.plus_s(i64::from(self.keep_days) * 86_400))
    }

    /// Whether it is done or failed.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        match self.state {
            EffectState::Done | EffectState::Failed => true,
            EffectState::Reserved | EffectState::UnknownOutcome => false,
        }
    }

    fn is_forgotten(&self, now: Timestamp) -> bool {
        self.due().is_some_and(|due| due <= now)
    }

    /// As an answer shows it.
    #[must_use]
    pub fn reply(&self, created: bool, now: Timestamp) -> EffectReply {
        EffectReply {
            created,
            state: self.state_at(now),
            attempt: self.attempt,
            reserved_at: self.reserved_at,
            done_at: (self.state == EffectState::Done).then_some(self.turned_at),
        }
    }

    pub(super) fn reserve(&mut self, event: &EffectReserved) {
        *self = Self {
            reserved_at: event.at,
            turned_at: event.lease_until,
            attempt: event.attempt,
            source: event.source,
            keep_days: 0,
            kind: event.kind,
            state: EffectState::Reserved,
            tied: event.tied,
        };
    }

    /// The object it was tied to is no more: settled, it is free at once; else it lives by the days
    /// of its kind from its settlement on.
    pub(super) fn untie(&mut self) {
        self.tied = false;
        if self.is_settled() {
            self.keep_days = 0;
        }
    }

    pub(super) fn settle(&mut self, event: &EffectSettled) {
        self.turned_at = event.at;
        self.keep_days = event.keep_days;
        self.state = settled(event.settlement);
    }

    /// C2, as far as one state shows it.
    pub(super) fn check(&self) -> Result<(), Broken> {
        if self.attempt == 0 || self.turned_at < self.reserved_at {
            return Err(Broken {
                invariant: "C2",
                seen: format!("attempt {} in state {:?}", self.attempt, self.state),
            });
        }
        Ok(())
    }
}

/// How a key stands at `now`; `None` is a key nobody used.
#[must_use]
pub fn standing(effect: Option<&Effect>, now: Timestamp) -> Standing {
    let Some(effect) = effect.filter(|effect| !effect.is_forgotten(now)) else {
        return Standing::Free { attempt: 1 };
    };
    match effect.state_at(now) {
        EffectState::Failed => Standing::Free {
            attempt: effect.attempt.saturating_add(1),
        },
        state @ (EffectState::Reserved | EffectState::Done | EffectState::UnknownOutcome) => {
            Standing::Held {
                state,
                attempt: effect.attempt,
            }
        }
    }
}

/// The event that opens `attempt` of a free key; a later one is tied as the first was.
#[must_use]
pub(super) fn reservation(
    effect: Option<&Effect>,
    wanted: EffectRef,
    attempt: u32,
    source: SourceId,
    policy: &Policy,
    now: Timestamp,
) -> EffectReserved {
    // A later attempt is of the same effect; a forgotten key begins anew, with a kind of its own.
    let known = effect.filter(|_| attempt > 1);
    EffectReserved {
        kind: known.map_or(wanted.kind, |effect| effect.kind),
        attempt,
        source,
        at: now,
        lease_until: now.plus_s(i64::from(policy.effect_lease_s)),
        tied: known.is_some_and(|effect| effect.tied),
    }
}

/// What settling comes to: the event, or `None` when it is so already.
pub(super) fn settlement(
    effect: Option<&Effect>,
    request: SettleRequest,
    policy: &Policy,
    now: Timestamp,
) -> Result<Option<EffectSettled>, NotSettled> {
    let effect = effect
        .filter(|effect| !effect.is_forgotten(now))
        .ok_or(NotSettled::Unknown)?;
    let is_current = request.attempt.is_none_or(|named| named == effect.attempt);
    let may = match request.by {
        SettledBy::Holder => request.attempt.is_some() && request.source == effect.source,
        SettledBy::Observation | SettledBy::Person => true,
    };
    if !is_current || !may {
        return Err(NotSettled::Refused(Refusal::StaleAttempt));
    }
    let from = effect.state_at(now);
    if from == settled(request.settlement) {
        return Ok(None);
    }
    if !moves(from, request.settlement, request.by) {
        return Err(NotSettled::Refused(Refusal::InvalidTransition));
    }
    Ok(Some(EffectSettled {
        settlement: request.settlement,
        at: now,
        keep_days: policy.effect_key_days(effect.kind),
    }))
}

/// The table of §8, without what stays as it is.
const fn moves(from: EffectState, to: Settlement, by: SettledBy) -> bool {
    match (from, to, by) {
        (
            EffectState::Reserved,
            Settlement::Done | Settlement::Failed,
            SettledBy::Holder | SettledBy::Observation,
        )
        | (EffectState::Reserved, Settlement::UnknownOutcome, SettledBy::Holder)
        | (EffectState::UnknownOutcome, Settlement::Done | Settlement::Failed, _)
        | (EffectState::Failed, Settlement::Done, SettledBy::Observation) => true,
        (
            EffectState::Reserved
            | EffectState::UnknownOutcome
            | EffectState::Failed
            | EffectState::Done,
            _,
            _,
        ) => false,
    }
}

const fn settled(settlement: Settlement) -> EffectState {
    match settlement {
        Settlement::Done => EffectState::Done,
        Settlement::Failed => EffectState::Failed,
        Settlement::UnknownOutcome => EffectState::UnknownOutcome,
    }
}
