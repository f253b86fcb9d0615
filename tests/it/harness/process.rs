//! A server that runs, and one that ended.

use std::process::{Child, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};

use super::http::{Answer, Client};
use super::output::Output;
use super::setup::{Data, Setup};
use super::until;

/// A server that runs. Dropped, it is killed by its id.
#[derive(Debug)]
pub(crate) struct Server {
    setup: Setup,
    child: Child,
    stdout: Output,
    stderr: Output,
    client: Client,
}

/// A server that ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it wrote on standard output.
    pub(crate) stdout: Vec<String>,
    /// What it wrote on standard error.
    pub(crate) stderr: Vec<String>,
}

impl Server {
    /// Waits for the line `ready`.
    pub(crate) fn ready(setup: Setup, child: Child) -> Self {
        Self::after_line(setup, child, "ready ")
    }

    /// Waits for the line `listening`.
    pub(crate) fn listening(setup: Setup, child: Child) -> Self {
        Self::after_line(setup, child, "listening ")
    }

    /// Waits for the line `ready`, or for its end.
    pub(crate) fn ready_or_ended(setup: Setup, child: Child) -> Result<Self, Ended> {
        Self::line_or_end(setup, child, "ready ")
    }

    fn after_line(setup: Setup, child: Child, start: &str) -> Self {
        Self::line_or_end(setup, child, start).unwrap_or_else(|ended| panic!("{ended:?}"))
    }

    fn line_or_end(setup: Setup, mut child: Child, start: &str) -> Result<Self, Ended> {
        // Made first, so that a wait in vain ends the process too.
        let mut server = Self {
            client: Client::new(""),
            stdout: Output::of(child.stdout.take().expect("the pipe was asked for")),
            stderr: Output::of(child.stderr.take().expect("the pipe was asked for")),
            setup,
            child,
        };
        let line = until(&format!("a line `{start}…` or the end"), || {
            let line = server.stdout.line(start);
            if line.is_some() {
                return Some(line);
            }
            let ended = server.child.try_wait().expect("the child is ours");
            ended.is_some().then_some(None)
        });
        let Some(line) = line else {
            return Err(server.ended());
        };
        let url = line.split(' ').nth(1).expect("a line with an address");
        server.client = Client::new(url);
        Ok(server)
    }

    /// Where it answers, without a path.
    pub(crate) fn url(&self) -> &str {
        self.client.url()
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Resident memory in bytes: `VmRSS:` is what it has now, `VmHWM:` the most it ever had.
    pub(crate) fn resident(&self, which: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix(which));
        let kib: u64 = line
            .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
            .expect("a number");
        kib * 1_024
    }

    /// How it was started, to start another like it.
    pub(crate) fn setup(&self) -> Setup {
        self.setup.clone()
    }

    /// Its directory.
    pub(crate) fn data(&self) -> &Data {
        self.setup.data()
    }

    /// What it wrote on standard output so far.
    pub(crate) fn stdout(&self) -> Vec<String> {
        self.stdout.lines()
    }

    /// What it wrote on standard error so far.
    pub(crate) fn stderr(&self) -> Vec<String> {
        self.stderr.lines()
    }

    /// Waits for a line on standard output.
    pub(crate) fn line(&self, start: &str) -> String {
        until(&format!("a line `{start}…`"), || self.stdout.line(start))
    }

    /// Waits for a line on standard error that has this in it.
    pub(crate) fn stderr_line(&self, part: &str) -> String {
        until(&format!("a line with `{part}`"), || {
            let lines = self.stderr.lines().into_iter();
            lines.rev().find(|line| line.contains(part))
        })
    }

