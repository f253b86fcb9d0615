//! How a server is started.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use super::process::{Ended, Server};

/// A directory of its own for one server: its working directory, with `data` in it. It is removed
/// when the last one that knows it is gone.
#[derive(Clone, Debug)]
pub(crate) struct Data(Arc<TempDir>);

impl Data {
    fn new() -> Self {
        Self(Arc::new(
            tempfile::tempdir().expect("a directory for a test"),
        ))
    }

    /// The working directory.
    pub(crate) fn home(&self) -> &Path {
        self.0.path()
    }

    /// The data directory.
    pub(crate) fn path(&self) -> PathBuf {
        self.home().join("data")
    }

    /// Writes a file that only its owner can read into the working directory.
    pub(crate) fn write_closed(&self, name: &str, text: &str) -> PathBuf {
        let path = self.write(name, text);
        let mode = Permissions::from_mode(0o600);
        std::fs::set_permissions(&path, mode).expect("a file for a test");
        path
    }

    /// Writes a file into the working directory.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home().join(name);
        std::fs::write(&path, text).expect("a file for a test");
        path
    }
}

/// Everything a start needs. Each method changes one thing; `start` may be called many times.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    data: Data,
    listen: String,
    shards: Option<u16>,
    test_clock: Option<String>,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    within: Vec<OsString>,
    file_bytes_max: Option<u64>,
}

impl Setup {
    /// A server on a free port in a new directory.
    pub(crate) fn new() -> Self {
        Self {
            data: Data::new(),
            listen: "127.0.0.1:0".to_owned(),
            shards: None,
            test_clock: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            within: Vec::new(),
            file_bytes_max: None,
        }
    }

    /// The directory.
    pub(crate) fn data(&self) -> &Data {
        &self.data
    }

    /// Another address.
    pub(crate) fn listen(mut self, address: &str) -> Self {
        address.clone_into(&mut self.listen);
        self
    }

    /// So many shards.
    pub(crate) fn shards(mut self, count: u16) -> Self {
        self.shards = Some(count);
        self
    }

    /// Domain time starts here and moves only by `/test/clock`.
    pub(crate) fn test_clock(mut self, now: &str) -> Self {
        self.test_clock = Some(now.to_owned());
        self
    }

    /// Domain time is the machine's, as in production.
    pub(crate) fn wall_clock(mut self) -> Self {
        self.test_clock = None;
        self
    }

    /// A seed, written into the working directory.
    pub(crate) fn seed(self, seed: &str) -> Self {
        let path = self.data.write("seed.json", seed);
        self.argument("--seed").argument(path)
    }

    /// A `config.toml` in the working directory, which a start reads unasked.
    pub(crate) fn config(self, text: &str) -> Self {
        self.data.write("config.toml", text);
        self
    }

    /// One more argument.
    pub(crate) fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// One more variable of its environment.
    pub(crate) fn environment(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Started by this command, which replaces itself with the server.
    pub(crate) fn within(mut self, command: Vec<OsString>) -> Self {
        self.within = command;
        self
    }

    /// No file of the server grows beyond this: a disk that fails while the node runs.
    pub(crate) fn file_bytes_max(mut self, bytes: Option<u64>) -> Self {
        self.file_bytes_max = bytes;
        self
    }

    /// Starts and waits until it is ready.
    pub(crate) fn start(&self) -> Server {
        Server::ready(self.clone(), self.spawn())
    }

    /// Starts and waits only until it listens; it may still rebuild.
    pub(crate) fn start_listening(&self) -> Server {
        Server::listening(self.clone(), self.spawn())
    }

    /// Starts and waits until it has ended by itself.
    pub(crate) fn start_refused(&self) -> Ended {
        Ended::wait(self.spawn())
    }

    /// Starts and waits until it is ready or has ended by itself.
    pub(crate) fn try_start(&self) -> Result<Server, Ended> {
        Server::ready_or_ended(self.clone(), self.spawn())
    }

    fn spawn(&self) -> Child {
        let mut command = self.program();
        command
            .current_dir(self.data.home())
            .arg("serve")
            .args(["--listen", &self.listen]);
        if let Some(shards) = self.shards {
            command.args(["--shards", &shards.to_string()]);
        }
        if let Some(now) = &self.test_clock {
            command.args(["--test-clock", now]);
        }
        command
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the built server can be started")
    }

    /// The server, or what becomes it.
    fn program(&self) -> Command {
        let built = env!("CARGO_BIN_EXE_interlock");
        if let Some((first, rest)) = self.within.split_first() {
            let mut command = Command::new(first);
            command.args(rest).arg(built);
            return command;
        }
        let Some(bytes) = self.file_bytes_max else {
            return Command::new(built);
        };
        // The signal of that limit is ignored, so that the write fails instead.
        let limited = format!(
            "trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"",
            bytes / 1_024
        );
        let mut command = Command::new("bash");
        command.args(["-c", &limited, built]);
        command
    }
}
