//! The section `paid` of the document (`docs/spec/contact.md` §7).
//!
//! Here: the caps of paid operations and their bounds. Who may call: `load`.

use super::{Loaded, bounded, distinct, hours, load_named};
use crate::contact::name::OperationId;
use crate::contact::policy::PaidBudget;
use crate::contact::policy::document::{Named, PaidDocument};
use crate::contact::text::Text;

/// Units of one budget at most. Far below 32 bits, so that no cost a client names is cut into it.
const UNITS_MAX: u32 = 1_000_000_000;

pub(super) fn load_paid(named: Option<Named<PaidDocument>>) -> Loaded<Vec<(Text, PaidBudget)>> {
    let paid = load_named("paid", named, load_one)?;
    let numbers = paid.iter().map(|(name, _)| OperationId::of(name).0);
    distinct("paid", numbers)?;
    Ok(paid)
}

fn load_one(field: &str, document: PaidDocument) -> Loaded<PaidBudget> {
    let member = |name: &str| format!("{field}.{name}");
    let limit = bounded(&member("limit_units"), document.limit_units, 1, UNITS_MAX)?;
    let ceiling = document.call_ceiling;
    Ok(PaidBudget {
        scope: document.scope,
        limit_units: limit,
        per_hours: hours(&member("per_hours"), document.per_hours)?,
        call_ceiling: bounded(&member("call_ceiling"), ceiling, 1, limit)?,
    })
}
