//! Bodies against the published contract, which the test set-up fetches and nobody commits.
//!
//! Here: the served document promises at least what the contract does. And both ways: what the server
//! answers is of its schema, and what breaks the schema of a request is refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use interlock_document::Document;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::Answered;
use crate::documented;
use crate::node::{
    BATCH, CHECK, CLAIMS, DECLARE, EFFECTS, KEY_A, KEY_D, KEY_SECURITY, Node, check, check_with,
    fresh, phone,
};

/// The contract.
fn contract() -> Document {
    let folder = std::env::var_os("INTERLOCK_OPENAPI").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/openapi"),
        PathBuf::from,
    );
    let text = std::fs::read(folder.join("cell.json"))
        .expect("the contract is missing; `cargo xtask setup` fetches it");
    Document::parse(&text).expect("the contract is JSON")
}

/// Whether a path of the published contract is about coordination. The rest of the SDK's document is
/// about a memory, which a coordinator has none of (`docs/spec/contact.md` §24).
fn is_ours(path: &str) -> bool {
    let ours = [
        "/v1/coordination/",
        "/v1/handoffs",
        "/v1/suppressions",
        "/v1/legal-holds",
    ];
    path == "/.well-known/niadra-contact-keys.json"
        || ours.iter().any(|start| path.starts_with(start))
}

/// Why a value is not of the named schema.
fn fault(contract: &Document, name: &str, value: &Value) -> Option<String> {
    contract.component(name, value).err()
}

/// The served document promises at least what the published contract does. Its answers may have the
/// members beside it that `docs/spec/contact.md` §2 lists.
#[test]
fn the_served_document_is_a_superset_of_the_contract() {
    let contract = contract();
    let added = [
        ("Problem", "holder"),
        ("Problem", "until"),
        ("Problem", "next_allowed_at"),
        ("DeclareResult", "claim_id"),
        ("DeclareResult", "epoch"),
    ];
    let contract = contract.about(is_ours);
    let operations = contract.json()["paths"].as_object().expect("paths").len();
    assert_eq!(operations, 19, "the paths of coordination and legal holds");
    let held = interlock_document::superset(&contract, documented::served(), &added);
    assert_eq!(held, Ok(()));
}

#[test]
fn w12_every_answer_is_of_its_schema() {
    let contract = contract();
    let node = Node::start();
    let is = |name: &str, value: &Value| assert_eq!(fault(&contract, name, value), None, "{value}");
    let value = "+5511955550000";
    let effect = fresh("effect");
    let mut checks = Vec::new();
    for purpose in [
        "service",
        "marketing",
        "retention",
        "retention",
        "collection",
    ] {
        for channel in ["whatsapp", "sms", "always_quiet", "voice"] {
            for direction in ["outbound", "inbound"] {
                checks.push(check_with(&json!({"purpose": purpose, "channel": channel,
                    "direction": direction, "subject": phone(value), "effect_key": effect})));
                checks.push(check_with(&json!({"purpose": purpose, "channel": channel,
                    "direction": direction, "subject": phone(value)})));
            }
        }
    }
    is(
        "CheckBatchResponse",
        &node.post(BATCH, &json!({"checks": checks})).ok(),
    );
    let window = json!({"from": "11:00", "to": "13:30", "tz": "UTC"});
    for detail in [
        json!({"purpose": "any", "reason": "opt_out", "window": window, "channel": "voice"}),
        json!({"purpose": "marketing", "reason": "cooling_off"}),
    ] {
        is(
            "DeclareResult",
            &node.declare_for(value, "suppression.added", &detail).ok(),
        );
    }
    let contact = json!({"channel": "whatsapp", "purpose": "service"});
    is(
        "DeclareResult",
        &node.declare_for(value, "contact.made", &contact).ok(),
    );
    for check in &checks {
        is("CheckResult", &node.check(check));
    }
    let reserve = json!({"effect_key": fresh("effect"), "kind": "filing"});
    let reserved = node.post(EFFECTS, &reserve).ok();
    is("Effect", &reserved);
    let settle = format!(
        "{EFFECTS}/{}/settle",
        reserved["effect_id"].as_str().unwrap()
    );
    for state in ["unknown_outcome", "done"] {
        is(
            "Effect",
            &node
                .post(&settle, &json!({"attempt": 1, "state": state}))
                .ok(),
        );
    }
    is("Effect", &node.post(EFFECTS, &reserve).ok());
    is(
        "Problem",
        &node.post(CHECK, &json!({})).problem(422, "invalid_input"),
    );
}

