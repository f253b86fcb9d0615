//! The bound on the process's memory.
//!
//! Here: how much there may be, how much there is, telling the node when it is too much, and the pages
//! it comes in. Not here: what is refused then (`domain`). Reads `/proc` and `/sys` on a thread of its own, as no
//! file call runs where decisions are made.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use interlock_actors::shard::Pressure;

use crate::config::Memory;

/// The share of the machine that is taken when the setting is 0, in percent.
const SHARE_PERCENT: u64 = 60;
/// How often the process is weighed.
const INTERVAL: Duration = Duration::from_millis(500);
/// Above the bound the node is full until it is this many percent of the bound again, so that it
/// does not flicker.
const RELEASE_PERCENT: u64 = 97;

/// Over how many weighings the growth is judged: an hour.
const WINDOW: u64 = 7_200;
const MS_PER_DAY: u64 = 86_400_000;

/// Has the system give memory in small pages only. A page of 2 MiB comes whole at its first touch,
/// which stops whoever touched it: on a virtual machine whose host has yet to find the memory, for
/// milliseconds. A shard, the committer or a worker that stands still makes everybody wait
/// (`docs/performance.md`).
pub(crate) fn keep_pages_small() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "the system may give memory in large pages");
    }
}

/// Weighs the process.
#[derive(Debug)]
pub(crate) struct MemoryWatch {
    bytes_max: u64,
    growth: Growth,
}

/// What the process held when the present window began, and how many weighings ago that was.
#[derive(Clone, Copy, Debug, Default)]
struct Growth {
    from: u64,
    weighings: u64,
}

impl Growth {
    /// Notes a weighing; answers in how many days the bound is reached at the present rate, or
    /// `None` when nothing grows.
    fn days_left(&mut self, bytes: u64, bytes_max: u64) -> Option<u64> {
        if self.weighings == 0 || self.weighings > WINDOW {
            // Half of what was seen goes on into the next window, so that it never starts blind.
            let from = if self.weighings == 0 {
                bytes
            } else {
                self.from.midpoint(bytes)
            };
            *self = Self {
                from,
                weighings: self.weighings / 2,
            };
        }
        self.weighings += 1;
        let grown = bytes.checked_sub(self.from).filter(|grown| *grown > 0)?;
        let left = u128::from(bytes_max.saturating_sub(bytes));
        let took = u128::from(self.weighings) * INTERVAL.as_millis();
        u64::try_from(left * took / u128::from(grown) / u128::from(MS_PER_DAY)).ok()
    }
}

impl MemoryWatch {
    /// With the bound of the settings, or of the machine.
    pub(crate) fn new(settings: &Memory) -> Self {
        let bytes_max = match settings.memory_bytes_max {
            0 => machine_bytes() / 100 * SHARE_PERCENT,
            asked => asked,
        };
        Self {
            bytes_max,
            growth: Growth::default(),
        }
    }

    /// Weighs for as long as the node is there.
    pub(crate) fn keep(mut self, pressure: Arc<Pressure>) {
        metrics::describe_gauge!(
            "interlock_memory_bytes_max",
            "Bytes of the whole process above which nothing new is reserved."
        );
        metrics::describe_gauge!("interlock_memory_bytes", "Bytes of the whole process.");
        metrics::describe_gauge!(
            "interlock_memory_days_left",
            "Days until memory is at its bound, at the growth of the last hour; +Inf without growth. \
             Means little in the first hour."
        );
        metrics::gauge!("interlock_memory_bytes_max").set(self.bytes_max as f64);
        let weighing = actix_web::rt::spawn(async move {
            let mut tick = actix_web::rt::time::interval(INTERVAL);
            loop {
                tick.tick().await;
                let Ok(Some(bytes)) = actix_web::rt::task::spawn_blocking(resident_bytes).await
                else {
                    continue;
                };
                metrics::gauge!("interlock_memory_bytes").set(bytes as f64);
                let days = self.growth.days_left(bytes, self.bytes_max);
                let days = days.map_or(f64::INFINITY, |days| days as f64);
                metrics::gauge!("interlock_memory_days_left").set(days);
                let was_full = pressure.full.load(Ordering::Relaxed);
                let full = self.is_full(bytes, was_full);
                pressure.full.store(full, Ordering::Relaxed);
                if full && !was_full {
                    tracing::warn!(
                        bytes,
                        max = self.bytes_max,
                        "memory is at its bound, [memory] memory_bytes_max: nothing new is reserved \
                         until it is below"
                    );
                }
            }
        });
        // It ends with the runtime it runs on.
        drop(weighing);
    }

    const fn is_full(&self, bytes: u64, was_full: bool) -> bool {
        if was_full {
            bytes > self.bytes_max / 100 * RELEASE_PERCENT
        } else {
            bytes > self.bytes_max
        }
    }
}

/// What the machine has, or the container where that is less.
fn machine_bytes() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| meminfo_total(&text));
    // Version 2, then version 1 of control groups, as a container sees its own.
    let container = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]
    .iter()
    .filter_map(|path| fs::read_to_string(Path::new(path)).ok())
    .find_map(|text| text.trim().parse::<u64>().ok());
    match (machine, container) {
        (Some(machine), Some(container)) => machine.min(container),
        (Some(bytes), None) | (None, Some(bytes)) => bytes,
        (None, None) => u64::MAX,
    }
}

/// The total of `/proc/meminfo`.
fn meminfo_total(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1_024)
}

/// What the process holds.
fn resident_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    Some(pages * page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_machine_and_the_process() {
        assert_eq!(
            meminfo_total("MemTotal:       2 kB\nMemFree: 1 kB\n"),
            Some(2_048)
        );
        assert_eq!(meminfo_total("MemFree: 1 kB\n"), None);
        let here = resident_bytes().unwrap();
        assert!(here > 0 && here < machine_bytes());
    }

    #[test]
    fn full_does_not_flicker() {
        let watch = MemoryWatch {
            bytes_max: 10_000,
            growth: Growth::default(),
        };
        assert!(!watch.is_full(10_000, false));
        assert!(watch.is_full(10_001, false));
        assert!(watch.is_full(9_999, true));
        assert!(!watch.is_full(9_700, true));
    }

    #[test]
    fn tells_the_days_left_at_the_present_rate() {
        let mut growth = Growth::default();
        assert_eq!(growth.days_left(1_000, 3_000_000), None);
        // One byte in a second (two weighings): a million more take 11 days.
        assert_eq!(growth.days_left(1_001, 1_001_001), Some(11));
        assert_eq!(growth.days_left(900, 1_000_000), None);
        for _ in 0..3 * WINDOW {
            growth.days_left(1_000, 1_000_000);
        }
        assert!(growth.weighings <= WINDOW + 1);
    }
}
