//! What is shown of a type is what it enforces, and what it writes.

use std::collections::BTreeSet;

use interlock_document::Document;
use interlock_wire::contact::admissions::Admission;
use interlock_wire::contact::advice::{ContextResponse, CoordinationBlock};
use interlock_wire::contact::check::{
    ChannelState, CheckBatchResponse, CheckRequest, CheckResult, ClaimVia, CommitmentRef,
    ContactBudget, Direction, EffectKind, EffectStatus, Lock, Owner, PromiseRef, write_batch,
};
use interlock_wire::contact::claims::{ClaimKind, OwnershipClaim};
use interlock_wire::contact::declare::{ContactWindow, Declaration, DeclareResult};
use interlock_wire::contact::effects::{Effect, EffectState};
use interlock_wire::contact::handoffs::{
    EffectSeen, Handoff, HandoffContext, HandoffPackage, OpenObject, OutcomeRequest, PackageSpec,
    Verification,
};
use interlock_wire::contact::keys::{ContactKey, ContactKeys, KeyCurve, KeyStatus, KeyType};
use interlock_wire::contact::messages::BatchResponse;
use interlock_wire::contact::operator::{AwaitingEffect, AwaitingEffects, OperatorEffect};
use interlock_wire::contact::reports::{
    AskedRun, ConflictCounts, ContactBudgetUse, ContactCount, ContactState, CoordinationOverview,
    CoordinationReport, CoordinationReportPage, EffectCount, HolderKind, OwnershipCount, RunStatus,
    ShadowRun,
};
use interlock_wire::contact::subject::{Handle, ObjectRef};
use interlock_wire::contact::suppressions::{Suppression, SuppressionPage, SuppressionSalt};
use interlock_wire::problem::{Code, Problem};
use interlock_wire::profile::{NodeStatus, SdkProfile, SourceMe};
use interlock_wire::read;
use interlock_wire::shape::{Components, RefOr, Shape};
use interlock_wire::time;
use interlock_wire::value::{HASH_PATTERN, Hash32, NAME_PATTERN, TIME_OF_DAY_PATTERN, is_name};
use proptest::prelude::*;
use regex_lite::Regex;
use serde_json::{Value, json};

/// A document of the one type's components, and the type's name in it.
fn document<T: Shape>() -> (Document, String) {
    let mut components = Components::default();
    let RefOr::Ref(reference) = T::shape(&mut components) else {
        panic!("not a component");
    };
    let name = reference
        .ref_location
        .rsplit('/')
        .next()
        .expect("a reference")
        .to_owned();
    let schemas: serde_json::Map<String, Value> = components
        .into_schemas()
        .map(|(name, schema)| (name.to_owned(), json!(schema)))
        .collect();
    let text = json!({"components": {"schemas": schemas}}).to_string();
    (Document::parse(text.as_bytes()).expect("JSON"), name)
}

/// Holds what is written to what is shown: of the schema, and with every member it lists.
fn written<T: Shape>(write: impl FnOnce(&mut Vec<u8>)) {
    let (document, name) = document::<T>();
    let mut out = Vec::new();
    write(&mut out);
    let value: Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(document.component(&name, &value), Ok(()), "{value}");
    let listed = &document.json()["components"]["schemas"][&name]["properties"];
    let names = |value: &Value| -> BTreeSet<String> {
        value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(
        names(&value),
        names(listed),
        "the sample of {name} is whole"
    );
}

fn owner() -> Owner<'static> {
    Owner {
        holder: "closing",
        kind: "owner",
        level: "agent_active",
        source: "agents",
        via: "declaration",
        since: 0,
        valid_until: 1,
        epoch: 7,
    }
}

fn commitment() -> CommitmentRef<'static> {
    CommitmentRef {
        id: "c1",
        r#type: "discount",
        valid_until: Some(1),
    }
}

fn promise() -> PromiseRef<'static> {
    PromiseRef {
        id: "p1",
        owner: "billing",
        due: Some(1),
    }
}

