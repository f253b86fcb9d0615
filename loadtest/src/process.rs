//! What the system tells of a process of this machine (`/proc`): processor time, memory, bytes
//! written. Nothing where the system does not tell.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    id: u32,
}

impl Process {
    /// By its id.
    pub(crate) const fn new(id: u32) -> Self {
        Self { id }
    }

    /// This one.
    pub(crate) fn own() -> Self {
        Self::new(std::process::id())
    }

    /// The process that listens at an address of this machine.
    pub(crate) fn listening_at(address: SocketAddr) -> Option<Self> {
        if !address.ip().is_loopback() {
            return None;
        }
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
        let inode = tables
            .iter()
            .flatten()
            .find_map(|table| listener(table, address.port()))?;
        let link = format!("socket:[{inode}]");
        let ids = fs::read_dir("/proc").ok()?.flatten();
        let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.map(Self::new).find(|process| process.has_open(&link))
    }

    fn has_open(self, link: &str) -> bool {
        let Ok(files) = fs::read_dir(format!("/proc/{}/fd", self.id)) else {
            return false;
        };
        files
            .flatten()
            .any(|file| fs::read_link(file.path()).is_ok_and(|to| to == Path::new(link)))
    }

    /// Ends it at once. One that has ended already is no fault.
    pub(crate) fn kill(self) {
        let id = i32::try_from(self.id).ok().and_then(Pid::from_raw);
        if let Some(id) = id {
            // It is gone either way.
            kill_process(id, Signal::KILL).ok();
        }
    }

    /// Processor seconds so far, user and system.
    pub(crate) fn cpu_seconds(self) -> Option<f64> {
        // Fields 14 and 15; the name in field 2 may hold spaces.
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id)).ok()?;
        let fields = stat.rsplit_once(')')?.1.split_whitespace();
        let ticks = sum(fields.skip(11).take(2));
        Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }

    /// Resident memory, in bytes.
    pub(crate) fn resident_bytes(self) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/statm", self.id)).ok()?;
        let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u64)
    }

    /// Bytes it caused to be written to the disk so far.
    pub(crate) fn written_bytes(self) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/io", self.id)).ok()?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("write_bytes: "));
        line?.trim().parse().ok()
    }
}

/// The inode of the socket that listens at a port.
fn listener(table: &str, port: u16) -> Option<u64> {
    const LISTENS: &str = "0A";
    let wanted = format!("{port:04X}");
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, at) = fields.get(1)?.rsplit_once(':')?;
        (at == wanted && *fields.get(3)? == LISTENS)
            .then(|| fields.get(9)?.parse().ok())
            .flatten()
    })
}

/// Processor seconds of everything on the machine so far, waiting for the disk excluded.
pub(crate) fn machine_cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let fields: Vec<&str> = text.lines().next()?.split_whitespace().skip(1).collect();
    // user nice system idle iowait irq softirq; guests count as user already.
    let busy = fields.get(..3)?.iter().chain(fields.get(5..7)?);
    let ticks = sum(busy.copied());
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

fn sum<'a>(fields: impl Iterator<Item = &'a str>) -> u64 {
    fields.filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Bytes that a directory takes on its disk. Files that vanish meanwhile count as nothing.
pub(crate) fn disk_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let bytes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(it) if it.is_dir() => disk_bytes(&entry.path()),
        Ok(it) => it.blocks() * 512,
        Err(_) => 0,
    });
    bytes.sum()
}

/// Lets threads that are made from now on wake when they asked to, instead of up to 50 µs later.
pub(crate) fn wake_on_time() {
    // Where the system does not take it, an open loop starts its requests a little late, which its
    // latency shows.
    drop(fs::write("/proc/self/timerslack_ns", "1"));
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn this_process_has_figures_and_is_found_by_its_port() {
        let own = Process::own();
        assert!(own.resident_bytes().expect("memory") > 100_000);
        assert!(own.cpu_seconds().is_some());
        assert!(machine_cpu_seconds().expect("the machine") > 0.0);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        assert_eq!(Process::listening_at(address), Some(own));
        drop(listener);
        assert_eq!(Process::listening_at(address), None);
    }
}
