//! Makes up inputs for the places that read bytes from outside, guided by what of the code they reach
//! (libFuzzer). What must hold of them is in `tests/fuzz/`, whose test replays the committed corpora
//! in the gate.
//!
//! Here: the tool, one run after the other with its progress, a table at the end, and `--keep`, which
//! adds what reached more to the committed corpora. Nothing here runs in CI.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Args;

use crate::setup;
use crate::shell::{self, Follow, Outcome, took};

/// The programs, a package of their own.
const PROGRAMS: &str = "tests/fuzz/fuzz";
const CORPUS: &str = "tests/fuzz/corpus";
/// Longest input, in bytes.
const INPUT_BYTES_MAX: u32 = 4_096;
/// The largest single allocation, in MiB: no input of that length justifies more.
const ALLOCATION_MIB_MAX: u32 = 4;
/// Seconds after which an input counts as one that hangs.
const PATIENCE_S: u32 = 10;
/// Files of one target in the repository, and the bytes of one that a run may add.
const KEPT_FILES_MAX: usize = 24;
const KEPT_BYTES_MAX: usize = 1_024;
/// How often a run tells where it is.
const PROGRESS: Duration = Duration::from_secs(15);

/// Makes up inputs, guided by coverage.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The target, all of them without one
    target: Option<String>,
    /// Minutes for each target, 1 to 1,440
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1_440))]
    minutes: u64,
    /// Adds what reached more to the committed corpora
    #[arg(long)]
    keep: bool,
}

/// What a run came to.
#[derive(Debug, Default)]
struct Figures {
    target: String,
    runs: u64,
    seconds: u64,
    /// Inputs that are known to reach something.
    corpus: u64,
    /// Places reached by the known inputs, and at the end.
    known: u64,
    reached: u64,
    /// Where the inputs lie that break a property.
    crashes: Vec<String>,
}

/// Runs what was asked for; a broken property is a failure.
pub(crate) fn run(options: &Options) -> Outcome {
    let targets = targets()?;
    let chosen = match &options.target {
        Some(name) if targets.contains(name) => BTreeSet::from([name.clone()]),
        Some(_) => {
            let known: Vec<String> = targets.into_iter().collect();
            return Err(format!("the targets are {}", known.join(", ")));
        }
        None => targets,
    };
    run_all(
        &chosen,
        Duration::from_secs(options.minutes * 60),
        options.keep,
    )
}

/// Runs all targets, which share the time.
pub(crate) fn soak(bound: Duration) -> Outcome {
    let targets = targets()?;
    let share = u32::try_from(targets.len()).map_err(|_| "too many targets".to_owned())?;
    run_all(&targets, bound / share.max(1), false)
}

fn run_all(targets: &BTreeSet<String>, bound: Duration, keep: bool) -> Outcome {
    setup::fuzz_tool()?;
    let place = Place::new()?;
    let start = Instant::now();
    let one = targets.iter().filter(|_| targets.len() == 1);
    let one: Vec<&str> = one.map(String::as_str).collect();
    shell::run(&mut place.fuzz("build", &one))?;
    eprintln!("fuzz: built in {}", took(start.elapsed()));
    let mut rows = Vec::new();
    for target in targets {
        let figures = place.run(target, bound)?;
        eprintln!("fuzz: {figures}");
        if keep && figures.crashes.is_empty() {
            place.keep(target)?;
        }
        rows.push(figures);
    }
    table(&rows);
    let crashes: Vec<&str> = rows
        .iter()
        .flat_map(|row| row.crashes.iter().map(String::as_str))
        .collect();
    if crashes.is_empty() {
        return Ok(());
    }
    Err(format!(
        "a property is broken by {}; put the file into the target's folder in {CORPUS}, and \
         `cargo test -p interlock-fuzz` shows it",
        crashes.join(", ")
    ))
}

