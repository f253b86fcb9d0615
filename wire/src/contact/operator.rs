//! `/v1/operator/effects/*` and `/v1/operator/facts/end`: what people and systems of record say of
//! effects and of what their keys are tied to. Routes of our own.

use crate::answer::answer;
use crate::contact::check::EffectKind;
use crate::contact::effects::EffectState;
use crate::contact::subject::ObjectRef;
use crate::read::request;
use crate::value::{Attempt, Count, Instant, Label, ReasonText, ShortHash, one_of};

/// Most effects of one list.
pub const AWAITING_MAX: usize = 200;

request! {
    /// How an attempt ended, as a person or the system of record says.
    OperatorSettle<'a> {
        /// How it ended.
        state: required OperatorOutcome,
        /// Who says so.
        by: required SettledBy,
        /// The attempt that is meant; the current one when left out. Another one is refused.
        attempt: optional Attempt,
        /// Why, for the caller's own log: it is judged and not kept.
        reason: optional ReasonText<'a>,
    }
}

request! {
    /// The life of a record that effect keys are tied to is over.
    FactEnd<'a> {
        /// The record.
        object: required ObjectRef<'a>,
    }
}

answer! {
    /// What became of the keys that were tied to a record.
    derive(Clone, Copy, Debug, PartialEq, Eq)
    FactEnded {
        /// How many were done or failed, and are free now.
        freed: required u64 as Count,
        /// How many stay closed until they are settled, and from then on for the days of their kind.
        kept: required u64 as Count,
    }
}

one_of! {
    /// How an attempt ended.
    OperatorOutcome: "one of `done`, `failed`" {
        /// It happened.
        Done = "done",
        /// It did not.
        Failed = "failed",
    }
}

one_of! {
    /// Who says how an attempt ended.
    SettledBy: "one of `person`, `observation`" {
        /// A person looked.
        Person = "person",
        /// The system of record shows it.
        Observation = "observation",
    }
}

one_of! {
    /// Why an outcome is unknown.
    UnknownBecause: "one of `lease_over`, `declared`" {
        /// Nobody settled it before its lease ended.
        LeaseOver = "lease_over",
        /// Its holder said so.
        Declared = "declared",
    }
}

answer! {
    /// An effect as it is now, for whoever settled it without holding it.
    derive(Clone, Copy, Debug, PartialEq, Eq)
    OperatorEffect {
        /// Its short name: its first 21 characters are those of its `effect_id`.
        short_id: required [u8; 16] as ShortHash,
        /// Where it is.
        state: required &'static str as EffectState,
        /// The attempt.
        attempt: required u32 as Attempt,
        /// When it was reserved.
        reserved_at: required i64 as Instant,
        /// When it was done.
        done_at: optional i64 as Instant,
    }
}

answer! {
    /// An effect whose outcome nobody knows.
    derive(Clone, Debug, PartialEq, Eq)
    AwaitingEffect<'a> {
        /// Its short name, which the settlement takes too: its first 21 characters are those of its
        /// `effect_id`.
        short_id: required [u8; 16] as ShortHash,
        /// What kind of act.
        kind: required EffectKind as EffectKind,
        /// The source that reserved the attempt.
        source: required &'a str as Label<'a>,
        /// The attempt.
        attempt: required u32 as Attempt,
        /// When it was reserved.
        reserved_at: required i64 as Instant,
        /// Since when nobody knows.
        unknown_since: required i64 as Instant,
        /// For how many seconds nobody knows.
        age_s: required u64 as Count,
        /// Why nobody knows.
        because: required &'static str as UnknownBecause,
    }
}

answer! {
    /// Effects that wait for a decision, oldest first.
    derive(Clone, Debug, PartialEq, Eq)
    AwaitingEffects<'a> {
        /// The oldest.
        items: present Vec<AwaitingEffect<'a>> as AwaitingEffect<'a>,
        /// How many there are.
        awaiting: required u64 as Count,
        /// How many were in use all the time and are not counted; ask again.
        left_out: required u64 as Count,
    }
}
