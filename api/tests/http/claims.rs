//! Rows O, L and K2 over HTTP: claims, locks, observations and their release.

use serde_json::{Value, json};

use crate::client::Answered;
use crate::node::{CLAIMS, DECLARE, KEY_A, KEY_B, KEY_OTHER, Node, check_with, fresh, phone};

fn owner(value: &str, holder: &str) -> Value {
    json!({"kind": "owner", "holder": holder, "lease_s": 600, "subject": phone(value)})
}

fn with(mut body: Value, members: &Value) -> Value {
    for (name, value) in members.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn lawsuit(id: &str) -> Value {
    json!({"type": "lawsuit", "namespace": "court_system", "id": id})
}

fn lock(id: &str, task: &str, holder: &str) -> Value {
    json!({"kind": "task_lock", "holder": holder, "lease_s": 900, "object": lawsuit(id),
        "task": task})
}

fn release(node: &Node, claim: &Value, epoch: &Value) -> Answered {
    let path = format!("{CLAIMS}/{}/release", claim["claim_id"].as_str().unwrap());
    node.post(&path, &json!({"epoch": epoch}))
}

fn created(answer: &Answered) -> Value {
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn decision(node: &Node, value: &str, agent: &str) -> Value {
    node.check(&check_with(
        &json!({"subject": phone(value), "agent": agent}),
    ))
}

#[test]
fn o1_o2_o3_a_claim_holds_and_says_who_has_it() {
    let node = Node::start();
    let value = "+5511922220001";
    let case = json!({"kind": "case", "intents": ["proposal_followup"]});
    let made = created(&node.post(CLAIMS, &with(owner(value, "specialist"), &case)));
    assert_eq!(
        (&made["kind"], &made["holder"], &made["level"]),
        (&json!("case"), &json!("specialist"), &json!("agent_active"))
    );
    assert_eq!(made["valid_until"], "2026-11-30T12:10:00Z");
    let other = decision(&node, value, "seller");
    assert_eq!(
        (&other["decision"], &other["reasons"]),
        (&json!("defer"), &json!(["owner_active"]))
    );
    let shown = json!({"holder": "specialist", "kind": "case", "level": "agent_active",
        "source": "agents", "via": "declaration", "since": "2026-11-30T12:00:00Z",
        "valid_until": "2026-11-30T12:10:00Z", "epoch": made["epoch"]});
    assert_eq!(other["owner"], shown);
    let follow = check_with(&json!({"subject": phone(value), "agent": "seller",
        "intent": "proposal_followup"}));
    assert_eq!(node.check(&follow)["decision"], "allow");
    assert_eq!(decision(&node, value, "specialist")["decision"], "allow");
    let before = node.world.entities();
    let problem = node
        .post(CLAIMS, &owner(value, "seller"))
        .problem(409, "lease_held");
    assert_eq!(
        (&problem["holder"], &problem["until"]),
        (&json!("specialist"), &json!("2026-11-30T12:10:00Z"))
    );
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("specialist") && detail.contains("2026-11-30T12:10:00Z"),
        "{detail}"
    );
    // Only the receipt of the refusal is new.
    assert_eq!(node.world.entities(), before + 1);
}

#[test]
fn d12_an_inbound_message_goes_to_the_holder() {
    let node = Node::start();
    let value = "+5511922220002";
    created(&node.post(CLAIMS, &owner(value, "specialist")));
    let inbound = check_with(&json!({"subject": phone(value), "agent": "seller",
        "direction": "inbound"}));
    let answer = node.check(&inbound);
    assert_eq!(
        (&answer["decision"], &answer["holder"], &answer["reasons"]),
        (
            &json!("handoff_to"),
            &json!("specialist"),
            &json!(["owner_active"])
        )
    );
}

#[test]
fn o4_o5_o6_o7_o8_levels_renewals_and_releases() {
    let node = Node::start();
    let value = "+5511922220003";
    let first = created(&node.post(CLAIMS, &owner(value, "bot")));
    let renewed = created(&node.post(CLAIMS, &owner(value, "bot")));
    assert_eq!(renewed["claim_id"], first["claim_id"]);
    assert!(renewed["epoch"].as_u64() > first["epoch"].as_u64());
    let level = json!({"level": "human_active"});
    let human = created(&node.post(CLAIMS, &with(owner(value, "maria"), &level)));
    let holder = |node: &Node| decision(node, value, "seller")["owner"]["holder"].clone();
    assert_eq!(holder(&node), "maria");
    release(&node, &human, &first["epoch"]).problem(409, "stale_epoch");
    assert_eq!(holder(&node), "maria");
    let ended = release(&node, &human, &human["epoch"]).ok();
    assert_eq!(ended["valid_until"], "2026-11-30T12:00:00Z");
    assert_eq!(holder(&node), "bot");
    release(&node, &first, &first["epoch"]).problem(409, "stale_epoch");
    release(&node, &renewed, &renewed["epoch"]).ok();
    release(&node, &renewed, &renewed["epoch"]).ok();
    assert_eq!(decision(&node, value, "seller")["decision"], "allow");
    let next = created(&node.post(CLAIMS, &owner(value, "seller")));
    assert!(next["epoch"].as_u64() > human["epoch"].as_u64());
}

#[test]
fn a_release_of_what_is_not_there_is_404_in_any_space() {
    let node = Node::start();
    let made = created(&node.post(CLAIMS, &owner("+5511922220004", "bot")));
    for id in [
        "not-a-claim",
        "0192e2a0-0000-7000-8000-000000000001",
        "%2B5511",
    ] {
        let path = format!("{CLAIMS}/{id}/release");
        node.post(&path, &json!({"epoch": 1}))
            .problem(404, "not_found");
    }
    let path = format!("{CLAIMS}/{}/release", made["claim_id"].as_str().unwrap());
    let body = json!({"epoch": made["epoch"]});
    node.post_as(KEY_OTHER, &path, &body)
        .problem(404, "not_found");
    // Another source of the space that knows the epoch may.
    node.post_as(KEY_B, &path, &body).ok();
}

#[test]
fn o10_o11_o13_observations_of_an_ownership_source() {
    let node = Node::start();
    let value = "+5511922220005";
    let saw = |holder: &str, level: &str, at: &str| {
        let seen = json!({"source": "panel", "level": level, "observed_at": at});
        created(&node.post(CLAIMS, &with(owner(value, holder), &seen)))
    };
    let maria = saw("maria", "human_active", "2026-11-30T11:59:30Z");
    let ignored = saw("older", "closed", "2026-11-30T08:59:00-03:00");
    assert_eq!(ignored["holder"], "maria");
    let holds = decision(&node, value, "seller")["owner"].clone();
    assert_eq!(
        (&holds["holder"], &holds["via"], &holds["source"]),
        (&json!("maria"), &json!("worker"), &json!("panel"))
    );
    let bot = saw("bot", "agent_active", "2026-11-30T12:00:00Z");
    assert!(bot["epoch"].as_u64() > maria["epoch"].as_u64());
    let capped = json!({"source": "middleware", "lease_s": 3_600});
    let capped = created(&node.post(CLAIMS, &with(owner(value, "flow"), &capped)));
    assert_eq!(capped["valid_until"], "2026-11-30T12:15:00Z");
}

#[test]
fn o12_an_observation_is_taken_beside_a_stricter_declared_claim() {
    let node = Node::start();
    let value = "+5511922220015";
    let strict = json!({"level": "human_active"});
    created(&node.post(CLAIMS, &with(owner(value, "maria"), &strict)));
    let held = decision(&node, value, "seller")["owner"].clone();
    let seen = json!({"source": "panel", "level": "agent_active",
        "observed_at": "2026-11-30T12:00:00Z"});
    let answer = node.post(CLAIMS, &with(owner(value, "bot"), &seen));
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.json()["holder"], "bot", "what was seen is kept");
    for agent in ["seller", "bot"] {
        let other = decision(&node, value, agent);
        assert_eq!(other["decision"], "defer", "{other}");
        assert_eq!(other["owner"], held, "the declared one still holds");
    }
    assert_eq!(decision(&node, value, "maria")["decision"], "allow");
}

