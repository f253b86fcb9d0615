//! House rules that no compiler and no clippy lint checks: who may depend on whom, what may not be
//! shared or called where, sizes, left-overs, words. Each rule is a function from a text to its faults
//! and is tested on small texts; this file only finds the files and prints what the rules found.

mod acceptance;
mod code;
mod directions;
mod exceptions;
mod pitfalls;
mod places;
mod ratchet;
mod source;
mod text;

use std::fmt;
use std::fs;
use std::path::Path;

use exceptions::Exceptions;
use source::Source;

use crate::shell::{self, Outcome};

/// A rule broken at a place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    path: String,
    line: usize,
    what: String,
}

impl Fault {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}: {}", self.path, self.what)
        } else {
            write!(f, "{}:{}: {}", self.path, self.line, self.what)
        }
    }
}

/// Checks all rules; with `bless` it lowers the ratchet first.
pub(crate) fn run(bless: bool) -> Outcome {
    let root = shell::root();
    let files = files(&root)?;
    let exceptions = Exceptions::read(&root.join("xtask/tidy.toml"))?;
    let synonyms = text::banned_words(&read(&root, "GLOSSARY.md")?);
    let sources: Vec<Source> = files
        .iter()
        .filter(|(path, _)| path.ends_with(".rs"))
        .map(|(path, text)| Source::new(path, text))
        .collect();
    let mut faults = directions::check()?;
    for source in &sources {
        faults.extend(code::check(source, &exceptions));
    }
    let places = places::Places::new(files.iter().map(|(path, _)| path.as_str()));
    for (path, text) in &files {
        faults.extend(text::check(path, text, &synonyms));
        faults.extend(places.check(path, text));
    }
    faults.extend(exceptions.unused());
    faults.extend(acceptance::check(
        &read(&root, acceptance::TABLE)?,
        &sources,
    ));
    faults.extend(pitfalls::check(&read(&root, pitfalls::TABLE)?, &sources));
    faults.extend(pitfalls::cited(&read(&root, pitfalls::SECURITY)?, &sources));
    faults.extend(ratchet::check(
        &root.join("xtask/ratchet.toml"),
        &sources,
        bless,
    )?);
    faults.sort();
    for fault in &faults {
        eprintln!("   {fault}");
    }
    eprintln!(
        "   {} files looked at, {} faults",
        files.len(),
        faults.len()
    );
    if faults.is_empty() {
        Ok(())
    } else {
        Err(format!("{} faults", faults.len()))
    }
}

/// Every text file that git knows or would add, with its content.
fn files(root: &Path) -> Outcome<Vec<(String, String)>> {
    let listing = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let names = shell::read(&mut shell::command("git", listing))?;
    let mut files = Vec::new();
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        // A file that was removed but not yet committed is still listed; a binary one is no text.
        let Ok(bytes) = fs::read(root.join(name)) else {
            continue;
        };
        if let Ok(text) = String::from_utf8(bytes) {
            files.push((name.to_owned(), text));
        }
    }
    Ok(files)
}

fn read(root: &Path, name: &str) -> Outcome<String> {
    fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"))
}
