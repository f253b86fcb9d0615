//! What scenarios find beside their runs of load, as data: parts of a document ([`crate::report`]),
//! under its rules for names and units.

use serde::Serialize;

/// Tokens of a server beside what one core signs in the same call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Signing {
    /// Signatures a second of one core in a tight loop, before and after the run.
    pub(crate) one_core_per_second: f64,
    /// Tokens a second of the server.
    pub(crate) tokens_per_second: f64,
    /// The server's over the core's.
    pub(crate) ratio: f64,
}

/// What somebody quiet feels of somebody noisy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Beside {
    /// Who is quiet.
    pub(crate) quiet: String,
    /// Who is noisy.
    pub(crate) noisy: String,
    /// 99 of 100 requests of the quiet one, alone.
    pub(crate) alone_p99_ms: f64,
    /// The same beside the noisy one.
    pub(crate) together_p99_ms: f64,
    /// The second over the first.
    pub(crate) ratio: f64,
    /// What the noisy one got meanwhile, in units a second.
    pub(crate) noisy_per_second: f64,
}

/// The disk under a server's data beside what the run wrote to it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Disk {
    /// Bytes of one write, each followed by a sync.
    pub(crate) chunk_bytes: u64,
    /// What such a loop writes a second, nothing beside it, before and after the run.
    pub(crate) alone_bytes_per_second: f64,
    /// Syncs a second of that loop.
    pub(crate) alone_syncs_per_second: f64,
    /// What reached the device in the run, of everything on the machine; left out when the system
    /// does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device_bytes_per_second: Option<f64>,
    /// What the server caused to be written in the run.
    pub(crate) server_bytes_per_second: f64,
    /// The records of the decisions in the run, as the log counts them.
    pub(crate) record_bytes_per_second: f64,
    /// Written bytes over those of records: of the device where it is known, else of the server.
    pub(crate) amplification: f64,
    /// What was written over what the disk takes in that loop.
    pub(crate) share: f64,
}

/// A server that remembers about as much at any time, while entities come and go.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Steady {
    /// Entities that were to live at a time.
    pub(crate) live: u64,
    /// Seconds that each of them lives.
    pub(crate) life_s: f64,
    /// Checks a second in batches.
    pub(crate) rate: f64,
    /// What the same server gives at most; left out when the rate was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) most_per_second: Option<f64>,
    /// The state after each cycle of snapshots and truncation.
    pub(crate) cycles: Vec<Standing>,
    /// The highest disk over live state of all cycles.
    pub(crate) disk_ratio: f64,
    /// Resident memory: how far the mean of the last quarter of the time lies from that of the
    /// second one, over the latter.
    pub(crate) resident_drift: f64,
    /// How far the highest second lies above the lowest, over the mean, from the second quarter on.
    pub(crate) resident_range: f64,
    /// Entities that went while it was measured.
    pub(crate) purged: u64,
}

/// How a server stands at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Standing {
    /// When, in seconds of the measured time.
    pub(crate) at_s: f64,
    /// Entities in memory.
    pub(crate) entities: u64,
    /// What they come to in a snapshot.
    pub(crate) live_bytes: u64,
    /// The log on disk, without history.
    pub(crate) log_bytes: u64,
    /// History on disk, which grows with every decision for as many days as it is kept.
    pub(crate) history_bytes: u64,
    /// Resident memory.
    pub(crate) resident_bytes: u64,
    /// The journal's tail that no snapshot covers.
    pub(crate) journal_bytes: u64,
    /// Snapshots of partitions since the start.
    pub(crate) snapshots: u64,
    /// Entities that went since the start.
    pub(crate) purged: u64,
}

impl Standing {
    /// The log on disk over the live state.
    pub(crate) fn disk_ratio(&self) -> f64 {
        self.log_bytes as f64 / self.live_bytes.max(1) as f64
    }
}

impl Disk {
    /// In one sentence.
    pub(crate) fn words(&self) -> String {
        let mega = |bytes: f64| bytes / 1e6;
        let written = self
            .device_bytes_per_second
            .unwrap_or(self.server_bytes_per_second);
        format!(
            "{:.1} MB/s reached the disk for {:.1} MB/s of records, {:.2} times as much; alone the \
             disk takes {:.0} MB/s in writes of {:.0} KiB with a sync each ({:.0} syncs/s), of which \
             this is {:.0} %.",
            mega(written),
            mega(self.record_bytes_per_second),
            self.amplification,
            mega(self.alone_bytes_per_second),
            self.chunk_bytes as f64 / 1024.0,
            self.alone_syncs_per_second,
            self.share * 100.0
        )
    }
}
