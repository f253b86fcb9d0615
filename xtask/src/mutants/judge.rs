//! What the tests of the domain say of a fault.
//!
//! Here: one process per fault, ended at its first failing test, within limits of time and memory.
//! The quick tests are asked first: most faults need no other. Not here: building.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::plant::VARIABLE;
use crate::shell::{self, Outcome};

/// So many processes at a time.
const WORKERS: usize = 2;
/// What a quick test takes at most where there is no fault.
const QUICK: Duration = Duration::from_millis(50);
/// A test has this long at least, and this many times what the slowest takes without a fault.
const PATIENCE: Duration = Duration::from_secs(10);
const TIMES: u32 = 20;
/// Starts the tests so that a fault that takes memory without end fails: 4 GiB, counted in KiB.
const LIMITED: &str = "ulimit -v 4194304; exec \"$0\" \"$@\"";

/// What was said of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A test failed, or the process broke off.
    Caught,
    /// A test did not end.
    Hung,
    /// Every test passed.
    Survived,
}

/// The tests, as they are without a fault.
pub(super) struct Judge {
    folder: PathBuf,
    slow: Vec<String>,
    slowest: Duration,
}

impl Judge {
    /// Runs the tests twice; they must pass.
    pub(super) fn new(tests: &Path, folder: PathBuf) -> Outcome<Self> {
        let mut judge = Self {
            folder,
            slow: Vec::new(),
            slowest: Duration::ZERO,
        };
        let (mut began, mut timed) = (Instant::now(), Vec::new());
        let mut command = judge.command(tests, 0);
        let verdict = watch(&mut command, Duration::from_secs(600), |test| {
            timed.push((test.to_owned(), began.elapsed()));
            began = Instant::now();
        })?;
        if verdict != Verdict::Survived || timed.is_empty() {
            return Err("the tests of the domain fail without a fault".to_owned());
        }
        judge.slowest = timed
            .iter()
            .map(|(_, took)| *took)
            .max()
            .unwrap_or_default();
        timed.retain(|(_, took)| *took > QUICK);
        judge.slow = timed.into_iter().map(|(test, _)| test).collect();
        // A judge that always complains catches nothing.
        match judge.verdict(tests, 0)? {
            Verdict::Survived => Ok(judge),
            Verdict::Caught | Verdict::Hung => {
                Err("the tests of the domain failed when run again".to_owned())
            }
        }
    }

    /// What the tests say of a fault.
    pub(super) fn verdict(&self, tests: &Path, number: u32) -> Outcome<Verdict> {
        let mut quick = self.command(tests, number);
        quick.arg("--exact");
        quick.args(self.slow.iter().map(|test| format!("--skip={test}")));
        let verdict = watch(&mut quick, PATIENCE, |_| {})?;
        if verdict != Verdict::Survived || self.slow.is_empty() {
            return Ok(verdict);
        }
        let mut slow = self.command(tests, number);
        slow.arg("--exact").args(&self.slow);
        watch(&mut slow, PATIENCE.max(self.slowest * TIMES), |_| {})
    }

    /// Judges these faults, some at a time, and tells of each. Nothing begins after `until`.
    pub(super) fn all(
        &self,
        tests: &Path,
        numbers: &[u32],
        until: Instant,
        mut told: impl FnMut(u32, Verdict),
    ) -> Outcome {
        let waiting = Mutex::new(numbers.iter().copied());
        let (sender, receiver) = mpsc::sync_channel(WORKERS);
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                let (sender, waiting) = (sender.clone(), &waiting);
                scope.spawn(move || {
                    while Instant::now() < until {
                        let next = waiting.lock().ok().and_then(|mut waiting| waiting.next());
                        let Some(number) = next else { break };
                        let verdict = self.verdict(tests, number);
                        if sender.send((number, verdict)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            // Taken whole, so that an error here ends the workers.
            for (number, verdict) in receiver {
                told(number, verdict?);
            }
            Ok(())
        })
    }

    fn command(&self, tests: &Path, number: u32) -> Command {
        let mut command = shell::command("sh", ["-c", LIMITED]);
        command.arg(tests).arg("--test-threads=1");
        command.current_dir(&self.folder);
        command.env(VARIABLE, number.to_string());
        command.env("RUST_BACKTRACE", "0");
        // Nobody reads a smaller example, and what one fault failed by is nothing to the next.
        command.env("PROPTEST_MAX_SHRINK_ITERS", "0");
        command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
        if std::env::var_os("INTERLOCK_VECTORS").is_none() {
            command.env("INTERLOCK_VECTORS", shell::work_folder().join("vectors"));
        }
        command
    }
}

/// Follows tests to the end, the first that fails or one that goes on for longer than `patience`.
fn watch(
    command: &mut Command,
    patience: Duration,
    mut passed: impl FnMut(&str),
) -> Outcome<Verdict> {
    let failed = |error: std::io::Error| error.to_string();
    let quiet = command.stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = quiet.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let output = child.stdout.take().ok_or("the output is not there")?;
    let (sender, receiver) = mpsc::sync_channel(16);
    let reader = std::thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        for line in lines {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let early = loop {
        match receiver.recv_timeout(patience) {
            Ok(line) if line.ends_with(" ... FAILED") => break Some(Verdict::Caught),
            Ok(line) => {
                let test = line.strip_prefix("test ");
                test.and_then(|test| test.strip_suffix(" ... ok"))
                    .into_iter()
                    .for_each(&mut passed);
            }
            Err(mpsc::RecvTimeoutError::Timeout) => break Some(Verdict::Hung),
            Err(mpsc::RecvTimeoutError::Disconnected) => break None,
        }
    };
    drop(receiver);
    let verdict = end(&mut child, early)?;
    reader.join().map_err(|_| "the reader broke off")?;
    Ok(verdict)
}

/// Ends the process where it was stopped early; else its end is the verdict.
fn end(child: &mut Child, early: Option<Verdict>) -> Outcome<Verdict> {
    let failed = |error: std::io::Error| error.to_string();
    if early.is_some() {
        child.kill().map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    Ok(early.unwrap_or(if status.success() {
        Verdict::Survived
    } else {
        Verdict::Caught
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Command {
        shell::command("sh", ["-c", text])
    }

    #[test]
    fn a_failing_test_a_broken_run_and_an_endless_one_are_caught() {
        let long = Duration::from_secs(60);
        let short = Duration::from_millis(50);
        let cases = [
            ("echo 'test a ... ok'", long, Verdict::Survived),
            // It is not waited for.
            (
                "echo 'test a ... FAILED'; exec sleep 600",
                long,
                Verdict::Caught,
            ),
            ("echo 'test a ... ok'; exit 101", long, Verdict::Caught),
            ("kill -ABRT $$", long, Verdict::Caught),
            ("exec sleep 600", short, Verdict::Hung),
        ];
        for (text, patience, verdict) in cases {
            let seen = watch(&mut script(text), patience, |_| {});
            assert_eq!(seen, Ok(verdict), "{text}");
        }
    }

    #[test]
    fn tests_that_pass_are_told() {
        let mut passed = Vec::new();
        let text = "echo running; echo 'test a::b ... ok'; echo 'test c ... ok'; echo";
        let verdict = watch(&mut script(text), Duration::from_secs(60), |test| {
            passed.push(test.to_owned());
        });
        assert_eq!(
            (verdict, passed.join(" ")),
            (Ok(Verdict::Survived), "a::b c".to_owned())
        );
    }
}
