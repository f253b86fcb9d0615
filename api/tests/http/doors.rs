//! Who gets in: every operation of the served document against every kind of caller.
//!
//! Here: the operations come from the document, so a new route is in the table without an edit; and a
//! route that is not in the document is none, but for those of a test's clock. Which
//! scope or role opens which route is found by asking and held to `doors.txt`, where a change is seen
//! in review; so is the list of routes that need no key. Not here: what a route does once it is open.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use actix_web::{App, web};
use interlock_api::directory::{Role, Scope};
use interlock_api::limits::ApiLimits;
use interlock_api::server::routes;
use interlock_domain::contact::fixture;
use interlock_domain::contact::name::SourceId;
use interlock_domain::key::SpaceId;
use serde_json::{Value, json};

use crate::client::Answered;
use crate::documented;
use crate::node::{
    CLAIMS, EFFECTS, KEY_A, KEY_C, KEY_OLD, KEY_SECURITY, Node, check_with, fresh, phone, put_key,
};
use crate::world::World;

/// What opens each operation, and what needs nothing.
const GOLDEN: &str = include_str!("doors.txt");
/// Any id: the order of refusals does not depend on whether it exists.
const ANY_ID: &str = "0192e2a0-0000-7000-8000-000000000001";
/// A key of another space that may everything there.
const ELSEWHERE: &str = "nia_sk_test_local_other_every_secretEvery";
const BARE: &str = "nia_sk_test_local_acme_bare_secretBare";
const EVERY: &str = "nia_sk_test_local_acme_all_secretAll";

/// What a test may ask of a server that has a test's clock, and nobody of any other: with their reason
/// the only routes that the document leaves out.
const OUTSIDE: [(&str, &str); 2] = [("GET", "/test/clock"), ("PUT", "/test/clock")];

/// A method and a path with its parameters in braces.
type Operation = (String, String);

/// The operations of the document; `true` for those that need a key.
fn operations() -> BTreeMap<Operation, bool> {
    let paths = documented::served().json()["paths"]
        .as_object()
        .expect("paths");
    let mut all = BTreeMap::new();
    for (path, item) in paths {
        for (method, operation) in item.as_object().expect("operations") {
            let keyed = operation["security"] != json!([]);
            all.insert((method.to_ascii_uppercase(), path.clone()), keyed);
        }
    }
    all
}

/// What a server registers.
fn registered(test_clock: bool) -> BTreeSet<Operation> {
    let (state, _) = Node::state(&World::new(), ApiLimits::default(), test_clock, Node::USUAL);
    let mut listed = Vec::new();
    drop(App::new().configure(|config| listed = routes(config, &web::Data::new(state))));
    let listed = listed.into_iter();
    listed
        .map(|(method, path)| (method.to_string(), path))
        .collect()
}

/// What the other tests ask comes from the document, so no route may be beside it.
#[test]
fn a_route_is_in_the_document_or_is_none() {
    let documented: BTreeSet<Operation> = operations().into_keys().collect();
    assert_eq!(registered(false), documented);
    let outside = OUTSIDE.map(|(method, path)| (method.to_owned(), path.to_owned()));
    let with_a_clock: BTreeSet<Operation> = registered(true);
    let beside: Vec<&Operation> = with_a_clock.difference(&documented).collect();
    assert_eq!(beside, outside.iter().collect::<Vec<_>>());
}

fn keyed() -> impl Iterator<Item = Operation> {
    operations()
        .into_iter()
        .filter_map(|(it, keyed)| keyed.then_some(it))
}

fn put(node: &Node, text: &str, space: SpaceId, scopes: Vec<Scope>, roles: Vec<Role>) {
    put_key(&node.directory, text, (space, SourceId(1)), (scopes, roles));
}

fn start() -> Node {
    let node = Node::start();
    let (scopes, roles) = (Scope::ALL.to_vec(), Role::ALL.to_vec());
    put(&node, BARE, fixture::SPACE, Vec::new(), Vec::new());
    put(&node, EVERY, fixture::SPACE, scopes.clone(), roles.clone());
    put(&node, ELSEWHERE, SpaceId([9; 16]), scopes, roles);
    node
}

/// Sends an empty object where something is posted: whoever does not get in is told so before the
/// body is looked at.
fn knock(node: &Node, (method, path): &Operation, authorization: Option<&str>) -> Answered {
    let mut parts = path.split('/').map(|part| {
        let named = part.starts_with('{');
        if named { place(part) } else { part.to_owned() }
    });
    let path = parts.by_ref().collect::<Vec<_>>().join("/");
    ask(node, method, &path, authorization)
}

/// Something in place of a path's parameter.
fn place(parameter: &str) -> String {
    match parameter {
        "{type}" => "features".to_owned(),
        "{effect_id}" => "A".repeat(43),
        _ => ANY_ID.to_owned(),
    }
}