    /// A client of its own connections, for a thread of its own.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.url())
    }

    /// GET with a key; no key when it is empty.
    pub(crate) fn get(&self, path: &str, key: &str) -> Answer {
        self.client.get(path, key)
    }

    /// POST of a JSON body with a key.
    pub(crate) fn post(&self, path: &str, key: &str, body: &serde_json::Value) -> Answer {
        self.client.post(path, key, body)
    }

    /// POST with an Idempotency-Key.
    pub(crate) fn post_once(
        &self,
        path: &str,
        key: &str,
        idempotency_key: &str,
        body: &serde_json::Value,
    ) -> Answer {
        self.client.post_once(path, key, idempotency_key, body)
    }

    /// Moves the test clock.
    pub(crate) fn set_clock(&self, now: &str) -> Answer {
        self.client
            .put("/test/clock", &serde_json::json!({ "now": now }))
    }

    /// SIGKILL, as a power cut would; the set-up to start again with.
    pub(crate) fn kill(mut self) -> Setup {
        self.child.kill().expect("the child is ours");
        self.child.wait().expect("the child is ours");
        self.setup.clone()
    }

    /// SIGKILL without waiting.
    pub(crate) fn signal_kill(&self) {
        self.signal(Signal::KILL);
    }

    /// SIGSTOP, after which it hears nothing until [`Self::signal_continue`]. Waits until every thread
    /// stands: one that runs when the signal is sent goes on for a moment, and may hear another client.
    pub(crate) fn signal_stop(&self) {
        self.signal(Signal::STOP);
        until("every thread of the server to stand", || {
            self.stands().then_some(())
        });
    }

    fn stands(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid()));
        threads.expect("its threads").flatten().all(|thread| {
            let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            // The name before the state may hold anything but ends with the last parenthesis.
            stat.rsplit_once(") ")
                .is_some_and(|(_, state)| state.starts_with('T'))
        })
    }

    /// SIGCONT.
    pub(crate) fn signal_continue(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a child has an id"), signal).expect("the child is ours");
    }

    /// SIGHUP: the certificate is new.
    pub(crate) fn signal_hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// SIGTERM without waiting.
    pub(crate) fn signal_terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// SIGTERM, and what came of it.
    pub(crate) fn terminate(self) -> Ended {
        self.signal_terminate();
        self.ended()
    }

    /// SIGTERM again and again until it has ended.
    pub(crate) fn terminate_again(mut self) -> Ended {
        until("the end of a server that is told again", || {
            let ended = self.child.try_wait().expect("the child is ours");
            if ended.is_none() {
                self.signal_terminate();
            }
            ended
        });
        self.ended()
    }

    /// Waits until it has ended.
    pub(crate) fn ended(mut self) -> Ended {
        let status = wait(&mut self.child);
        Ended {
            code: status.code(),
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
        }
    }

    /// SIGTERM, and started again with what `change` makes of its set-up.
    pub(crate) fn restart(self, change: impl FnOnce(Setup) -> Setup) -> Self {
        let setup = change(self.setup.clone());
        let ended = self.terminate();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        setup.start()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail when it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Ended {
    /// Waits until a process has ended by itself.
    pub(crate) fn wait(mut child: Child) -> Self {
        let mut stdout = Output::of(child.stdout.take().expect("the pipe was asked for"));
        let mut stderr = Output::of(child.stderr.take().expect("the pipe was asked for"));
        let status = wait(&mut child);
        Self {
            code: status.code(),
            stdout: stdout.finish(),
            stderr: stderr.finish(),
        }
    }

    /// The one line of a refusal. There is no stack trace, and nothing else but log lines.
    pub(crate) fn refusal(&self) -> &str {
        let said = |line: &&String| line.starts_with("interlock: ");
        let lines: Vec<&String> = self.stderr.iter().filter(said).collect();
        let [line] = lines.as_slice() else {
            panic!("one line, not {:?}", self.stderr);
        };
        let traced = |line: &String| line.contains("panicked") || line.contains("backtrace");
        assert!(!self.stderr.iter().any(traced), "{:?}", self.stderr);
        line
    }
}

/// Waits with a bound; a process that outlasts it does not outlast the test.
fn wait(child: &mut Child) -> ExitStatus {
    let killed = Killed(child);
    until("the end of a server", || {
        killed.0.try_wait().expect("the child is ours")
    })
}

/// Kills a process that still runs when a wait for its end is over.
struct Killed<'a>(&'a mut Child);

impl Drop for Killed<'_> {
    fn drop(&mut self) {
        // Both fail when it has ended already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