/// The targets: the folders of the corpora.
fn targets() -> Outcome<BTreeSet<String>> {
    names(&shell::root().join(CORPUS))
}

fn names(folder: &Path) -> Outcome<BTreeSet<String>> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(failed)?;
    entries
        .map(|entry| {
            let name = entry.map_err(failed)?.file_name().into_string();
            name.map_err(|name| format!("{} is no name", name.display()))
        })
        .collect()
}

/// Where programs are built and inputs grow.
struct Place {
    work: PathBuf,
    corpus: PathBuf,
}

impl Place {
    fn new() -> Outcome<Self> {
        Ok(Self {
            work: shell::build_folder()?.join("fuzz"),
            corpus: shell::root().join(CORPUS),
        })
    }

    /// The fuzzer's verb on the programs.
    fn fuzz(&self, verb: &str, words: &[&str]) -> Command {
        let mut command = shell::command("rustup", ["run", "nightly", "cargo", "fuzz", verb]);
        command.args(["--fuzz-dir", PROGRAMS, "--target-dir"]);
        command.arg(self.work.join("build")).args(words);
        shell::forget_task(&mut command);
        // Cargo sets these for this task, and they are of another toolchain.
        for name in ["RUSTUP_TOOLCHAIN", "RUSTC", "RUSTDOC", "CARGO_TARGET_DIR"] {
            command.env_remove(name);
        }
        // Finding the names of a trace takes more room than an input may.
        command.env("RUST_BACKTRACE", "0");
        command
    }

    /// A folder of the target's below the work folder, made if it is not there.
    fn folder(&self, kind: &str, target: &str) -> Outcome<PathBuf> {
        let folder = self.work.join(kind).join(target);
        let made = fs::create_dir_all(&folder);
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }

    /// Runs a target; what reaches more is kept in the work folder for the next time.
    fn run(&self, target: &str, bound: Duration) -> Outcome<Figures> {
        let crashes = self.folder("crashes", target)?;
        let before = names(&crashes)?;
        let mut fuzz = self.fuzz("run", &[target]);
        fuzz.arg(self.folder("grown", target)?);
        fuzz.arg(self.corpus.join(target)).arg("--");
        fuzz.arg(format!("-artifact_prefix={}/", crashes.display()));
        fuzz.arg(format!("-max_total_time={}", bound.as_secs().max(1)));
        fuzz.arg(format!("-max_len={INPUT_BYTES_MAX}"));
        fuzz.arg(format!("-malloc_limit_mb={ALLOCATION_MIB_MAX}"));
        fuzz.arg(format!("-timeout={PATIENCE_S}"));
        let mut figures = Figures {
            target: target.to_owned(),
            ..Figures::default()
        };
        let start = Instant::now();
        let mut told = start;
        let mut said = Vec::new();
        let fine = shell::follow(&mut fuzz, Follow::Errors, |line| {
            if !figures.heed(line) {
                said.push(line.to_owned());
                // Only the end of a failure is shown.
                let extra = said.len().saturating_sub(60);
                said.drain(..extra);
            }
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                eprintln!("fuzz: {figures}, {}", took(start.elapsed()));
            }
        })?;
        figures.seconds = start.elapsed().as_secs();
        let after = names(&crashes)?;
        let fresh = after.difference(&before);
        figures.crashes = fresh
            .map(|name| crashes.join(name).display().to_string())
            .collect();
        if !fine {
            eprintln!("{}", said.join("\n"));
            if figures.crashes.is_empty() {
                return Err(format!("{target} did not run to its end"));
            }
        }
        Ok(figures)
    }

    /// Adds to the committed corpus what reaches most beyond it, as far as there is room.
    fn keep(&self, target: &str) -> Outcome {
        let committed = self.corpus.join(target);
        let failed = |error: std::io::Error| format!("{}: {error}", committed.display());
        let merged = self.folder("merged", target)?;
        fs::remove_dir_all(&merged).map_err(failed)?;
        let merged = self.folder("merged", target)?;
        let known = names(&committed)?;
        for name in &known {
            fs::copy(committed.join(name), merged.join(name)).map_err(failed)?;
        }
        let mut merge = self.fuzz("run", &[target]);
        merge.arg(&merged).arg(self.folder("grown", target)?);
        merge.args(["--", "-set_cover_merge=1"]);
        merge.arg(format!("-max_len={INPUT_BYTES_MAX}"));
        shell::read(&mut merge)?;
        let mut fresh = Vec::new();
        for name in names(&merged)?.difference(&known) {
            let path = merged.join(name);
            let written = fs::metadata(&path).and_then(|about| about.modified());
            let bytes = fs::read(&path).map_err(failed)?;
            if bytes.len() <= KEPT_BYTES_MAX {
                fresh.push((written.map_err(failed)?, name.clone(), bytes));
            }
        }
        // A merge writes first what adds most to those before it.
        fresh.sort_unstable();
        fresh.truncate(KEPT_FILES_MAX.saturating_sub(known.len()));
        for (_, name, bytes) in &fresh {
            fs::write(committed.join(name), bytes).map_err(failed)?;
        }
        eprintln!("fuzz: {target}: {} inputs added", fresh.len());
        Ok(())
    }
}

