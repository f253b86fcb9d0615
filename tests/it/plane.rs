//! The configuration plane over HTTP: documents, edits, agreements, and what is in force then.

mod elsewhere;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::harness::{Server, Setup, until};
use crate::verbs::{facts, verb};

const SEED: &str = include_str!("../conformance/space.json");
const AGENT: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
/// With the roles `analysis`, `security` and `integration`.
const CONSOLE: &str = "nia_sk_test_br1_conformance_d_rolesecret000001";
const SPACE: &str = "0192f5a0-0000-7000-8000-00000000a004";
const NOON: &str = "2026-01-05T12:00:00Z";
const CHECK: &str = "/v1/coordination/check";
const DIFFS: &str = "/v1/config/diffs";

fn path(kind: &str) -> String {
    format!("/v1/config/{kind}?space_id={SPACE}")
}

fn document(server: &Server, kind: &str) -> Value {
    let answer = server.get(&path(kind), CONSOLE);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn proposed(server: &Server, kind: &str, document: &Value) -> Value {
    let body = json!({
        "space_id": SPACE, "type": kind, "document": document, "reason": "a test",
    });
    let answer = server.post(DIFFS, CONSOLE, &body);
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn step(diff: &Value, word: &str) -> String {
    format!(
        "{DIFFS}/{}/{word}",
        diff["diff_id"].as_str().expect("an id")
    )
}

fn ask(server: &Server, value: &str) -> (u16, Value) {
    let answer = server.post(
        CHECK,
        AGENT,
        &json!({
            "agent": "closing", "intent": "follow_up", "direction": "outbound",
            "purpose": "marketing", "channel": "whatsapp",
            "subject": {"type": "phone_e164", "value": value},
        }),
    );
    (answer.status, answer.json())
}

/// A key of a source of its own, with these roles.
fn key(setup: &Setup, roles: &[&str]) -> String {
    let mut words = vec![
        "keys",
        "create",
        "--space",
        SPACE,
        "--source",
        "people",
        "--new-source",
    ];
    for role in roles {
        words.extend(["--role", role]);
    }
    let made = facts(setup, &words);
    made["key"].as_str().expect("a key").to_owned()
}

fn started(shards: u16) -> (Server, Setup) {
    let setup = Setup::new().seed(SEED).shards(shards).test_clock(NOON);
    let server = setup.start();
    (server, setup)
}

#[test]
fn an_agreed_edit_is_in_force_on_every_shard_and_each_record_names_its_version() {
    let (server, setup) = started(2);
    let security = key(&setup, &["security"]);
    let before = document(&server, "coordination");
    assert_eq!(before["version"], 1);
    assert_eq!(before["role"], "integration");
    assert_eq!(before["since"], NOON);
    let (_, old) = ask(&server, "+5511922250001");
    assert_eq!(old["decision"], "allow");
    let mut rules = before["document"].clone();
    rules["purposes"]["marketing"]["budget"]["limit"] = json!(1);
    let diff = proposed(&server, "coordination", &rules);
    assert_eq!(diff["needs"], json!(["integration", "security"]));
    assert_eq!(diff["missing"], diff["needs"]);
    assert_eq!(
        diff["differences"][0],
        json!({"member": "purposes.marketing.budget.limit", "from": "3", "to": "1"})
    );
    let half = server.post(&step(&diff, "approve"), CONSOLE, &json!({}));
    assert_eq!((half.status, &half.json()["state"]), (200, &json!("open")));
    assert_eq!(half.json()["missing"], json!(["security"]));
    let twice = server.post(&step(&diff, "approve"), CONSOLE, &json!({}));
    assert_eq!(twice.status, 403, "{twice:?}");
    // Nothing of it is in force yet, and a kill forgets none of it.
    let server = server.kill().start();
    let (_, meanwhile) = ask(&server, "+5511922250002");
    assert_eq!(meanwhile["contact_budget"]["marketing"]["remaining"], 2);
    let whole = server.post(&step(&diff, "approve"), &security, &json!({}));
    assert_eq!(whole.status, 200, "{whole:?}");
    let applied = whole.json();
    assert_eq!(
        (&applied["state"], &applied["version"]),
        (&json!("applied"), &json!(2))
    );
    assert_eq!(applied["approvals"].as_array().map(Vec::len), Some(2));
    // Every customer, on whichever shard, from the next check on.
    for number in 0..40 {
        let (_, answer) = ask(&server, &format!("+55119222510{number:02}"));
        assert_eq!(
            answer["contact_budget"]["marketing"]["remaining"], 0,
            "{answer}"
        );
    }
    let (_, new) = ask(&server, "+5511922250001");
    assert_eq!(
        (&new["decision"], &new["reasons"]),
        (&json!("deny"), &json!(["budget_exhausted"]))
    );
    let version = |answer: &Value| {
        let id = answer["decision_id"].as_str().expect("an id");
        let explained = facts(&setup, &["explain", id]);
        explained["rules_version"].clone()
    };
    assert_eq!((version(&old), version(&new)), (json!(1), json!(2)));
    let again = server.post(&step(&diff, "approve"), &security, &json!({}));
    assert_eq!(again.json(), applied, "a repeat");
    let read = server.get(
        &format!("{DIFFS}/{}", diff["diff_id"].as_str().unwrap_or_default()),
        CONSOLE,
    );
    assert_eq!(read.json(), applied);
    let history = facts(&setup, &["spaces", "history", "conformance"]);
    let last = &history["versions"][0];
    assert_eq!(
        (&last["kind"], &last["version"], &last["reason"]),
        (&json!("coordination"), &json!(2), &json!("a test"))
    );
    assert_eq!(last["by"], "d", "the key's id");
}

fn shown(server: &Server, diff: &Value) -> Value {
    let id = diff["diff_id"].as_str().expect("an id");
    let answer = server.get(&format!("{DIFFS}/{id}"), CONSOLE);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn an_approver_sees_all_they_agree_to() {
    let (server, setup) = started(1);
    let integration = key(&setup, &["integration"]);
    let before = document(&server, "coordination")["document"].clone();
    let mut rules = before.clone();
    // A list of 60 levels differs as one value, which is far longer than a list shows.
    let levels: Vec<String> = (0..60).map(|at| format!("level_{at:02}")).collect();
    rules["ownership"] = json!({ "levels": levels });
    rules["purposes"]["marketing"]["budget"]["limit"] = json!(1);
    rules.as_object_mut().expect("an object").remove("handoffs");
    rules.as_object_mut().expect("an object").remove("channels");
    let whole = |diff: &Value| {
        assert_eq!(diff["document"], rules, "{diff}");
        let differences = diff["differences"].as_array().expect("a list");
        let of = |member: &str| {
            let found = differences.iter().find(|one| one["member"] == member);
            found.unwrap_or_else(|| panic!("{member}: {diff}")).clone()
        };
        assert_eq!(of("ownership.levels")["to"], json!(levels).to_string());
        let channels = of("channels");
        assert_eq!(channels["from"], before["channels"].to_string());
        let usual = channels["to"].as_str().expect("the defaults");
        assert!(usual.contains("\"free_form_hours\":24"), "{usual}");
        let note = channels["note"].as_str().expect("a word");
        assert!(note.contains("default"), "{note}");
    };
    let diff = proposed(&server, "coordination", &rules);
    whole(&diff);
    whole(&shown(&server, &diff));
    let listed = server.get(&format!("{DIFFS}?space_id={SPACE}"), CONSOLE);
    let listed = listed.json();
    assert!(listed["items"][0].get("document").is_none(), "{listed}");
    assert!(!listed.to_string().contains("level_59"), "{listed}");
    // The same key again, with a role missing: nothing more, and which role is said.
    for _ in 0..2 {
        let half = server.post(&step(&diff, "approve"), &integration, &json!({}));
        assert_eq!(half.status, 200, "{half:?}");
        let half = half.json();
        whole(&half);
        assert_eq!(half["state"], "open", "{half}");
        assert_eq!(half["missing"], json!(["security"]), "{half}");
    }
    let turned = server.post(&step(&diff, "reject"), &integration, &json!({}));
    assert_eq!(turned.json()["state"], "rejected");
    whole(&turned.json());
    // A kill forgets none of it, and so it is of an edit that is closed.
    let server = server.kill().start();
    whole(&shown(&server, &diff));
    let again = server.post(&step(&diff, "reject"), &integration, &json!({}));
    whole(&again.json());
}

#[test]
fn an_edit_that_changes_nothing_is_refused() {
    let (server, setup) = started(1);
    for kind in ["features", "coordination"] {
        let same = document(&server, kind);
        let body = json!({
            "space_id": SPACE, "type": kind, "document": same["document"], "reason": "a test",
        });
        let refused = server.post(DIFFS, CONSOLE, &body);
        assert_eq!(refused.status, 422, "{refused:?}");
        assert_eq!(refused.json()["code"], "invalid_input");
        let detail = refused.json()["detail"].to_string();
        assert!(detail.contains("document: changes nothing"), "{detail}");
        assert_eq!(document(&server, kind)["version"], 1);
    }
    let listed = server.get(&format!("{DIFFS}?space_id={SPACE}"), CONSOLE);
    assert_eq!(listed.json()["items"], json!([]));
    let history = facts(&setup, &["spaces", "history", "conformance"]);
    assert_eq!(history["versions"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_dry_run_shows_machines_all_and_people_that_it_is_cut() {
    let (server, setup) = started(1);
    let mut rules = document(&server, "coordination")["document"].clone();
    let levels: Vec<String> = (0..60).map(|at| format!("level_{at:02}")).collect();
    rules["ownership"] = json!({ "levels": levels });
    rules.as_object_mut().expect("an object").remove("handoffs");
    rules.as_object_mut().expect("an object").remove("channels");
    setup.data().write("next.json", &rules.to_string());
    let words = ["spaces", "apply", "conformance", "next.json", "--dry-run"];
    let machine = facts(&setup, &words);
    let members = machine["members"].as_array().expect("a list");
    let of = |member: &str| members.iter().find(|one| one["member"] == member);
    let changed = of("ownership.levels").expect("it differs");
    assert_eq!(changed["to"], json!(levels).to_string());
    assert!(of("channels").expect("it differs")["to"].is_string());
    let said = verb(&setup, &words).done();
    assert!(!said.contains("level_59"), "{said}");
    assert!(said.contains("--json shows it whole"), "{said}");
    assert!(said.contains("channels: left out;"), "{said}");
}

#[test]
fn a_key_of_a_person_acts_through_its_roles_alone() {
    let (server, setup) = started(1);
    let security = key(&setup, &["security"]);
    let me = server.get("/v1/sources/me", &security).json();
    assert_eq!(me["scopes"], json!([]), "{me}");
    let refused = server.post(CHECK, &security, &json!({}));
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.json()["detail"].to_string().contains("coordinate"));
    assert_eq!(server.get(&path("features"), &security).status, 200);
}

/// What one agent is answered until a while after the edit is in force, each time about another
/// customer: whether it was in force before the question, what is left, the decision.
fn asking(
    server: &Server,
    agent: u32,
    (answered, in_force): (&AtomicUsize, &AtomicBool),
) -> Vec<(bool, u64, String)> {
    let mut seen = Vec::new();
    let mut afterwards = 0;
    for number in 0..5_000 {
        let was = in_force.load(Ordering::SeqCst);
        let (status, answer) = ask(server, &format!("+55119{agent}{number:07}"));
        assert_eq!((status, &answer["decision"]), (200, &json!("allow")));
        let left = answer["contact_budget"]["marketing"]["remaining"].as_u64();
        let id = answer["decision_id"].as_str().expect("an id").to_owned();
        seen.push((was, left.expect("a number"), id));
        answered.fetch_add(1, Ordering::SeqCst);
        afterwards += u32::from(was);
        if afterwards == 10 {
            break;
        }
    }
    seen
}

#[test]
fn under_load_each_answer_is_of_one_version_and_says_which() {
    let (server, setup) = started(2);
    let security = key(&setup, &["security"]);
    let mut rules = document(&server, "coordination")["document"].clone();
    rules["purposes"]["marketing"]["budget"]["limit"] = json!(1);
    let diff = proposed(&server, "coordination", &rules);
    let approve = |key: &str| server.post(&step(&diff, "approve"), key, &json!({})).json();
    assert_eq!(approve(CONSOLE)["state"], "open");
    let (answered, in_force) = (AtomicUsize::new(0), AtomicBool::new(false));
    let watched = (&answered, &in_force);
    let server = &server;
    let seen = thread::scope(|scope| {
        let agents = [6, 7, 8, 9].map(|agent| scope.spawn(move || asking(server, agent, watched)));
        until("answers of the old version", || {
            (answered.load(Ordering::SeqCst) >= 40).then_some(())
        });
        assert_eq!(approve(&security)["state"], "applied");
        in_force.store(true, Ordering::SeqCst);
        agents.map(|agent| agent.join().expect("no panic"))
    });
    for of_agent in &seen {
        for (place, (was, left, id)) in of_agent.iter().enumerate() {
            let version = match left {
                2 if !was => 1,
                0 => 2,
                _ => panic!("{left} left, the edit was in force: {was}"),
            };
            let sample = place % 16 == 0 || place + 3 >= of_agent.len();
            if sample {
                assert_eq!(facts(&setup, &["explain", id])["rules_version"], version);
            }
        }
        assert!(of_agent.iter().any(|(.., left, _)| *left == 0));
    }
}

#[test]
fn a_space_stops_and_begins_to_coordinate_without_a_restart() {
    let (server, setup) = started(1);
    let security = key(&setup, &["security"]);
    assert_eq!(
        document(&server, "features")["document"],
        json!({"enabled": ["coordination"]})
    );
    let switch = |enabled: Value| {
        let diff = proposed(&server, "features", &json!({ "enabled": enabled }));
        assert_eq!(diff["needs"], json!(["security"]));
        let answer = server.post(&step(&diff, "approve"), &security, &json!({}));
        assert_eq!(answer.json()["state"], "applied");
    };
    switch(json!([]));
    let keys = format!("/.well-known/niadra-contact-keys.json?space={SPACE}");
    assert_eq!(ask(&server, "+5511922250001").0, 404);
    assert_eq!(server.get(&keys, AGENT).status, 404);
    assert_eq!(
        server
            .post("/v1/coordination/claims", AGENT, &json!({}))
            .status,
        404
    );
    assert_eq!(
        server.get("/v1/sdk/profile", AGENT).json()["features"],
        json!([])
    );
    switch(json!(["coordination"]));
    assert_eq!(ask(&server, "+5511922250001").0, 200);
    assert_eq!(document(&server, "features")["version"], 3);
}

#[test]
fn b11_an_edit_is_refused_where_its_member_or_the_key_is_wrong() {
    let (server, setup) = started(1);
    let analysis = key(&setup, &["analysis"]);
    let integration = key(&setup, &["integration"]);
    let body = |kind: &str, document: Value| json!({"space_id": SPACE, "type": kind, "document": document, "reason": "a test"});
    let refused = |key: &str, body: &Value, status: u16, code: &str| {
        let answer = server.post(DIFFS, key, body);
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.json()["code"], code);
        answer.json()["detail"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let slices = json!({"purposes": {"collection": {"fails": "closed", "budget":
        {"limit": 4, "per_hours": 24, "slices": [
            {"intent": "a", "limit": 2}, {"intent": "b", "limit": 3}]}}}});
    let detail = refused(CONSOLE, &body("coordination", slices), 422, "invalid_input");
    assert!(
        detail.contains("document.purposes.collection.budget"),
        "{detail}"
    );
    let detail = refused(
        CONSOLE,
        &body("features", json!({"enabled": ["x"]})),
        422,
        "invalid_input",
    );
    assert!(detail.contains("document.enabled[0]"), "{detail}");
    refused(CONSOLE, &body("rules", json!({})), 422, "invalid_input");
    refused(CONSOLE, &body("features", json!([])), 422, "invalid_input");
    let mut elsewhere = body("features", json!({"enabled": []}));
    elsewhere["space_id"] = json!("0192f5a0-0000-7000-8000-00000000a005");
    refused(CONSOLE, &elsewhere, 404, "not_found");
    for (key, kind) in [
        (AGENT, "features"),
        (&*analysis, "coordination"),
        (&*integration, "features"),
    ] {
        let document = match kind {
            "features" => json!({"enabled": []}),
            _ => json!({}),
        };
        refused(key, &body(kind, document), 403, "forbidden");
    }
    assert_eq!(server.post(DIFFS, "nobody", &json!({})).status, 401);
    assert_eq!(server.get(&path("features"), AGENT).status, 403);
    assert_eq!(server.get(&path("features"), &analysis).status, 200);
    assert_eq!(server.get(&path("reports"), &analysis).status, 404);
    assert_eq!(
        server.get("/v1/config/features?space_id=x", CONSOLE).status,
        422
    );
    let other = "/v1/config/features?space_id=0192f5a0-0000-7000-8000-00000000a005";
    assert_eq!(server.get(other, CONSOLE).status, 404);
}

#[test]
fn of_two_edits_of_one_version_the_second_is_too_late() {
    let (server, setup) = started(1);
    let analysis = key(&setup, &["analysis"]);
    let integration = key(&setup, &["integration"]);
    let rules = document(&server, "coordination")["document"].clone();
    let edit = |hours: u32| {
        let mut rules = rules.clone();
        rules["channels"]["sms"] = json!({ "free_form_hours": hours });
        proposed(&server, "coordination", &rules)
    };
    let (first, second) = (edit(1), edit(2));
    assert_eq!(first["needs"], json!(["integration"]));
    let approve = |diff: &Value| server.post(&step(diff, "approve"), &integration, &json!({}));
    assert_eq!(approve(&first).json()["state"], "applied");
    let late = approve(&second);
    assert_eq!(
        (late.status, &late.json()["code"]),
        (409, &json!("stale_version"))
    );
    let third = edit(3);
    let turned = server.post(&step(&third, "reject"), &integration, &json!({}));
    assert_eq!(turned.json()["state"], "rejected");
    let closed = approve(&third);
    assert_eq!(
        (closed.status, &closed.json()["code"]),
        (409, &json!("diff_closed"))
    );
    let listed = server
        .get(&format!("{DIFFS}?space_id={SPACE}"), &analysis)
        .json();
    let states: Vec<&Value> = listed["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["state"])
        .collect();
    assert_eq!(states, ["rejected", "superseded", "applied"]);
    let unknown = format!("{DIFFS}/0192f5a0-0000-7000-8000-00000000a005/approve");
    assert_eq!(server.post(&unknown, CONSOLE, &json!({})).status, 404);
    assert_eq!(
        server
            .post(&format!("{DIFFS}/x/approve"), CONSOLE, &json!({}))
            .status,
        404
    );
    let said = verb(&setup, &["spaces", "history", "conformance"]).done();
    assert!(said.contains("a test"), "{said}");
}
