//! Nothing personal at rest: a server is asked everything, killed, and every byte of its data
//! directory and of its output is searched for what it was sent; row W13.
//!
//! Here: what is sent, and where it is looked for. In `privacy/grep.rs`: how. Not here: what an
//! erasure takes (`api/tests/http/privacy.rs`).

mod grep;

use std::cell::{Cell, RefCell};

use serde_json::{Value, json};

use self::grep::{Needles, files};
use crate::harness::{Server, Setup, until};
use crate::verbs::verb;

const SEED: &str = include_str!("../conformance/space.json");
const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const CRM: &str = "nia_sk_test_br1_conformance_b_crmsecret0000001";
const CONSOLE: &str = "nia_sk_test_br1_conformance_d_rolesecret000001";
const WRONG_KEY: &str = "nia_sk_test_br1_conformance_a_zq01wrongsecret";

/// Of each phone the digits: they stand in every form of a number.
const PHONES: [&str; 6] = [
    "5511977310001",
    "5511977310002",
    "5511977310003",
    "5511977310004",
    "5511977310005",
    "5511977310006",
];
const EMAIL: &str = "zelia.zq02@correio.example";
const EFFECTS: [&str; 4] = [
    "zq03-winback-first",
    "zq04-document-second",
    "zq05-notice-third",
    "zq06-batch-fourth",
];
const OBJECT: &str = "zq07-0001234-56.2026";
const FACT: &str = "zq08-decision-of-court";
const MESSAGE: &str = "Bom dia, sou a Zélia zq09 do bairro";
const TERMS: &str = "zq10 twenty percent for Zélia";
const REASON: &str = "zq11 her lawyer wrote";
const TALK: &str = "zq12-conversation-of-zelia";
const IDEMPOTENCY: &str = "zq13-idempotency-key";
const MEMBER: &str = "zq14_member_nobody_knows";
const PATH: &str = "zq15-in-a-path";
const HANDOFF_REASON: &str = "zq16 asks about her invoice";
const OUTCOME_DETAIL: &str = "zq17 paid in cash";

/// Kept in clear, each with the reason why it may be. They are names of software and of offers, and
/// answers must show them again. Where holders are people an operator gives them names that are
/// none (`docs/security.md`).
const KEPT_IN_CLEAR: [(&str, &str); 7] = [
    ("zq90-agent", "an agent is a program"),
    ("zq91-holder", "who is deferred is told by whom"),
    ("zq92_task_lock", "a lock is shown by its task"),
    ("zq93_intent", "a claim says what others may still do"),
    ("zq94-commitment", "an offer is shown by its id"),
    ("zq95 why the rules change", "who agrees to it reads why"),
    ("zq96-promise-of-ours", "it is shown by its feed's id"),
];
const AGENT: &str = KEPT_IN_CLEAR[0].0;
const HOLDER: &str = KEPT_IN_CLEAR[1].0;
const TASK: &str = KEPT_IN_CLEAR[2].0;
const INTENT: &str = KEPT_IN_CLEAR[3].0;
const OFFER: &str = KEPT_IN_CLEAR[4].0;
const EDIT_REASON: &str = KEPT_IN_CLEAR[5].0;
const PROMISE: &str = KEPT_IN_CLEAR[6].0;
const SPACE: &str = "0192f5a0-0000-7000-8000-00000000a004";

const NOON: &str = "2026-11-30T12:00:00Z";
/// Snapshots wait, so the journal has everything.
const JOURNAL: &str = "[telemetry]\nlog_format = \"json\"\nlog_filter = \"debug\"\naccess_log = \"on\"\n\
    [history]\nwrite_interval_ms = 10\n[snapshots]\ninterval_ms = 86400000\n";
/// Snapshots come at once, and the journal is truncated behind them.
const SNAPSHOTS: &str = "[telemetry]\nlog_format = \"json\"\nlog_filter = \"debug\"\naccess_log = \"on\"\n\
    [history]\nwrite_interval_ms = 10\n[snapshots]\ninterval_ms = 100\n";