/// Reads it until what runs behind it has ended. One that does not end fails the test.
fn ended(read: impl Fn() -> Value, pending: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..4_000 {
        let value = read();
        if !pending(&value) {
            return value;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    panic!("it does not end");
}

/// The schemas of the contract's 2xx bodies.
fn answered(contract: &Document) -> BTreeSet<String> {
    let contract = contract.about(is_ours);
    let paths = contract.json()["paths"].as_object().expect("paths");
    let operations = paths.values().filter_map(Value::as_object).flatten();
    let answers = operations.filter_map(|(_, operation)| operation["responses"].as_object());
    let good = answers
        .flatten()
        .filter(|(status, _)| status.starts_with('2'));
    good.filter_map(|(_, answer)| answer["content"]["application/json"]["schema"]["$ref"].as_str())
        .filter_map(|name| name.rsplit('/').next().map(str::to_owned))
        .collect()
}

/// Holds answers to the contract, and keeps which schemas it has seen.
struct Holder {
    contract: Document,
    seen: BTreeSet<String>,
}

impl Holder {
    fn is(&mut self, name: &str, answer: &Answered) -> Value {
        assert!((200..300).contains(&answer.status), "{name}: {answer:?}");
        let value = answer.json();
        assert_eq!(fault(&self.contract, name, &value), None, "{name}: {value}");
        self.seen.insert(name.to_owned());
        value
    }

    fn claims(&mut self, node: &Node, value: &str) {
        let owner = json!({"kind": "owner", "holder": "maria", "lease_s": 600,
            "subject": phone(value)});
        let lock = json!({"kind": "task_lock", "holder": "maria", "lease_s": 600, "task": "t",
            "object": {"type": "deal", "namespace": "crm", "id": "7"}});
        for claim in [owner, lock] {
            let claim = self.is("OwnershipClaim", &node.post(CLAIMS, &claim));
            let path = format!("{CLAIMS}/{}/release", claim["claim_id"].as_str().unwrap());
            let epoch = json!({"epoch": claim["epoch"]});
            self.is("OwnershipClaim", &node.post(&path, &epoch));
        }
    }

    fn list(&mut self, node: &Node, value: &str) {
        let list = || node.get("/v1/suppressions", Some(KEY_A));
        self.is("SuppressionPage", &list());
        let window = json!({"from": "11:00", "to": "13:30", "tz": "UTC"});
        for detail in [
            json!({"purpose": "any", "reason": "opt_out", "window": window, "channel": "voice"}),
            json!({"purpose": "marketing", "reason": "cooling_off"}),
        ] {
            node.declare_for(value, "suppression.added", &detail).ok();
        }
        let lifted = json!({"purpose": "marketing"});
        node.declare_for(value, "suppression.lifted", &lifted).ok();
        self.is("SuppressionPage", &list());
        let salt = node.get("/v1/suppressions/salt", Some(KEY_A));
        self.is("SuppressionSalt", &salt);
        let keys =
            "/.well-known/niadra-contact-keys.json?space=07070707-0707-0707-0707-070707070707";
        self.is("ContactKeys", &node.get(keys, None));
    }

    fn handoffs(&mut self, node: &Node, value: &str) {
        let offer = json!({"commitment_id": fresh("offer"), "type": "offer", "terms": {"off": 5}});
        node.declare_for(value, "commitment.made", &offer).ok();
        let wanted = json!({"subject": phone(value), "target": "human_desk", "agent": "closing",
            "reason": "asked for a person", "conversation_id": "talk-1"});
        let made = self.is("Handoff", &node.post("/v1/handoffs", &wanted));
        let path = format!("/v1/handoffs/{}", made["handoff_id"].as_str().unwrap());
        self.is("Handoff", &node.get(&path, Some(KEY_A)));
        let accept = node.post(&format!("{path}/accept"), &json!({}));
        self.is("Handoff", &accept);
        let outcome = json!({"outcome": "opt_out", "detail": {"says": "enough"}});
        self.is("Handoff", &node.post(&format!("{path}/outcome"), &outcome));
    }

    fn holds(&mut self, node: &Node, value: &str) {
        let hold = json!({"handle": phone(value), "reason": "a claim"});
        let hold = node.post_as(KEY_SECURITY, "/v1/legal-holds", &hold);
        let hold = self.is("LegalHold", &hold);
        let path = format!(
            "/v1/legal-holds/{}/release",
            hold["hold_id"].as_str().unwrap()
        );
        let over = node.post_as(KEY_SECURITY, &path, &json!({"reason": "it is over"}));
        self.is("LegalHold", &over);
    }

    fn reports(&mut self, node: &Node) {
        let shadow = "/v1/coordination/shadow";
        self.is(
            "ShadowRun",
            &node.post_as(KEY_D, shadow, &json!({"days": 3})),
        );
        let reports = || node.get("/v1/coordination/reports", Some(KEY_D));
        self.is("CoordinationReportPage", &reports());
        let pending = |page: &Value| page["items"][0]["status"] == "pending";
        ended(|| reports().json(), pending);
        self.is("CoordinationReportPage", &reports());
        let overview = node.get("/v1/coordination/overview", Some(KEY_D));
        self.is("CoordinationOverview", &overview);
    }
}

#[test]
fn w12_every_other_answer_is_of_its_schema() {
    let node = Node::start();
    // What the test before this one holds to the contract.
    let seen = [
        "CheckResult",
        "CheckBatchResponse",
        "DeclareResult",
        "Effect",
    ];
    let mut holder = Holder {
        contract: contract(),
        seen: seen.into_iter().map(str::to_owned).collect(),
    };
    let value = "+5511955550010";
    holder.claims(&node, value);
    holder.list(&node, value);
    holder.handoffs(&node, value);
    holder.holds(&node, value);
    holder.reports(&node);
    assert_eq!(
        holder.seen,
        answered(&contract()),
        "each schema of an answer"
    );
}

/// Values around the edges of the contract's rules.
fn edge() -> impl Strategy<Value = Value> {
    let texts = [
        "",
        "a",
        "A",
        "_",
        "a_1",
        "é",
        "service",
        "whatsapp",
        "outbound",
        "delivery",
        "done",
        "phone_e164",
        "08:00",
        "24:00",
        "2026-11-30T12:00:00Z",
        "2026-11-30",
        "marketing",
        "opt_out",
    ];
    prop_oneof![
        proptest::sample::select(texts.to_vec()).prop_map(|text| json!(text)),
        proptest::sample::select(vec![40_usize, 41, 43, 256, 257, 320, 321, 512, 513])
            .prop_map(|length| json!("a".repeat(length))),
        proptest::sample::select(vec![
            json!(null),
            json!(true),
            json!(0),
            json!(1),
            json!(-1),
            json!(1.0),
            json!(1.5),
            json!(1e300),
            json!([]),
            json!({}),
            json!([1, 7]),
            json!([8])
        ]),
        Just(json!({"type": "deal", "namespace": "crm", "id": "7"})),
        Just(json!({"type": "email", "value": "a@b.io", "scope": null})),
        Just(json!("0192e2a0-0000-7000-8000-000000000001")),
    ]
}

/// A request of the contract and the route that takes it.
fn requests() -> Vec<(&'static str, &'static str, Value)> {
    let window = json!({"from": "11:00", "to": "13:30", "tz": "UTC", "days": [1]});
    let declare = |kind: &str, detail: Value| json!({"kind": kind, "agent": "a", "subject": phone("+5511955550001"), "detail": detail});
    vec![
        ("CheckRequest", CHECK, check()),
        ("CheckBatchRequest", BATCH, json!({"checks": [check()]})),
        (
            "EffectReserve",
            EFFECTS,
            json!({"effect_key": "k", "kind": "notice", "cost_units": 1}),
        ),
        (
            "ContactMade",
            DECLARE,
            declare(
                "contact.made",
                json!({"channel": "whatsapp", "purpose": "service", "unchecked": true}),
            ),
        ),
        (
            "EffectDeclared",
            DECLARE,
            declare(
                "effect",
                json!({"effect_key": "k", "attempt": 1, "state": "done"}),
            ),
        ),
        (
            "SuppressionAdded",
            DECLARE,
            declare(
                "suppression.added",
                json!({"purpose": "any", "reason": "opt_out", "window": window}),
            ),
        ),
        (
            "SuppressionLifted",
            DECLARE,
            declare("suppression.lifted", json!({"purpose": "any"})),
        ),
    ]
    .into_iter()
    .chain(ownership(declare))
    .collect()
}

/// The requests that are about ownership.
fn ownership(declare: impl Fn(&str, Value) -> Value) -> Vec<(&'static str, &'static str, Value)> {
    let lease = json!({"lease_s": 60, "level": "agent_active", "intents": ["support"]});
    let mut lock = declare("task_lock", json!({"lease_s": 60, "task": "t"}));
    lock["object"] = json!({"type": "deal", "namespace": "crm", "id": "7"});
    let id = "0192e2a0-0000-7000-8000-000000000001";
    vec![
        (
            "ClaimRequest",
            CLAIMS,
            json!({"kind": "case", "holder": "a", "lease_s": 60, "level": "agent_active",
                "intents": ["support"], "subject": phone("+5511955550001")}),
        ),
        (
            "ClaimRequest",
            CLAIMS,
            json!({"kind": "owner", "holder": "b", "lease_s": 60, "source": "panel",
                "observed_at": "2026-11-30T11:00:00Z", "subject": phone("+5511955550001")}),
        ),
        ("CaseOpened", DECLARE, declare("case.opened", lease.clone())),
        ("LeaseDeclared", DECLARE, declare("lease", lease)),
        ("TaskLockDeclared", DECLARE, lock),
        (
            "CaseClosed",
            DECLARE,
            declare("case.closed", json!({"claim_id": id, "epoch": 1})),
        ),
    ]
}

/// Sets, adds or takes out a member somewhere inside.
fn mutate(value: &mut Value, path: &[prop::sample::Index], name: &str, edge: &Value) {
    let Some((step, rest)) = path.split_first() else {
        return;
    };
    match value {
        Value::Object(members) if !members.is_empty() => {
            let names: Vec<String> = members.keys().cloned().collect();
            let chosen = step.get(&names).clone();
            let inner = members.get_mut(&chosen).unwrap();
            if !rest.is_empty() && (inner.is_object() || inner.is_array()) {
                mutate(inner, rest, name, edge);
            } else if edge == &json!({}) {
                members.remove(&chosen);
            } else if edge == &json!([]) {
                members.insert(name.to_owned(), edge.clone());
            } else {
                members.insert(chosen, edge.clone());
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let at = step.index(items.len());
            mutate(&mut items[at], rest, name, edge);
        }
        Value::Object(_)
        | Value::Array(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_) => *value = edge.clone(),
    }
}

/// W4, W10, W11: what the contract refuses is 422; what it allows is refused only by the space's rules
/// or by what the words of a member say beyond their form.
#[test]
fn w4_a_request_is_refused_where_the_contract_refuses_it() {
    let contract = contract();
    let node = Node::start();
    let requests = requests();
    for (schema, path, request) in &requests {
        assert_eq!(fault(&contract, schema, request), None);
        node.post(path, request).ok();
    }
    let names = [
        "channel", "task", "scope", "subject", "extra", "agent", "until", "fact",
    ];
    let mutation = (
        any::<prop::sample::Index>(),
        proptest::collection::vec(any::<prop::sample::Index>(), 1..5),
        proptest::sample::select(names.to_vec()),
        edge(),
    );
    let config = ProptestConfig::with_cases(3_000);
    proptest!(config, |((request, path, name, edge) in mutation)| {
        let (schema, route, original) = request.get(&requests);
        let mut sent = original.clone();
        mutate(&mut sent, &path, name, &edge);
        let answer = node.post(route, &sent);
        let expected = fault(&contract, schema, &sent);
        if let Some(fault) = expected {
            prop_assert_eq!(answer.status, 422, "{}: {}", sent, fault);
        } else if answer.status == 422 {
            let detail = answer.json()["detail"].as_str().unwrap().to_owned();
            let beyond = ["the space declares", "IANA", "must differ", "destination can be",
                "phone number or an e-mail", "the space's ownership", "goes with", "not both",
                "needs"];
            prop_assert!(beyond.iter().any(|word| detail.contains(word)), "{}: {}", sent, detail);
        } else {
            prop_assert!(matches!(answer.status, 200 | 201 | 409), "{}", answer.status);
        }
    });
}