fn budget() -> (&'static str, ContactBudget) {
    let left = ContactBudget {
        remaining: 2,
        next_allowed_at: Some(1),
    };
    ("marketing", left)
}

fn check_result(token: &str) -> CheckResult<'_> {
    CheckResult {
        decision: "allow",
        decision_id: [1; 16],
        valid_for_s: 60,
        reasons: ["template_required"].into_iter().collect(),
        holder: Some("closing"),
        owner: Some(owner()),
        locks: vec![Lock {
            holder: "closing",
            kind: "task_lock",
            task: Some("quote"),
            until: 1,
        }],
        effect: Some(EffectStatus {
            state: "none",
            attempt: Some(1),
        }),
        channel: Some(ChannelState {
            free_form_until: Some(1),
            template_required: true,
            quiet_until: Some(1),
        }),
        contact_budget: [budget()].into_iter().collect(),
        suppressions: ["marketing"].into_iter().collect(),
        contact_window_until: Some(1),
        commitments_active: vec![commitment()],
        promises_open: vec![promise()],
        contact_token: Some(token),
    }
}

#[test]
fn answers_of_checks_are_written_as_shown() {
    let token = format!("nct1.abc.{}", "A".repeat(86));
    let result = check_result(&token);
    written::<CheckResult<'_>>(|out| result.write(out));
    written::<CheckBatchResponse>(|out| write_batch(out, [&result], |out, one| one.write(out)));
    let block = CoordinationBlock {
        owner: Some(owner()),
        suppressions: ["any"].into_iter().collect(),
        contact_budget: [budget()].into_iter().collect(),
        commitments_active: vec![commitment()],
        promises_open: vec![promise()],
    };
    let response = ContextResponse {
        coordination: Some(block),
    };
    written::<ContextResponse<'_>>(|out| response.write(out));
}

#[test]
fn answers_of_declarations_are_written_as_shown() {
    let declared = DeclareResult {
        accepted: true,
        decision_id: Some([1; 16]),
        claim_id: Some([2; 16]),
        epoch: Some(7),
    };
    written::<DeclareResult>(|out| declared.write(out));
    let effect = Effect {
        effect_id: [1; 32],
        state: "done",
        attempt: 1,
        reserved_at: 0,
        done_at: Some(1),
    };
    written::<Effect>(|out| effect.write(out));
    let claim = OwnershipClaim {
        claim_id: [1; 16],
        epoch: 7,
        holder: "closing",
        kind: "owner",
        level: "agent_active",
        valid_until: 1,
    };
    written::<OwnershipClaim<'_>>(|out| claim.write(out));
    let batch = BatchResponse {
        accepted: 1,
        duplicates: 0,
        errors: vec![(3, "why")],
    };
    written::<BatchResponse>(|out| batch.write(out));
}

#[test]
fn what_the_node_says_is_written_as_shown() {
    for code in Code::ALL {
        let problem = Problem {
            code: *code,
            detail: "why",
            request_id: "r",
            held: Some(("closing", 1)),
            next_allowed_at: Some(1),
        };
        written::<Problem<'_>>(|out| problem.write(out));
    }
    written::<NodeStatus>(|out| NodeStatus { status: "ok" }.write(out));
    let profile = SdkProfile {
        features: &["coordination"],
        valid_for_s: 300,
    };
    written::<SdkProfile<'_>>(|out| profile.write(out));
    let me = SourceMe {
        space_id: [1; 16],
        tenant_id: [1; 16],
        region: "local",
        environment: "test",
        source_number: 1,
        source_id: "agents",
        source_name: "agents",
        key_id: "a",
        scopes: vec!["coordinate"],
        audience: "agent",
        verification_ceiling: "V0",
    };
    written::<SourceMe<'_>>(|out| me.write(out));
}

