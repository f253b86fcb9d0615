//! Generated requests against the served document: schemathesis sends bodies of the right shape and of
//! every wrong one, in sequences too, and judges each answer. Nothing may be 5xx, undocumented or of
//! another shape than the document says. What it is not asked is in `tests/schema`, with the reasons.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use crate::server::{self, Server};
use crate::shell::{self, Outcome, took};
use crate::summary::Tests;

/// A key of `tests/schema/space.json` with every scope and role.
const KEY: &str = "nia_sk_test_br1_schema_a_everysecret0000001";
/// Fewer show too little.
const CASES_MIN: u64 = 5_000;

/// How much to generate.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Requests generated for each operation and phase, 1 to 100,000
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) examples: u32,
    /// The seed of what is generated; without it one that nobody chose
    #[arg(long)]
    pub(crate) seed: Option<u128>,
}

impl Options {
    /// What the tests run.
    pub(crate) fn usual() -> Self {
        Self {
            examples: 60,
            seed: None,
        }
    }
}

/// Runs it; each operation counts as a test.
pub(crate) fn run(options: &Options) -> Outcome<Tests> {
    let runner = runner()?;
    let binary = server::build(false)?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let seed = shell::root().join("tests/schema/space.json");
    let server = Server::start_with(&binary, folder.path(), &seed, &["--shards", "2"])?;
    let report = folder.path().join("report.txt");
    let start = Instant::now();
    let written = fs::File::create(&report).map_err(|error| error.to_string())?;
    let mut generate = shell::command(runner, ["--config-file"]);
    generate.arg(shell::root().join("tests/schema/schemathesis.toml"));
    generate
        .arg("run")
        .arg(format!("{}/openapi.json", server.url));
    // Named on the command line the checks would all be on, whatever the file says. One after the
    // other: a hold beside others may find an entity on loan and ask to come again with 503, which is
    // as documented and no fault to look for here; and a seed replays.
    generate.args(["--workers", "1", "--continue-on-failure"]);
    generate.args(["--no-color", "--header"]);
    generate.arg(format!("Authorization: Bearer {KEY}"));
    generate.args(["--max-examples", &options.examples.to_string()]);
    if let Some(seed) = options.seed {
        generate.args(["--seed", &seed.to_string()]);
    }
    // What it remembers of earlier runs stays out of the tree.
    generate.current_dir(folder.path()).stdout(written);
    let passed = generate
        .status()
        .map_err(|error| error.to_string())?
        .success();
    let text = fs::read_to_string(&report).map_err(|error| error.to_string())?;
    server.stop()?;
    judge(&text, passed, &took(start.elapsed()))
}

/// Reads the report's end.
fn judge(text: &str, passed: bool, took: &str) -> Outcome<Tests> {
    let word = |start: &str| {
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(start));
        line.and_then(|rest| rest.split_whitespace().next())
            .unwrap_or("unknown")
    };
    let cases = text
        .lines()
        .skip_while(|line| !line.starts_with("Test cases:"))
        .nth(1)
        .and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0);
    let operations: u64 = word("Tested:").parse().unwrap_or(0);
    let seed = word("Seed:");
    if !passed || cases == 0 {
        eprintln!("{text}");
    }
    eprintln!("   {cases} cases over {operations} operations in {took}, seed {seed}");
    let mut tests = Tests {
        passed: operations,
        ..Tests::default()
    };
    tests.one(
        "generated requests are answered as documented",
        if passed {
            Ok(())
        } else {
            Err(format!("seed {seed}"))
        },
    );
    tests.one(
        "enough of them",
        if cases >= CASES_MIN {
            Ok(())
        } else {
            Err(format!("{cases} cases, {CASES_MIN} are wanted"))
        },
    );
    Ok(tests)
}

/// The program, in an environment of its own.
fn runner() -> Outcome<PathBuf> {
    let venv = shell::work_folder().join("venv-schema");
    let runner = venv.join("bin/st");
    let requirements = shell::root().join("tests/schema/requirements.txt");
    let wanted = fs::read_to_string(&requirements)
        .map_err(|error| format!("{}: {error}", requirements.display()))?;
    let stamp = venv.join("stamp");
    if runner.exists() && fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == wanted) {
        return Ok(runner);
    }
    eprintln!("setup: a Python environment with {}", wanted.trim());
    shell::read(shell::command("python3", ["-m", "venv", "--clear"]).arg(&venv))?;
    let options = ["-m", "pip", "--disable-pip-version-check", "--no-input"];
    let mut install = shell::command(venv.join("bin/python"), options);
    install
        .args(["install", "--quiet", "--requirement"])
        .arg(&requirements);
    shell::read(&mut install)?;
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(runner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: &str = "\
API Operations:\n  Selected: 44/44\n  Tested: 44\n\nTest cases:\n  6977 generated, 6977 passed\n\nSeed: 7\n";

    #[test]
    fn the_end_of_a_report_is_read() {
        let tests = judge(END, true, "1 s").expect("counts");
        assert_eq!((tests.passed, tests.failed), (46, 0));
        let few = judge(&END.replace("6977", "12"), true, "1 s").expect("counts");
        assert_eq!(few.failed, 1);
        let wrong = judge(END, false, "1 s").expect("counts");
        assert_eq!(wrong.failed, 1);
    }
}
