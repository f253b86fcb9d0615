//! The log on standard error: a line leads from a problem document to what the server saw, and
//! holds nothing that was sent.

use serde_json::{Value, json};

use crate::harness::{Server, Setup, until};

const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");
const CHECK: &str = "/v1/coordination/check";

/// The log line with a request's id, once it is written.
fn line_of(server: &Server, request_id: &str) -> Value {
    let line = until("a log line with the request's id", || {
        let lines = server.stderr().into_iter();
        lines
            .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
            .find(|line| line["request_id"] == request_id)
    });
    assert!(line["ms"].as_f64().is_some_and(|ms| ms >= 0.0), "{line}");
    line
}

#[test]
fn a_json_line_has_the_request_id_of_the_problem_and_no_sent_value() {
    let settings = "[telemetry]\nlog_format = \"json\"\nlog_filter = \"debug,sled=off\"\n";
    let server = Setup::new().config(settings).seed(SEED).start();
    let refused = json!({
        "agent": "SENT-agent", "intent": "SENT-intent", "direction": "SENT-direction",
        "purpose": "SENT-purpose", "subject": {"type": "phone_e164", "value": "+5511987650001"},
    });
    let problem = server.post(CHECK, KEY, &refused);
    assert_eq!(problem.status, 422, "{problem:?}");
    let id = problem.json()["request_id"].as_str().map(str::to_owned);
    let line = line_of(&server, &id.expect("a problem has a request id"));
    assert_eq!(line["level"], "DEBUG", "{line}");
    assert_eq!(line["message"], "refused", "{line}");
    assert_eq!(line["route"], CHECK, "{line}");
    assert_eq!(line["status"], 422, "{line}");
    let nobody = "nia_sk_test_br1_conformance_a_SENTsecret";
    let problem = server.post(CHECK, nobody, &json!({}));
    let id = problem.json()["request_id"].as_str().map(str::to_owned);
    let line = line_of(&server, &id.expect("a problem has a request id"));
    assert_eq!(line["status"], 401, "{line}");
    let ended = server.terminate();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for line in &ended.stderr {
        let sent = ["SENT", "5511987650001", KEY].iter();
        let sent: Vec<_> = sent.filter(|part| line.contains(**part)).collect();
        assert!(sent.is_empty(), "{sent:?} in {line}");
    }
}

#[test]
fn an_access_log_tells_of_every_request() {
    let settings = "[telemetry]\nlog_format = \"json\"\naccess_log = \"on\"\n";
    let server = Setup::new().config(settings).start();
    assert_eq!(server.get("/healthz", "").status, 200);
    assert_eq!(server.get("/nowhere/SENT", "").status, 404);
    let access = |route: &str| {
        until("a line of the access log", || {
            let lines = server.stderr().into_iter();
            lines
                .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
                .find(|line| line["message"] == "answered" && line["route"] == route)
        })
    };
    let line = access("/healthz");
    assert_eq!(line["level"], "INFO", "{line}");
    assert_eq!(line["status"], 200, "{line}");
    assert!(line["request_id"].is_string(), "{line}");
    assert_eq!(access("none")["status"], 404);
    let ended = server.terminate();
    assert!(!ended.stderr.join("\n").contains("SENT"), "{ended:?}");
    let quiet = Setup::new().start();
    assert_eq!(quiet.get("/nowhere", "").status, 404);
    let ended = quiet.terminate();
    assert!(!ended.stderr.join("\n").contains("answered"), "{ended:?}");
}