#[test]
fn handoffs_are_written_as_shown() {
    let handle = r#"{"type":"email","value":"a@b.io","scope":"s","subject_kind":"person"}"#;
    let subject: Handle<'_> = read::body(handle.as_bytes()).unwrap();
    let object = r#"{"type":"deal","namespace":"crm","id":"7"}"#;
    let object: ObjectRef<'_> = read::body(object.as_bytes()).unwrap();
    let package = HandoffPackage {
        spec: PackageSpec::V0,
        handoff_id: "h",
        created_at: 0,
        from_agent: "closing",
        target: "people",
        level: Verification::V0,
        reason: Some("asked for a person"),
        subject: Some(subject),
        context: HandoffContext {
            text: "what was said",
            etag: Some("e"),
            policy_version: Some("p"),
        },
        owner: Some(owner()),
        open_objects: vec![OpenObject {
            r#ref: object,
            state: Some("open"),
            since: Some(1),
        }],
        open_objects_more: 2,
        commitments_active: vec![commitment()],
        promises_open: vec![promise()],
        effects: vec![EffectSeen {
            effect_id: [1; 32],
            kind: EffectKind::Delivery,
            state: EffectState::Done,
        }],
        suppressions: vec!["marketing"],
        outcome: Some(OutcomeRequest {
            expected_by: Some(1),
            vocabulary: vec!["won"],
        }),
    };
    written::<HandoffPackage<'_>>(|out| package.write(out));
    let handoff = Handoff {
        handoff_id: "h",
        status: "closed",
        created_at: 0,
        expected_by: Some(1),
        outcome: Some("won"),
        package: Some(package),
    };
    written::<Handoff<'_>>(|out| handoff.write(out));
}

#[test]
fn lists_and_keys_are_written_as_shown() {
    let window = r#"{"from":"08:00","to":"20:00","tz":"UTC","days":[1,7]}"#;
    let window: ContactWindow<'_> = read::body(window.as_bytes()).unwrap();
    let entry = Suppression {
        id: "s",
        key: [1; 32],
        purpose: "any",
        channel: Some("voice"),
        since: 0,
        until: Some(1),
        window: Some(window),
        removed: false,
    };
    written::<Suppression<'_>>(|out| entry.write(out));
    let page = SuppressionPage {
        salt_id: "x",
        items: vec![entry],
        next_cursor: Some("c"),
        reset: true,
    };
    written::<SuppressionPage<'_>>(|out| page.write(out));
    let salt = SuppressionSalt {
        salt_id: "x",
        salt: [1; 32],
        valid_from: 0,
    };
    written::<SuppressionSalt<'_>>(|out| salt.write(out));
    let keys = ContactKeys {
        keys: vec![ContactKey {
            kty: KeyType::Okp,
            crv: KeyCurve::Ed25519,
            x: [1; 32],
            kid: "key-00001",
            space: [1; 16],
            status: KeyStatus::Active,
            not_after: Some(1),
        }],
    };
    written::<ContactKeys<'_>>(|out| keys.write(out));
}

#[test]
fn admissions_and_awaiting_effects_are_written_as_shown() {
    let admission = Admission {
        admission_id: [1; 16],
        operation: "registry_search",
        state: "skipped",
        units: 4,
        expires_at: 0,
        remaining: Some(6),
    };
    written::<Admission<'_>>(|out| admission.write(out));
    let effects = AwaitingEffects {
        items: vec![AwaitingEffect {
            short_id: [1; 16],
            kind: EffectKind::Filing,
            source: "agents",
            attempt: 1,
            reserved_at: 0,
            unknown_since: 1,
            age_s: 7,
            because: "lease_over",
        }],
        awaiting: 1,
        left_out: 0,
    };
    written::<AwaitingEffects<'_>>(|out| effects.write(out));
    let settled = OperatorEffect {
        short_id: [1; 16],
        state: "done",
        attempt: 1,
        reserved_at: 0,
        done_at: Some(1),
    };
    written::<OperatorEffect>(|out| settled.write(out));
}

