//! `cargo xtask figures --targets`: every target of `docs/performance.md` by one command of the load
//! harness each, in order, against a release server on this machine. Prints a table and writes it as
//! JSON and Markdown, with the two charts that the page shows.
//!
//! Here: which run, in which order, and what is written. Not here: what the targets are (`list`), what
//! a document of the harness says of one (`judge`), how rows are shown (`show`). The status tells of
//! wrong answers and of what could not be measured, never of speed.

mod judge;
mod list;
mod show;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::figures;
use crate::shell::{self, Outcome};

use self::judge::Claim;
use self::list::{Length, Target};

/// What is measured, and where it goes.
#[derive(Debug, Clone)]
pub(crate) struct Plan<'a> {
    /// The server.
    pub(crate) server: &'a Path,
    /// The load harness.
    pub(crate) harness: &'a Path,
    /// Ids of the targets to measure; none names all.
    pub(crate) only: &'a [String],
    /// Measured seconds of a usual run.
    pub(crate) seconds: f64,
    /// Everything as short as it can be, to try the verb.
    pub(crate) quick: bool,
    /// Where the table and the charts are written.
    pub(crate) out: &'a Path,
}

/// One line of the table.
#[derive(Debug, Clone, Serialize)]
struct Row {
    id: &'static str,
    what: &'static str,
    target: &'static str,
    /// What was found, each with whether it keeps the target; empty when nothing was measured.
    measured: Vec<Claim>,
    /// Whether all that has a bound keeps it.
    met: bool,
    command: String,
    /// Why there is no figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

/// Measures, prints and writes.
pub(crate) fn run(plan: &Plan<'_>) -> Outcome {
    let targets = list::chosen(plan.only)?;
    let length = Length {
        seconds: plan.seconds,
        quick: plan.quick,
    };
    fs::create_dir_all(plan.out).map_err(|error| format!("{}: {error}", plan.out.display()))?;
    let seconds: f64 = targets.iter().map(|target| target.takes_s(length)).sum();
    let took = shell::took(Duration::from_secs_f64(seconds));
    eprintln!("figures: {} targets, about {took} in all", targets.len());
    let mut rows = Vec::new();
    let mut documents = serde_json::Map::new();
    for (number, target) in (1..).zip(&targets) {
        let took = shell::took(Duration::from_secs_f64(target.takes_s(length)));
        let (id, count) = (target.id, targets.len());
        eprintln!(
            "== {number} of {count}: {id}, {}, about {took}",
            target.what
        );
        let (row, document) = measure(plan, target, length);
        eprint!("{}", show::row(&row));
        documents.insert(target.id.to_owned(), document);
        rows.push(row);
        // Written each time, so that what was measured stays when a later part is cut off.
        write(plan, &rows, &documents)?;
    }
    print!("{}", show::table(&rows));
    println!("Written to {}.", plan.out.display());
    let failed: Vec<&str> = rows
        .iter()
        .filter(|row| row.failed.is_some())
        .map(|row| row.id)
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        let failed = failed.join(", ");
        Err(format!("wrong answers, or nothing measured: {failed}"))
    }
}

fn measure(plan: &Plan<'_>, target: &Target, length: Length) -> (Row, Value) {
    let words = target.words(length);
    let command = format!("interlock-load {words}");
    let (claims, failed, document) = match drive(plan, target, &words) {
        Ok(document) => match judge::claims(target.id, &document) {
            Ok(claims) => (claims, None, document),
            Err(error) => (Vec::new(), Some(error), document),
        },
        Err(error) => (Vec::new(), Some(error), Value::Null),
    };
    let row = Row {
        id: target.id,
        what: target.what,
        target: target.target,
        met: failed.is_none() && claims.iter().all(Claim::holds),
        measured: claims,
        command,
        failed,
    };
    (row, document)
}

/// Runs the harness; its document, when every answer was right.
fn drive(plan: &Plan<'_>, target: &Target, words: &str) -> Outcome<Value> {
    let mut load = Command::new(plan.harness);
    load.current_dir(shell::root());
    for word in words.split(' ') {
        load.arg(word);
        if word == "--spawn" {
            load.arg(plan.server);
        }
    }
    load.arg("--json");
    if target.draws {
        load.arg("--svg").arg(plan.out);
    }
    // Its progress goes to the terminal.
    let output = load
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{}: {error}", plan.harness.display()))?;
    let status = output.status;
    if output.stdout.is_empty() {
        return Err(format!("nothing could be measured: {status}"));
    }
    let document: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("what the harness printed: {error}"))?;
    if document["passed"] != true {
        let faults: Vec<String> = document["runs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|run| run["faults"]["first"][0].as_str().map(str::to_owned))
            .collect();
        return Err(format!("an answer was wrong: {}", faults.join("; ")));
    }
    Ok(document)
}

fn write(plan: &Plan<'_>, rows: &[Row], documents: &serde_json::Map<String, Value>) -> Outcome {
    let file = |name: &str, text: String| {
        let path: PathBuf = plan.out.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    let all = json!({"rows": rows, "documents": documents});
    let text = serde_json::to_string_pretty(&all).map_err(|error| error.to_string())?;
    file("targets.json", text)?;
    let machine = figures::machine();
    file("targets.md", format!("{}\n{machine}", show::markdown(rows)))
}
