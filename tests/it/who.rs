//! The table "Who may do what" of the operator's page, held against the server line by line.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Server, Setup};
use crate::verbs::facts;

const PAGE: &str = include_str!("../../docs/operate.md");
const CONTRACT: &str = include_str!("../../docs/openapi.json");
const SEED: &str = include_str!("../conformance/space.json");
const SCOPES: [&str; 6] = [
    "track",
    "context",
    "coordinate",
    "state:push",
    "identity:link",
    "admin",
];
const ROLES: [&str; 4] = ["security", "integration", "analysis", "admin"];

/// A row: its routes, and the words in the columns of scopes and of roles.
struct Row {
    routes: Vec<String>,
    opens: [String; 2],
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<String> {
    let parts = cell.split('`').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

fn rows() -> Vec<Row> {
    let (_, section) = PAGE
        .split_once("### Who may do what")
        .expect("the section is there");
    let lines = section.lines().skip_while(|line| !line.starts_with('|'));
    let lines = lines.take_while(|line| line.starts_with('|')).skip(2);
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let [routes, scopes, roles] = cells[..] else {
            panic!("{line}")
        };
        Row {
            routes: quoted(routes),
            opens: [scopes, roles].map(str::to_owned),
        }
    };
    lines.map(row).collect()
}

/// The status of a request without anything in it. The path names what nobody has.
fn status(server: &Server, route: &str, key: &str) -> u16 {
    let (method, path) = route.split_once(' ').expect("a method and a path");
    let path = path.replace("{type}", "features");
    let path: String = path
        .split('/')
        .map(|part| match part.starts_with('{') {
            true => "/0192f5a0-0000-7000-8000-00000000ffff".to_owned(),
            false => format!("/{part}"),
        })
        .collect();
    let path = path.strip_prefix('/').expect("an empty part is first");
    match method {
        "GET" => server.get(path, key).status,
        "POST" => server.post(path, key, &json!({})).status,
        _ => panic!("{route}"),
    }
}

/// A key with one scope or one role, in the order of the columns.
fn keys(setup: &Setup) -> Vec<(usize, &'static str, String)> {
    let made = |column: usize, flag: &str, word: &'static str| {
        let words = ["keys", "create", "--space", "conformance"];
        let of = ["--source", "crm", flag, word];
        let made = facts(setup, &[&words[..], &of[..]].concat());
        (
            column,
            word,
            made["key"].as_str().expect("a key").to_owned(),
        )
    };
    let scopes = SCOPES.iter().map(|word| made(0, "--scope", word));
    let roles = ROLES.iter().map(|word| made(1, "--role", word));
    scopes.chain(roles).collect()
}

#[test]
fn each_line_is_what_the_server_does() {
    let server = Setup::new().seed(SEED).start();
    let keys = keys(&server.setup());
    for Row { routes, opens } in rows() {
        for route in &routes {
            let needs = match opens[0].trim() {
                "no key" => {
                    assert_ne!(status(&server, route, "nobody"), 401, "{route}");
                    continue;
                }
                "any key" => None,
                _ => Some(opens.each_ref().map(|cell| quoted(cell))),
            };
            assert_eq!(status(&server, route, "nobody"), 401, "{route}");
            for (column, word, key) in &keys {
                let open = needs
                    .as_ref()
                    .is_none_or(|needs| needs[*column].iter().any(|one| one == word));
                let status = status(&server, route, key);
                assert_eq!(status != 403, open, "{route}: {column} {word}: {status}");
            }
        }
    }
}

#[test]
fn each_route_of_the_contract_has_a_line() {
    let contract: Value = serde_json::from_str(CONTRACT).expect("JSON");
    let paths = contract["paths"].as_object().expect("paths");
    let known: BTreeSet<String> = paths
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods").keys();
            // HEAD is for whom GET is.
            let methods = methods.filter(|method| *method != "head");
            methods.map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    let listed: Vec<String> = rows().into_iter().flat_map(|row| row.routes).collect();
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "a route is there once");
    assert_eq!(once, known);
}
