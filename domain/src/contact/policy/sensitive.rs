//! Which edits of the rules are for more than one role to agree to (`docs/spec/contact.md` §19).
//!
//! Here: the comparison of two policies. Not here: who has which role and how they agree (the root
//! package). Called where an edit is proposed.

use super::{Policy, Purpose};

/// What an edit touches that the role `security` has to agree to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitive {
    /// A purpose that fails closed, before the edit or after it.
    FailClosedPurpose,
    /// The budget of `collection`.
    CollectionBudget,
    /// The reasons of suppressions.
    SuppressionReasons,
    /// What a gateway checks: the gateways, their keys, and which purposes need a token.
    GatewayChecks,
}

impl Sensitive {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::FailClosedPurpose => "a purpose that fails closed",
            Self::CollectionBudget => "the budget of collection",
            Self::SuppressionReasons => "the reasons of suppressions",
            Self::GatewayChecks => "the checks of a gateway",
        }
    }
}

/// What of it an edit touches. Policies are compared as they are used: a member that is spelled out
/// with its default value touches nothing.
#[must_use]
pub fn sensitive(before: &Policy, after: &Policy) -> Vec<Sensitive> {
    let pairs = purposes(before, after);
    let closed = |purpose: Option<&Purpose>| purpose.is_some_and(|purpose| purpose.fails_closed);
    let token = |purpose: Option<&Purpose>| purpose.is_some_and(|purpose| purpose.token);
    let budget = |policy: &Policy| {
        let purposes = policy.purposes().iter();
        let mut found = purposes.filter(|purpose| &*purpose.name == "collection");
        found.next().and_then(|purpose| purpose.budget.clone())
    };
    let touched = [
        (
            pairs
                .iter()
                .any(|(old, new)| (closed(*old) || closed(*new)) && old != new),
            Sensitive::FailClosedPurpose,
        ),
        (budget(before) != budget(after), Sensitive::CollectionBudget),
        (
            before.reasons != after.reasons,
            Sensitive::SuppressionReasons,
        ),
        (
            before.gateways != after.gateways
                || pairs.iter().any(|(old, new)| token(*old) != token(*new)),
            Sensitive::GatewayChecks,
        ),
    ];
    let touched = touched.into_iter().filter(|(is, _)| *is);
    touched.map(|(_, what)| what).collect()
}

/// Each purpose of either policy, as it was and as it becomes.
fn purposes<'p>(
    before: &'p Policy,
    after: &'p Policy,
) -> Vec<(Option<&'p Purpose>, Option<&'p Purpose>)> {
    fn named<'p>(policy: &'p Policy, name: &str) -> Option<&'p Purpose> {
        let mut purposes = policy.purposes().iter();
        purposes.find(|purpose| &*purpose.name == name)
    }
    let old = before.purposes().iter();
    let kept = old.map(|purpose| (Some(purpose), named(after, &purpose.name)));
    let new = after.purposes().iter();
    let added = new.filter(|purpose| named(before, &purpose.name).is_none());
    kept.chain(added.map(|purpose| (None, Some(purpose))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Sensitive::{
        CollectionBudget, FailClosedPurpose, GatewayChecks, SuppressionReasons,
    };
    use super::*;
    use crate::contact::policy::Vault;

    const BEFORE: &str = r#"{
        "purposes": {
            "service": {"fails": "open", "token": false},
            "marketing": {"fails": "closed", "token": true,
                "budget": {"limit": 3, "per_hours": 24}},
            "collection": {"fails": "open", "token": false,
                "budget": {"limit": 4, "per_hours": 168}}
        },
        "channels": {"sms": {}},
        "suppression": {"reasons": {"opt_out": {}}},
        "gateways": {"one": {"key_ref": "vault:a"}}
    }"#;

    fn load(document: &str) -> Policy {
        let vault: Vault = [("a", 1), ("b", 2)]
            .map(|(name, byte)| (name.to_owned(), vec![byte; 32]))
            .into();
        Policy::load(1, document, &vault).expect(document)
    }

    /// An edit: what is replaced by what, and what it touches.
    type Edit = (&'static str, &'static str, &'static [Sensitive]);

    const EDITS: [Edit; 14] = [
        // What only the role `integration` decides.
        ("\"sms\": {}", "\"sms\": {\"free_form_hours\": 24}", &[]),
        (
            "\"service\": {\"fails\": \"open\"",
            "\"service\": {\"budget\": {\"limit\": 1, \"per_hours\": 1}, \"fails\": \"open\"",
            &[],
        ),
        (
            "\"service\"",
            "\"news\": {\"fails\": \"open\", \"token\": false}, \"service\"",
            &[],
        ),
        (
            "\"reasons\": {\"opt_out\": {}}",
            "\"keep_changes_days\": 9, \"reasons\": {\"opt_out\": {}}",
            &[],
        ),
        (
            "\"per_hours\": 24",
            "\"slices\": [], \"per_hours\": 24",
            &[],
        ),
        // A purpose that fails closed.
        ("\"limit\": 3", "\"limit\": 9", &[FailClosedPurpose]),
        (
            "\"fails\": \"closed\"",
            "\"fails\": \"open\"",
            &[FailClosedPurpose],
        ),
        (
            "\"service\": {\"fails\": \"open\"",
            "\"service\": {\"fails\": \"closed\"",
            &[FailClosedPurpose],
        ),
        (
            "\"service\"",
            "\"news\": {\"fails\": \"closed\", \"token\": false}, \"service\"",
            &[FailClosedPurpose],
        ),
        // The budget of collection, whichever way it fails.
        ("\"limit\": 4", "\"limit\": 5", &[CollectionBudget]),
        // Reasons.
        (
            "{\"opt_out\": {}}",
            "{\"opt_out\": {\"days\": 3}}",
            &[SuppressionReasons],
        ),
        // Gateways, and who needs them.
        ("vault:a", "vault:b", &[GatewayChecks]),
        (
            "\"service\": {\"fails\": \"open\", \"token\": false",
            "\"service\": {\"fails\": \"open\", \"token\": true",
            &[GatewayChecks],
        ),
        (
            "\"closed\", \"token\": true",
            "\"closed\", \"token\": false",
            &[FailClosedPurpose, GatewayChecks],
        ),
    ];

    #[test]
    fn each_edit_touches_what_the_specification_says() {
        let before = load(BEFORE);
        for (old, new, touched) in EDITS {
            let document = BEFORE.replacen(old, new, 1);
            assert_ne!(document, BEFORE, "nothing was replaced: {old}");
            assert_eq!(sensitive(&before, &load(&document)), touched, "{new}");
            // Taking an edit back touches the same.
            assert_eq!(sensitive(&load(&document), &before), touched, "{new}");
        }
        assert!(sensitive(&before, &load(BEFORE)).is_empty());
    }
}
