//! What is looked up and settled: effects, entities, decisions.

use serde_json::json;

use crate::harness::Setup;

use super::{CHECK, NOON, facts, new_key, question, reserve, started, text, verb};

#[test]
fn an_effect_whose_lease_is_over_is_listed_and_settled() {
    let (server, setup) = started();
    let made = new_key(&setup);
    let key = text(&made, "key");
    for number in 0..3 {
        reserve(&server, key, &format!("order-{number}"));
    }
    let awaiting = ["effects", "awaiting", "--space", "default"];
    assert_eq!(facts(&setup, &awaiting)["awaiting"], 0, "the leases hold");
    assert_eq!(verb(&setup, &awaiting).done(), "none\n");
    server.set_clock("2026-01-05T12:30:00Z");
    let listed = facts(&setup, &awaiting);
    assert_eq!(listed["awaiting"], 3);
    let first = &listed["effects"][0];
    assert_eq!(
        (&first["kind"], &first["source"]),
        (&json!("document"), &json!("agents"))
    );
    assert_eq!(
        (&first["age_s"], &first["attempt"]),
        (&json!(29 * 60), &json!(1))
    );
    let of = |more: &[&str]| {
        let words = [&awaiting[..], more].concat();
        facts(&setup, &words)["awaiting"].clone()
    };
    assert_eq!(of(&["--older-than", "29m"]), 3);
    assert_eq!(of(&["--older-than", "30m"]), 0);
    assert_eq!(of(&["--kind", "delivery"]), 0);
    assert_eq!(of(&["--source", "operator"]), 0);
    let one = facts(&setup, &[&awaiting[..], &["--limit", "1"]].concat());
    assert_eq!(
        (&one["truncated"], one["effects"].as_array().map(Vec::len)),
        (&json!(true), Some(1))
    );
    let text_form = verb(&setup, &awaiting).done();
    assert_eq!(text_form.lines().count(), 4, "a row is a line: {text_form}");

    let short = text(first, "short_id");
    let settle = |words: &[&str]| {
        let fixed = ["effects", "settle", "--space", "default", "--by", "person"];
        verb(&setup, &[&fixed[..], words].concat())
    };
    let stale = settle(&["--short", short, "--state", "done", "--attempt", "2"]);
    assert!(stale.line(13).contains("attempt is 1"), "{stale:?}");
    let said = settle(&["--short", short, "--state", "done"]).done();
    assert!(said.contains("attempt 1 is done"), "{said}");
    let again = settle(&["--short", short, "--state", "failed"]);
    assert!(again.line(13).contains("unknown"), "{again:?}");
    settle(&["--effect-key", "nobody", "--state", "done"]).line(13);
    let server = server.kill().start();
    assert_eq!(of(&[]), 2);
    for number in 0..3 {
        let name = format!("order-{number}");
        settle(&["--effect-key", &name, "--state", "failed"]);
    }
    assert_eq!(of(&[]), 0);
    drop(server);
}

#[test]
fn show_says_what_is_held_before_and_after() {
    let (server, setup) = started();
    let made = new_key(&setup);
    let key = text(&made, "key");
    let subject = [
        "show",
        "--space",
        "default",
        "--subject",
        "phone_e164:+5511987654321",
    ];
    let nothing = verb(&setup, &subject).done();
    assert!(nothing.contains("holds nothing"), "{nothing}");
    let suppress = json!({"kind": "suppression.added", "agent": "a",
        "subject": {"type": "phone_e164", "value": "+5511987654321"},
        "detail": {"purpose": "marketing", "reason": "opt_out"}});
    let answer = server.post_once("/v1/coordination/declare", key, "s-1", &suppress);
    assert_eq!(answer.status, 200, "{answer:?}");
    let shown = verb(&setup, &subject).done();
    assert!(
        shown.contains("marketing") && shown.contains("no end"),
        "{shown}"
    );
    assert!(!shown.contains("5511987654321"), "the value is not echoed");
    reserve(&server, key, "order-1");
    let effect = ["show", "--space", "default", "--effect-key", "order-1"];
    let shown = facts(&setup, &effect);
    assert_eq!(shown["effect"]["state"], "reserved");
    assert_eq!(shown["effect"]["lease_until"], "2026-01-05T12:01:00Z");
    server.set_clock("2026-01-05T12:02:00Z");
    assert_eq!(facts(&setup, &effect)["effect"]["state"], "unknown_outcome");
    let object = ["show", "--space", "default", "--object", "invoice:erp:17"];
    assert_eq!(facts(&setup, &object)["known"], false);
    let bad = [
        "show",
        "--space",
        "default",
        "--subject",
        "telegraph:5511987654321",
    ];
    let said = verb(&setup, &bad);
    assert!(said.line(13).contains("type"), "{said:?}");
    assert_eq!(verb(&setup, &["show", "--space", "default"]).code, Some(2));
    let log = server.terminate().stderr.join("\n");
    assert!(
        !log.contains("5511987654321") && !log.contains("order-1"),
        "{log}"
    );
}

