//! A server of our own: started in a private directory on a free port, ended by its process id, and
//! its directory removed, also when the harness fails or is interrupted.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::interrupt;
use crate::process::Process;

/// The spaces that a spawned server has.
pub(crate) const SEED: &str = include_str!("../space.json");

/// A start that rebuilds tens of millions of entities takes minutes.
const READY_WAIT: Duration = Duration::from_secs(600);
const STOP_WAIT: Duration = Duration::from_secs(60);
/// Lines of its log that a failure quotes.
const LOG_TAIL_LINES: usize = 12;

/// How a server is started.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// The program.
    pub(crate) binary: PathBuf,
    /// Where its private directory is made; left out: beside the program.
    pub(crate) parent: Option<PathBuf>,
    /// How many shards; left out: its own choice.
    pub(crate) shards: Option<u32>,
    /// Further settings, each `section.name=value`.
    pub(crate) settings: Vec<String>,
    /// A test's clock that begins then, in RFC 3339; left out: the machine's.
    pub(crate) clock: Option<String>,
}

/// The program to start: the one named, or `interlock` beside this program.
pub(crate) fn binary(named: Option<PathBuf>) -> Result<PathBuf, String> {
    if let Some(binary) = named {
        return binary
            .is_file()
            .then_some(binary.clone())
            .ok_or_else(|| format!("{} is no file", binary.display()));
    }
    let own = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    // A test's program lies one folder deeper.
    let beside = own
        .ancestors()
        .skip(1)
        .take(2)
        .map(|at| at.join("interlock"));
    beside.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        let release = if cfg!(debug_assertions) { "" } else { " --release" };
        let folder = own.parent().unwrap_or(Path::new("."));
        format!(
            "there is no server in {}; build it with `cargo build{release} --bin interlock`, or \
             name one: --spawn BINARY",
            folder.display()
        )
    })
}

/// A server that runs. Dropped, it is killed and its directory removed.
#[derive(Debug)]
pub(crate) struct Spawned {
    // Dropped in this order: first the process, then what it writes to.
    child: Running,
    folder: TempDir,
    wanted: Wanted,
    url: String,
    ready: String,
    /// From the start of the process to its ready line.
    took: Duration,
}

#[derive(Debug)]
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // After a stop both calls find the process gone, which is what they are for.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Spawned {
    /// Starts one on an empty directory and waits until it is ready.
    pub(crate) fn start(wanted: &Wanted) -> Result<Self, String> {
        let parent = match &wanted.parent {
            Some(parent) => parent.clone(),
            // Beside the program is a disk; a folder for temporary files may be memory.
            None => wanted
                .binary
                .parent()
                .map_or_else(std::env::temp_dir, Path::to_owned),
        };
        let folder = tempfile::Builder::new()
            .prefix("interlock-load-")
            .tempdir_in(&parent)
            .map_err(|error| format!("a directory in {}: {error}", parent.display()))?;
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).map_err(|error| format!("{name}: {error}"))
        };
        write("seed.json", SEED)?;
        write("config.toml", &config(&wanted.settings)?)?;
        Self::start_in(folder, wanted.clone())
    }

    /// Kills it and starts it again on the same data.
    pub(crate) fn kill_and_start(self) -> Result<Self, String> {
        let Self {
            child,
            folder,
            wanted,
            ..
        } = self;
        drop(child);
        Self::start_in(folder, wanted)
    }

    fn start_in(folder: TempDir, wanted: Wanted) -> Result<Self, String> {
        let log = folder.path().join("server.log");
        let errors = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let binary = fs::canonicalize(&wanted.binary)
            .map_err(|error| format!("{}: {error}", wanted.binary.display()))?;
        let mut command = Command::new(binary);
        command
            .current_dir(folder.path())
            .args(["serve", "--listen", "127.0.0.1:0", "--data", "data"])
            .args(["--config", "config.toml", "--seed", "seed.json"]);
        if let Some(shards) = wanted.shards {
            command.args(["--shards", &shards.to_string()]);
        }
        if let Some(clock) = &wanted.clock {
            command.args(["--test-clock", clock]);
        }
        let begun = Instant::now();
        let mut child = command
            // In a group of its own, so that Ctrl-C reaches the harness alone, which then ends it.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(|error| format!("{}: {error}", wanted.binary.display()))?;
        let output = child.stdout.take();
        let mut running = Running(child);
        let line = output.and_then(|output| ready_line(output, &mut running.0));
        let took = begun.elapsed();
        let Some(line) = line else {
            let said = tail(&log);
            let hint = hint(&said, &wanted.settings);
            return Err(format!("the server did not become ready{hint}\n{said}"));
        };
        let (url, ready) = line.split_once(' ').unwrap_or((&line, ""));
        Ok(Self {
            url: url.to_owned(),
            ready: ready.to_owned(),
            child: running,
            folder,
            wanted,
            took,
        })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What it said when it was ready: shards, engine, durability.
    pub(crate) fn ready(&self) -> &str {
        &self.ready
    }

    /// From the start of its process to its ready line.
    pub(crate) const fn took(&self) -> Duration {
        self.took
    }

    /// The settings it was given.
    pub(crate) fn settings(&self) -> &[String] {
        &self.wanted.settings
    }

    /// Its process.
    pub(crate) fn process(&self) -> Process {
        Process::new(self.child.0.id())
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Asks it to stop and waits; anything but status 0 is a failure.
    pub(crate) fn stop(mut self) -> Result<(), String> {
        let log = self.folder.path().join("server.log");
        let child = &mut self.child.0;
        let id = Pid::from_child(child);
        kill_process(id, Signal::TERM).map_err(|error| format!("SIGTERM: {error}"))?;
        let start = Instant::now();
        while start.elapsed() < STOP_WAIT {
            match child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(format!("the server left with {status}\n{}", tail(&log)));
                }
                None => thread::sleep(Duration::from_millis(10)),
            }
        }
        Err(format!(
            "the server did not stop within {STOP_WAIT:?}\n{}",
            tail(&log)
        ))
    }
}

