//! What a call of the harness found, as data: one document, which `--json` prints as it is.
//!
//! Here: the types and their names, which stay: a reader of the JSON may rely on them, and a figure
//! that is not known is left out. Not here: how they are filled in ([`crate::run`] and the
//! scenarios) or shown ([`crate::table`]).
//!
//! Units are in the names: `_ms` milliseconds, `_s` seconds, `_us` microseconds, `_bytes` bytes;
//! `cores` is processor time over wall time.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::findings::{Beside, Disk, Signing, Steady};
use crate::machine;
use crate::target::Target;

/// The number of this shape; another one means that a name has another meaning.
pub(crate) const FORMAT: u32 = 1;

/// One call of the harness.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Document {
    /// [`FORMAT`].
    pub(crate) format: u32,
    /// The scenario.
    pub(crate) scenario: String,
    /// The command line, without keys.
    pub(crate) command: String,
    /// When it began, in milliseconds since 1970.
    pub(crate) started_ms: u64,
    /// Where it ran.
    pub(crate) machine: Machine,
    /// Who was asked.
    pub(crate) servers: Vec<Server>,
    /// Whether every answer was right. Nothing else decides the exit status.
    pub(crate) passed: bool,
    /// Runs of load, in the order they were made.
    pub(crate) runs: Vec<Run>,
    /// One step for each number of shards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) shards: Vec<ShardStep>,
    /// One step for each number of customers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) growth: Vec<GrowthStep>,
    /// What a start after SIGKILL took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recovery: Option<Recovery>,
    /// What callers that raced each other were granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) race: Option<Race>,
    /// One comparison for each number of connections of a peer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) peers: Vec<Peer>,
    /// Tokens beside what one core signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signing: Option<Signing>,
    /// What somebody quiet felt of somebody noisy, a comparison each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) beside: Vec<Beside>,
    /// The disk beside what a run wrote to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disk: Option<Disk>,
    /// What became of a server in a long time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) steady: Option<Steady>,
    /// What it comes to, a sentence each.
    pub(crate) words: Vec<String>,
}

/// The machine and what else was running on it.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Machine {
    /// Cores the harness may use.
    pub(crate) cores: usize,
    /// The processor by its own name.
    pub(crate) processor: String,
    /// Memory of the machine.
    pub(crate) memory_bytes: u64,
    /// The kernel and its release.
    pub(crate) kernel: String,
    /// The file system under a spawned server's data.
    pub(crate) file_system: String,
    /// The commit of the working tree, where there is one; `-dirty` with changes.
    pub(crate) commit: String,
    /// Whether the harness was built with optimisation.
    pub(crate) optimised: bool,
}

/// A server that was asked.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Server {
    /// Its address.
    pub(crate) url: String,
    /// Whether the harness started it.
    pub(crate) spawned: bool,
    /// What it said when it was ready: shards, engine, durability. Empty for one that ran already.
    pub(crate) ready: String,
    /// Settings that were given to it.
    pub(crate) settings: Vec<String>,
}

/// Whether requests started at their times or when the last one was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Loop {
    /// At their times.
    Open,
    /// When the last one was answered.
    Closed,
}

/// One run of load.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Run {
    /// What it was, for a heading.
    pub(crate) name: String,
    /// Open or closed.
    pub(crate) pace: Loop,
    /// Units a second asked for, in an open loop.
    pub(crate) rate: Option<f64>,
    /// What is counted: `checks`, `claims` and so on.
    pub(crate) unit: &'static str,
    /// Connections, each with one request under way.
    pub(crate) connections: u64,
    /// Units in a request.
    pub(crate) batch: f64,
    /// What the requests were about: purpose, customers and the like.
    pub(crate) about: String,
    /// Measured seconds.
    pub(crate) seconds: f64,
    /// Units with a right answer that decided something.
    pub(crate) count: u64,
    /// Units that were answered in time but undecided (`unavailable`).
    pub(crate) undecided: u64,
    /// Requests with a right answer.
    pub(crate) requests: u64,
    /// Rates; left out when any answer was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) throughput: Option<Throughput>,
    /// How long a request took; in an open loop from the time it should have started.
    pub(crate) latency: Latency,
    /// The same by kind of request, where a run has several.
    pub(crate) steps: Vec<Step>,
    /// What each second brought.
    pub(crate) over_time: Vec<Second>,
    /// Answers of checks by decision.
    pub(crate) decisions: BTreeMap<&'static str, u64>,
    /// Answers of checks by reason.
    pub(crate) reasons: BTreeMap<&'static str, u64>,
    /// Answers that carried a token, and those of them whose signature was verified.
    pub(crate) tokens: u64,
    /// Tokens that were verified with the server's published key.
    pub(crate) tokens_verified: u64,
    /// Pairs of checks whose order was proved.
    pub(crate) ordered_pairs: u64,
    /// Everything that went wrong.
    pub(crate) faults: Faults,
    /// Bytes sent.
    pub(crate) sent_bytes: u64,
    /// Bytes received.
    pub(crate) received_bytes: u64,
    /// Processor time while it was measured.
    pub(crate) cpu: Cpu,
    /// What the server has and did, where it is a process of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<Resources>,
}

