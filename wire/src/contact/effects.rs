//! `POST /v1/coordination/effects` and `/effects/{effect_id}/settle`.

use crate::answer::answer;
use crate::contact::check::EffectKind;
use crate::contact::subject::ObjectRef;
use crate::read::request;
use crate::value::{Attempt, CostUnits, Hash32, Instant, LongLabel, one_of};

request! {
    /// An external act to be reserved.
    EffectReserve<'a> {
        /// The act.
        effect_key: required LongLabel<'a>,
        /// What kind of act.
        kind: required EffectKind,
        /// What it costs.
        cost_units: defaulted CostUnits,
        /// The record whose life is the key's life.
        fact: optional ObjectRef<'a>,
    }
}

request! {
    /// How an attempt ended.
    EffectSettle {
        /// The attempt.
        attempt: required Attempt,
        /// How it ended.
        state: required EffectOutcome,
    }
}

one_of! {
    /// How an attempt ended.
    EffectOutcome: "one of `done`, `failed`, `unknown_outcome`" {
        /// It happened.
        Done = "done",
        /// It did not.
        Failed = "failed",
        /// Nobody knows.
        UnknownOutcome = "unknown_outcome",
    }
}

one_of! {
    /// Where an effect is.
    EffectState: "one of `reserved`, `done`, `failed`, `unknown_outcome`" {
        /// A live attempt has it.
        Reserved = "reserved",
        /// It happened.
        Done = "done",
        /// It did not.
        Failed = "failed",
        /// Nobody knows.
        UnknownOutcome = "unknown_outcome",
    }
}

answer! {
    /// An effect.
    derive(Clone, Copy, Debug, PartialEq, Eq)
    Effect {
        /// The key's public name, which paths carry instead of the key.
        effect_id: required [u8; 32] as Hash32,
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
