//! The `coordination` document (§19, Appendix B): what is refused, and with which words.

use crate::contact::Contact;
use crate::contact::fixture::{
    CONFORMANCE, check, contact_made, message, policy, reserve, suppress, vault,
};
use crate::contact::name::{GatewayId, IntentId, PurposeId};
use crate::contact::policy::{MappingEffect, Policy, Vault};
use crate::contact::reply::{Member, Reply};
use crate::machine::{Machine, Versioned};

fn load(document: &str) -> Result<Policy, String> {
    Policy::load(1, document, &vault()).map_err(|error| error.to_string())
}

#[test]
fn the_conformance_document_loads_whole() {
    let policy = policy();
    assert_eq!(policy.version(), 1);
    let names: Vec<&str> = policy
        .purposes()
        .iter()
        .map(|purpose| &*purpose.name)
        .collect();
    assert_eq!(
        names,
        [
            "collection",
            "marketing",
            "retention",
            "service",
            "transactional"
        ]
    );
    for (name, guarded) in [("marketing", true), ("retention", true), ("service", false)] {
        let id = policy.purpose(name).expect("declared");
        let rules = policy.purpose_rules(id).expect("declared");
        assert_eq!(
            (rules.fails_closed, rules.token),
            (guarded, guarded),
            "{name}"
        );
    }
    let collection = policy.purpose_rules(PurposeId::of("collection"));
    let budget = collection
        .and_then(|rules| rules.budget.as_ref())
        .expect("a budget");
    assert_eq!((budget.limit, budget.per_hours), (4, 168));
    let reminder = &budget.slices[1];
    assert_eq!(reminder.intent, IntentId::of("reminder"));
    assert_eq!(reminder.spread_ms, Some(86_400_000));
    assert_eq!(policy.effect_lease_s, 60);
    assert_eq!(policy.gateways()[0].key, [b'k'; 32]);
    assert_eq!(policy.ownership.mappings[1].effect, MappingEffect::Ends);
    assert_eq!(policy.handoffs.rank, 2);
    assert_eq!(policy.handoffs.suppressions.len(), 1);
    assert_eq!(policy.keep_changes_days, 30);
}

#[test]
fn a_space_without_a_document_can_check_at_once() {
    let policy = Policy::defaults(1);
    for name in [
        "transactional",
        "service",
        "marketing",
        "retention",
        "collection",
    ] {
        let id = policy.purpose(name).expect("a standard purpose");
        assert!(
            policy
                .purpose_rules(id)
                .is_some_and(|rules| rules.budget.is_none())
        );
    }
    for name in ["whatsapp", "sms", "voice", "email"] {
        assert!(policy.channel(name).is_some(), "{name}");
    }
    assert!(policy.suppression_reason("opt_out").is_some());
    assert_eq!(policy.effect_lease_s, 60);
    assert!(load("{}").is_ok(), "an empty document is all defaults");
}

#[test]
fn a_gateway_key_is_never_printed() {
    let printed = format!("{:?}", policy());
    assert!(printed.contains("wa_gateway"));
    assert!(!printed.contains("107, 107"), "the key");
}

