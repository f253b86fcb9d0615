//! Rows R1, R2 and the overview's part of K3: shadow runs, their reports and the overview; repeats
//! of `/v1/batch`.

use std::time::Duration;

use interlock_api::limits::ApiLimits;
use serde_json::{Value, json};

use crate::node::{
    CLAIMS, DECLARE, KEY_A, KEY_ADMIN_ROLE, KEY_B, KEY_D, KEY_OFF_ANALYSIS, KEY_SECURITY, Node,
    check_with, fresh, phone,
};
use crate::world::World;

const MESSAGES: &str = "/v1/batch";
const SHADOW: &str = "/v1/coordination/shadow";
const REPORTS: &str = "/v1/coordination/reports";
pub(crate) const OVERVIEW: &str = "/v1/coordination/overview";

/// More messages at once than any test has; figures are made anew for every request.
const BOUNDS: (usize, Duration) = (1_000, Duration::MAX);

/// A message of an agent to a customer.
fn sent(value: &str, agent: &str, at: &str) -> Value {
    json!({"type": "event", "kind": "message", "idempotency_key": fresh("message"),
        "channel": "whatsapp", "handles": [phone(value)], "direction": "outbound",
        "speaker": {"role": "ai_agent", "id": agent},
        "content": {"type": "text", "text": "Sua proposta de 1990 reais"}, "occurred_at": at})
}

pub(crate) fn send(node: &Node, items: &[Value]) -> Value {
    node.post_as(KEY_B, MESSAGES, &json!({"items": items}))
        .json()
}

pub(crate) fn get(node: &Node, path: &str) -> Value {
    node.get(path, Some(KEY_D)).ok()
}

