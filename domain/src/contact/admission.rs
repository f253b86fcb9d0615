//! One call of a paid operation that was let through.
//!
//! Here: what an admission is and how it is settled (`docs/spec/contact.md` §7). It lives in the
//! directory row of its id, so its place is where its id leads. Not here: the units, which are on the
//! meter of the operation's scope (`paid`).

use serde::{Deserialize, Serialize};

use crate::contact::directory::{DirectoryRow, Target};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{UnitsCorrected, UnitsReserved};
use crate::contact::name::{OperationId, SourceId};
use crate::contact::paid::Meters;
use crate::contact::policy::PaidBudget;
use crate::contact::text::Text;
use crate::key::EntityKey;
use crate::machine::Entities;
use crate::time::Timestamp;

/// For how long an admission is remembered after it expired, in seconds: a late settlement is taken
/// until then.
pub const KEPT_S: i64 = 86_400;

/// One admission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// The operation's name.
    pub operation: Text,
    /// From when its units count, which is when they were reserved or, after an erasure in that very
    /// millisecond, the next one. By this moment its settlement finds them.
    pub at: Timestamp,
    /// Until when its settlement is expected. Nothing happens then: its units stay spent.
    pub expires_at: Timestamp,
    /// Units that were reserved.
    pub reserved: u32,
    /// How it stands.
    pub state: AdmissionState,
    /// Who was let through, and so may settle it.
    pub source: SourceId,
}

/// How an admission stands. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AdmissionState {
    /// Not settled yet.
    Reserved,
    /// The call was made.
    Done {
        /// What it really cost, in units.
        cost: u32,
    },
    /// The call failed; its units stay spent.
    Failed,
    /// No call was made; its units went back.
    Skipped,
}

impl AdmissionState {
    /// The word on the wire.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Done { .. } => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// What counts of `reserved` units in this state.
    #[must_use]
    pub const fn units(self, reserved: u32) -> u32 {
        match self {
            Self::Reserved | Self::Failed => reserved,
            Self::Done { cost } => cost,
            Self::Skipped => 0,
        }
    }
}

impl Admission {
    /// The operation's number.
    #[must_use]
    pub fn operation_id(&self) -> OperationId {
        OperationId::of(&self.operation)
    }

    /// Units that count of it now.
    #[must_use]
    pub const fn units(&self) -> u32 {
        self.state.units(self.reserved)
    }

    /// The change of the meter when it turns to `state`; `None` when its units stay.
    pub(super) fn correction(&self, state: AdmissionState) -> Option<UnitsCorrected> {
        let (from, to) = (self.units(), state.units(self.reserved));
        (from != to).then(|| UnitsCorrected {
            operation: self.operation_id(),
            reserved_at: self.at,
            from,
            to,
        })
    }

    /// The row an admission is written in.
    pub(super) fn row(self, target: Target) -> DirectoryRow {
        DirectoryRow {
            target,
            until: self.expires_at.plus_s(KEPT_S),
            terms: None,
            erased: None,
            admission: Some(Box::new(self)),
        }
    }
}

/// The event that reserves units, which count from `at` on.
pub(super) const fn reservation(
    operation: OperationId,
    budget: &PaidBudget,
    units: u32,
    at: Timestamp,
) -> UnitsReserved {
    UnitsReserved {
        operation,
        units,
        at,
        keep_hours: budget.per_hours,
        limit: budget.limit_units,
    }
}

/// The meters that an operation's units are on.
pub(super) fn meters<'a>(
    entities: &Entities<'a, ContactEntity>,
    entity: &EntityKey,
) -> Option<&'a Meters> {
    entities.get(entity).and_then(ContactEntity::meters)
}

/// The highest cost an operation was settled with so far.
pub(super) fn measured(entities: &Entities<'_, ContactEntity>, budget: &EntityKey) -> Option<u32> {
    let known = entities.get(budget)?.as_space_budget()?;
    known.measured
}
