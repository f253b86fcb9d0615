//! Faults that `cargo mutants` makes up in the files that decide, judged by the tests of the domain.
//!
//! Here: which files, all their faults in one run within a bound, and what of the survivors is
//! explained. Not here: making the faults, planting and judging them.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::bed::Bed;
use super::judge::{Judge, Verdict};
use super::plant::Fault;
use super::table::FOLDER;
use super::tree::Tree;
use crate::setup;
use crate::shell::{self, Outcome, took};

/// Where a product decides.
const CONTACT: &str = "domain/src/contact";
/// What shows that a file decides.
const DECIDES: &str = "fn decide(";
/// What several of the files that decide share, the most important first.
const SHARED: [&str; 12] = [
    "budget",
    "effect",
    "receipt",
    "claim",
    "legal_hold",
    "suppression",
    "check/order",
    "window",
    "tally",
    "paid",
    "customer",
    "commitment",
];

/// How long nothing is said, at least.
const PAUSE: Duration = Duration::from_secs(15);

/// What survives though it is no fault, with the reason.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Survivors {
    #[serde(default, rename = "survivor")]
    survivors: Vec<Survivor>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Survivor {
    /// What its line contains, without line numbers.
    pattern: String,
    /// Why no test can tell it from the code.
    reason: String,
}

/// Judges the faults until the bound.
pub(super) fn run(only: Option<&str>, bound: Duration) -> Outcome {
    let start = Instant::now();
    setup::mutants_tool()?;
    let survivors = survivors(&shell::root())?;
    let tree = Tree::copy()?;
    let faults = made_up(&files(&shell::root())?, only)?;
    let bed = Bed::new(&tree, &faults)?;
    let grown = bed.grow()?;
    eprintln!("mutants: all built after {}", took(start.elapsed()));
    let judge = Judge::new(&grown.tests, tree.path("domain"))?;
    let mut count = Count {
        made: faults.len(),
        refused: grown.refused.len(),
        ..Count::default()
    };
    let mut unexplained = 0;
    let mut shown = Instant::now();
    let until = start + bound;
    let mut told = |number, verdict| {
        count.add(verdict);
        if verdict == Verdict::Survived {
            let name = bed.fault(number).name.as_str();
            let known = survivors.explain(name);
            let word = if known { "explained" } else { "survived" };
            eprintln!("   {word}: {name}");
            unexplained += usize::from(!known);
        }
        if shown.elapsed() > PAUSE {
            shown = Instant::now();
            eprintln!("mutants: {count} after {}", took(start.elapsed()));
        }
    };
    judge.all(&grown.tests, &grown.planted, until, &mut told)?;
    let mut refused = 0;
    for number in grown.alone {
        if Instant::now() >= until {
            break;
        }
        match bed.alone(number)? {
            Some(tests) => told(number, judge.verdict(&tests, 0)?),
            None => refused += 1,
        }
    }
    count.refused += refused;
    eprintln!("mutants: {count} in {}", took(start.elapsed()));
    match unexplained {
        0 => Ok(()),
        _ => Err(format!("{unexplained} survivors are unexplained")),
    }
}

/// The faults that `cargo mutants` makes up for these files.
fn made_up(files: &[String], only: Option<&str>) -> Outcome<Vec<Fault>> {
    let named = |file: &&String| only.is_none_or(|only| file.ends_with(only));
    let files: Vec<&String> = files.iter().filter(named).collect();
    if files.is_empty() {
        return Err("the file is none of those that decide".to_owned());
    }
    let words = [
        "mutants",
        "--list",
        "--json",
        "--package",
        "interlock-domain",
    ];
    let mut list = shell::cargo(words);
    list.args(files.into_iter().flat_map(|file| ["--file", file]));
    let text = shell::read(&mut list)?;
    serde_json::from_str(&text).map_err(|error| format!("cargo mutants --list: {error}"))
}

/// What became of the faults.
#[derive(Default)]
struct Count {
    made: usize,
    refused: usize,
    caught: usize,
    hung: usize,
    survived: usize,
}

impl Count {
    fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Caught => self.caught += 1,
            Verdict::Hung => self.hung += 1,
            Verdict::Survived => self.survived += 1,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            made,
            refused,
            caught,
            hung,
            survived,
        } = self;
        let left = made - refused - caught - hung - survived;
        write!(
            f,
            "{made} made up, {refused} do not compile, {caught} caught, {hung} did not end (caught), \
             {survived} survived, {left} not judged"
        )
    }
}

/// Every file that decides, the shortest first, and then what they share.
fn files(root: &Path) -> Outcome<Vec<String>> {
    let mut deciding = Vec::new();
    let mut folders = vec![root.join(CONTACT)];
    while let Some(folder) = folders.pop() {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).map_err(failed)?;
                let below = path.strip_prefix(root).map_err(|error| error.to_string())?;
                if text.contains(DECIDES) {
                    deciding.push((text.len(), below.display().to_string()));
                }
            }
        }
    }
    deciding.retain(|(_, path)| !path.contains("/tests"));
    deciding.sort_unstable();
    let deciding = deciding.into_iter().map(|(_, path)| path);
    let shared = SHARED.map(|name| format!("{CONTACT}/{name}.rs"));
    Ok(deciding.chain(shared).collect())
}

impl Survivors {
    fn explain(&self, line: &str) -> bool {
        let known = |one: &Survivor| line.contains(&one.pattern);
        self.survivors.iter().any(known)
    }
}

fn survivors(root: &Path) -> Outcome<Survivors> {
    let path = root.join(FOLDER).join("survivors.toml");
    let text = fs::read_to_string(path).map_err(|error| format!("survivors.toml: {error}"))?;
    let survivors: Survivors =
        toml::from_str(&text).map_err(|error| format!("survivors.toml: {error}"))?;
    let silent = |one: &&Survivor| one.reason.trim().is_empty() || one.pattern.trim().is_empty();
    match survivors.survivors.iter().find(silent) {
        Some(one) => Err(format!("survivors.toml does not explain `{}`", one.pattern)),
        None => Ok(survivors),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_decides_is_judged_and_every_survivor_explained() {
        let files = files(&shell::root()).expect("the files are there");
        for path in &files {
            assert!(shell::root().join(path).exists(), "{path}");
        }
        for name in ["check", "handoff/create", "release_claim", "paid"] {
            let path = format!("{CONTACT}/{name}.rs");
            assert!(files.contains(&path), "{path} of {files:?}");
        }
        survivors(&shell::root()).expect("survivors are explained");
    }
}