/// The newest report, once its run has ended. A run that does not end fails the test.
fn ended(node: &Node) -> Value {
    for _ in 0..4_000 {
        let newest = get(node, REPORTS)["items"][0].clone();
        if newest["status"] != "pending" {
            return newest;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    panic!("the run does not end");
}

fn run(node: &Node, days: u32) -> Value {
    let asked = node.post_as(KEY_D, SHADOW, &json!({"days": days}));
    assert_eq!(asked.status, 202, "{asked:?}");
    let id = asked.json()["report_id"].clone();
    let report = ended(node);
    assert_eq!(report["report_id"], id, "newest first");
    assert_eq!(report["status"], "done");
    report
}

#[test]
fn r1_shadow_reports_and_the_overview_are_for_their_roles() {
    let node = Node::start();
    let asked = node.post_as(KEY_D, SHADOW, &json!({}));
    assert_eq!(asked.status, 202);
    let asked = asked.json();
    assert_eq!(asked["status"], "pending");
    let report = ended(&node);
    assert_eq!(report["report_id"], asked["report_id"], "it is listed");
    assert_eq!(report["days"], 30, "unless it says otherwise");
    assert_eq!(report["requested_at"], "2026-11-30T12:00:00Z");
    assert_eq!(report["summary"]["messages"], 0);
    let overview = get(&node, OVERVIEW);
    assert_eq!(overview["since"], "2026-11-23T12:00:00Z", "seven days");
    assert_eq!(overview["awaiting_decision"], 0);
    let nothing = json!({"ownership_overlaps": 0, "commitments_superseded": 0,
        "handoffs_expired": 0, "tokens_reused": 0});
    assert_eq!(overview["conflicts"], nothing);
    for key in [KEY_A, KEY_ADMIN_ROLE] {
        node.post_as(key, SHADOW, &json!({}))
            .problem(403, "forbidden");
        node.get(REPORTS, Some(key)).problem(403, "forbidden");
        node.get(OVERVIEW, Some(key)).problem(403, "forbidden");
    }
    // Either role is enough, and the space must coordinate.
    node.get(OVERVIEW, Some(KEY_SECURITY)).ok();
    for path in [REPORTS, OVERVIEW] {
        node.get(path, Some(KEY_OFF_ANALYSIS))
            .problem(404, "not_found");
        node.get(path, None).problem(401, "unauthenticated");
    }
}

#[test]
fn what_is_asked_for_is_within_its_bounds() {
    let node = Node::start();
    for body in [
        json!({"days": 0}),
        json!({"days": 91}),
        json!({"days": "7"}),
        json!({"weeks": 1}),
        json!([]),
    ] {
        node.post_as(KEY_D, SHADOW, &body)
            .problem(422, "invalid_input");
    }
    for query in [
        format!("{OVERVIEW}?days=0"),
        format!("{OVERVIEW}?days=91"),
        format!("{OVERVIEW}?days=seven"),
        format!("{REPORTS}?limit=0"),
        format!("{REPORTS}?limit=201"),
        format!("{REPORTS}?cursor=x"),
    ] {
        node.get(&query, Some(KEY_D)).problem(422, "invalid_input");
    }
    assert_eq!(get(&node, REPORTS), json!({"items": []}));
    get(&node, &format!("{OVERVIEW}?days=90"));
    // A name that is not known is not passed over: its writer meant something by it.
    for (path, takes) in [
        (format!("{OVERVIEW}?day=3"), "takes `days`"),
        (format!("{OVERVIEW}?days=3&limit=1"), "takes `days`"),
        (format!("{REPORTS}?days=3"), "takes `cursor` and `limit`"),
    ] {
        let problem = node.get(&path, Some(KEY_D)).problem(422, "invalid_input");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(takes), "{path}: {detail}");
    }
}

#[test]
fn r2_two_agents_within_a_day_are_one_conflict_and_nothing_personal_is_told() {
    let world = World::new();
    let node = Node::over(world.clone(), ApiLimits::default(), true, BOUNDS);
    let (both, one) = ("+5511922240001", "+5511922240002");
    let told = send(
        &node,
        &[
            sent(both, "closing", "2026-11-29T14:00:00Z"),
            sent(both, "retention", "2026-11-30T11:00:00Z"),
            sent(one, "closing", "2026-11-30T11:00:00Z"),
        ],
    );
    assert_eq!(told, json!({"accepted": 3, "duplicates": 0, "errors": []}));
    let report = run(&node, 30);
    let summary = &report["summary"];
    assert_eq!(
        (&summary["messages"], &summary["customers"]),
        (&json!(3), &json!(2))
    );
    let conflicts = &summary["conflicts"];
    let count = json!({"count": 1, "per_1000_customers_month": 500.0});
    assert_eq!(conflicts["concurrent_agents"], count);
    assert_eq!(
        conflicts["outside_window"]["count"], 3,
        "nobody had written"
    );
    for none in ["quiet_hours", "over_budget", "tokens_used_twice"] {
        assert_eq!(conflicts[none]["count"], 0, "{none}");
    }
    let sample = json!({"conflict": "concurrent_agents", "at": "2026-11-30T11:00:00Z",
        "channel": "whatsapp", "agents": ["closing", "retention"]});
    let samples = summary["sample"].as_array().unwrap();
    assert!(samples.contains(&sample), "{summary}");
    let text = report.to_string();
    for personal in ["922240001", "922240002", "proposta", "1990"] {
        assert!(!text.contains(personal), "{personal}");
    }
    // Read in parts, with one message at once, it finds the same.
    let small = Node::over(world, ApiLimits::default(), true, (1, BOUNDS.1));
    assert_eq!(run(&small, 30)["summary"]["conflicts"], *conflicts);
    // A day looks at less.
    assert_eq!(run(&node, 1)["summary"]["messages"], 3);
    node.world.advance_s(86_400 - 3_600 + 1);
    assert_eq!(run(&node, 1)["summary"]["messages"], 0);
}

#[test]
fn a_run_reads_the_rules_of_channels_budgets_and_tokens() {
    let node = Node::start();
    let value = "+5511922240003";
    let jti = "0192f5a0-0000-7000-8000-00000000aaaa";
    let with = |at: &str, members: Value| {
        let mut item = sent(value, "closing", at);
        for (name, value) in members.as_object().unwrap() {
            item[name] = value.clone();
        }
        item
    };
    let mut inbound = sent(value, "", "2026-11-30T09:00:00Z");
    inbound["speaker"] = json!({"role": "customer"});
    inbound["direction"] = json!("inbound");
    let told = send(
        &node,
        &[
            with("2026-11-30T08:00:00Z", json!({"template": "welcome"})),
            with(
                "2026-11-30T08:30:00Z",
                json!({"purpose": "retention", "jti": jti}),
            ),
            inbound,
            with(
                "2026-11-30T09:30:00Z",
                json!({"purpose": "retention", "jti": jti}),
            ),
            with("2026-11-30T10:00:00Z", json!({"channel": "always_quiet"})),
            with("2026-11-30T10:00:00Z", json!({"channel": "voice"})),
            // What agents note for each other went to nobody.
            with("2026-11-30T10:00:00Z", json!({"visibility": "internal"})),
        ],
    );
    assert_eq!(told["accepted"], 7);
    let conflicts = run(&node, 7)["summary"]["conflicts"].clone();
    let counts = |name: &str| conflicts[name]["count"].clone();
    assert_eq!(counts("outside_window"), 1, "08:30");
    assert_eq!(counts("over_budget"), 1, "the second of retention");
    assert_eq!(counts("tokens_used_twice"), 1);
    assert_eq!(counts("quiet_hours"), 1);
    assert_eq!(counts("concurrent_agents"), 0);
}

#[test]
fn reports_come_newest_first_in_pages() {
    let node = Node::start();
    let ids: Vec<Value> = [7, 8, 9]
        .into_iter()
        .map(|days| run(&node, days)["report_id"].clone())
        .collect();
    let first = get(&node, &format!("{REPORTS}?limit=2"));
    let days = |page: &Value| -> Vec<Value> {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["days"].clone()).collect()
    };
    assert_eq!(days(&first), [9, 8]);
    assert_eq!(first["items"][0]["report_id"], ids[2]);
    let cursor = first["next_cursor"].as_str().expect("there is more");
    let second = get(&node, &format!("{REPORTS}?limit=2&cursor={cursor}"));
    assert_eq!(days(&second), [7]);
    assert!(second.get("next_cursor").is_none());
}

