//! The pages people start with do what they say.
//!
//! Here: shell and Python blocks of README's tour, of `docs/contact.md` and of what people do in
//! `docs/operate.md`, run as they are written against a server; the JSON after a block is what its last answer must hold, a comment at the end
//! of a Python line what that line prints; in `pages/` the chapters for trouble. Not here: the answers'
//! other members; blocks of Rust, which the crate they are about runs.

mod trouble;

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Server, Setup};

const README: &str = include_str!("../../README.md");
const CONTACT: &str = include_str!("../../docs/contact.md");
const OPERATE: &str = include_str!("../../docs/operate.md");
const SEED: &str = include_str!("../conformance/space.json");
/// The address that the pages name.
const ADDRESS: &str = "http://127.0.0.1:7440";
/// The data directory that the pages name.
const DATA: &str = "try-contact";

/// The fenced blocks of a text, each with its language.
fn blocks(text: &'static str) -> Vec<(&'static str, &'static str)> {
    let mut parts = text.split("\n```");
    parts.next();
    let mut blocks = Vec::new();
    while let (Some(block), _after) = (parts.next(), parts.next()) {
        let (language, text) = block.split_once('\n').expect("a block has lines");
        blocks.push((language, text));
    }
    blocks
}

/// README's tour.
fn tour() -> &'static str {
    part(README, "## Five minutes", "\n## To change")
}

/// What stands from one heading to another.
fn part(page: &'static str, from: &str, to: &str) -> &'static str {
    let start = page.find(from).expect("the part");
    let part = page.get(start..).unwrap_or_default();
    let end = part.find(to).expect("what follows the part");
    part.get(..end).unwrap_or_default()
}

fn source_key(server: &Server) -> String {
    let line = server.line("  source key ");
    let key = line.split_whitespace().nth(2);
    key.expect("a key after its name").to_owned()
}

/// Whether `found` has everything that `wanted` has.
fn holds(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => wanted
            .iter()
            .all(|(name, wanted)| found.get(name).is_some_and(|found| holds(found, wanted))),
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len()
                && found
                    .iter()
                    .zip(wanted)
                    .all(|(found, wanted)| holds(found, wanted))
        }
        _ => found == wanted,
    }
}

/// Runs the shell blocks of a page as one script; how many answers were held to the page.
fn run_shell(page: &'static str, server: &Server, key: &str) -> usize {
    let mut script = "set -eu\ninterlock() { \"$INTERLOCK\" \"$@\"; }\n".to_owned();
    let mut wanted: Vec<(usize, Value)> = Vec::new();
    let mut shell = 0;
    for (language, text) in blocks(page) {
        match language {
            "sh" => {
                let data = server.data().path().display().to_string();
                let text = text.replace(ADDRESS, server.url());
                script.push_str(&text.replace(DATA, &data));
                script.push_str("\necho '--- next'\n");
                shell += 1;
            }
            "json" => {
                let json = serde_json::from_str(text).expect("the page shows JSON");
                wanted.push((shell - 1, json));
            }
            "python" | "rust" | "text" => {}
            other => panic!("the page has a block of {other}"),
        }
    }
    let output = Command::new("sh")
        .args(["-c", &script])
        .env("INTERLOCK_KEY", key)
        .env("INTERLOCK", env!("CARGO_BIN_EXE_interlock"))
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).expect("UTF-8");
    let answers: Vec<&str> = told.split("--- next\n").collect();
    for (place, wanted) in &wanted {
        let last = answers[*place].trim().lines().last().unwrap_or_default();
        let found: Value = serde_json::from_str(last).expect("an answer in JSON");
        assert!(holds(&found, wanted), "{found}\nshould hold {wanted}");
    }
    wanted.len()
}

/// Takes the steps of the contact page, for whoever wants a node that has done a bit of everything.
pub(crate) fn take_contact_steps(server: &Server) {
    run_shell(CONTACT, server, "");
}

/// Runs the Python block of a page.
fn run_python(page: &'static str, server: &Server, key: &str) {
    let python = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/venv/bin/python");
    assert!(
        python.exists(),
        "no SDK in {}; run cargo xtask setup",
        python.display()
    );
    let (_, example) = blocks(page)
        .into_iter()
        .find(|(language, _)| *language == "python")
        .expect("the page has the SDK");
    let example = example.replace(ADDRESS, server.url());
    let output = Command::new(python)
        .args(["-c", &example])
        .env("INTERLOCK_KEY", key)
        .output()
        .expect("python");
    assert!(output.status.success(), "{output:?}");
    let promised: Vec<&str> = example
        .lines()
        .filter_map(|line| line.split_once("# "))
        .map(|(_, promise)| promise)
        .collect();
    let told = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(told.lines().collect::<Vec<_>>(), promised);
}

#[test]
fn the_readme_tour_runs_as_written() {
    let server = Setup::new().start();
    let held = run_shell(tour(), &server, &source_key(&server));
    assert!(held >= 5, "check, declare, batch, effect and claim");
}

#[test]
fn the_readme_sdk_example_runs_as_written() {
    let server = Setup::new().start();
    run_python(tour(), &server, &source_key(&server));
}

#[test]
fn the_contact_page_runs_as_written() {
    let server = Setup::new().seed(SEED).start();
    let held = run_shell(CONTACT, &server, "");
    assert!(held >= 9, "loop, keys, list and handoff");
}

#[test]
fn the_contact_pages_sdk_example_runs_as_written() {
    let server = Setup::new().seed(SEED).start();
    run_python(CONTACT, &server, "");
}

#[test]
fn what_people_do_runs_as_written() {
    let server = Setup::new().seed(SEED).start();
    let people = part(OPERATE, "## What people do", "\n## TLS");
    let held = run_shell(people, &server, "");
    assert!(held >= 9, "each act has an answer: {held}");
}