#[test]
fn o14_o15_l4_what_a_claim_must_not_say() {
    let node = Node::start();
    let before = node.world.entities();
    let value = "+5511922220006";
    let base = owner(value, "a");
    let bad = [
        (json!({"lease_s": 86_401}), "lease_s"),
        (json!({"lease_s": 0}), "lease_s"),
        (json!({"level": "unheard_of"}), "level"),
        (json!({"source": "unheard_of"}), "source"),
        (json!({"subject": null}), "subject"),
        (json!({"object": lawsuit("1")}), "not both"),
        (json!({"task": "t"}), "task"),
        (json!({"observed_at": "2026-11-30T12:00:00Z"}), "source"),
        (json!({"kind": "task_lock"}), "object"),
        (json!({"kind": "task_lock", "task": "t"}), "object"),
        (json!({"kind": "task_lock", "object": lawsuit("1")}), "task"),
        (
            json!({"kind": "task_lock", "object": lawsuit("1"), "task": "t", "source": "panel"}),
            "source",
        ),
        (json!({"intents": vec!["a"; 21]}), "intents"),
        (json!({"holder": ""}), "holder"),
        (json!({"extra": 1}), "contract"),
    ];
    for (members, word) in bad {
        let problem = node
            .post(CLAIMS, &with(base.clone(), &members))
            .problem(422, "invalid_input");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(word), "{members}: {detail}");
    }
    for epoch in [json!(null), json!("1"), json!(1.5), json!([])] {
        let path = format!("{CLAIMS}/0192e2a0-0000-7000-8000-000000000001/release");
        node.post(&path, &json!({"epoch": epoch}))
            .problem(422, "invalid_input");
    }
    assert_eq!(node.world.entities(), before, "nothing was recorded");
}