#[test]
fn a_run_goes_on_by_itself_and_nobody_waits_for_it() {
    let node = Node::start();
    node.world.hold_past(true);
    let ask = |days: u32| {
        let asked = node.post_as(KEY_D, SHADOW, &json!({"days": days}));
        assert_eq!(asked.status, 202, "{asked:?}");
        asked.json()["report_id"].clone()
    };
    let id = ask(7);
    assert_eq!(ask(30), id, "the one under way");
    let pending = json!({"items": [{"report_id": id, "status": "pending", "days": 7,
        "requested_at": "2026-11-30T12:00:00Z"}]});
    assert_eq!(get(&node, REPORTS), pending);
    let allowed = node.check(&check_with(&json!({"subject": phone("+5511922240013")})));
    assert_eq!(allowed["decision"], "allow");
    node.world.advance_s(5);
    node.world.hold_past(false);
    let report = ended(&node);
    assert_eq!(
        (&report["report_id"], &report["status"]),
        (&id, &json!("done"))
    );
    assert_eq!(report["finished_at"], "2026-11-30T12:00:05Z");
    assert_ne!(ask(7), id, "a new one");
}

#[test]
fn a_run_whose_process_died_is_taken_up_by_the_next() {
    let world = World::new();
    let value = "+5511922240004";
    {
        let node = Node::over(world.clone(), ApiLimits::default(), true, BOUNDS);
        send(&node, &[sent(value, "closing", "2026-11-30T11:00:00Z")]);
    }
    // What is left when the process dies between the request and the end of a run.
    world.request_report(7);
    let node = Node::over(world, ApiLimits::default(), true, BOUNDS);
    let report = ended(&node);
    assert_eq!(
        (&report["status"], &report["days"]),
        (&json!("done"), &json!(7))
    );
    assert_eq!(report["summary"]["messages"], 1);
}

#[test]
fn k3_a_token_named_twice_is_taken_twice_and_the_overview_counts_it() {
    let node = Node::start();
    let value = "+5511922240005";
    let reused = |node: &Node| get(node, OVERVIEW)["conflicts"]["tokens_reused"].clone();
    assert_eq!(reused(&node), 0);
    for _ in 0..2 {
        let detail = json!({"purpose": "marketing", "channel": "whatsapp", "unchecked": false,
            "decision_id": "0192f5a0-0000-7000-8000-00000000bbbb",
            "jti": "0192f5a0-0000-7000-8000-00000000cccc"});
        let told = node.declare_for(value, "contact.made", &detail).ok();
        assert_eq!(told["accepted"], true);
    }
    assert_eq!(reused(&node), 1);
}

