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

/// The files that decide, the smallest and most important first.
const FILES: [&str; 24] = [
    "budget",
    "effect",
    "receipt",
    "claim",
    "claim_target",
    "release_claim",
    "reserve_effect",
    "settle_effect",
    "declare_effect",
    "suppression",
    "add_suppression",
    "lift_suppression",
    "paid",
    "admit",
    "settle_admission",
    "legal_hold",
    "lock_task",
    "observe_owner",
    "window",
    "check/order",
    "check",
    "forget_customer",
    "tally",
    "customer",
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
    let all = FILES.map(|name| format!("domain/src/contact/{name}.rs"));
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
    fn every_file_that_decides_is_there_and_every_survivor_explained() {
        for name in FILES {
            let path = shell::root().join(format!("domain/src/contact/{name}.rs"));
            assert!(path.exists(), "{}", path.display());
        }
        survivors(&shell::root()).expect("survivors are explained");
    }
}
