//! The copy of the tree that faults are planted in, with a build folder of its own.
//!
//! Here: copying what changed only, so that builds stay short; patches; building and running a judge.
//! Not here: which faults there are.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::table::{Judge, Sim, Test};
use crate::setup;
use crate::shell::{self, Outcome};

/// How long a judge may take. One that does not end has seen nothing, unless its row says so.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a row says whose fault makes its judge go on for ever.
const DID_NOT_END: &str = "it did not end";

/// Stands in a row for what differs from run to run.
const GAP: &str = " … ";

/// How a simulation tells what it found.
const FOUND: &str = " FAILED at step ";

/// The copy.
pub(super) struct Tree {
    folder: PathBuf,
    build: PathBuf,
}

/// What a judge said.
pub(super) enum Seen {
    /// All is well.
    Fine,
    /// Something is wrong.
    Wrong(Complaint),
}

/// What a judge complained of.
pub(super) struct Complaint {
    /// In short, for people.
    pub(super) by: String,
    /// After how long.
    pub(super) after: Duration,
    /// All it said of it, in one line.
    said: String,
}

impl Complaint {
    /// Is it what a row says? Its pieces are there in their order.
    pub(super) fn says(&self, sees: &str) -> bool {
        let mut rest = self.said.as_str();
        sees.split(GAP).all(|piece| match rest.split_once(piece) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    }
}

impl Tree {
    /// Copies the files that git knows or would add. Equal ones stay as they are, so that nothing is
    /// built again for them; left-overs of an earlier run go.
    pub(super) fn copy() -> Outcome<Self> {
        if std::env::var_os("INTERLOCK_VECTORS").is_none() {
            setup::run()?;
        }
        let here = shell::root();
        let work = shell::build_folder()?.join("mutants");
        let tree = Self {
            folder: work.join("tree"),
            build: work.join("build"),
        };
        let listing = ["ls-files", "-z", "-co", "--exclude-standard"];
        let names = shell::read(&mut shell::command("git", listing))?;
        let failed = |error: std::io::Error| format!("the tree cannot be copied: {error}");
        let mut names: Vec<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        for name in &names {
            let Ok(bytes) = fs::read(here.join(name)) else {
                continue;
            };
            let to = tree.folder.join(name);
            if fs::read(&to).is_ok_and(|there| there == bytes) {
                continue;
            }
            fs::create_dir_all(to.parent().unwrap_or(&to)).map_err(failed)?;
            fs::write(&to, bytes).map_err(failed)?;
        }
        tree.tidy(&tree.folder, &|path| {
            names.binary_search(&path).is_ok() && here.join(path).exists()
        })
        .map_err(failed)?;
        Ok(tree)
    }

    /// Where a file of the copy lies.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Gives a file of the copy another text.
    pub(super) fn write(&self, name: &str, text: &str) -> Outcome {
        let path = self.path(name);
        if fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            return Ok(());
        }
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Removes files that `known` does not name.
    fn tidy(&self, folder: &Path, known: &dyn Fn(&str) -> bool) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                if path != self.folder.join("target") {
                    self.tidy(&path, known)?;
                }
                continue;
            }
            let name = path.strip_prefix(&self.folder).unwrap_or(&path);
            if !known(&name.to_string_lossy()) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// Does the patch fit?
    pub(super) fn check(&self, patch: &str) -> Outcome {
        self.git(&["apply", "--check", "--unidiff-zero", patch])
    }

    /// Plants the fault.
    pub(super) fn apply(&self, patch: &str) -> Outcome {
        self.git(&["apply", "--unidiff-zero", patch])
    }

    /// Takes it out again.
    pub(super) fn revert(&self, patch: &str) -> Outcome {
        self.git(&["apply", "--unidiff-zero", "--reverse", patch])
    }

