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

/// How long a judge may take; one that hangs has seen something.
const PATIENCE: Duration = Duration::from_secs(600);

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
    Caught {
        /// What it complained of.
        by: String,
        /// After how long.
        after: Duration,
    },
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
        Ok(match said.complaint(judge) {
            None => Seen::Fine,
            Some(by) => Seen::Caught {
                by,
                after: start.elapsed(),
            },
        })
    }

    fn cargo(&self, words: &[&str]) -> Command {
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

enum Ended {
    Well,
    Badly,
    /// It was ended at the first complaint, or at the end of the patience.
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

    fn complaint(&self, judge: &Judge) -> Option<String> {
        match self.ended {
            Ended::Well => return None,
            Ended::Badly | Ended::Stopped => {}
        }
        let words = self.lines.iter().find_map(|line| {
            let test = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
            Some(format!("test {test}"))
        });
        let seed = self
            .lines
            .iter()
            .find(|line| line.contains(" FAILED at step "));
        let told = words.or_else(|| seed.map(|line| line.chars().take(160).collect()));
        let last = || match self.ended {
            Ended::Stopped => format!("{judge}, which did not end"),
            Ended::Well | Ended::Badly => {
                let last = self.lines.iter().rev().find(|line| !line.trim().is_empty());
                let last: String = last.map_or("", String::as_str).chars().take(120).collect();
                format!("{judge}, which broke off: {last}")
            }
        };
        Some(told.unwrap_or_else(last))
    }
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
    let stopped = loop {
        match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                let found = line.contains(" FAILED at step ");
                lines.push(line);
                if found {
                    break true;
                }
            }
            Err(mpsc::RecvTimeoutError::Timeout) => break true,
            Err(mpsc::RecvTimeoutError::Disconnected) => break false,
        }
    };
    if stopped {
        child.kill().map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    let ended = match (stopped, status.success()) {
        (true, _) => Ended::Stopped,
        (false, true) => Ended::Well,
        (false, false) => Ended::Badly,
    };
    Ok(Said { lines, ended })
}
