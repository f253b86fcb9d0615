//! A space's `coordination` document.
//!
//! What is accepted reads the same once it was stored, keeps the bounds of the contract and knows
//! each of its names by its number. What is refused is told by member and rule.

use std::sync::LazyLock;

use interlock_domain::contact::fixture;
use interlock_domain::contact::policy::{LoadError, Policy, Vault, sensitive};
use serde_json::Value;

use crate::Outcome;

static VAULT: LazyLock<Vault> = LazyLock::new(fixture::vault);

/// A `coordination` document.
///
/// # Panics
/// When a property is broken.
pub fn configuration(document: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(document) else {
        return Outcome::Refused;
    };
    match load(text) {
        Ok(policy) => {
            reads_the_same_once_stored(text, &policy);
            knows_its_names(&policy);
            keeps_its_bounds(&policy);
            is_whole(text);
            Outcome::Accepted
        }
        Err(error) => {
            assert!(!error.field.is_empty(), "no member: {error}");
            assert!(!error.rule.is_empty(), "no rule: {error}");
            assert_eq!(load(text).map(drop), Err(error), "another refusal");
            Outcome::Refused
        }
    }
}

fn load(text: &str) -> Result<Policy, LoadError> {
    Policy::load(1, text, &VAULT)
}

/// A document is stored as a value and written anew at each start.
fn reads_the_same_once_stored(text: &str, policy: &Policy) {
    let value: Value = serde_json::from_str(text).expect("what is accepted is JSON");
    for stored in [value.to_string(), format!("{value:#}")] {
        let again = load(&stored).unwrap_or_else(|error| panic!("{error} of {stored}"));
        assert_eq!(format!("{again:?}"), format!("{policy:?}"));
        assert_eq!(sensitive(policy, &again), [], "an edit that edits nothing");
    }
}

fn knows_its_names(policy: &Policy) {
    for purpose in policy.purposes() {
        assert_eq!(policy.purpose(&purpose.name), Some(purpose.id));
        assert_eq!(policy.purpose_name(purpose.id), Some(&*purpose.name));
    }
    for channel in policy.channels() {
        assert_eq!(policy.channel(&channel.name), Some(channel.id));
        assert_eq!(policy.channel_name(channel.id), Some(&*channel.name));
    }
    for gateway in policy.gateways() {
        assert_eq!(policy.gateway(&gateway.name), Some(gateway.id));
        let known = policy.gateway_rules(gateway.id).map(|one| &one.name);
        assert_eq!(known, Some(&gateway.name));
    }
    assert!(policy.level(None).is_some(), "there is a level");
    let rank = usize::from(policy.handoffs.rank);
    assert!(rank < policy.ownership.levels.len(), "no level of handoffs");
    for outcome in &policy.handoffs.suppressions {
        let reason = policy.reason_rules(outcome.reason);
        assert!(reason.is_some(), "a reason that is none");
        let purpose = policy.suppression_purpose_name(outcome.purpose);
        assert!(purpose.is_some(), "a purpose that is none");
        let known = policy.handoffs.vocabulary.contains(&outcome.outcome);
        assert!(known, "an outcome that is none");
    }
}

fn keeps_its_bounds(policy: &Policy) {
    for budget in policy
        .purposes()
        .iter()
        .filter_map(|one| one.budget.as_ref())
    {
        assert!((1..=1_000).contains(&budget.limit), "{budget:?}");
        assert!(budget.per_hours >= 1, "{budget:?}");
        let slices: u64 = budget.slices.iter().map(|one| u64::from(one.limit)).sum();
        assert!(slices <= u64::from(budget.limit), "{budget:?}");
    }
    for (_, paid) in &policy.paid {
        assert!((1..=1_000_000_000).contains(&paid.limit_units), "{paid:?}");
        assert!(
            (1..=paid.limit_units).contains(&paid.call_ceiling),
            "{paid:?}"
        );
    }
    if let Some(operation) = &policy.paid_call_operation {
        assert!(policy.paid_budget(operation).is_some(), "no such operation");
    }
    assert!(policy.effect_lease_s >= 1, "a lease that ends at once");
}

fn is_whole(text: &str) {
    let whole = text.trim_end();
    let cut = whole.get(..text.len() % whole.len());
    if let Some(cut) = cut {
        assert!(load(cut).is_err(), "it was cut");
    }
}
