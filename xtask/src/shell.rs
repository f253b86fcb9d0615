//! Running other programs and telling the terminal about it: where the workspace is, commands with a
//! readable failure, steps with their durations. No task lives here.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The profile of `Cargo.toml` that the gate builds with, one for every stage, so that nothing is
/// built twice.
pub(crate) const PROFILE: &str = "gate";

/// What is off unless a company asks for it, so that no build of the workspace has it.
pub(crate) const FEATURES: [&str; 4] = ["--package", "interlock-token", "--features", "redis"];
/// The load harness with the node inside, and the test that drives it.
pub(crate) const DIRECT: [&str; 6] = [
    "--package",
    "interlock-load",
    "--features",
    "direct",
    "--test",
    "direct",
];

/// What a task ends with; the error is a text for the person at the terminal.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// The workspace's folder.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = manifest
        .as_deref()
        .and_then(Path::parent)
        .map(Path::to_path_buf);
    here.unwrap_or_else(|| PathBuf::from("."))
}

/// The folder of what set-up brings in and runs leave behind. It does not move with
/// `CARGO_TARGET_DIR`, so that tests of every package find the vectors in one place.
pub(crate) fn work_folder() -> PathBuf {
    root().join("target")
}

/// Whether this is a run whose gaps count as failures.
pub(crate) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true" || value == "1")
}

/// A command in the workspace's folder.
pub(crate) fn command<I, S>(program: impl AsRef<OsStr>, arguments: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Cargo, as the one that runs this task.
pub(crate) fn cargo<I, S>(arguments: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = command(program, arguments);
    forget_task(&mut command);
    command
}

/// Takes from a command what cargo sets for this task: it would change the fingerprint of what the
/// command builds.
pub(crate) fn forget_task(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
}

/// The command as one would type it.
pub(crate) fn words(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    let words = [program].into_iter().chain(command.get_args());
    words
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs a command that writes to the terminal itself.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command
        .status()
        .map_err(|error| format!("{}: {error}", words(command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{}: {status}", words(command)))
    }
}

/// Runs a command and returns what it wrote; a failure quotes its error output.
pub(crate) fn read(command: &mut Command) -> Outcome<String> {
    let output = command
        .output()
        .map_err(|error| format!("{}: {error}", words(command)))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{}: {}\n{}",
            words(command),
            output.status,
            errors.trim_end()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a command can be run and succeeds; it writes nothing.
pub(crate) fn works(command: &mut Command) -> bool {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Which output of a command to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// The error output, where cargo and nextest report.
    Errors,
    /// The standard output.
    Output,
}

/// Runs a command, hands each line of the followed output to `line` and tells whether it succeeded.
pub(crate) fn follow(
    command: &mut Command,
    which: Follow,
    mut line: impl FnMut(&str),
) -> Outcome<bool> {
    let failed = |error: std::io::Error| error.to_string();
    match which {
        Follow::Errors => command.stderr(Stdio::piped()),
        Follow::Output => command.stdout(Stdio::piped()),
    };
    let mut child = command
        .spawn()
        .map_err(|error| format!("{}: {error}", words(command)))?;
    let errors = child
        .stderr
        .take()
        .map(|pipe| Box::new(pipe) as Box<dyn std::io::Read>);
    let output = child
        .stdout
        .take()
        .map(|pipe| Box::new(pipe) as Box<dyn std::io::Read>);
    if let Some(pipe) = errors.or(output) {
        for bytes in BufReader::new(pipe).split(b'\n') {
            line(&String::from_utf8_lossy(&bytes.map_err(failed)?));
        }
    }
    Ok(child.wait().map_err(failed)?.success())
}

/// Announces a step, carries it out and tells how long it took.
pub(crate) fn step<T>(title: &str, task: impl FnOnce() -> Outcome<T>) -> (Outcome<T>, Duration) {
    eprintln!("== {title}");
    let start = Instant::now();
    let outcome = task();
    (outcome, start.elapsed())
}

/// A duration as a person reads it.
pub(crate) fn took(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 100.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{:.1} min", seconds / 60.0)
    }
}

/// Cargo's own description of the workspace.
pub(crate) fn metadata() -> Outcome<serde_json::Value> {
    let text = read(&mut cargo([
        "metadata",
        "--no-deps",
        "--format-version",
        "1",
    ]))?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))
}

/// Where cargo puts what it builds.
pub(crate) fn build_folder() -> Outcome<PathBuf> {
    let folder = metadata()?["target_directory"].as_str().map(PathBuf::from);
    folder.ok_or_else(|| "cargo metadata names no target folder".to_owned())
}

/// Whether the workspace has a package of this name.
pub(crate) fn has_package(name: &str) -> Outcome<bool> {
    let described = metadata()?;
    let packages = described["packages"].as_array();
    Ok(packages.is_some_and(|all| all.iter().any(|package| package["name"] == name)))
}