fn ask(node: &Node, method: &str, path: &str, authorization: Option<&str>) -> Answered {
    let mut headers: Vec<(&str, String)> = Vec::new();
    headers.extend(authorization.map(|value| ("Authorization", value.to_owned())));
    headers.push(("Idempotency-Key", fresh("knock")));
    let body: &[u8] = if method == "POST" { b"{}" } else { b"" };
    node.client().send(method, path, &headers, body)
}

fn bearer(key: &str) -> String {
    format!("Bearer {key}")
}

#[test]
fn without_a_key_that_is_known_every_operation_is_401() {
    let node = start();
    let long = format!("Bearer {}", "k".repeat(2_000));
    let callers: Vec<Option<String>> = [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Bearer nia_sk_test_local_acme_a_secretB",
        "Bearer nia_sk_test_local_acme_a_secreta",
        "Basic bmlhOnNlY3JldA==",
        "nia_sk_test_local_acme_a_secretA",
        &bearer(KEY_OLD),
        &long,
    ]
    .into_iter()
    .map(|value| Some(value.to_owned()))
    .chain([None])
    .collect();
    for operation in keyed() {
        for caller in &callers {
            let answer = knock(&node, &operation, caller.as_deref());
            assert_eq!(
                answer.status, 401,
                "{operation:?} for {caller:?}: {answer:?}"
            );
            assert_eq!(answer.json()["code"], "unauthenticated");
            says_nothing_secret(&answer, caller.as_deref().unwrap_or_default());
        }
    }
}

/// Which of two is meant is nobody's to guess: a balancer may have looked at the other one.
#[test]
fn two_keys_in_one_request_open_nothing() {
    let node = start();
    let known = bearer(EVERY);
    for operation in keyed() {
        for other in [&*known, &bearer(BARE), "Bearer x", ""] {
            for pair in [[&*known, other], [other, &*known]] {
                let headers = pair.map(|value| ("Authorization", value.to_owned()));
                let (method, path) = &operation;
                let place = path.split('/').map(|part| match part.starts_with('{') {
                    true => place(part),
                    false => part.to_owned(),
                });
                let place = place.collect::<Vec<_>>().join("/");
                let body: &[u8] = if method == "POST" { b"{}" } else { b"" };
                let answer = node.client().send(method, &place, &headers, body);
                let problem = answer.problem(401, "unauthenticated");
                let detail = problem["detail"].as_str().expect("a sentence");
                assert!(detail.contains("sent once"), "{operation:?}: {detail}");
            }
        }
    }
}

/// An answer never gives a key's secret part back.
fn says_nothing_secret(answer: &Answered, key: &str) {
    let text = String::from_utf8_lossy(&answer.body);
    let secret = key.rsplit('_').next().unwrap_or_default();
    if secret.starts_with("secret") {
        assert!(
            !text.contains(secret) && !answer.head.contains(secret),
            "{answer:?}"
        );
    }
}