#[test]
fn an_overview_counts_what_is_held_and_what_was_decided() {
    let node = Node::start();
    let (one, other) = ("+5511922240006", "+5511922240007");
    let retention = |value: &str| {
        let members = json!({"purpose": "retention", "subject": phone(value)});
        node.check(&check_with(&members))
    };
    let decided = retention(one);
    assert_eq!(decided["decision"], "allow");
    assert_eq!(retention(other)["decision"], "allow");
    assert_eq!(retention(other)["decision"], "deny");
    let detail = json!({"purpose": "retention", "channel": "whatsapp", "unchecked": false,
        "decision_id": decided["decision_id"]});
    node.declare_for(one, "contact.made", &detail).ok();
    let keyed = json!({"subject": null, "effect_key": fresh("effect"), "effect_kind": "notice"});
    node.check(&check_with(&keyed));
    let claim = json!({"holder": "specialist", "kind": "case", "lease_s": 600, "intents": [],
        "subject": phone(one)});
    assert_eq!(node.post(CLAIMS, &claim).status, 201);
    let overview = get(&node, &format!("{OVERVIEW}?days=1"));
    assert_eq!(overview["since"], "2026-11-29T12:00:00Z", "a whole hour");
    let held = json!([{"kind": "case", "level": "agent_active", "via": "declaration",
        "holder_kind": "agent", "claims": 1, "holders": 1}]);
    assert_eq!(overview["ownership"], held);
    let effects = json!([{"kind": "notice", "state": "reserved", "effects": 1}]);
    assert_eq!(overview["effects"], effects);
    let contact = |state: &str| json!({"direction": "outbound", "purpose": "retention", "state": state, "contacts": 1});
    assert_eq!(
        overview["contacts"],
        json!([contact("reserved"), contact("made")])
    );
    let used = |purpose: &str| {
        let budgets = overview["budgets"].as_array().unwrap();
        let mut of = budgets.iter().filter(|budget| budget["purpose"] == purpose);
        of.next().expect("a row for each budget").clone()
    };
    let full = json!({"purpose": "retention", "limit": 1, "per_hours": 24, "subjects": 2,
        "spent": 2, "at_limit": 2});
    assert_eq!(used("retention"), full);
    assert_eq!(used("marketing")["subjects"], 0);
    // A contact that was allowed is expired as soon as its time is over.
    node.world.advance_s(125);
    let late = get(&node, OVERVIEW);
    assert_eq!(
        late["contacts"],
        json!([contact("made"), contact("expired")])
    );
    // Effects of unknown outcome wait for a decision, whatever their age; leases end.
    node.world.advance_s(25 * 3_600);
    let later = get(&node, &format!("{OVERVIEW}?days=1"));
    assert_eq!(
        (&later["awaiting_decision"], &later["ownership"]),
        (&json!(1), &Value::Null)
    );
    let states: Vec<_> = get(&node, OVERVIEW)["contacts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|contact| contact["state"].clone())
        .collect();
    assert_eq!(states, ["made", "expired"]);
    assert!(!overview.to_string().contains("92224"));
}

#[test]
fn figures_that_are_quickly_made_are_those_of_the_moment_and_others_a_minute_old() {
    let contacts = |node: &Node| {
        let overview = get(node, OVERVIEW);
        let contacts = overview["contacts"].as_array().unwrap();
        contacts
            .first()
            .map_or(0, |row| row["contacts"].as_u64().unwrap())
    };
    let ask = |node: &Node| {
        let members = json!({"purpose": "marketing", "subject": phone("+5511922240008")});
        assert_eq!(node.check(&check_with(&members))["decision"], "allow");
    };
    let node = Node::start();
    for count in 1..=3 {
        ask(&node);
        assert_eq!(contacts(&node), count);
    }
    let slow = Node::over(
        World::new(),
        ApiLimits::default(),
        true,
        (1, Duration::ZERO),
    );
    ask(&slow);
    assert_eq!(contacts(&slow), 1);
    ask(&slow);
    slow.world.advance_s(59);
    assert_eq!(contacts(&slow), 1, "they may be shown again");
    slow.world.advance_s(1);
    assert_eq!(contacts(&slow), 2);
}

#[test]
fn a_claim_beside_anothers_is_an_overlap() {
    let node = Node::start();
    let claim = |holder: &str, level: &str| {
        let claim = json!({"holder": holder, "kind": "owner", "lease_s": 600, "intents": [],
            "level": level, "subject": phone("+5511922240009")});
        node.post(CLAIMS, &claim).status
    };
    assert_eq!(claim("closing", "agent_active"), 201);
    assert_eq!(claim("closing", "agent_active"), 201);
    assert_eq!(get(&node, OVERVIEW)["conflicts"]["ownership_overlaps"], 0);
    assert_eq!(claim("maria", "human_active"), 201);
    let overview = get(&node, OVERVIEW);
    assert_eq!(overview["conflicts"]["ownership_overlaps"], 1);
    assert_eq!(overview["ownership"].as_array().unwrap().len(), 2);
}

#[test]
fn a_repeated_item_is_a_duplicate_under_its_own_key_only() {
    let node = Node::start();
    let value = "+5511922240012";
    let item = sent(value, "closing", "2026-11-30T11:00:00Z");
    let mut unkeyed = item.clone();
    unkeyed.as_object_mut().unwrap().remove("idempotency_key");
    let told = send(
        &node,
        &[item.clone(), item.clone(), unkeyed.clone(), unkeyed],
    );
    assert_eq!(told, json!({"accepted": 3, "duplicates": 1, "errors": []}));
    let later = send(&node, &[item]);
    assert_eq!(later, json!({"accepted": 0, "duplicates": 1, "errors": []}));
    assert_eq!(run(&node, 7)["summary"]["messages"], 3);
    // A declaration may be asked as before: a message leaves nothing that counts.
    let body = json!({"kind": "contact.made", "agent": "closing", "subject": phone(value),
        "detail": {"purpose": "retention", "channel": "whatsapp", "unchecked": true}});
    node.post(DECLARE, &body).ok();
}
