//! A run as seen from outside: processor time of the generator, the server and the machine, and what
//! the server says of itself, before and after the measured time.

use std::time::Instant;

use crate::ask::Metrics;
use crate::device;
use crate::process::{self, Process};
use crate::report::Resources;
use crate::run::Plan;

/// One look.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    at: Instant,
    generator_cpu_s: f64,
    server_cpu_s: Option<f64>,
    machine_cpu_s: Option<f64>,
    written_bytes: u64,
    resident_bytes: Option<u64>,
    disk_bytes: Option<u64>,
    device_bytes: Option<u64>,
    metrics: Metrics,
}

/// What lies between two looks.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Seconds.
    pub(crate) seconds: f64,
    /// Processor seconds of this process.
    pub(crate) generator_cpu_s: f64,
    /// Of the server.
    pub(crate) server_cpu_s: Option<f64>,
    /// Of everything.
    pub(crate) machine_cpu_s: Option<f64>,
    written_bytes: u64,
    device_bytes: Option<u64>,
    record_bytes: u64,
    commits: u64,
    shards_busy: Vec<f64>,
    after: Look,
}

impl Look {
    /// Now. A server that does not tell has no figures.
    pub(crate) fn at(plan: &Plan<'_>) -> Self {
        // First what takes time, so that the processor times are of one moment.
        let metrics = match plan.process {
            Some(_) => Metrics::of(plan.at).unwrap_or_default(),
            None => Metrics::default(),
        };
        let disk_bytes = plan.data.as_deref().map(process::disk_bytes);
        let of_server = |figure: fn(Process) -> Option<u64>| plan.process.and_then(figure);
        Self {
            at: Instant::now(),
            generator_cpu_s: Process::own().cpu_seconds().unwrap_or(0.0),
            server_cpu_s: plan.process.and_then(Process::cpu_seconds),
            machine_cpu_s: process::machine_cpu_seconds(),
            written_bytes: of_server(Process::written_bytes).unwrap_or(0),
            // A process that was killed has none.
            resident_bytes: of_server(Process::resident_bytes).filter(|bytes| *bytes > 0),
            disk_bytes,
            device_bytes: plan.data.as_deref().and_then(device::written_bytes),
            metrics,
        }
    }

    /// What lies between an earlier look and this one.
    pub(crate) fn since(self, before: &Self) -> Seen {
        const BUSY: &str = "interlock_shard_busy_nanoseconds_total";
        const COMMITS: &str = "interlock_commits_total";
        const RECORDS: &str = "interlock_commit_bytes_sum";
        let grown = |name: &str| (self.metrics.sum(name) - before.metrics.sum(name)).max(0.0);
        let seconds = (self.at - before.at).as_secs_f64().max(1e-9);
        let both = |now: Option<f64>, then: Option<f64>| Some((now? - then?).max(0.0));
        let then = before.metrics.by_shard(BUSY);
        let busy = self.metrics.by_shard(BUSY);
        let busy = busy.iter().enumerate().map(|(shard, nanoseconds)| {
            (nanoseconds - then.get(shard).unwrap_or(&0.0)) / 1e9 / seconds
        });
        Seen {
            seconds,
            generator_cpu_s: self.generator_cpu_s - before.generator_cpu_s,
            server_cpu_s: both(self.server_cpu_s, before.server_cpu_s),
            machine_cpu_s: both(self.machine_cpu_s, before.machine_cpu_s),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
            device_bytes: (self.device_bytes.zip(before.device_bytes))
                .map(|(now, then)| now.saturating_sub(then)),
            record_bytes: grown(RECORDS) as u64,
            commits: grown(COMMITS) as u64,
            shards_busy: busy.collect(),
            after: self,
        }
    }
}

impl Seen {
    /// What a report says of the server, when it is a process of this machine.
    pub(crate) fn resources(&self, units: u64) -> Option<Resources> {
        Some(Resources {
            resident_bytes: self.after.resident_bytes?,
            disk_bytes: self.after.disk_bytes,
            written_bytes: self.written_bytes,
            written_bytes_each: self.written_bytes as f64 / units.max(1) as f64,
            written_bytes_per_second: self.written_bytes as f64 / self.seconds,
            record_bytes: self.record_bytes,
            device_bytes_per_second: self.device_bytes.map(|bytes| bytes as f64 / self.seconds),
            entities: self.after.metrics.sum("interlock_entities").max(0.0) as u64,
            commits: self.commits,
            shards_busy: self.shards_busy.clone(),
        })
    }
}