/// Everything that must be found nowhere.
fn secrets() -> Vec<String> {
    let mut all: Vec<&str> = vec![
        EMAIL,
        OBJECT,
        FACT,
        MESSAGE,
        TERMS,
        REASON,
        TALK,
        IDEMPOTENCY,
        MEMBER,
        PATH,
        HANDOFF_REASON,
        OUTCOME_DETAIL,
        KEY,
        CRM,
        CONSOLE,
        WRONG_KEY,
        // What a key's holder alone knows, and the vault's key.
        "agentssecret0001",
        "crmsecret0000001",
        "rolesecret000001",
        "zq01wrongsecret",
        "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s",
    ];
    all.extend(PHONES);
    all.extend(EFFECTS);
    all.into_iter().map(str::to_owned).collect()
}

fn phone(digits: &str) -> Value {
    json!({"type": "phone_e164", "value": format!("+{digits}")})
}

fn object() -> Value {
    json!({"type": "lawsuit", "namespace": "court", "id": OBJECT})
}

/// Asks a server and keeps what must be searched: problems, and tokens that were handed out.
struct Asker<'a> {
    server: &'a Server,
    number: Cell<u32>,
    problems: RefCell<Vec<String>>,
    tokens: RefCell<Vec<String>>,
}

impl<'a> Asker<'a> {
    /// The numbers of its requests begin after `number`.
    fn new(server: &'a Server, number: u32) -> Self {
        Self {
            server,
            number: Cell::new(number),
            problems: RefCell::default(),
            tokens: RefCell::default(),
        }
    }

    /// A request under an Idempotency-Key of its own; whatever comes of it.
    fn send(&self, key: &str, path: &str, body: &Value) -> (u16, Value) {
        self.number.set(self.number.get() + 1);
        let once = format!("{IDEMPOTENCY}-{}", self.number.get());
        let answer = self.server.post_once(path, key, &once, body);
        if answer.status >= 400 {
            self.problems.borrow_mut().push(answer.text.clone());
        }
        let json = serde_json::from_str(&answer.text).unwrap_or(Value::Null);
        if let Some(token) = json["contact_token"].as_str() {
            self.tokens.borrow_mut().push(token.to_owned());
        }
        (answer.status, json)
    }

