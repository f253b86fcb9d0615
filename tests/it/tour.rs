//! README's tour does what README says.
//!
//! Here: its shell and Python blocks, run as they are written against a server of a first start;
//! the JSON after a block is what its last answer must hold. Not here: the answers' other members.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Server, Setup};

const README: &str = include_str!("../../README.md");

/// A fenced block and its language.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let start = README.find("## Five minutes").expect("the tour");
    let tour = README.get(start..).unwrap_or_default();
    let end = tour.find("\n## To change").expect("what follows the tour");
    let mut parts = tour.get(..end).unwrap_or_default().split("\n```");
    parts.next();
    let mut blocks = Vec::new();
    while let (Some(block), _after) = (parts.next(), parts.next()) {
        let (language, text) = block.split_once('\n').expect("a block has lines");
        blocks.push((language, text));
    }
    blocks
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

#[test]
fn the_readme_tour_runs_as_written() {
    let server = Setup::new().start();
    let mut script = "set -eu\n".to_owned();
    let mut wanted: Vec<(usize, Value)> = Vec::new();
    let mut shell = 0;
    for (language, text) in blocks() {
        match language {
            "sh" => {
                script.push_str(&text.replace("http://127.0.0.1:7440", server.url()));
                script.push_str("\necho '--- next'\n");
                shell += 1;
            }
            "json" => {
                let json = serde_json::from_str(text).expect("README shows JSON");
                wanted.push((shell - 1, json));
            }
            "python" => {}
            other => panic!("the tour has a block of {other}"),
        }
    }
    assert!(wanted.len() >= 5, "check, declare, batch, effect and claim");
    let output = Command::new("sh")
        .args(["-c", &script])
        .env("INTERLOCK_KEY", source_key(&server))
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).expect("UTF-8");
    let answers: Vec<&str> = told.split("--- next\n").collect();
    for (place, wanted) in wanted {
        let last = answers[place].trim().lines().last().unwrap_or_default();
        let found: Value = serde_json::from_str(last).expect("an answer in JSON");
        assert!(holds(&found, &wanted), "{found}\nshould hold {wanted}");
    }
}

#[test]
fn the_readme_sdk_example_runs_as_written() {
    let server = Setup::new().start();
    let python = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/venv/bin/python");
    assert!(
        python.exists(),
        "no SDK in {}; run cargo xtask setup",
        python.display()
    );
    let (_, example) = blocks()
        .into_iter()
        .find(|(language, _)| *language == "python")
        .expect("the tour has the SDK");
    let example = example.replace("http://127.0.0.1:7440", server.url());
    let output = Command::new(python)
        .args(["-c", &example])
        .env("INTERLOCK_KEY", source_key(&server))
        .output()
        .expect("python");
    assert!(output.status.success(), "{output:?}");
    // What the comments of the example promise.
    let promised: Vec<&str> = example
        .lines()
        .filter_map(|line| line.split_once("# "))
        .map(|(_, promise)| promise)
        .collect();
    let told = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(told.lines().collect::<Vec<_>>(), promised);
}
