//! A running server for tests and measurements: started on a data folder and a free port, waited for
//! until it says it is ready, stopped by SIGTERM and expected to leave with status 0.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::shell::{self, Outcome};

const READY_WAIT: Duration = Duration::from_secs(30);
const STOP_WAIT: Duration = Duration::from_secs(30);
const LOG_TAIL_LINES: usize = 30;

/// The seed of the conformance space.
pub(crate) fn seed() -> PathBuf {
    shell::root().join("tests/conformance/space.json")
}

/// The key of the conformance space's source `agents`.
pub(crate) const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";

/// Builds the server and tells where it is.
pub(crate) fn build(release: bool) -> Outcome<PathBuf> {
    let profile = if release { "release" } else { shell::PROFILE };
    let mut build = shell::cargo(["build", "--quiet", "--bin", "interlock", "--profile"]);
    shell::run(build.arg(profile))?;
    Ok(shell::build_folder()?.join(profile).join("interlock"))
}

/// A server that runs until it is stopped; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// Where it listens.
    pub(crate) url: String,
    /// What it said when it was ready: address, shards, engine, durability.
    pub(crate) ready: String,
    log: PathBuf,
}

impl Server {
    /// Starts `binary serve` on the data folder `folder/data` and waits until it is ready.
    pub(crate) fn start(binary: &Path, folder: &Path, options: &[&str]) -> Outcome<Self> {
        Self::start_with(binary, folder, &seed(), options)
    }

    /// The same with the spaces of another seed.
    pub(crate) fn start_with(
        binary: &Path,
        folder: &Path,
        seed: &Path,
        options: &[&str],
    ) -> Outcome<Self> {
        let log = folder.join("server.log");
        let errors = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let mut serve = shell::command(binary, ["serve", "--data"]);
        serve
            .arg(folder.join("data"))
            .arg("--listen")
            .arg(free_address()?);
        serve.arg("--seed").arg(seed).args(options);
        let config = shell::root().join("config.toml");
        if config.exists() {
            serve.arg("--config").arg(config);
        }
        serve
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors);
        let mut child = serve
            .spawn()
            .map_err(|error| format!("{}: {error}", shell::words(&serve)))?;
        let output = child.stdout.take();
        let mut server = Self {
            child,
            url: String::new(),
            ready: String::new(),
            log,
        };
        let line = output.and_then(|output| ready_line(output, &mut server.child));
        let url = line
            .as_deref()
            .and_then(|line| line.split_whitespace().nth(1));
        match url {
            Some(url) => {
                server.url = url.to_owned();
                server.ready = line.unwrap_or_default();
                Ok(server)
            }
            None => Err(format!(
                "the server did not become ready\n{}",
                server.log_tail()
            )),
        }
    }

    /// Its process, for figures.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// All it wrote to its log.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }

    /// Asks it to stop and waits; anything but status 0 is a failure.
    pub(crate) fn stop(mut self) -> Outcome {
        let process = self.child.id().to_string();
        shell::run(&mut shell::command(
            "sh",
            ["-c", "kill -TERM \"$0\"", &process],
        ))?;
        let start = Instant::now();
        while start.elapsed() < STOP_WAIT {
            match self.child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(format!(
                        "the server left with {status}\n{}",
                        self.log_tail()
                    ));
                }
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
        Err(format!(
            "the server did not stop within {STOP_WAIT:?}\n{}",
            self.log_tail()
        ))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After `stop` both calls find the process gone, which is what they are for.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// An address on loopback that was free a moment ago.
fn free_address() -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    listener
        .local_addr()
        .map(|address| address.to_string())
        .map_err(|error| error.to_string())
}

/// The line that starts with `ready `, or nothing when the server ends or the wait is over. What
/// follows on that output is read and dropped, so that the server never waits for a reader.
fn ready_line(output: impl Read + Send + 'static, child: &mut Child) -> Option<String> {
    let (found, wait) = mpsc::sync_channel(1);
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if line.starts_with("ready ") {
                drop(found.try_send(line));
            }
        }
    });
    let start = Instant::now();
    while start.elapsed() < READY_WAIT {
        if let Ok(line) = wait.recv_timeout(Duration::from_millis(100)) {
            return Some(line);
        }
        if !matches!(child.try_wait(), Ok(None)) {
            return wait.try_recv().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Starts a script in the place of a server.
    fn start(script: &str) -> Outcome<Server> {
        let folder = tempfile::tempdir().expect("a folder");
        let binary = folder.path().join("server");
        fs::write(&binary, format!("#!/bin/sh\n{script}")).expect("a script");
        fs::set_permissions(&binary, fs::Permissions::from_mode(0o700)).expect("a program");
        Server::start(&binary, folder.path(), &[])
    }

    // One test, so that no other thread of it writes a program while this one starts one.
    #[test]
    fn a_server_is_waited_for_and_must_leave_with_status_0() {
        let wait =
            "echo hello; echo 'ready http://127.0.0.1:1 shards=1'; while :; do sleep 0.02; done";
        let good = start(&format!("trap 'exit 0' TERM; {wait}")).expect("starts");
        assert_eq!(good.url, "http://127.0.0.1:1");
        assert_eq!(good.stop(), Ok(()));
        let bad = start(&format!("trap 'echo broken >&2; exit 3' TERM; {wait}")).expect("starts");
        let error = bad.stop().expect_err("status 3");
        assert!(error.contains("exit status: 3"), "{error}");
        let never = start("echo no >&2; exit 1").expect_err("never ready");
        assert!(never.contains("did not become ready\nno"), "{never}");
    }
}