/// Rates of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Throughput {
    /// Units a second.
    pub(crate) per_second: f64,
    /// Requests a second.
    pub(crate) requests_per_second: f64,
}

/// Latency of requests.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Latency {
    /// Requests it is of.
    pub(crate) count: u64,
    /// Half of the requests took at most this.
    pub(crate) p50_ms: f64,
    /// 90 of 100.
    pub(crate) p90_ms: f64,
    /// 99 of 100.
    pub(crate) p99_ms: f64,
    /// 999 of 1000.
    pub(crate) p999_ms: f64,
    /// The longest.
    pub(crate) max_ms: f64,
    /// The curve: shares of the requests in percent, rising to 100, and what they took at most.
    pub(crate) curve: Vec<(f64, f64)>,
}

/// One kind of request of a run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Step {
    /// Its name.
    pub(crate) name: &'static str,
    /// How long it took.
    pub(crate) latency: Latency,
}

/// One second of a run.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Second {
    /// When it ended, in seconds of the measured time.
    pub(crate) at_s: f64,
    /// Units a second.
    pub(crate) per_second: f64,
    /// Of the requests answered in it.
    pub(crate) p50_ms: f64,
    /// Of the requests answered in it.
    pub(crate) p99_ms: f64,
    /// Resident memory of the server, where it is a process of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resident_bytes: Option<u64>,
    /// Bytes of its data directory, where the harness knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disk_bytes: Option<u64>,
}

/// What went wrong, by kind.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Faults {
    /// Answers that break a rule of the contract.
    pub(crate) wrong_answers: u64,
    /// Requests refused for load (429, 503); no wrong answers.
    pub(crate) refused: u64,
    /// Answers by status that the request may not get, and refusals.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Connections that failed.
    pub(crate) broken_connections: u64,
    /// Requests of an open loop that could not be sent before the end; their waiting is in the
    /// latency. No wrong answers.
    pub(crate) unsent: u64,
    /// The first of them in words.
    pub(crate) first: Vec<String>,
}

/// Processor time of a run.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Cpu {
    /// The generator, for each unit.
    pub(crate) generator_us: f64,
    /// The generator.
    pub(crate) generator_cores: f64,
    /// The server, for each unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_us: Option<f64>,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_cores: Option<f64>,
    /// Everything on the machine, the kernel's threads and strangers included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) machine_cores: Option<f64>,
}

/// A server process.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Resources {
    /// Resident memory at the end.
    pub(crate) resident_bytes: u64,
    /// Bytes of its data directory at the end; left out when the harness does not know where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disk_bytes: Option<u64>,
    /// Bytes it caused to be written to the disk while it was measured.
    pub(crate) written_bytes: u64,
    /// The same for each unit.
    pub(crate) written_bytes_each: f64,
    /// The same a second.
    pub(crate) written_bytes_per_second: f64,
    /// Bytes of the records of its decisions while it was measured.
    pub(crate) record_bytes: u64,
    /// What reached the device under its data, whoever wrote it; left out where nobody tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device_bytes_per_second: Option<f64>,
    /// Entities in memory at the end.
    pub(crate) entities: u64,
    /// Syncs of the log while it was measured.
    pub(crate) commits: u64,
    /// For each shard, the share of the measured time it spent in turns.
    pub(crate) shards_busy: Vec<f64>,
}

/// The best load of one number of shards.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ShardStep {
    /// How many shards.
    pub(crate) shards: u32,
    /// Checks a second.
    pub(crate) per_second: f64,
    /// Latency of a batch.
    pub(crate) p50_ms: f64,
    /// Latency of a batch.
    pub(crate) p99_ms: f64,
    /// The share of its time that the busiest shard spent in turns.
    pub(crate) busy: f64,
    /// Processor time of the server for each check.
    pub(crate) server_us: f64,
}

/// The server at one number of customers.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GrowthStep {
    /// Customers it knows.
    pub(crate) customers: u64,
    /// Entities in memory.
    pub(crate) entities: u64,
    /// Checks a second over all of these customers; of the fill itself where that was all.
    pub(crate) per_second: f64,
    /// Latency of a batch.
    pub(crate) p50_ms: f64,
    /// Latency of a batch.
    pub(crate) p99_ms: f64,
    /// Resident memory.
    pub(crate) resident_bytes: u64,
    /// Resident memory above that of the empty server, for each entity.
    pub(crate) bytes_per_entity: f64,
    /// Bytes of the data directory.
    pub(crate) disk_bytes: u64,
}

