//! The published SDK against a server of ours: every scenario of the driver must pass, none may be
//! skipped.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use crate::server::{self, Server};
use crate::setup;
use crate::shell::{self, Follow, Outcome};
use crate::summary::Tests;

const SPACE: &str = "0192f5a0-0000-7000-8000-00000000a004";
const SECOND_KEY: &str = "nia_sk_test_br1_conformance_b_crmsecret0000001";
const UNSCOPED_KEY: &str = "nia_sk_test_br1_conformance_c_noscopesecret001";
const ADMIN_KEY: &str = "nia_sk_test_br1_conformance_d_rolesecret000001";
/// What every customer of the drivers starts with, and the digits that follow.
const CUSTOMER_START: &str = "55119";
const CUSTOMER_DIGITS: usize = 8;

/// Shard counts of a run of the tests.
const SHARDS: [u16; 3] = [1, 2, 5];

/// How often at each of them.
const RUNS: u16 = 3;

/// How many scenarios the driver has; one that lost some shows nothing.
const SCENARIOS: usize = 50;

/// What to run.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Run the scenarios whose name contains this
    #[arg(long)]
    pub(crate) only: Option<String>,
    /// Use a release build of the server
    #[arg(long)]
    pub(crate) release: bool,
    /// A server that is already built
    #[arg(long)]
    pub(crate) binary: Option<PathBuf>,
    /// Shard counts, one after the other on the same data directory
    #[arg(long, value_delimiter = ',', default_values_t = SHARDS)]
    pub(crate) shards: Vec<u16>,
    /// How often at each shard count
    #[arg(long, default_value_t = RUNS, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) runs: u16,
}

impl Options {
    /// What the tests run.
    pub(crate) fn whole() -> Self {
        Self {
            only: None,
            release: false,
            binary: None,
            shards: SHARDS.to_vec(),
            runs: RUNS,
        }
    }
}

/// What the driver said of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    Skipped,
}

type Verdicts = BTreeMap<String, Verdict>;

/// Runs the drivers, each time against a server of its own on the data of the one before.
pub(crate) fn run(options: &Options) -> Outcome<Tests> {
    setup::run()?;
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => server::build(options.release)?,
    };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut tests = Tests::default();
    for shards in &options.shards {
        for run in 1..=options.runs {
            eprintln!("   shards {shards}, run {run} of {}", options.runs);
            let server = Server::start(&binary, folder.path(), &["--shards", &shards.to_string()])?;
            tests.add(&one(options, server)?);
        }
    }
    Ok(tests)
}

/// One run of both drivers.
fn one(options: &Options, server: Server) -> Outcome<Tests> {
    let address = [server.url.as_str(), server::KEY, SPACE];
    let keys = [
        "--second-key",
        SECOND_KEY,
        "--unscoped-key",
        UNSCOPED_KEY,
        "--admin-key",
        ADMIN_KEY,
    ];
    let only: Vec<&str> = options
        .only
        .iter()
        .flat_map(|only| ["--only", only])
        .collect();
    let driven = drive("drive_sdk.py", &[&address, &keys[..], &only].concat())?;
    let mut tests = judge(&driven);
    if options.only.is_none() {
        tests.one("the driver has all its scenarios", is_whole(&driven));
        tests.add(&judge(&drive("smoke_sdk.py", &address[..2])?));
    }
    let log = server.log();
    tests.one("the server leaves with status 0 when asked", server.stop());
    let customer = customer_in(&log).map_or(Ok(()), |line| Err(format!("one stands in: {line}")));
    tests.one("no customer stands in the server's log", customer);
    Ok(tests)
}

/// The first line with a number the drivers' customers have: as a phone, or bare as a messenger's id.
fn customer_in(log: &str) -> Option<&str> {
    let is_customer = |line: &str, at: usize| {
        let before = line.as_bytes().get(at.wrapping_sub(1));
        let after = line
            .as_bytes()
            .get(at + CUSTOMER_START.len()..)
            .unwrap_or_default();
        let digits = after
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        digits == CUSTOMER_DIGITS && !before.is_some_and(u8::is_ascii_alphanumeric)
    };
    log.lines().find(|line| {
        line.match_indices(CUSTOMER_START)
            .any(|(at, _)| is_customer(line, at))
    })
}

/// Runs a driver and reads its lines; shows what did not pass.
fn drive(script: &str, words: &[&str]) -> Outcome<Verdicts> {
    let mut driver = shell::command(setup::python(), [format!("tests/conformance/{script}")]);
    let mut verdicts = Verdicts::new();
    let mut closed = false;
    shell::follow(driver.args(words), Follow::Output, |line| {
        let Some((name, verdict)) = read_line(line) else {
            closed |= line.contains(" passed, ");
            return;
        };
        if verdict != Verdict::Passed {
            eprintln!("   {line}");
        }
        verdicts.insert(name.to_owned(), verdict);
    })?;
    if closed {
        Ok(verdicts)
    } else {
        Err(format!("{script} did not run to its end"))
    }
}

/// `PASS name`, `FAIL name: why`, `SKIP name: why`.
fn read_line(line: &str) -> Option<(&str, Verdict)> {
    let (word, rest) = line.split_once(' ')?;
    let verdict = match word {
        "PASS" => Verdict::Passed,
        "FAIL" => Verdict::Failed,
        "SKIP" => Verdict::Skipped,
        _ => return None,
    };
    Some((rest.split(':').next()?.trim(), verdict))
}

fn judge(verdicts: &Verdicts) -> Tests {
    let mut tests = Tests::default();
    for (name, verdict) in verdicts {
        match verdict {
            Verdict::Passed => tests.passed += 1,
            Verdict::Failed => tests.failed += 1,
            Verdict::Skipped => tests.skipped.push(name.clone()),
        }
    }
    tests
}

fn is_whole(verdicts: &Verdicts) -> Outcome<()> {
    if verdicts.len() < SCENARIOS {
        return Err(format!("{} of {SCENARIOS} ran", verdicts.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_lines_are_read() {
        assert_eq!(
            read_line("PASS a_thing"),
            Some(("a_thing", Verdict::Passed))
        );
        let failed = "FAIL a_thing: AssertionError: x: expected 1";
        assert_eq!(read_line(failed), Some(("a_thing", Verdict::Failed)));
        assert_eq!(
            read_line("SKIP a_thing: needs --x"),
            Some(("a_thing", Verdict::Skipped))
        );
        assert_eq!(read_line("50 passed, 0 failed"), None);
    }

    #[test]
    fn every_scenario_counts_and_a_missing_one_fails() {
        let verdicts = [
            ("a", Verdict::Passed),
            ("b", Verdict::Failed),
            ("c", Verdict::Skipped),
        ];
        let verdicts = verdicts
            .map(|(name, verdict)| (name.to_owned(), verdict))
            .into();
        let tests = judge(&verdicts);
        assert_eq!((tests.passed, tests.failed), (1, 1));
        assert_eq!(tests.skipped, ["c"]);
        assert_eq!(is_whole(&verdicts), Err("3 of 50 ran".to_owned()));
        let name = |number: usize| (format!("scenario_{number}"), Verdict::Passed);
        assert_eq!(is_whole(&(0..50).map(name).collect()), Ok(()));
    }

    #[test]
    fn a_customer_in_a_log_is_found_and_other_digits_are_not() {
        assert!(customer_in("x\nphone=+5511987654321 y").is_some());
        assert!(customer_in("id 5511987654321").is_some());
        assert!(customer_in("took 55119 us, id 0192f5511987654321, 551198765432100").is_none());
    }
}