impl Figures {
    /// Takes what a line of the fuzzer says; `false` when it says nothing.
    fn heed(&mut self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        let Some(runs) = words
            .next()
            .and_then(|word| word.strip_prefix('#')?.parse().ok())
        else {
            return false;
        };
        let event = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        let after = |name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            let number = words.get(at + 1)?.split('/').next()?;
            number.parse().ok()
        };
        let Some(reached) = after("cov:") else {
            return false;
        };
        self.runs = runs;
        self.reached = reached;
        self.corpus = after("corp:").unwrap_or(self.corpus);
        if event == "INITED" {
            self.known = reached;
        }
        true
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            target,
            runs,
            corpus,
            reached,
            known,
            ..
        } = self;
        let more = reached.saturating_sub(*known);
        write!(
            f,
            "{target}: {runs} runs, {corpus} inputs reach {reached} places, {more} of them new"
        )
    }
}

fn table(rows: &[Figures]) {
    eprintln!("== fuzz");
    eprintln!(
        "   {:<14} {:>10} {:>8} {:>7} {:>8} {:>6} {:>8}",
        "target", "runs", "seconds", "inputs", "places", "new", "crashes"
    );
    for row in rows {
        eprintln!(
            "   {:<14} {:>10} {:>8} {:>7} {:>8} {:>6} {:>8}",
            row.target,
            row.runs,
            row.seconds,
            row.corpus,
            row.reached,
            row.reached.saturating_sub(row.known),
            row.crashes.len()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_fuzzer_are_understood() {
        let mut figures = Figures::default();
        assert!(!figures.heed("INFO: Seed: 1"));
        assert!(!figures.heed("#0\tREAD units: 35"));
        assert!(figures.heed("#36\tINITED cov: 410 ft: 512 corp: 30/912b exec/s: 0 rss: 40Mb"));
        assert!(figures.heed("#99\tDONE   cov: 417 ft: 540 corp: 32/1Kb lim: 4 exec/s: 9"));
        assert_eq!((figures.runs, figures.corpus), (99, 32));
        assert_eq!((figures.known, figures.reached), (410, 417));
    }

    #[test]
    fn each_target_has_a_program() {
        let targets = targets().expect("the corpora are there");
        let programs = names(&shell::root().join(PROGRAMS).join("fuzz_targets"));
        let programs = programs.expect("the programs are there");
        let of = |name: &String| name.strip_suffix(".rs").map(str::to_owned);
        assert_eq!(
            programs.iter().filter_map(of).collect::<BTreeSet<_>>(),
            targets
        );
    }
}