/// Where to look when the server refused the file that is made of `--set`: the user knows of no file.
fn hint(said: &str, settings: &[String]) -> &'static str {
    match !settings.is_empty() && said.contains("config config.toml:") {
        true => ": it refuses a setting of `--set`; `interlock config` lists the names",
        false => "",
    }
}

/// The settings file: each setting under its section.
fn config(settings: &[String]) -> Result<String, String> {
    let mut text = String::new();
    let mut named: Vec<(&str, &str, &str)> = Vec::new();
    for setting in settings {
        let parts = setting.split_once('=').and_then(|(name, value)| {
            let (section, name) = name.split_once('.')?;
            Some((section, name, value))
        });
        named.push(parts.ok_or_else(|| format!("--set {setting}: reads SECTION.NAME=VALUE"))?);
    }
    named.sort_unstable();
    let mut last = "";
    for (section, name, value) in named {
        if section != last {
            text.push_str(&format!("[{section}]\n"));
            last = section;
        }
        match value.parse::<i64>() {
            Ok(number) => text.push_str(&format!("{name} = {number}\n")),
            Err(_) => text.push_str(&format!("{name} = {value:?}\n")),
        }
    }
    Ok(text)
}

/// What follows `ready ` on its output, or nothing when the server ends or the wait is over. The rest
/// is read and dropped, so that the server never waits for a reader.
fn ready_line(output: impl Read + Send + 'static, child: &mut Child) -> Option<String> {
    let (found, wait) = mpsc::sync_channel(1);
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(rest) = line.strip_prefix("ready ") {
                drop(found.try_send(rest.to_owned()));
            }
        }
    });
    let start = Instant::now();
    while start.elapsed() < READY_WAIT && !interrupt::asked() {
        if let Ok(line) = wait.recv_timeout(Duration::from_millis(50)) {
            return Some(line);
        }
        if !matches!(child.try_wait(), Ok(None)) {
            return wait.try_recv().ok();
        }
    }
    None
}

fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn start(home: &Path, script: &str) -> Result<Spawned, String> {
        let binary = home.join("server");
        fs::write(&binary, format!("#!/bin/sh\n{script}")).expect("a script");
        fs::set_permissions(&binary, fs::Permissions::from_mode(0o700)).expect("a program");
        Spawned::start(&Wanted {
            binary,
            parent: None,
            shards: Some(2),
            settings: vec!["limits.space_asks_ms=0".to_owned()],
            clock: None,
        })
    }

    // One test, so that no other thread of it writes a program while this one starts one.
    #[test]
    fn a_server_is_waited_for_and_leaves_nothing() {
        let wait =
            "shift 10; echo ready http://127.0.0.1:1 shards=$1; while :; do sleep 0.02; done";
        let script =
            format!("trap 'exit 0' TERM; grep -q space_asks_ms config.toml || exit 4; {wait}");
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path();
        let good = start(home, &script).expect("starts");
        assert_eq!(
            (good.url(), good.ready()),
            ("http://127.0.0.1:1", "shards=2")
        );
        let (folder, id) = (good.folder.path().to_owned(), good.child.0.id());
        let good = good.kill_and_start().expect("starts again");
        assert_ne!(good.child.0.id(), id);
        assert_eq!(good.stop(), Ok(()));
        assert!(!folder.exists());
        let bad = start(
            home,
            &format!("trap 'echo broken >&2; exit 3' TERM; {wait}"),
        )
        .expect("starts");
        let error = bad.stop().expect_err("status 3");
        assert!(error.contains("exit status: 3\nbroken"), "{error}");
        let never = start(home, "echo no >&2; exit 1").expect_err("never ready");
        assert!(never.ends_with("did not become ready\nno"), "{never}");
        let refused = "interlock: config config.toml: line 2: unknown setting";
        let never = start(home, &format!("echo '{refused}' >&2; exit 3")).expect_err("never ready");
        for part in ["of `--set`", "`interlock config`", refused] {
            assert!(never.contains(part), "{part}: {never}");
        }
    }

    #[test]
    fn settings_become_a_file() {
        let settings = ["b.y=off", "a.x=1", "b.z=2"].map(str::to_owned);
        let text = config(&settings).expect("settings");
        assert_eq!(text, "[a]\nx = 1\n[b]\ny = \"off\"\nz = 2\n");
        assert!(config(&["x=1".to_owned()]).is_err());
    }

    #[test]
    fn a_missing_server_says_how_to_build_it() {
        let error = binary(Some(PathBuf::from("nowhere/interlock"))).expect_err("nothing there");
        assert!(error.contains("is no file"), "{error}");
    }
}
