//! Faults that `cargo mutants` makes up in the files that decide, judged by the tests of the domain.
//!
//! Here: which files, one after the other within a bound, and what of the survivors is explained. A
//! file that is done is remembered with its text and is not begun again. Not here: making the faults.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::table::FOLDER;
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

/// Runs the files until the bound.
pub(super) fn run(only: Option<&str>, bound: Duration) -> Outcome {
    setup::run()?;
    setup::mutants_tool()?;
    let survivors = survivors(&shell::root())?;
    let all = files(&shell::root())?;
    let files: Vec<&String> = match only {
        Some(file) => all.iter().filter(|one| one.ends_with(file)).collect(),
        None => all.iter().collect(),
    };
    if files.is_empty() {
        return Err("the file is none of those that decide".to_owned());
    }
    let start = Instant::now();
    let (mut unexplained, mut done) = (Vec::new(), 0);
    for file in &files {
        if start.elapsed() >= bound {
            break;
        }
        unexplained.extend(judge(file, &survivors, only.is_some())?);
        done += 1;
    }
    for line in &unexplained {
        eprintln!("   survived: {line}");
    }
    eprintln!(
        "mutants: {done} of {} files in {}, {} survivors unexplained",
        files.len(),
        took(start.elapsed()),
        unexplained.len()
    );
    if unexplained.is_empty() {
        Ok(())
    } else {
        Err(format!("{} survivors are unexplained", unexplained.len()))
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

/// Runs one file; answers the survivors that nothing explains.
fn judge(file: &str, survivors: &Survivors, again: bool) -> Outcome<Vec<String>> {
    let work = shell::build_folder()?.join("mutants");
    let out = work.join("generated").join(file.replace('/', "-"));
    let failed = |error: std::io::Error| format!("{}: {error}", out.display());
    fs::create_dir_all(&out).map_err(failed)?;
    let text = fs::read(shell::root().join(file)).map_err(failed)?;
    let mark = out.join("done");
    if again || fs::read(&mark).ok().as_ref() != Some(&text) {
        let start = Instant::now();
        let mut mutants =
            shell::cargo(["mutants", "--package", "interlock-domain", "--no-shuffle"]);
        mutants.args(["--file", file, "--timeout", "120", "--colors", "never"]);
        // The first test that fails is enough, and nobody reads a smaller example.
        mutants.arg("--test-tool=nextest");
        mutants.env("PROPTEST_MAX_SHRINK_ITERS", "0");
        mutants.arg("--output").arg(&out).args(["--", "--lib"]);
        mutants.env("CARGO_TARGET_DIR", work.join("build"));
        mutants.env("CARGO_PROFILE_DEV_DEBUG", "0");
        // What is judged is a copy without a work folder of its own.
        if std::env::var_os("INTERLOCK_VECTORS").is_none() {
            mutants.env("INTERLOCK_VECTORS", shell::work_folder().join("vectors"));
        }
        let status = mutants.status().map_err(failed)?;
        // 2: some survived, 3: some did not end; what else there is, is no judgement.
        if !matches!(status.code(), Some(0 | 2 | 3)) {
            return Err(format!("cargo mutants on {file}: {status}"));
        }
        fs::write(&mark, text).map_err(failed)?;
        eprintln!("mutants: {file} took {}", took(start.elapsed()));
    }
    let missed = fs::read_to_string(out.join("mutants.out/missed.txt")).map_err(failed)?;
    let lines = missed.lines().filter(|line| !line.trim().is_empty());
    Ok(lines
        .filter(|line| !survivors.explain(line))
        .map(str::to_owned)
        .collect())
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