#[test]
fn reports_are_written_as_shown() {
    let overview = CoordinationOverview {
        since: 0,
        ownership: vec![OwnershipCount {
            kind: ClaimKind::Owner,
            level: "agent_active",
            via: ClaimVia::Declaration,
            holder_kind: HolderKind::Agent,
            claims: 1,
            holders: 1,
        }],
        effects: vec![EffectCount {
            kind: EffectKind::Notice,
            state: EffectState::Failed,
            effects: 1,
        }],
        awaiting_decision: 1,
        conflicts: ConflictCounts {
            ownership_overlaps: 1,
            commitments_superseded: 1,
            handoffs_expired: 1,
            tokens_reused: 1,
        },
        budgets: vec![ContactBudgetUse {
            purpose: "marketing",
            limit: 1,
            per_hours: 24,
            subjects: 1,
            spent: 1,
            at_limit: 1,
        }],
        contacts: vec![ContactCount {
            direction: Direction::Outbound,
            purpose: "marketing",
            state: ContactState::Made,
            contacts: 1,
        }],
    };
    written::<CoordinationOverview<'_>>(|out| overview.write(out));
    let report = CoordinationReport {
        report_id: "r",
        status: RunStatus::Done,
        requested_at: 0,
        finished_at: Some(1),
        days: 30,
        summary: Some(r#"{"messages":1}"#),
    };
    written::<CoordinationReport<'_>>(|out| report.write(out));
    let page = CoordinationReportPage {
        items: vec![report],
        next_cursor: Some("c"),
    };
    written::<CoordinationReportPage<'_>>(|out| page.write(out));
    let run = ShadowRun {
        report_id: "r",
        status: AskedRun::Pending,
    };
    written::<ShadowRun<'_>>(|out| run.write(out));
}

#[test]
fn a_request_shows_its_members_as_it_reads_them() {
    let (document, name) = document::<CheckRequest<'_>>();
    let shown = &document.json()["components"]["schemas"][&name];
    assert_eq!(
        shown["required"],
        json!(["agent", "intent", "direction", "purpose"])
    );
    assert_eq!(shown["additionalProperties"], json!(false));
    let agent = json!({"type": "string", "minLength": 1, "maxLength": 256,
        "description": "Who is about to."});
    assert_eq!(shown["properties"]["agent"], agent);
    let kind = json!({"allOf": [{"$ref": "#/components/schemas/EffectKind"}],
        "default": "delivery", "description": "What kind of act."});
    assert_eq!(shown["properties"]["effect_kind"], kind);
}

#[test]
fn a_declaration_is_shown_once_for_each_kind() {
    let (document, name) = document::<Declaration>();
    let shown = &document.json()["components"]["schemas"][&name];
    assert_eq!(shown["oneOf"].as_array().unwrap().len(), 12);
    let declared =
        json!({"kind": "task_lock", "agent": "a", "detail": {"lease_s": 1, "task": "t"}});
    assert_eq!(document.component(&name, &declared), Ok(()));
    let mixed = json!({"kind": "lease", "agent": "a", "detail": {"lease_s": 1, "task": "t"}});
    assert!(document.component(&name, &mixed).is_err());
}

/// Texts near the edges of the patterns.
fn near() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9_]{0,42}",
        "[A-Za-z0-9_-]{42,44}",
        "[0-9]{2}:[0-9]{2}",
        "[0-2][0-9]:[0-6][0-9]\n?",
        ".{0,45}",
    ]
}

proptest! {
    #[test]
    fn a_pattern_is_what_is_enforced(text in near()) {
        let shown = |pattern: &str| Regex::new(pattern).unwrap().is_match(&text);
        prop_assert_eq!(shown(NAME_PATTERN), is_name(&text));
        prop_assert_eq!(shown(HASH_PATTERN), Hash32::parse(&text).is_some());
        prop_assert_eq!(shown(TIME_OF_DAY_PATTERN), time::is_time_of_day(&text));
    }
}