#[test]
fn show_says_which_units_are_drawn_and_which_holds_are_on_it() {
    const AGENTS: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
    const PEOPLE: &str = "nia_sk_test_br1_conformance_d_rolesecret000001";
    let seed = include_str!("../../conformance/space.json");
    let server = Setup::new().seed(seed).test_clock(NOON).start();
    let setup = server.setup();
    let customer = json!({"type": "phone_e164", "value": "+5511987654321"});
    let admission = json!({"operation": "registry_search", "cost_units": 4, "subject": customer});
    let post = |path: &str, key: &str, once: &str, body: &serde_json::Value| {
        let answer = server.post_once(path, key, once, body);
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        answer.json()
    };
    for once in ["a-1", "a-2"] {
        post("/v1/coordination/admissions", AGENTS, once, &admission);
    }
    let words = ["show", "--space", "conformance", "--subject"];
    let subject = [&words[..], &["phone_e164:+5511987654321"]].concat();
    let shown = facts(&setup, &subject);
    let drawn = json!([{"operation": "registry_search", "used": 8, "limit": 10,
        "per_hours": 24, "next": null}]);
    assert_eq!(shown["paid"], drawn);
    assert_eq!(shown["legal_holds"], json!([]));

    let holds = "/v1/legal-holds";
    let of = |target: serde_json::Value| {
        let mut hold = target;
        hold["reason"] = json!("matter 17");
        hold
    };
    let hold = of(json!({"handle": customer}));
    let first = post(holds, PEOPLE, "h-1", &hold)["hold_id"].clone();
    let second = post(holds, PEOPLE, "h-2", &hold)["hold_id"].clone();
    let invoice = json!({"type": "invoice", "namespace": "erp", "id": "17"});
    let third = post(holds, PEOPLE, "h-3", &of(json!({"object": invoice})))["hold_id"].clone();
    let release = format!("{holds}/{}/release", second.as_str().expect("an id"));
    let since = "2026-01-05T12:00:00Z";
    let two = json!([{"id": first, "since": since}, {"id": second, "since": since}]);
    assert_eq!(facts(&setup, &subject)["legal_holds"], two);
    post(&release, PEOPLE, "r-1", &json!({"reason": "closed"}));
    let one = json!([{"id": first, "since": since}]);
    assert_eq!(facts(&setup, &subject)["legal_holds"], one);
    let text_form = verb(&setup, &subject).done();
    for part in ["legal holds: 1", text(&one[0], "id"), "8 of 10"] {
        assert!(text_form.contains(part), "{part}: {text_form}");
    }
    let object = [
        "show",
        "--space",
        "conformance",
        "--object",
        "invoice:erp:17",
    ];
    assert_eq!(
        facts(&setup, &object)["legal_holds"],
        json!([{"id": third, "since": since}])
    );
    // A day later the units have left their window; the holds stay.
    server.set_clock("2026-01-06T13:00:00Z");
    let shown = facts(&setup, &subject);
    assert_eq!(shown["paid"][0]["used"], 0);
    assert_eq!(shown["legal_holds"], one);
}

#[test]
fn a_decision_is_explained_before_and_after_a_restart() {
    let (server, setup) = started();
    let made = new_key(&setup);
    let key = text(&made, "key");
    let suppress = json!({"kind": "suppression.added", "agent": "a",
        "subject": {"type": "phone_e164", "value": "+5511987654321"},
        "detail": {"purpose": "service", "reason": "opt_out"}});
    let answer = server.post_once("/v1/coordination/declare", key, "s-1", &suppress);
    assert_eq!(answer.status, 200, "{answer:?}");
    let denied = server.post(CHECK, key, &question("service")).json();
    assert_eq!(denied["decision"], "deny");
    let words = ["explain", text(&denied, "decision_id")];
    let explained = facts(&setup, &words);
    assert_eq!(explained["decision"], "deny");
    assert_eq!(
        explained["reasons"],
        json!([{"code": "suppressed", "step": "2, suppression"}])
    );
    assert_eq!(
        (&explained["source"], &explained["route"]),
        (&json!("agents"), &json!("check"))
    );
    assert_eq!(
        (&explained["time"], &explained["purpose"]),
        (&json!(NOON), &json!("service"))
    );
    assert_eq!(explained["rules_version"], 1);
    let server = server.restart(|setup| setup);
    let said = verb(&setup, &words).done();
    assert!(
        said.contains("suppression") && said.contains("whatsapp"),
        "{said}"
    );
    let nobody = ["explain", "019b8e12-3400-7000-8000-000000000000"];
    verb(&setup, &nobody).line(13);
    drop(server);
}