#[test]
fn what_opens_each_operation_is_what_the_list_says() {
    let node = start();
    let mut keys: Vec<(&'static str, String)> = Vec::new();
    for scope in Scope::ALL {
        let text = format!("nia_sk_test_local_acme_s{0}_secretS{0}", scope.name());
        put(&node, &text, fixture::SPACE, vec![*scope], Vec::new());
        keys.push((scope.name(), text));
    }
    let roles = Role::ALL
        .iter()
        .map(|role| (role, format!("as {}", role.name())));
    let roles: Vec<(&Role, &'static str)> =
        roles.map(|(role, name)| (role, &*name.leak())).collect();
    for (role, name) in roles {
        let text = format!("nia_sk_test_local_acme_r{0}_secretR{0}", role.name());
        put(&node, &text, fixture::SPACE, Vec::new(), vec![*role]);
        keys.push((name, text));
    }
    let mut found = String::new();
    for ((method, path), is_keyed) in operations() {
        let operation = (method, path);
        let opened = |key: &str| {
            let answer = knock(&node, &operation, Some(&bearer(key)));
            says_nothing_secret(&answer, key);
            assert!(
                answer.status != 401 && answer.status < 500,
                "{operation:?}: {answer:?}"
            );
            answer.status != 403
        };
        let who: Vec<&str> = if !is_keyed {
            vec!["everybody"]
        } else if opened(BARE) {
            vec!["any key"]
        } else {
            let may = keys.iter().filter(|(_, key)| opened(key));
            may.map(|(name, _)| *name).collect()
        };
        assert!(
            !who.is_empty() && opened(EVERY),
            "nobody gets in: {operation:?}"
        );
        let (method, path) = &operation;
        writeln!(found, "{method} {path}: {}", who.join(", ")).expect("a text");
    }
    assert_eq!(
        found, GOLDEN,
        "what opens an operation has changed; where that is meant, this is doors.txt:\n{found}"
    );
}

/// One of each thing that has an id in a path, made in the first space.
fn things(node: &Node) -> BTreeMap<&'static str, String> {
    let value = "+5511955550099";
    let id = |answer: Answered, member: &str| {
        assert!((200..300).contains(&answer.status), "{answer:?}");
        answer.json()[member].as_str().expect("an id").to_owned()
    };
    let claim = json!({"kind": "owner", "holder": "h", "lease_s": 600, "subject": phone(value)});
    let effect = json!({"effect_key": fresh("effect"), "kind": "filing"});
    let call = json!({"operation": "registry_search", "subject": phone(value)});
    let handoff = json!({"subject": phone(value), "target": "human_desk", "reason": "r"});
    let hold = json!({"handle": phone("+5511955550098"), "reason": "r"});
    let forget = json!({"target": "handle", "handle": phone("+5511955550097")});
    node.check(&check_with(&json!({"subject": phone("+5511955550097")})));
    BTreeMap::from([
        ("{claim_id}", id(node.post(CLAIMS, &claim), "claim_id")),
        ("{effect_id}", id(node.post(EFFECTS, &effect), "effect_id")),
        (
            "{admission_id}",
            id(
                node.post("/v1/coordination/admissions", &call),
                "admission_id",
            ),
        ),
        (
            "{handoff_id}",
            id(node.post("/v1/handoffs", &handoff), "handoff_id"),
        ),
        (
            "{hold_id}",
            id(
                node.post_as(KEY_SECURITY, "/v1/legal-holds", &hold),
                "hold_id",
            ),
        ),
        (
            "{request_id}",
            id(
                node.post_as(KEY_SECURITY, "/v1/forget", &forget),
                "request_id",
            ),
        ),
    ])
}

/// A body that the operation takes.
fn body(path: &str) -> Value {
    match path {
        path if path.starts_with("/v1/operator/effects") => {
            json!({"state": "done", "by": "person"})
        }
        path if path.contains("/effects/") => json!({"attempt": 1, "state": "done"}),
        path if path.contains("/admissions/") => json!({"state": "skipped"}),
        path if path.contains("/claims/") => json!({"epoch": 1}),
        path if path.ends_with("/outcome") => json!({"outcome": "resolved"}),
        path if path.contains("/legal-holds/") => json!({"reason": "r"}),
        _ => json!({}),
    }
}

#[test]
fn an_id_of_another_space_is_404_on_every_operation_that_names_one() {
    let node = start();
    let things = things(&node);
    // Edits of a space's documents are asked of the built server (`tests/it/plane/elsewhere.rs`).
    let elsewhere = ["{diff_id}", "{type}"];
    let mut asked = 0;
    for (method, path) in keyed().filter(|(_, path)| path.contains('{')) {
        let parameter = path
            .split('/')
            .find(|part| part.starts_with('{'))
            .expect("one");
        if elsewhere.contains(&parameter) {
            continue;
        }
        let id = things.get(parameter).unwrap_or_else(|| {
            panic!("{path}: say in `things` what makes a {parameter}, so that it can be tested")
        });
        let place = path.replace(parameter, id);
        let send = |key: &str| {
            let headers = [
                ("Authorization", bearer(key)),
                ("Idempotency-Key", fresh("other")),
            ];
            let body = if method == "POST" {
                body(&path).to_string()
            } else {
                String::new()
            };
            node.client()
                .send(&method, &place, &headers, body.as_bytes())
        };
        let before = node.world.entities();
        let other = send(ELSEWHERE);
        assert_eq!(other.status, 404, "{method} {path}: {other:?}");
        assert_eq!(other.json()["code"], "not_found");
        let text = String::from_utf8_lossy(&other.body);
        assert!(!text.contains(id.as_str()), "{text}");
        // An effect's outcome may be told before its reservation is known, in the teller's space alone.
        assert!(node.world.entities() - before <= 1, "{method} {path}");
        let own = send(EVERY);
        assert_ne!(own.status, 404, "{method} {path}: its own space: {own:?}");
        asked += 1;
    }
    assert!(asked >= 9, "{asked} operations");
}

#[test]
fn a_scope_too_few_is_told_before_the_body_is_read() {
    let node = start();
    for operation in keyed().filter(|(method, _)| method == "POST") {
        let (method, path) = &operation;
        let path = path.split('/').map(|part| {
            if part.starts_with('{') {
                place(part)
            } else {
                part.to_owned()
            }
        });
        let path = path.collect::<Vec<_>>().join("/");
        let headers = [("Authorization", bearer(BARE))];
        let answer = node.client().send(method, &path, &headers, b"{\"half\":");
        assert_eq!(answer.status, 403, "{operation:?}: {answer:?}");
        for key in [KEY_A, KEY_C] {
            says_nothing_secret(&answer, key);
        }
    }
}