    fn git(&self, words: &[&str]) -> Outcome {
        let mut git = shell::command("git", words);
        git.current_dir(&self.folder);
        // The copy may lie inside a repository; it is none of its own.
        git.env(
            "GIT_CEILING_DIRECTORIES",
            self.folder.parent().unwrap_or(&self.folder),
        );
        shell::read(&mut git).map(|_| ())
    }

    /// Builds a judge. A fault that does not compile catches nothing.
    pub(super) fn build(&self, judge: &Judge) -> Outcome {
        let mut words = match judge {
            Judge::Sim(_) => vec!["build", "--package", "interlock-sim"],
            Judge::Test(test) => test_words(test),
        };
        if matches!(judge, Judge::Test(_)) {
            words.push("--no-run");
        }
        words.push("--quiet");
        shell::read(&mut self.cargo(&words)).map(|_| ())
    }

    /// Runs a judge that was built.
    pub(super) fn judge(&self, judge: &Judge) -> Outcome<Seen> {
        let start = Instant::now();
        let mut command = match judge {
            Judge::Sim(Sim {
                machine,
                seeds,
                steps,
            }) => {
                let mut run = self.cargo(&["run", "--quiet", "--package", "interlock-sim", "--"]);
                run.arg(format!("--machine={machine}")).arg("--seed=1");
                run.arg(format!("--seeds={seeds}"));
                run.arg(format!("--steps={steps}"));
                run
            }
            Judge::Test(test) => {
                let mut run = self.cargo(&test_words(test));
                run.args(["--", &test.name]);
                run
            }
        };
        let said = listen(&mut command)?;
        if said.ran_nothing() {
            return Err(format!("{judge} is no test"));
        }
        Ok(match said.ended {
            Ended::Well => Seen::Fine,
            Ended::Badly | Ended::Found | Ended::Stopped => {
                Seen::Wrong(said.complaint(judge, start.elapsed()))
            }
        })
    }

    /// Cargo in the copy.
    pub(super) fn cargo(&self, words: &[&str]) -> Command {
        let mut cargo = shell::cargo(words);
        cargo.current_dir(&self.folder);
        cargo.env("CARGO_TARGET_DIR", &self.build);
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
        if std::env::var_os("INTERLOCK_VECTORS").is_none() {
            cargo.env("INTERLOCK_VECTORS", shell::work_folder().join("vectors"));
        }
        cargo
    }
}

fn test_words(test: &Test) -> Vec<&str> {
    let mut words = vec!["test", "--package", &test.package];
    match &test.target {
        Some(target) => words.extend(["--test", target]),
        None => words.push("--lib"),
    }
    words
}

/// What a run wrote, and how it ended.
struct Said {
    lines: Vec<String>,
    ended: Ended,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Well,
    Badly,
    /// A simulation was ended at its first complaint.
    Found,
    /// It was ended when the patience was.
    Stopped,
}

impl Said {
    /// A test run in which no test has the name.
    fn ran_nothing(&self) -> bool {
        let line = self
            .lines
            .iter()
            .find(|line| line.starts_with("test result: "));
        line.is_some_and(|line| line.contains(" 0 passed; 0 failed"))
    }

    /// What it complained of. Of a simulation only its finding counts, of tests what those said that
    /// failed: another way to break off says nothing.
    fn complaint(self, judge: &Judge, after: Duration) -> Complaint {
        let Self { mut lines, ended } = self;
        match judge {
            Judge::Sim(_) => lines.retain(|line| line.contains(FOUND)),
            Judge::Test(_) => lines.retain(|line| !line.ends_with(" ... ok")),
        }
        if ended == Ended::Stopped {
            lines.push(DID_NOT_END.to_owned());
        }
        let by = match judge {
            Judge::Sim(_) => lines.first().cloned(),
            Judge::Test(_) => failed(&lines),
        };
        let by = by.unwrap_or_else(|| {
            let last = lines.iter().rev().find(|line| !line.trim().is_empty());
            format!(
                "{judge}, which broke off: {}",
                last.map_or("", String::as_str)
            )
        });
        Complaint {
            by: by.chars().take(400).collect(),
            after,
            said: lines.join(" "),
        }
    }
}