/// A start after SIGKILL.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Recovery {
    /// Bytes of the data directory when the server was killed.
    pub(crate) disk_bytes: u64,
    /// Bytes of the journal that no snapshot covered then.
    pub(crate) journal_bytes: u64,
    /// From the start of the process to its ready line.
    pub(crate) ready_s: f64,
    /// The server's own figure for rebuilding memory.
    pub(crate) rebuilt_s: f64,
    /// Entities in memory afterwards.
    pub(crate) entities: u64,
    /// Entities a second, over the time to the ready line.
    pub(crate) entities_per_second: f64,
    /// Records read from the journal.
    pub(crate) records: u64,
    /// Snapshots read.
    pub(crate) snapshots: u64,
    /// Allows that were answered before the kill and asked about afterwards.
    pub(crate) acknowledged: u64,
    /// Those that the server did not know any more.
    pub(crate) lost: u64,
}

/// Rights that many asked for at once.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Race {
    /// Effect keys raced for, each by all connections.
    pub(crate) effects: u64,
    /// Attempts at them.
    pub(crate) effect_attempts: u64,
    /// Customers whose budget was raced for.
    pub(crate) budgets: u64,
    /// Contacts that each budget allows.
    pub(crate) budget_limit: u64,
    /// Attempts at them.
    pub(crate) budget_attempts: u64,
    /// Customers and tasks that were claimed.
    pub(crate) targets: u64,
    /// Attempts at them.
    pub(crate) claim_attempts: u64,
    /// Claims that were granted, each with an epoch above those before it.
    pub(crate) claims: u64,
    /// What was granted that should not have been, in words.
    pub(crate) violations: Vec<String>,
}

/// A peer beside us, at one number of connections: rounds A B A B.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Peer {
    /// `redis` or `postgres`, with its version.
    pub(crate) peer: String,
    /// How its checks were put: `pipeline`, `one call` or `statement`.
    pub(crate) form: &'static str,
    /// How it was told to sync.
    pub(crate) durability: String,
    /// Connections of both.
    pub(crate) connections: u64,
    /// Checks in a pipeline, statement or batch.
    pub(crate) batch: usize,
    /// Our checks a second, round by round.
    pub(crate) ours: Vec<f64>,
    /// The peer's checks a second, round by round.
    pub(crate) theirs: Vec<f64>,
    /// Our rate over the peer's in the same round.
    pub(crate) ratio: Spread,
    /// Our rate over the peer's best in the same round, at whatever connections and form.
    pub(crate) ratio_to_best: Spread,
    /// Processor time for each check: of our server and of the peer's, where it is known.
    pub(crate) server_us: [Option<f64>; 2],
    /// The same of the generator.
    pub(crate) generator_us: [f64; 2],
    /// Milliseconds of a batch, 99 of 100: ours and the peer's.
    pub(crate) p99_ms: [f64; 2],
    /// Rules of ours that its model cannot hold.
    pub(crate) differences: Vec<String>,
}

/// A number of connections in words.
pub(crate) fn connections(number: u64) -> String {
    if number == 1 {
        "1 connection".to_owned()
    } else {
        format!("{number} connections")
    }
}

/// A number of rounds in words.
pub(crate) fn rounds(number: usize) -> String {
    if number == 1 {
        "1 round".to_owned()
    } else {
        format!("{number} rounds")
    }
}

/// Several rounds of one figure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Spread {
    /// The lowest.
    pub(crate) min: f64,
    /// The middle.
    pub(crate) median: f64,
    /// The highest.
    pub(crate) max: f64,
}

impl Document {
    /// Adds a server to those that were asked.
    pub(crate) fn meet(&mut self, target: &Target) {
        if let Some(data) = target.data() {
            self.machine.file_system = machine::file_system_of(&data);
        }
        self.servers.push(target.facts());
    }

    /// Decides whether every answer was right.
    pub(crate) fn judge(&mut self) {
        let races = self.race.iter().all(|race| race.violations.is_empty());
        let kept = self.recovery.iter().all(|recovery| recovery.lost == 0);
        self.passed = races && kept && self.runs.iter().all(Run::passed);
    }
}

impl Spread {
    /// Of these rounds; zeros of none.
    pub(crate) fn of(rounds: &[f64]) -> Self {
        let mut sorted = rounds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Self::default();
        };
        let (lower, upper) = ((sorted.len() - 1) / 2, sorted.len() / 2);
        Self {
            min,
            median: f64::midpoint(sorted[lower], sorted[upper]),
            max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_odd_and_even_numbers_of_rounds() {
        let middle = |rounds: &[f64]| Spread::of(rounds).median;
        assert!((middle(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((middle(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert_eq!(Spread::of(&[]), Spread::default());
    }
}
