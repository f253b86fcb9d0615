//! `POST /v1/coordination/effects` and `/effects/{effect_id}/settle`.

use crate::contact::check::EffectKind;
use crate::contact::subject::ObjectRef;
use crate::json::Object;
use crate::read::request;
use crate::value::{Attempt, CostUnits, LongLabel, one_of};

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

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The key's public name.
    pub effect_id: [u8; 32],
    /// `reserved`, `done`, `failed` or `unknown_outcome`.
    pub state: &'static str,
    /// The attempt.
    pub attempt: u32,
    /// When it was reserved, in milliseconds since 1970.
    pub reserved_at: i64,
    /// When it was done, in milliseconds since 1970.
    pub done_at: Option<i64>,
}

impl Effect {
    /// Writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.hash("effect_id", &self.effect_id);
        object.word("state", self.state);
        object.number("attempt", u64::from(self.attempt));
        object.instant("reserved_at", self.reserved_at);
        if let Some(at) = self.done_at {
            object.instant("done_at", at);
        }
        object.close();
    }
}
