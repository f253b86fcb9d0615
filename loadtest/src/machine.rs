//! The machine a report was made on. What the system does not tell stays empty.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::report::Machine;

/// This machine, and the file system under `data`.
pub(crate) fn this(data: &Path) -> Machine {
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
    Machine {
        cores: std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        processor: field(&file("/proc/cpuinfo"), "model name").to_owned(),
        memory_bytes: kibibytes(field(&file("/proc/meminfo"), "MemTotal")),
        kernel: format!("Linux {}", file("/proc/sys/kernel/osrelease").trim()),
        file_system: file_system_of(data),
        commit: commit(),
        optimised: !cfg!(debug_assertions),
    }
}

/// The kind of the file system that holds a path.
pub(crate) fn file_system_of(path: &Path) -> String {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    file_system(&mounts, path)
}

fn field<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_once(':'))
        .map_or("", |(_, value)| value.trim())
}

fn kibibytes(text: &str) -> u64 {
    let number = text.split_whitespace().next();
    number.and_then(|it| it.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// The kind of the file system that holds a path: that of the longest mount above it.
fn file_system(mounts: &str, path: &Path) -> String {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (at, kind) = (words.next()?, words.next()?);
        path.starts_with(at).then_some((at.len(), kind))
    });
    // Of two mounts at one place the later one is seen.
    let found = mounts.max_by_key(|(length, _)| *length);
    found.map_or("", |(_, kind)| kind).to_owned()
}

fn commit() -> String {
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    git(&[
        "describe",
        "--always",
        "--dirty",
        "--abbrev=7",
        "--exclude=*",
    ])
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mount_counts() {
        let mounts = "d / ext4 rw 0 0\nt /dev tmpfs rw 0 0\ns /dev/shm-not-there ramfs rw 0 0\n";
        assert_eq!(file_system(mounts, Path::new("/")), "ext4");
        assert_eq!(file_system(mounts, Path::new("/dev/null")), "tmpfs");
        assert_eq!(file_system("", Path::new("/")), "");
    }

    #[test]
    fn this_machine_is_told() {
        let machine = this(Path::new("."));
        assert!(machine.cores > 0 && machine.memory_bytes > 0, "{machine:?}");
    }
}