#[test]
fn l1_l2_l3_a_lock_has_the_task_alone() {
    let node = Node::start();
    let id = fresh("p");
    let mine = created(&node.post(CLAIMS, &lock(&id, "hearing_summary", "summarizer")));
    assert_eq!(mine["kind"], "task_lock");
    let problem = node
        .post(CLAIMS, &lock(&id, "hearing_summary", "drafter"))
        .problem(409, "task_locked");
    assert_eq!(problem["holder"], "summarizer");
    created(&node.post(CLAIMS, &lock(&id, "petition_draft", "drafter")));
    let asked = |agent: &str, task: Value| {
        node.check(&check_with(
            &json!({"subject": null, "channel": null, "agent": agent, "object": lawsuit(&id),
            "task": task, "purpose": "transactional"}),
        ))
    };
    let stopped = asked("drafter", json!("hearing_summary"));
    assert_eq!(stopped["reasons"], json!(["lock_held"]));
    let shown = json!({"holder": "summarizer", "kind": "task_lock", "task": "hearing_summary",
        "until": "2026-11-30T12:15:00Z"});
    assert!(
        stopped["locks"].as_array().unwrap().contains(&shown),
        "{stopped}"
    );
    assert_eq!(asked("drafter", json!(null))["decision"], "allow");
    assert_eq!(
        asked("summarizer", json!("hearing_summary"))["decision"],
        "allow"
    );
    release(&node, &mine, &mine["epoch"]).ok();
    assert_eq!(
        asked("drafter", json!("hearing_summary"))["decision"],
        "allow"
    );
}

#[test]
fn k2_declared_claims_name_their_id_and_epoch() {
    let node = Node::start();
    let value = "+5511922220007";
    let declare = |kind: &str, detail: Value| {
        let body = json!({"kind": kind, "agent": "specialist", "subject": phone(value),
            "object": lawsuit("k2"), "detail": detail});
        node.post(DECLARE, &body).ok()
    };
    let case = declare("case.opened", json!({"lease_s": 600}));
    let lease = declare("lease", json!({"lease_s": 600, "intents": ["support"]}));
    let task = declare("task_lock", json!({"lease_s": 600, "task": "t"}));
    for made in [&case, &lease, &task] {
        assert_eq!(made["accepted"], true);
        assert!(
            made["claim_id"].is_string() && made["epoch"].is_u64(),
            "{made}"
        );
    }
    assert_ne!(case["claim_id"], lease["claim_id"]);
    assert_eq!(decision(&node, value, "seller")["decision"], "defer");
    let close = |of: &Value, epoch: u64| {
        let detail = json!({"claim_id": of["claim_id"], "epoch": epoch});
        declare("case.closed", detail)["accepted"].clone()
    };
    let epoch = |of: &Value| of["epoch"].as_u64().unwrap();
    assert_eq!(close(&case, epoch(&case) + 100), false, "a stale epoch");
    assert_eq!(close(&case, u64::MAX), false);
    assert_eq!(close(&case, epoch(&case)), true);
    assert_eq!(close(&lease, epoch(&lease)), true);
    assert_eq!(decision(&node, value, "seller")["decision"], "allow");
    let nobody = json!({"claim_id": "0192e2a0-0000-7000-8000-000000000001"});
    assert_eq!(close(&nobody, 1), false);
    let turned_down = json!({"kind": "lease", "agent": "a", "detail": {"lease_s": 1}});
    node.post(DECLARE, &turned_down)
        .problem(422, "invalid_input");
}

#[test]
fn w17_a_repeated_claim_and_release_are_answered_as_before() {
    let node = Node::start();
    let value = "+5511922220008";
    let key = fresh("key");
    let body = owner(value, "bot");
    let post = |body: &Value| node.post_keyed(KEY_A, CLAIMS, &key, body);
    let first = post(&body);
    let entities = node.world.entities();
    let again = post(&body);
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(node.world.entities(), entities);
    post(&owner(value, "other")).problem(409, "idempotency_conflict");
    // Another holder's refusal is kept too, also when the claim has ended since.
    let refused_key = fresh("key");
    let refused = |node: &Node| {
        node.post_keyed(KEY_A, CLAIMS, &refused_key, &owner(value, "seller"))
            .problem(409, "lease_held")
    };
    let told = refused(&node);
    let made = first.json();
    let path = format!("{CLAIMS}/{}/release", made["claim_id"].as_str().unwrap());
    let release_key = fresh("key");
    let give_back = || {
        let body = json!({"epoch": made["epoch"]});
        node.post_keyed(KEY_A, &path, &release_key, &body)
    };
    let ended = give_back();
    assert_eq!(ended.status, 200);
    node.world.advance_s(60);
    assert_eq!(give_back().body, ended.body);
    let again = refused(&node);
    assert_eq!(
        (&again["until"], &again["holder"]),
        (&told["until"], &told["holder"])
    );
    assert_eq!(post(&body).body, first.body, "the claim, as it was");
    node.post(CLAIMS, &json!({"kind": "owner"}))
        .problem(422, "invalid_input");
}
