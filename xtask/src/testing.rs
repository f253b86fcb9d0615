//! All tests with one command: set-up, the workspace's tests under nextest, documentation tests, the
//! published SDK and generated requests against a running server. One summary at the end; no skipped
//! test goes unseen, and no figure of one that passes.

use std::time::Duration;

use crate::conformance;
use crate::schema;
use crate::setup;
use crate::shell::{self, Follow, Outcome, took};
use crate::summary::Tests;

/// How a test begins a line that says what it measured (`tests/it/harness.rs`).
const FIGURE: &str = "figure: ";

type Part = (&'static str, fn() -> Outcome<Tests>);

/// Runs everything and prints a line for each part; the caller prints the sum and judges it.
pub(crate) fn run() -> Outcome<Tests> {
    setup::run()?;
    let parts: [Part; 6] = [
        ("workspace", || nextest(&["--workspace"])),
        ("features", || nextest(&shell::FEATURES)),
        ("direct", || nextest(&shell::DIRECT)),
        ("documentation", documentation),
        ("conformance", || {
            conformance::run(&conformance::Options::whole())
        }),
        ("schema", || schema::run(&schema::Options::usual())),
    ];
    let mut total = Tests::default();
    let mut rows: Vec<(&str, String, Duration)> = Vec::new();
    for (title, part) in parts {
        let (outcome, duration) = shell::step(&format!("tests: {title}"), part);
        let line = match outcome {
            Ok(tests) => {
                total.add(&tests);
                tests.line()
            }
            Err(error) => {
                total.failed += 1;
                eprintln!("{error}");
                "could not run".to_owned()
            }
        };
        rows.push((title, line, duration));
    }
    eprintln!("== figures");
    for figure in &total.figures {
        eprintln!("   {figure}");
    }
    eprintln!("== tests");
    for (title, line, duration) in rows {
        eprintln!("   {title:<14} {line:<36} {:>10}", took(duration));
    }
    for name in &total.skipped {
        eprintln!("   skipped: {name}");
    }
    Ok(total)
}

/// Every test of these packages. Passing tests are counted, not listed; of what they write their figures
/// are kept.
fn nextest(which: &[&str]) -> Outcome<Tests> {
    let arguments = [
        "nextest",
        "run",
        "--cargo-profile",
        shell::PROFILE,
        "--no-fail-fast",
        "--config-file",
        "xtask/nextest.toml",
        "--status-level",
        "skip",
        "--final-status-level",
        "none",
        "--success-output",
        "immediate",
        "--no-tests",
        "fail",
        "--color",
        "never",
    ];
    let mut tests = Tests::default();
    let (mut closed, mut of_a_pass) = (false, false);
    shell::follow(
        shell::cargo(arguments).args(which),
        Follow::Errors,
        |line| {
            let words = line.trim_start();
            if let Some(name) = words.strip_prefix("SKIP ") {
                let name = name.split_once(']').map_or(name, |(_, name)| name);
                tests.skipped.push(name.trim().to_owned());
            }
            if words.starts_with("Summary [") {
                (tests.passed, tests.failed) = read_summary(words);
                closed = true;
            }
            of_a_pass = match status(words) {
                Some(status) => status == "PASS",
                None => of_a_pass,
            };
            if !of_a_pass {
                eprintln!("{line}");
            } else if let Some(figure) = words.strip_prefix(FIGURE) {
                tests.figures.push(figure.to_owned());
            }
        },
    )?;
    if closed {
        Ok(tests)
    } else {
        Err("the tests could not be built or run".to_owned())
    }
}

/// The word that a line of the runner begins with, as `PASS [   0.1s] a::test`; what a test writes comes
/// after its line.
fn status(line: &str) -> Option<&str> {
    let (word, rest) = line.split_once(' ')?;
    let is_word = word.len() >= 4 && word.chars().all(|c| c.is_ascii_alphabetic());
    (is_word && rest.trim_start().starts_with('[')).then_some(word)
}

/// `Summary [ 0.9s] 31 tests run: 29 passed (1 slow), 1 failed, 1 timed out, 0 skipped`: whatever ran
/// and did not pass has failed.
fn read_summary(line: &str) -> (u64, u64) {
    let before = |what: &str| {
        let words: Vec<&str> = line.split([' ', ',', '(', ')', ':', '/']).collect();
        let at = words.iter().position(|word| *word == what);
        at.and_then(|at| words[..at].last())
            .and_then(|word| word.parse().ok())
            .unwrap_or(0)
    };
    let run: u64 = before("tests").max(before("test"));
    let passed: u64 = before("passed");
    (passed, run.saturating_sub(passed))
}

/// Examples in documentation.
fn documentation() -> Outcome<Tests> {
    let mut tests = Tests::default();
    let mut output = shell::cargo(["test", "--doc", "--workspace", "--no-fail-fast", "--quiet"]);
    output.args(["--profile", shell::PROFILE]);
    let passed = shell::follow(&mut output, Follow::Output, |line| {
        let words = line.trim();
        if let Some((passed, failed)) = read_result(words) {
            tests.passed += passed;
            tests.failed += failed;
        } else if !words.is_empty() && !words.starts_with("running ") {
            eprintln!("{line}");
        }
        if words.starts_with("test ") && words.ends_with("ignored") {
            tests.skipped.push(words.to_owned());
        }
    })?;
    if passed || tests.failed > 0 {
        Ok(tests)
    } else {
        Err("the documentation tests could not be built or run".to_owned())
    }
}

/// `test result: ok. 3 passed; 0 failed; …`
fn read_result(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("test result: ")?;
    let count = |what: &str| {
        let part = rest
            .split(['.', ';'])
            .find(|part| part.trim().ends_with(what))?;
        part.split_whitespace().next()?.parse().ok()
    };
    Some((count("passed")?, count("failed")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runners_summary_is_read() {
        let plain = "Summary [   0.997s] 30 tests run: 30 passed, 0 skipped";
        assert_eq!(read_summary(plain), (30, 0));
        let mixed = "Summary [ 1.2s] 31 tests run: 28 passed (1 slow), 2 failed, 1 timed out, 9 \
                     skipped";
        assert_eq!(read_summary(mixed), (28, 3));
        assert_eq!(
            read_summary("Summary [ 1.2s] 31/40 tests run: 31 passed, 9 skipped"),
            (31, 9)
        );
        assert_eq!(
            read_summary("Summary [ 0.1s] 1 test run: 0 passed, 1 failed, 0 skipped"),
            (0, 1)
        );
    }

    #[test]
    fn what_a_passing_test_writes_is_told_from_the_runners_lines() {
        for (line, word) in [
            (
                "PASS [   0.105s] (1/9) interlock::it hostile::nothing",
                Some("PASS"),
            ),
            ("FAIL [   0.1s] interlock::it kills::nothing", Some("FAIL")),
            (
                "Summary [   0.9s] 31 tests run: 31 passed, 0 skipped",
                Some("Summary"),
            ),
            ("stdout \u{2500}\u{2500}\u{2500}", None),
            ("figure: 9 kills [a]", None),
            ("test kills::nothing ... ok", None),
            ("", None),
        ] {
            assert_eq!(status(line), word, "{line}");
        }
    }

    #[test]
    fn a_documentation_result_is_read() {
        let line = "test result: ok. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(read_result(line), Some((3, 1)));
        assert_eq!(read_result("running 3 tests"), None);
    }
}