/// A change of the conformance document, and what the refusal says.
const REFUSED: [(&str, &str, &str); 37] = [
    (
        r#""limit": 4, "per_hours": 168"#,
        r#""limit": 2, "per_hours": 168"#,
        "purposes.collection.budget.slices: limits add up to 3, above the budget's limit of 2",
    ),
    (
        r#""spread": true, "spread_days": 2"#,
        r#""spread": true"#,
        "purposes.collection.budget.slices[1].spread_days: a spread slice needs `spread_days`",
    ),
    (
        r#""spread": true, "spread_days": 2"#,
        r#""spread_days": 2"#,
        "purposes.collection.budget.slices[1].spread_days: needs `spread`: true",
    ),
    (
        r#""spread_days": 2"#,
        r#""spread_days": 0"#,
        "purposes.collection.budget.slices[1].spread_days: must be 1 to 366",
    ),
    (
        r#"{"intent": "reminder", "limit": 2"#,
        r#"{"intent": "first_notice", "limit": 2"#,
        "purposes.collection.budget.slices: an intent has at most one slice",
    ),
    (
        r#"{"intent": "first_notice", "limit": 1}"#,
        r#"{"intent": "first_notice", "limit": 0}"#,
        "purposes.collection.budget.slices[0].limit: must be 1 to 1000",
    ),
    (
        r#"{"intent": "first_notice", "limit": 1}"#,
        r#"{"intent": "First", "limit": 1}"#,
        "purposes.collection.budget.slices[0].intent: a name must match ^[a-z][a-z0-9_]{0,39}$",
    ),
    (
        r#""limit": 1, "per_hours": 24"#,
        r#""limit": 1001, "per_hours": 24"#,
        "purposes.retention.budget.limit: must be 1 to 1000",
    ),
    (
        r#""limit": 1, "per_hours": 24"#,
        r#""limit": 1, "per_hours": 0"#,
        "purposes.retention.budget.per_hours: must be 1 to 8784",
    ),
    (
        r#""limit": 1, "per_hours": 24"#,
        r#""limit": -1, "per_hours": 24"#,
        "purposes.retention.budget.limit: invalid",
    ),
    (
        r#""limit": 1, "per_hours": 24"#,
        r#""limit": 1.5, "per_hours": 24"#,
        "purposes.retention.budget.limit: invalid",
    ),
    (
        r#""service": {"fails": "open", "token": false}"#,
        r#""service": {"fails": "maybe"}"#,
        "purposes.service.fails: unknown variant `maybe`",
    ),
    (
        r#""service": {"fails": "open", "token": false}"#,
        r#""service": {"token": false}"#,
        "purposes.service: missing field `fails`",
    ),
    (
        r#""service": {"fails": "open", "token": false}"#,
        r#""service": {"fails": "open", "colour": 1}"#,
        "purposes.service.colour: unknown field `colour`",
    ),
    (
        r#""service":"#,
        r#""transactional":"#,
        "`transactional` is given twice",
    ),
    (
        r#""service":"#,
        r#""any":"#,
        "purposes.any: `any` means every purpose; it cannot be one",
    ),
    (
        r#""voice": {}"#,
        r#""Voice": {}"#,
        "channels.Voice: a name must match ^[a-z][a-z0-9_]{0,39}$",
    ),
    (
        r#""free_form_hours": 24"#,
        r#""free_form_hours": 0"#,
        "channels.whatsapp.free_form_hours: must be 1 to 8784",
    ),
    (
        r#""to": "08:00""#,
        r#""to": "21:00""#,
        "channels.sms.quiet_hours.to: `from` and `to` must differ",
    ),
    (
        r#""to": "08:00""#,
        r#""to": "8:00""#,
        "channels.sms.quiet_hours.from: `from` and `to` are times of day, 00:00 to 23:59",
    ),
    (
        r#""tz": "America/Sao_Paulo""#,
        r#""tz": "GMT-3""#,
        "channels.sms.quiet_hours.tz: must be a zone of the IANA database",
    ),
    (
        r#""level": "human_active", "lease_s": 1800"#,
        r#""level": "busy", "lease_s": 1800"#,
        "ownership.mappings[0].level: the level is not one of `ownership.levels`",
    ),
    (
        r#""source": "panel", "ends": true"#,
        r#""source": "phone", "ends": true"#,
        "ownership.mappings[1].source: is not one of `ownership.sources`",
    ),
    (
        r#""source": "panel", "ends": true"#,
        r#""source": "panel""#,
        "ownership.mappings[1]: needs either",
    ),
    (
        r#""closed", "human_active""#,
        r#""human_active", "human_active""#,
        "ownership.levels: a level is given twice",
    ),
    (
        r#""max_validity_s": 3600"#,
        r#""max_validity_s": 86401"#,
        "ownership.sources.panel.max_validity_s: must be 1 to 86400",
    ),
    (
        r#""max_declared_lease_s": 86400"#,
        r#""max_declared_lease_s": 0"#,
        "ownership.max_declared_lease_s: must be 1 to 86400",
    ),
    (
        r#""days": 30"#,
        r#""days": 0"#,
        "suppression.reasons.cooling_off.days: must be 1 to 36500",
    ),
    (
        r#""vault:wa_gateway""#,
        r#""wa_gateway""#,
        "gateways.wa_gateway.key_ref: must read `vault:<name>`",
    ),
    (
        r#""vault:wa_gateway""#,
        r#""vault:other""#,
        "gateways.wa_gateway.key_ref: the vault has no such key; set it with `interlock vault set --space \
         SPACE other`, its value on standard input, or give it to `spaces create` with `--vault other=FILE`",
    ),
    (
        r#""vault:wa_gateway""#,
        r#""vault:Wa gateway""#,
        "gateways.wa_gateway.key_ref: a name must match ^[a-z][a-z0-9_]{0,39}$",
    ),
    (
        r#""effect_lease_s": 60"#,
        r#""effect_lease_s": 0"#,
        "effects.effect_lease_s: must be 1 to 86400",
    ),
    (
        r#""delivery": 30"#,
        r#""deliveries": 30"#,
        "effects.effect_key_days.deliveries: no such kind of effect",
    ),
    (
        r#""effect_lease_s": 60"#,
        r#""effect_key_of_fact": ["filing", "deliveries"]"#,
        "effects.effect_key_of_fact[1]: no such kind of effect",
    ),
    (
        r#""effect_lease_s": 60"#,
        r#""effect_key_of_fact": ["filing", "filing"]"#,
        "effects.effect_key_of_fact[1]: a kind is given twice",
    ),
    (
        r#""call_ceiling": 4"#,
        r#""call_ceiling": 11"#,
        "paid.registry_search.call_ceiling: must be 1 to 10",
    ),
    (
        r#""level": "transfer_pending""#,
        r#""level": "transfer""#,
        "handoffs.level: the level is not one of `ownership.levels`",
    ),
];

