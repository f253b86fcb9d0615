//! Nothing a client sends makes the server fail: whatever it is, the answer is a problem or a result.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::Answered;
use crate::node::{BATCH, CHECK, CLAIMS, DECLARE, EFFECTS, KEY_A, KEY_B, Node, check, fresh};

/// A release of a claim that nobody has.
const RELEASE: &str = "/v1/coordination/claims/0192e2a0-0000-7000-8000-000000000001/release";
/// Routes whose contract is larger than coordination; key A may not call them.
const WIDE: [&str; 2] = ["/v1/batch", "/v1/context"];

fn headers() -> Vec<(&'static str, String)> {
    vec![
        ("Authorization", format!("Bearer {KEY_A}")),
        ("Idempotency-Key", fresh("key")),
    ]
}

fn send(node: &Node, path: &str, extra: &[(&'static str, &str)], body: &[u8]) -> Answered {
    let mut headers = headers();
    headers.extend(
        extra
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned())),
    );
    node.client().send("POST", path, &headers, body)
}

fn send_as(node: &Node, key: &str, path: &str, body: &[u8]) -> Answered {
    let headers = [("Authorization", format!("Bearer {key}"))];
    node.client().send("POST", path, &headers, body)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn w7_what_is_not_json_is_400() {
    let node = Node::start();
    let deep = "[".repeat(50_000);
    let bomb = format!("{{\"agent\":{deep}");
    let bodies: [&[u8]; 10] = [
        b"",
        b" ",
        b"nope",
        b"{",
        b"{\"agent\":\"a\"",
        b"{\"agent\":\"a\",}",
        b"{}{}",
        b"\xff\xfe{\x00}\x00",
        deep.as_bytes(),
        bomb.as_bytes(),
    ];
    for path in [CHECK, BATCH, DECLARE, EFFECTS, CLAIMS, RELEASE] {
        for body in bodies {
            send(&node, path, &[], body).problem(400, "invalid_input");
        }
    }
    for path in WIDE {
        for body in bodies {
            send_as(&node, KEY_B, path, body).problem(400, "invalid_input");
        }
    }
}

#[test]
fn json_of_another_shape_is_422() {
    let node = Node::start();
    let closed = format!("{{\"agent\":{}{}}}", "[".repeat(20_000), "]".repeat(20_000));
    let bodies = [
        "null",
        "[]",
        "5",
        "1e999",
        "\"text\"",
        "{\"agent\":1e999}",
        "{\"agent\":\"a\",\"agent\":\"a\"}",
        "{\"agent\":\"\\ud800\"}",
        "{\"\":1}",
        "{\"attempt\":-99999999999999999999999999,\"state\":\"done\"}",
        &closed,
    ];
    let settle = format!("{EFFECTS}/{}/settle", "A".repeat(43));
    for path in [CHECK, BATCH, DECLARE, EFFECTS, &settle, CLAIMS, RELEASE] {
        for body in bodies {
            send(&node, path, &[], body.as_bytes()).problem(422, "invalid_input");
        }
    }
    for path in WIDE {
        for body in bodies {
            send_as(&node, KEY_B, path, body.as_bytes()).problem(422, "invalid_input");
        }
    }
}

#[test]
fn a_body_above_its_bound_is_413() {
    let node = Node::start();
    let large = vec![b' '; 64 * 1024 + 1];
    send(&node, CHECK, &[], &large).problem(413, "payload_too_large");
    let chunked =
        "POST /v1/coordination/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n";
    let mut client = node.client();
    client.write_raw(format!("{chunked}Authorization: Bearer {KEY_A}\r\n\r\n").as_bytes());
    client.write_raw(format!("{:x}\r\n", large.len()).as_bytes());
    client.write_raw(&large);
    client.write_raw(b"\r\n0\r\n\r\n");
    let answer = client.read_answer("POST", CHECK);
    answer.problem(413, "payload_too_large");
    send(&node, BATCH, &[], &vec![b' '; 4 * 1024 * 1024 + 1]).problem(413, "payload_too_large");
    let fits = [check().to_string().into_bytes(), vec![b' '; 60_000]].concat();
    send(&node, CHECK, &[], &fits).ok();
}

#[test]
fn a_gzip_body_is_inflated_up_to_the_bound() {
    let node = Node::start();
    let gzipped = [("Content-Encoding", "gzip")];
    let fits = gzip(check().to_string().as_bytes());
    send(&node, CHECK, &gzipped, &fits).ok();
    let bomb = gzip(&vec![b' '; 50 * 1024 * 1024]);
    assert!(bomb.len() < 64 * 1024);
    send(&node, CHECK, &gzipped, &bomb).problem(413, "payload_too_large");
    send(&node, CHECK, &gzipped, b"not gzip").problem(400, "invalid_input");
    send(&node, CHECK, &gzipped, &fits[..fits.len() - 9]).problem(400, "invalid_input");
    send(&node, CHECK, &gzipped, b"").problem(400, "invalid_input");
    for other in ["br", "zstd", "deflate", "gzip, gzip"] {
        let encoding = [("Content-Encoding", other)];
        send(&node, CHECK, &encoding, &fits).problem(415, "unsupported_media_type");
    }
}

#[test]
fn only_a_body_of_another_media_type_is_415() {
    let node = Node::start();
    let body = check().to_string();
    for taken in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON;x=y",
        "application/merge-patch+json",
    ] {
        send(&node, CHECK, &[("Content-Type", taken)], body.as_bytes()).ok();
    }
    send(&node, CHECK, &[], body.as_bytes()).ok();
    for other in [
        "text/plain",
        "application/xml",
        "application/x-www-form-urlencoded",
        "",
        "json",
    ] {
        let answer = send(&node, CHECK, &[("Content-Type", other)], body.as_bytes());
        answer.problem(415, "unsupported_media_type");
        // Without a body there is nothing whose type could be wrong; it is just not JSON.
        send(&node, CHECK, &[("Content-Type", other)], b"").problem(400, "invalid_input");
    }
}

