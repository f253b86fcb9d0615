//! The section `effects` of the document (`docs/spec/contact.md` §8).
//!
//! Here: leases, days of keys, which keys live as long as a fact, and what paid calls draw on. Who may call: `load`.

use super::{LEASE_S_MAX, Loaded, bounded, days, refuse};
use crate::contact::command::EffectKind;
use crate::contact::policy::document::EffectsDocument;
use crate::contact::policy::{PaidBudget, PaidScope};
use crate::contact::text::Text;

/// The rules of effects.
pub(super) struct Effects {
    pub(super) lease_s: u32,
    pub(super) key_days: [u16; EffectKind::ALL.len()],
    pub(super) paid_call_operation: Option<Text>,
    pub(super) key_of_fact: [bool; EffectKind::ALL.len()],
}

pub(super) fn load_effects(
    document: Option<EffectsDocument>,
    paid: &[(Text, PaidBudget)],
) -> Loaded<Effects> {
    let document = document.unwrap_or_default();
    let lease = document.effect_lease_s.unwrap_or(60);
    let lease_s = bounded("effects.effect_lease_s", lease, 1, LEASE_S_MAX)?;
    let mut key_days = [30, 365, 365, 3_650, 7, 90];
    let listed = document.effect_key_days.map(|listed| listed.0);
    for (kind, value) in listed.unwrap_or_default() {
        let field = format!("effects.effect_key_days.{kind}");
        key_days[place(&field, &kind)?] = days(&field, value)?;
    }
    let mut key_of_fact = [false; EffectKind::ALL.len()];
    let listed = document.effect_key_of_fact.unwrap_or_default();
    for (index, kind) in listed.iter().enumerate() {
        let field = format!("effects.effect_key_of_fact[{index}]");
        let known = &mut key_of_fact[place(&field, kind)?];
        if *known {
            return Err(refuse(field, "a kind is given twice"));
        }
        *known = true;
    }
    let operation = document.paid_call_operation;
    Ok(Effects {
        lease_s,
        key_days,
        paid_call_operation: operation.map(|name| space_wide(&name, paid)).transpose()?,
        key_of_fact,
    })
}

/// The number of a kind that is named.
fn place(field: &str, kind: &str) -> Loaded<usize> {
    let mut kinds = EffectKind::ALL.iter();
    let place = kinds.position(|known| known.name() == kind);
    place.ok_or_else(|| refuse(field, "no such kind of effect"))
}

/// An operation that an effect may draw on: an effect names neither a customer nor an object.
fn space_wide(name: &str, paid: &[(Text, PaidBudget)]) -> Loaded<Text> {
    let field = "effects.paid_call_operation";
    let Some((name, budget)) = paid.iter().find(|(known, _)| **known == *name) else {
        return Err(refuse(field, "must be an operation of `paid`"));
    };
    match budget.scope {
        PaidScope::Space => Ok(name.clone()),
        PaidScope::Object | PaidScope::Subject => Err(refuse(
            field,
            "must be an operation whose `scope` is `space`: an effect names no customer and no object",
        )),
    }
}