/// The first test that failed, with what it said.
fn failed(lines: &[String]) -> Option<String> {
    let name = lines.iter().find_map(|line| {
        let test = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        Some(format!("test {test}"))
    })?;
    let mut rest = lines
        .iter()
        .skip_while(|line| !(line.starts_with("thread '") && line.contains(" panicked at ")));
    let said: Vec<&str> = rest.by_ref().skip(1).take(3).map(String::as_str).collect();
    Some(format!("{name}: {}", said.join(" ")))
}

/// Runs a command and keeps what it writes. A simulation that found something would go on to shorten
/// it: it is ended there.
fn listen(command: &mut Command) -> Outcome<Said> {
    let failed = |error: std::io::Error| error.to_string();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let output = child.stdout.take().ok_or("the output is not there")?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            if sender
                .send(String::from_utf8_lossy(&line).into_owned())
                .is_err()
            {
                return;
            }
        }
    });
    let until = Instant::now() + PATIENCE;
    let mut lines = Vec::new();
    let early = loop {
        match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                let found = line.contains(FOUND);
                lines.push(line);
                if found {
                    break Some(Ended::Found);
                }
            }
            Err(mpsc::RecvTimeoutError::Timeout) => break Some(Ended::Stopped),
            Err(mpsc::RecvTimeoutError::Disconnected) => break None,
        }
    };
    if early.is_some() {
        child.kill().map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    let ended = early.unwrap_or(if status.success() {
        Ended::Well
    } else {
        Ended::Badly
    });
    Ok(Said { lines, ended })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(judge: &Judge, ended: Ended, lines: &[&str]) -> Complaint {
        let lines = lines.iter().map(|&line| line.to_owned()).collect();
        Said { lines, ended }.complaint(judge, Duration::ZERO)
    }

    fn sim() -> Judge {
        Judge::Sim(Sim {
            machine: "counters".to_owned(),
            seeds: 1,
            steps: 1,
        })
    }

    fn test() -> Judge {
        Judge::Test(Test {
            package: "interlock-domain".to_owned(),
            target: None,
            name: "one".to_owned(),
        })
    }

    #[test]
    fn only_a_finding_of_a_simulation_counts() {
        let found = [
            "counters: seed 1, 10 steps, C6: told before",
            "counters: seed 1 FAILED at step 3: C6: the floor of p is 3, rebuilt 0",
        ];
        let of_it = complaint(&sim(), Ended::Found, &found);
        assert!(of_it.says("C6: the floor of … rebuilt 0"));
        assert!(!of_it.says("rebuilt 0 … the floor of"));
        assert!(!of_it.says("C6: told before"));
        assert!(of_it.by.contains("the floor of p"));
        let broke_off = complaint(&sim(), Ended::Badly, &found[..1]);
        assert!(!broke_off.says("C6"));
        assert!(broke_off.by.contains("broke off"));
    }

    #[test]
    fn only_what_failing_tests_say_counts() {
        let said = [
            "test one ... ok",
            "test two ... FAILED",
            "---- two stdout ----",
            "thread 'two' (7) panicked at src/two.rs:1:1:",
            "nobody was told",
            "  left: 1",
            " right: 2",
        ];
        let of_two = complaint(&test(), Ended::Badly, &said);
        assert!(of_two.says("nobody was told") && of_two.says("test two"));
        assert!(!of_two.says("test one"));
        assert!(of_two.says("nobody was told … left: 1 … right: 2"));
        assert!(of_two.by.starts_with("test two: nobody was told"));
    }

    #[test]
    fn a_judge_that_does_not_end_has_seen_nothing_else() {
        for judge in [sim(), test()] {
            let endless = complaint(&judge, Ended::Stopped, &["test one ... ok"]);
            assert!(endless.says(DID_NOT_END));
            assert!(!endless.says("one"));
        }
    }
}