#[test]
fn a_path_or_method_there_is_not_is_a_problem() {
    let node = Node::start();
    let paths = [
        "/",
        "/v1",
        "/v1/coordination",
        "/v1/coordination/check/",
        "/v1/claims",
        "/%zz",
        "/%00",
        "/v1/coordination/effects//settle",
        "/v1/coordination/%63heck%ff",
        "//healthz",
        "/healthz/..",
    ];
    for path in paths {
        node.get(path, Some(KEY_A)).problem(404, "not_found");
    }
    for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "FOO"] {
        let answer = node.client().send(method, CHECK, &headers(), b"");
        answer.problem(405, "method_not_allowed");
    }
}

/// Held to the served document, so that no route comes to be without its word of what it takes.
#[test]
fn a_wrong_method_is_told_the_right_ones() {
    let node = Node::start();
    let document: serde_json::Value =
        serde_json::from_str(&interlock_api::openapi::document().json).unwrap();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 10);
    for (path, item) in paths {
        let listed = item.as_object().unwrap().keys();
        let listed: Vec<String> = listed.map(|method| method.to_ascii_uppercase()).collect();
        let path = path.replace(['{', '}'], "");
        let answer = node.client().send("PATCH", &path, &headers(), b"{}");
        let allow = listed.join(", ");
        assert_eq!(answer.header("allow"), Some(allow.as_str()), "{path}");
        answer.problem(405, "method_not_allowed");
    }
    let clock = node.client().send("PATCH", "/test/clock", &headers(), b"");
    assert_eq!(clock.header("allow"), Some("GET, PUT"));
    clock.problem(405, "method_not_allowed");
}