#[test]
fn b11_pitfall_22_23_what_breaks_a_rule_is_refused_with_its_field() {
    for (old, new, says) in REFUSED {
        let document = CONFORMANCE.replacen(old, new, 1);
        assert_ne!(document, CONFORMANCE, "nothing was replaced: {old}");
        let refused = load(&document).expect_err(new);
        assert!(refused.contains(says), "{new}: {refused}");
    }
}

#[test]
fn handoff_outcomes_must_be_in_the_vocabulary_and_suppress_what_is_declared() {
    let changes = [
        (
            r#""callback", "opt_out"]"#,
            r#""callback"]"#,
            "handoffs.outcomes.opt_out: is not in",
        ),
        (
            r#"{"purpose": "marketing", "reason""#,
            r#"{"purpose": "ads", "reason""#,
            "handoffs.outcomes.opt_out.suppress.purpose: is not declared",
        ),
        (
            r#""marketing", "reason": "opt_out""#,
            r#""marketing", "reason": "whim""#,
            "handoffs.outcomes.opt_out.suppress.reason: is not declared",
        ),
    ];
    for (old, new, says) in changes {
        let document = CONFORMANCE.replacen(old, new, 1);
        assert_ne!(document, CONFORMANCE, "nothing was replaced: {old}");
        let refused = load(&document).expect_err(new);
        assert!(refused.contains(says), "{refused}");
    }
}

#[test]
fn b11_slices_of_five_in_four_are_refused() {
    let document = CONFORMANCE.replace(
        r#""intent": "reminder", "limit": 2"#,
        r#""intent": "reminder", "limit": 4"#,
    );
    let refused = load(&document).expect_err("5 of 4");
    assert!(
        refused.contains("limits add up to 5, above the budget's limit of 4"),
        "{refused}"
    );
}

#[test]
fn a_gateway_key_is_32_bytes() {
    for length in [0, 31, 33] {
        let vault = Vault::from([("wa_gateway".to_owned(), vec![0; length])]);
        let refused = Policy::load(1, CONFORMANCE, &vault).expect_err("a wrong length");
        assert_eq!(refused.field, "gateways.wa_gateway.key_ref");
        assert_eq!(refused.rule, "the key must be 32 bytes");
    }
}