    /// A request that is done.
    fn ask(&self, key: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.send(key, path, body);
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    fn check(&self, more: &Value) -> Value {
        let mut body = json!({"agent": AGENT, "intent": INTENT, "direction": "outbound",
            "purpose": "service", "channel": "whatsapp"});
        for (name, value) in more.as_object().expect("an object") {
            body[name] = value.clone();
        }
        self.ask(KEY, "/v1/coordination/check", &body)
    }

    fn declare(&self, subject: &Value, kind: &str, detail: &Value) -> Value {
        let body = json!({"kind": kind, "agent": AGENT, "subject": subject, "detail": detail});
        let answer = self.ask(KEY, "/v1/coordination/declare", &body);
        assert_eq!(answer["accepted"], true, "{kind}: {answer}");
        answer
    }
}

/// Checks, and what they lead to.
fn decisions(asker: &Asker<'_>) {
    let subject = phone(PHONES[0]);
    let decision = asker.check(&json!({"subject": subject, "purpose": "marketing",
        "effect_key": EFFECTS[0], "gateway_id": "wa_gateway"}));
    assert_eq!(decision["decision"], "allow", "{decision}");
    let detail = json!({"channel": "whatsapp", "purpose": "marketing",
        "decision_id": decision["decision_id"]});
    asker.declare(&subject, "contact.made", &detail);
    let detail = json!({"effect_key": EFFECTS[0], "attempt": 1, "state": "done"});
    asker.declare(&subject, "effect", &detail);
    let mail = json!({"type": "email", "value": EMAIL});
    asker.check(&json!({"subject": mail, "object": object(), "task": TASK}));
    let check = |subject: Value, effect: &str| {
        json!({"agent": AGENT, "intent": INTENT, "direction": "outbound", "purpose": "service",
            "channel": "sms", "subject": subject, "effect_key": effect})
    };
    let checks = json!({"checks": [check(phone(PHONES[1]), EFFECTS[3]), check(mail, EFFECTS[0])]});
    asker.ask(KEY, "/v1/coordination/check/batch", &checks);
    let reserve = json!({"effect_key": EFFECTS[1], "kind": "document",
        "fact": {"type": "ruling", "namespace": "court", "id": FACT}});
    let effect = asker.ask(KEY, "/v1/coordination/effects", &reserve);
    let path = format!(
        "/v1/coordination/effects/{}/settle",
        effect["effect_id"].as_str().expect("an id")
    );
    let settle = json!({"attempt": 1, "state": "unknown_outcome"});
    asker.ask(KEY, &path, &settle);
    let reserve = json!({"effect_key": EFFECTS[2], "kind": "notice"});
    asker.ask(KEY, "/v1/coordination/effects", &reserve);
    let (status, _) = asker.send(CRM, "/v1/coordination/effects", &reserve);
    assert_eq!(status, 409, "another source's attempt holds it");
}

/// Claims, locks, offers, suppressions, messages, advice.
fn states(asker: &Asker<'_>) {
    let claim = |more: Value| {
        let mut body = json!({"kind": "owner", "holder": HOLDER, "lease_s": 600,
            "intents": [INTENT]});
        for (name, value) in more.as_object().expect("an object") {
            body[name] = value.clone();
        }
        asker.ask(KEY, "/v1/coordination/claims", &body)
    };
    let owned = claim(json!({"subject": phone(PHONES[1])}));
    claim(json!({"kind": "case", "object": object(), "intents": []}));
    claim(json!({"kind": "task_lock", "object": object(), "task": TASK, "intents": []}));
    let path = format!(
        "/v1/coordination/claims/{}/release",
        owned["claim_id"].as_str().expect("an id")
    );
    asker.ask(KEY, &path, &json!({"epoch": owned["epoch"]}));
    let subject = phone(PHONES[2]);
    asker.declare(
        &subject,
        "lease",
        &json!({"lease_s": 60, "level": "soft_pause"}),
    );
    let offer = json!({"commitment_id": OFFER, "type": "offer", "score": 1.0,
        "terms": {"says": TERMS, "for": format!("+{}", PHONES[2])},
        "valid_until": "2026-12-10T00:00:00Z"});
    asker.declare(&subject, "commitment.made", &offer);
    let suppressed = json!({"purpose": "marketing", "reason": "opt_out"});
    asker.declare(&subject, "suppression.added", &suppressed);
    asker.declare(&phone(PHONES[3]), "suppression.added", &suppressed);
    asker.declare(
        &phone(PHONES[3]),
        "suppression.lifted",
        &json!({"purpose": "marketing"}),
    );
    let message = json!({"items": [{"type": "event", "kind": "message",
        "idempotency_key": format!("{IDEMPOTENCY}-message"), "channel": "whatsapp",
        "handles": [phone(PHONES[4])], "speaker": {"role": "customer"},
        "content": {"type": "text", "text": MESSAGE}, "occurred_at": "2026-11-30T11:00:00Z",
        "visibility": "public", "conversation_id": TALK}]});
    let taken = asker.ask(KEY, "/v1/batch", &message);
    assert_eq!(taken["accepted"], 1, "{taken}");
    let advice = json!({"subject": subject, "view": "chat", "verification": "V0", "delta": false,
        "include": ["coordination"], "conversation_id": TALK});
    asker.ask(KEY, "/v1/context", &advice);
}

/// Handoffs and paid calls.
fn errands(asker: &Asker<'_>) {
    let handoff = json!({"subject": phone(PHONES[1]), "target": HOLDER, "agent": AGENT,
        "reason": HANDOFF_REASON, "conversation_id": TALK, "level": "V1"});
    let made = asker.ask(KEY, "/v1/handoffs", &handoff);
    let path = format!(
        "/v1/handoffs/{}",
        made["handoff_id"].as_str().expect("an id")
    );
    let read = asker.server.get(&path, KEY).json();
    assert_eq!(
        read["package"]["reason"], HANDOFF_REASON,
        "it is given back"
    );
    asker.ask(KEY, &format!("{path}/accept"), &json!({}));
    let outcome = json!({"outcome": "resolved", "detail": {"says": OUTCOME_DETAIL}});
    asker.ask(KEY, &format!("{path}/outcome"), &outcome);
    // One that stays open.
    let open = json!({"subject": phone(PHONES[2]), "target": HOLDER, "reason": HANDOFF_REASON});
    asker.ask(CRM, "/v1/handoffs", &open);
    let promise = json!({"subject": phone(PHONES[2]), "promise_id": PROMISE, "owner": HOLDER,
        "state": "open"});
    asker.ask(CONSOLE, "/v1/operator/promises", &promise);
    let call = json!({"operation": "registry_search", "subject": phone(PHONES[3])});
    asker.ask(KEY, "/v1/coordination/admissions", &call);
}

/// The list, reports, the overview and the documents of the space.
fn operators(asker: &Asker<'_>) {
    let entry = json!({"action": "added", "subject": phone(PHONES[4]), "purpose": "retention",
        "reason": "complaint"});
    asker.ask(CONSOLE, "/v1/operator/suppressions", &entry);
    let shadow = asker.ask(CONSOLE, "/v1/coordination/shadow", &json!({"days": 7}));
    until("the end of a shadow run", || {
        let reports = asker.server.get("/v1/coordination/reports", CONSOLE).json();
        let newest = &reports["items"][0];
        (newest["report_id"] == shadow["report_id"] && newest["status"] == "done").then_some(())
    });
    let routes = [
        ("/v1/suppressions?limit=200", KEY),
        ("/v1/suppressions/salt", KEY),
        ("/v1/coordination/overview", CONSOLE),
        ("/v1/sources/me", KEY),
        ("/v1/sdk/profile", KEY),
    ];
    for (path, key) in routes {
        let answer = asker.server.get(path, key);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
    let path = format!("/v1/config/coordination?space_id={SPACE}");
    let mut rules = asker.server.get(&path, CONSOLE).json()["document"].clone();
    rules["purposes"]["marketing"]["budget"]["limit"] = json!(2);
    let edit = json!({"space_id": SPACE, "type": "coordination", "document": rules,
        "reason": EDIT_REASON});
    asker.ask(CONSOLE, "/v1/config/diffs", &edit);
}

/// Erasures and holds.
fn privacy(asker: &Asker<'_>) {
    let holds = [
        json!({"handle": phone(PHONES[5]), "reason": REASON}),
        json!({"object": object(), "reason": REASON}),
        json!({"conversation_id": TALK, "reason": REASON}),
    ];
    for body in holds {
        let hold = asker.ask(CONSOLE, "/v1/legal-holds", &body);
        let of = json!({"target": "handle", "handle": phone(PHONES[5])});
        if body.get("handle").is_some() {
            assert_eq!(asker.send(CONSOLE, "/v1/forget", &of).0, 409, "it is held");
        }
        let id = hold["hold_id"].as_str().expect("an id");
        let path = format!("/v1/legal-holds/{id}/release");
        asker.ask(CONSOLE, &path, &json!({"reason": REASON}));
    }
    let of = json!({"target": "handle", "handle": phone(PHONES[0])});
    let erased = asker.ask(CONSOLE, "/v1/forget", &of);
    assert_eq!(erased["erased"]["contacts"], 1, "{erased}");
}

/// Every route of the document is sent what it cannot take, with all of it that is secret, and what
/// leads nowhere.
fn mistakes(asker: &Asker<'_>) {
    let document = asker.server.get("/openapi.json", "").json();
    let paths = document["paths"].as_object().expect("paths");
    let bad = json!({MEMBER: REASON, "agent": AGENT, "subject": phone(PHONES[5]),
        "effect_key": [EFFECTS[0]], "handle": phone(PHONES[5]), "reason": {"text": REASON},
        "kind": PHONES[5], "items": [{"text": MESSAGE}], "detail": {"terms": TERMS}});
    for (template, methods) in paths {
        let mut path = String::new();
        for part in template.split_inclusive('/') {
            path.push_str(if part.starts_with('{') { PATH } else { part });
            if part.starts_with('{') && part.ends_with('/') {
                path.push('/');
            }
        }
        let path = format!("{path}?cursor={PATH}&type={PATH}&window_days={PATH}&space={PATH}");
        if methods.get("post").is_some() {
            for key in [KEY, CONSOLE, WRONG_KEY] {
                asker.send(key, &path, &bad);
                asker.send(key, &path, &json!(MESSAGE));
            }
        }
        if methods.get("get").is_some() {
            for key in [KEY, CONSOLE, WRONG_KEY, ""] {
                let answer = asker.server.get(&path, key);
                if answer.status >= 400 {
                    asker.problems.borrow_mut().push(answer.text);
                }
            }
        }
    }
    asker.send(KEY, &format!("/v1/{PATH}"), &bad);
    let check = |name: &str, value: Value| {
        let mut body = json!({"agent": AGENT, "intent": INTENT, "direction": "outbound",
            "purpose": "service", "subject": phone(PHONES[5]), "effect_key": EFFECTS[0]});
        body[name] = value;
        let (status, problem) = asker.send(KEY, "/v1/coordination/check", &body);
        assert_eq!(status, 422, "{name}: {problem}");
    };
    for name in ["intent", "direction", "purpose", "subject", "effect_key"] {
        check(name, json!({"type": EMAIL, "value": [REASON]}));
    }
    check("purpose", json!(PATH));
    check(MEMBER, json!(REASON));
}

/// The operator's verbs on what was sent.
fn verbs(server: &Server) {
    let of = |words: &[&str]| verb(&server.setup(), words).done();
    let subject = format!("phone_e164:+{}", PHONES[2]);
    of(&["show", "--space", "conformance", "--subject", &subject]);
    let object = format!("lawsuit:court:{OBJECT}");
    of(&["show", "--space", "conformance", "--object", &object]);
    of(&["show", "--space", "conformance", "--effect-key", EFFECTS[2]]);
    of(&["effects", "awaiting", "--space", "conformance"]);
}

/// A number that `/metrics` has now, summed over its labels.
fn metric(server: &Server, name: &str) -> f64 {
    let text = server.get("/metrics", "").text;
    let lines = text.lines().filter(|line| line.starts_with(name));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

/// Searches the data directory and what the server wrote.
fn search(server: Server, secrets: &Needles, kept: &Needles, when: &str) -> Setup {
    let metrics = server.get("/metrics", "").text;
    assert_eq!(
        secrets.found(metrics.as_bytes()),
        [].into(),
        "{when}: /metrics"
    );
    let output = [server.stdout(), server.stderr()].concat().join("\n");
    let setup = server.kill();
    let found = secrets.found(output.as_bytes());
    assert_eq!(found, [].into(), "{when}: in what the server wrote");
    let clear = kept.found(output.as_bytes());
    assert_eq!(clear, [].into(), "{when}: names in what the server wrote");
    let mut seen = std::collections::BTreeSet::new();
    for file in files(&setup.data().path()) {
        // The socket's name is no file, and the secret is what everything is sealed under.
        let bytes = std::fs::read(&file).expect("a file can be read");
        let found = secrets.found(&bytes);
        assert_eq!(found, [].into(), "{when}: in {}", file.display());
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        assert_eq!(secrets.found(name.as_bytes()), [].into(), "{when}: {name}");
        seen.extend(kept.found(&bytes));
    }
    // It looked where it had to: what may be there is there.
    assert!(
        seen.contains(&format!("{AGENT} as text")),
        "{when}: {seen:?}"
    );
    assert!(
        seen.contains(&format!("{HOLDER} as text")),
        "{when}: {seen:?}"
    );
    setup
}

/// Pitfall 26.
#[test]
fn w13_nothing_that_was_sent_is_found_in_files_output_metrics_or_problems() {
    let server = Setup::new()
        .test_clock(NOON)
        .config(JOURNAL)
        .seed(SEED)
        .start();
    let asker = Asker::new(&server, 0);
    decisions(&asker);
    states(&asker);
    errands(&asker);
    operators(&asker);
    privacy(&asker);
    mistakes(&asker);
    verbs(&server);
    let tokens = asker.tokens.take();
    assert!(!tokens.is_empty(), "a token was handed out");
    let problems = asker.problems.take();
    assert!(problems.len() > 100, "{} problems", problems.len());
    let secrets = Needles::of(secrets().into_iter().chain(tokens));
    for problem in &problems {
        assert_eq!(secrets.found(problem.as_bytes()), [].into(), "{problem}");
    }
    let kept = Needles::of(KEPT_IN_CLEAR.map(|(name, _why)| name.to_owned()));
    until("history to be written", || {
        (metric(&server, "interlock_history_lag_commits") == 0.0).then_some(())
    });
    let setup = search(server, &secrets, &kept, "with all of it in the journal");

    let server = setup.config(SNAPSHOTS).start();
    let asker = Asker::new(&server, 10_000);
    // What is left now is in snapshots, and in what was decided since.
    decisions_again(&asker);
    until("snapshots of everything", || {
        (metric(&server, "interlock_partitions_uncovered") == 0.0
            && metric(&server, "interlock_snapshots_completed") > 0.0)
            .then_some(())
    });
    decisions_again(&asker);
    search(server, &secrets, &kept, "after snapshots and truncation");
}

/// Something new, so that there is a commit and truncation has its turn.
fn decisions_again(asker: &Asker<'_>) {
    asker.check(&json!({"subject": phone(PHONES[4]), "object": object(), "task": TASK}));
}