#[test]
fn a_header_of_any_bytes_is_no_failure() {
    let node = Node::start();
    let mut request =
        format!("POST {DECLARE} HTTP/1.1\r\nHost: x\r\nIdempotency-Key: ").into_bytes();
    request.extend_from_slice(
        b"\xff\xfe\r\nAuthorization: Bearer \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    );
    let mut client = node.client();
    client.write_raw(&request);
    let answer = client.read_answer("POST", DECLARE);
    answer.problem(401, "unauthenticated");
    let long = "x".repeat(8_000);
    let authorization = [("Authorization", format!("Bearer {long}"))];
    node.client()
        .send("GET", "/v1/sources/me", &authorization, b"")
        .problem(401, "unauthenticated");
}

/// What is not HTTP is answered below the routes: a plain status without a document.
#[test]
fn what_is_not_http_is_refused_without_a_failure() {
    let node = Node::start();
    let long = format!(
        "GET /healthz HTTP/1.1\r\nX: {}\r\n\r\n",
        "x".repeat(200_000)
    );
    let heads = [
        "nonsense\r\n\r\n",
        "GET  HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/9.9\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nno colon\r\n\r\n",
        "POST /healthz HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        "POST /healthz HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST /healthz HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nzz\r\n",
        &long,
    ];
    for head in heads {
        let mut client = node.client();
        client.write_raw(head.as_bytes());
        let status = client.read("GET").status;
        assert!(
            (400..500).contains(&status),
            "{status} for {:?}",
            head.get(..60)
        );
    }
    node.get("/healthz", None).ok();
}

#[test]
fn a_refused_request_leaves_the_connection_in_order() {
    let node = Node::start();
    let mut client = node.client();
    for _ in 0..20 {
        let answer = client.send("POST", CHECK, &headers(), b"{\"nonsense\":1}");
        answer.problem(422, "invalid_input");
        client
            .send("POST", CHECK, &headers(), check().to_string().as_bytes())
            .ok();
    }
}

/// Words the rules know.
const WORDS: &[&str] = &[
    "a",
    "service",
    "outbound",
    "whatsapp",
    "done",
    "effect",
    "contact.made",
    "delivery",
    "phone_e164",
    "+5511987654321",
    "opt_out",
    "any",
    "08:00",
    "UTC",
    "2026-11-30T12:00:00Z",
    "owner",
    "task_lock",
    "lease",
    "human_active",
    "panel",
    "event",
    "message",
    "inbound",
    "coordination",
];

/// Members the contract knows.
const NAMES: &[&str] = &[
    "agent",
    "intent",
    "direction",
    "purpose",
    "channel",
    "subject",
    "object",
    "type",
    "value",
    "effect_key",
    "kind",
    "detail",
    "attempt",
    "state",
    "checks",
    "reason",
    "window",
    "from",
    "to",
    "tz",
    "days",
    "until",
    "namespace",
    "id",
    "task",
    "scope",
    "holder",
    "lease_s",
    "level",
    "source",
    "observed_at",
    "intents",
    "epoch",
    "claim_id",
    "items",
    "handles",
    "occurred_at",
    "include",
];

/// Text, numbers and words that rules are about, so that most bodies get past the parser.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        proptest::sample::select(WORDS).prop_map(|word| json!(word)),
        any::<String>().prop_map(|text| json!(text)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        any::<bool>().prop_map(|flag| json!(flag)),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 24, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::btree_map(proptest::sample::select(NAMES), inner, 0..9).prop_map(
                |members| {
                    let members = members.into_iter();
                    Value::Object(
                        members
                            .map(|(name, value)| (name.to_owned(), value))
                            .collect(),
                    )
                }
            ),
        ]
    })
}

#[test]
fn w7_no_body_makes_the_server_fail() {
    let node = Node::start();
    let settle = format!("{EFFECTS}/{}/settle", "A".repeat(43));
    let coordination = [CHECK, BATCH, DECLARE, EFFECTS, &settle, CLAIMS, RELEASE];
    let paths = [&coordination[..], &WIDE].concat();
    let cut = (value(), 0..paths.len(), any::<bool>(), 0_usize..400);
    let config = ProptestConfig::with_cases(1_200);
    proptest!(config, |((value, path, cut, at) in cut)| {
        let mut body = value.to_string().into_bytes();
        if cut && at < body.len() {
            body[at] = body[at].wrapping_add(1);
        }
        let answer = match WIDE.contains(&paths[path]) {
            true => send_as(&node, KEY_B, paths[path], &body),
            false => send(&node, paths[path], &[], &body),
        };
        if answer.status >= 300 {
            prop_assert!(matches!(answer.status, 400 | 404 | 409 | 422), "{answer:?}");
            let code = answer.json()["code"].as_str().unwrap().to_owned();
            let status = answer.status;
            answer.problem(status, &code);
        }
    });
}