#[test]
fn what_is_not_a_document_is_refused() {
    for (document, field) in [
        ("", "coordination"),
        ("[]", "coordination"),
        ("[{}, {}, {}, {}, {}, {}, {}, {}, {}]", "coordination"),
        ("null", "coordination"),
        ("{} {}", "coordination"),
        (r#"{"purposes": []}"#, "purposes"),
        (r#"{"porpoises": {}}"#, "porpoises"),
        (r#"{"": {}}"#, "coordination"),
    ] {
        let refused = load(document).expect_err(document);
        assert!(refused.starts_with(&format!("{field}: ")), "{refused}");
        assert!(!refused.contains(" at line "), "{refused}");
    }
}

#[test]
fn a_command_under_a_newer_policy_needs_its_names() {
    let narrow = r#"{"purposes": {"service": {"fails": "open"}}, "channels": {"voice": {}},
        "suppression": {"reasons": {"complaint": {}}}}"#;
    let narrow = Policy::load(2, narrow, &vault()).expect("a policy");
    let mut through = check().on("voice");
    through.gateway = Some(GatewayId::of("wa_gateway"));
    let table = [
        (check().command(), None),
        (
            check().purpose("marketing").command(),
            Some(Member::Purpose),
        ),
        (check().on("whatsapp").command(), Some(Member::Channel)),
        (through.command(), Some(Member::GatewayId)),
        (reserve("k"), None),
        (contact_made("p", "marketing", None), Some(Member::Purpose)),
        (contact_made("p", "service", None), Some(Member::Channel)),
        (suppress("p", "any").command(), Some(Member::Reason)),
        (message("p", "whatsapp", super::NOON), Some(Member::Channel)),
    ];
    for (mut command, member) in table {
        let rebound = Contact::rebind(&mut command, &narrow);
        assert_eq!(rebound.err(), member.map(Reply::Undeclared), "{command:?}");
        assert_eq!(Contact::rebind(&mut command, &policy()), Ok(()));
    }
}

#[test]
fn pitfall_27_budgets_that_keep_too_much_of_one_customer_are_refused() {
    let slices: Vec<String> = (0..20)
        .map(|slice| format!(r#"{{"intent": "i{slice}", "limit": 1}}"#))
        .collect();
    let document = |limit: u32| {
        let slices = slices.join(",");
        let budget = format!(r#"{{"limit": {limit}, "per_hours": 24, "slices": [{slices}]}}"#);
        format!(r#"{{"purposes": {{"ads": {{"fails": "open", "budget": {budget}}}}}}}"#)
    };
    let refused = load(&document(1_000)).expect_err("21,000 contacts");
    assert!(
        refused.starts_with("purposes: budgets would keep 21000"),
        "{refused}"
    );
    assert!(load(&document(900)).is_ok());
}

#[test]
fn numbers_come_from_names_alone() {
    // Persisted: these never change.
    let numbers = ["service", "marketing", "whatsapp"].map(|name| PurposeId::of(name).0);
    assert_eq!(numbers, [2_394_940_643, 3_367_971_802, 3_312_598_969]);
    assert_eq!(IntentId::of("follow_up").0, 16_832_770_400_639_197_475);
    assert_eq!(
        PurposeId::of("marketing"),
        policy().purpose("marketing").expect("declared")
    );
    assert_eq!(policy().suppression_purpose("any"), Some(PurposeId::ANY));
    assert_eq!(policy().purpose("any"), None);
    assert_ne!(PurposeId::of("any"), PurposeId::ANY);
}

#[test]
fn the_default_sections_are_what_a_section_that_is_left_out_is() {
    type Sections = serde_json::Map<String, serde_json::Value>;
    let sections: Sections = serde_json::from_str(Policy::DEFAULT_SECTIONS).unwrap();
    let defaults = format!("{:?}", Policy::defaults(1));
    for (name, section) in &sections {
        let alone = serde_json::json!({ name: section }).to_string();
        let policy = Policy::load(1, &alone, &Vault::new()).unwrap();
        assert_eq!(format!("{policy:?}"), defaults, "{name}");
    }
    // What the reader of documents knows, by its own words.
    let unknown = Policy::load(1, r#"{"?": 1}"#, &Vault::new()).unwrap_err();
    let (_, known) = unknown.rule.split_once("expected one of ").unwrap();
    let mut known: Vec<&str> = known.split(", ").map(|one| one.trim_matches('`')).collect();
    known.sort_unstable();
    assert_eq!(sections.keys().collect::<Vec<_>>(), known);
}
