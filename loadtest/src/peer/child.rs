//! A peer's process: found on this machine, started in a private directory on a free port, ended by
//! its id, its directory removed, also when a run fails or somebody stops it. Knows nothing of what
//! the process serves.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::interrupt;

const READY_WAIT: Duration = Duration::from_secs(30);
const END_WAIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);
const LOG_TAIL_LINES: usize = 12;
/// Clock ticks of `/proc` in a second; Linux tells user space in these whatever the kernel counts in.
const TICKS: f64 = 100.0;

/// A process that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Child {
    process: std::process::Child,
    name: &'static str,
    ends_by: Signal,
    folder: TempDir,
}

impl Child {
    /// Starts `command` inside `folder`, with its output in a log there. It gets a process group of
    /// its own, so that Ctrl-C reaches the harness alone, which then ends it in order.
    pub(crate) fn start(
        name: &'static str,
        mut command: Command,
        ends_by: Signal,
        folder: TempDir,
    ) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{name} could not be started: {error}");
        let log = File::create(log(folder.path())).map_err(failed)?;
        let process = command
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(failed)?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        Ok(Self {
            process,
            name,
            ends_by,
            folder,
        })
    }

    /// Tries `connect` until it works; an error once the process has ended or the wait is over.
    pub(crate) fn wait_until<T>(
        &mut self,
        mut connect: impl FnMut() -> Result<T, String>,
    ) -> Result<T, String> {
        let start = Instant::now();
        loop {
            let error = match connect() {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let ended = !matches!(self.process.try_wait(), Ok(None));
            if ended || interrupt::asked() || start.elapsed() > READY_WAIT {
                let name = self.name;
                return Err(format!("{name} is not ready: {error}\n{}", self.log_tail()));
            }
            thread::sleep(POLL);
        }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    fn log_tail(&self) -> String {
        let log = fs::read_to_string(log(self.folder.path())).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let id = i32::try_from(self.process.id())
            .ok()
            .and_then(Pid::from_raw);
        if let Some(id) = id
            && matches!(self.process.try_wait(), Ok(None))
        {
            // A process that is gone by now is what both calls are for.
            kill_process(id, self.ends_by).ok();
            let start = Instant::now();
            while start.elapsed() < END_WAIT && matches!(self.process.try_wait(), Ok(None)) {
                thread::sleep(POLL);
            }
        }
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn log(folder: &Path) -> PathBuf {
    folder.join("server.log")
}

/// A private directory under `parent`, for nobody else to read.
pub(crate) fn folder(name: &str, parent: &Path) -> Result<TempDir, String> {
    tempfile::Builder::new()
        .prefix(&format!("interlock-load-{name}-"))
        .tempdir_in(parent)
        .map_err(|error| format!("a directory for {name} in {}: {error}", parent.display()))
}

/// A port of loopback that was free a moment ago.
pub(crate) fn free_port() -> Result<u16, String> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no free port: {error}"))
}

/// A word that only who started the peer knows: its port is open to everybody on this machine.
pub(crate) fn password() -> Result<String, String> {
    let mut bytes = [0; 16];
    let source = "/dev/urandom";
    File::open(source)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes))
        .map_err(|error| format!("{source}: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Where a program is: on the PATH, else in one of `places`. Links stay: programs look at the name
/// they were started by.
pub(crate) fn find(program: &str, places: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(places.iter().cloned())
        .filter_map(|place| std::path::absolute(place.join(program)).ok())
        .find(|file| file.is_file())
}

/// Processor seconds that a process and its children have used so far; 0 where nobody tells. Of
/// children that ended, their parent has the time.
pub(crate) fn cpu_seconds(process: u32) -> f64 {
    let own: u64 = times(process).iter().sum();
    let children: u64 = children(process)
        .iter()
        .map(|child| times(*child).iter().sum::<u64>())
        .sum();
    (own + children) as f64 / TICKS
}

/// User and system time of a process, then of its children that ended.
fn times(process: u32) -> [u64; 4] {
    let mut times = [0; 4];
    for (time, field) in times.iter_mut().zip(stat(process).iter().skip(11)) {
        *time = field.parse().unwrap_or_default();
    }
    times
}

fn children(process: u32) -> Vec<u32> {
    let parent = process.to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|child| stat(*child).get(1) == Some(&parent))
        .collect()
}

/// The fields of a process' state from the third on; the second, its name, may hold spaces.
fn stat(process: u32) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let parent = std::env::temp_dir();
        let folder = folder("test", &parent).expect("a directory");
        Child::start("sh", command, Signal::TERM, folder).expect("starts")
    }

    #[test]
    fn a_process_and_its_directory_are_gone_after_a_drop() {
        let child = sleeper("echo here; exec sleep 60");
        let (id, folder) = (child.id(), child.folder.path().to_owned());
        assert!(folder.join("server.log").exists());
        assert!(Path::new(&format!("/proc/{id}")).exists());
        drop(child);
        assert!(!folder.exists());
        assert!(!Path::new(&format!("/proc/{id}")).exists());
    }

    #[test]
    fn one_that_ends_by_itself_is_quoted() {
        let mut child = sleeper("echo the port is taken; exit 1");
        let error = child.wait_until(|| Err::<(), _>("nobody there".to_owned()));
        let error = error.expect_err("never ready");
        assert!(error.contains("nobody there"), "{error}");
        assert!(error.contains("the port is taken"), "{error}");
    }

    #[test]
    fn the_time_of_children_counts() {
        let mut child = sleeper("sh -c 'i=0; while :; do i=$((i+1)); done' & wait");
        let id = child.id();
        let busy = child.wait_until(|| {
            let seconds = cpu_seconds(id);
            if seconds >= 0.1 {
                Ok(())
            } else {
                Err(format!("{seconds}"))
            }
        });
        assert_eq!(busy, Ok(()));
        for grandchild in children(id) {
            let grandchild = Pid::from_raw(grandchild as i32).expect("an id");
            kill_process(grandchild, Signal::KILL).expect("it runs");
        }
    }

    #[test]
    fn programs_are_found_on_the_path_or_in_places() {
        assert!(find("sh", &[]).is_some());
        assert_eq!(find("no-such-program-anywhere", &["/bin".into()]), None);
    }
}
