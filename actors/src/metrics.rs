//! The names of the core's metrics and the places that count them.
//!
//! Here: every name once, with bounded labels: shard, kind, outcome, reason. No customer, object,
//! space or key is ever a label.

use interlock_domain::key::Kind;
use interlock_storage::{HistoryDay, HistorySize, JournalSize};
use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram,
    gauge, histogram,
};

use crate::committer::Committed;
use crate::history::{Projector, Waiting, Wrote};
use crate::keeper::Keeper;
use crate::message::Monotonic;
use crate::node::RecoveryReport;
use crate::stats::{Encoded, Stats};

/// What a row of a partition's map takes: key, version, state, and the table's free places.
const MAP_ROW_BYTES: f64 = 140.0;

/// What each name counts, as `/metrics` says it.
const COUNTERS: &[(&str, &str)] = &[
    (
        "interlock_decisions_total",
        "Decisions, by outcome and by the reason that decided.",
    ),
    (
        "interlock_shard_decisions_total",
        "Commands that a shard decided.",
    ),
    (
        "interlock_shard_turns_total",
        "Turns of a shard: each decides a bounded number of commands and ends with one frame.",
    ),
    (
        "interlock_loans_total",
        "Entities that a shard sent to another one for a command.",
    ),
    (
        "interlock_waits_total",
        "Commands that waited for an entity another command had on loan.",
    ),
    (
        "interlock_shard_busy_nanoseconds_total",
        "Nanoseconds a shard spent in turns; near 1e9 a second it has no time left.",
    ),
    (
        "interlock_dropped_gone_total",
        "Commands dropped undecided because the client had gone.",
    ),
    (
        "interlock_dropped_late_total",
        "Commands dropped undecided because their deadline had passed.",
    ),
    (
        "interlock_disk_refused_total",
        "Commands not decided because the disk has no room for their record.",
    ),
    (
        "interlock_queue_full_total",
        "Commands refused with 429 because too many waited for one entity.",
    ),
    (
        "interlock_broken_decisions_total",
        "Decisions that panicked: bugs, answered with 500.",
    ),
    (
        "interlock_purged_total",
        "Entities forgotten after their last use had passed, by kind.",
    ),
    ("interlock_commits_total", "Commits written and synced."),
    (
        "interlock_answers_total",
        "Answers let go after their commit, one for each command.",
    ),
    (
        "interlock_history_days_removed_total",
        "UTC days of history that were over and went.",
    ),
    (
        "interlock_history_notes_total",
        "Decisions noted in history.",
    ),
    (
        "interlock_history_written_bytes_total",
        "Bytes of the rows of history, as they are before the engine writes them.",
    ),
];
const GAUGES: &[(&str, &str)] = &[
    ("interlock_entities", "Entities in memory, by kind."),
    (
        "interlock_entity_bytes",
        "Bytes that the entities of a kind take, estimated from those encoded for snapshots.",
    ),
    (
        "interlock_entity_snapshot_bytes",
        "Bytes that the entities of a kind take in snapshots, estimated from those encoded so far.",
    ),
    (
        "interlock_purge_late_seconds",
        "The longest that something was kept beyond its last use, in the sweep's round and the last.",
    ),
    (
        "interlock_journal_bytes",
        "Bytes of the journal that a start would read again.",
    ),
    (
        "interlock_journal_commits",
        "Commits of the journal that a start would read again.",
    ),
    (
        "interlock_snapshots_completed",
        "Snapshots of partitions completed since the start.",
    ),
    (
        "interlock_snapshot_age_seconds",
        "Seconds since the last snapshot, or since the start; 0 while snapshots cover everything.",
    ),
    (
        "interlock_partitions_uncovered",
        "Partitions with something in the journal that no snapshot has yet.",
    ),
    (
        "interlock_history_lag_commits",
        "Parts of commits, one for each group of spaces, that history has not written yet.",
    ),
    (
        "interlock_history_queue_bytes",
        "Bytes of commits that wait for history; at the bound the committer waits for it.",
    ),
    (
        "interlock_history_days",
        "UTC days that history is kept of.",
    ),
    (
        "interlock_history_days_held",
        "UTC days of history that are over and stay because of a legal hold.",
    ),
    (
        "interlock_history_bytes",
        "Bytes that the days of history take.",
    ),
    (
        "interlock_clock_skew_milliseconds",
        "The machine's clock minus the node's; beyond 2000 either way the node is not ready.",
    ),
    (
        "interlock_disk_free_bytes",
        "Free bytes on the disk of the data directory.",
    ),
    (
        "interlock_recovery_seconds",
        "Seconds the last start took to rebuild memory.",
    ),
    (
        "interlock_recovery_records",
        "Records the last start read from the journal.",
    ),
    (
        "interlock_recovery_snapshots",
        "Snapshots the last start read.",
    ),
    (
        "interlock_recovery_entities",
        "Entities in memory after the last start.",
    ),
];
const HISTOGRAMS: &[(&str, &str)] = &[
    (
        "interlock_decision_seconds",
        "Seconds the slowest command of a turn waited for its decision, commit not included.",
    ),
    (
        "interlock_commit_seconds",
        "Seconds a commit took, sync included.",
    ),
    (
        "interlock_history_write_seconds",
        "Seconds a write of history took, syncs included.",
    ),
    ("interlock_commit_bytes", "Bytes of records in a commit."),
    (
        "interlock_commit_frames",
        "Frames in a commit: turns of shards that one sync covered.",
    ),
];

fn describe() {
    for (name, about) in COUNTERS {
        describe_counter!(*name, *about);
    }
    for (name, about) in GAUGES {
        describe_gauge!(*name, *about);
    }
    for (name, about) in HISTOGRAMS {
        describe_histogram!(*name, *about);
    }
}

/// Counts of one shard.
pub(crate) struct ShardMetrics {
    shard: String,
    decided: Counter,
    turns: Counter,
    loans: Counter,
    waits: Counter,
    busy_ns: Counter,
    gone: Counter,
    late: Counter,
    no_room: Counter,
    refused: Counter,
    broken: Counter,
    purged: Vec<Counter>,
    purge_late: Gauge,
    entities: Vec<Gauge>,
    entity_bytes: Vec<Gauge>,
    snapshot_bytes: Vec<Gauge>,
    /// Entities by kind, and what those encoded so far came to.
    counted: [i64; Kind::ALL.len()],
    encoded: Encoded,
    decision_seconds: Histogram,
    outcomes: Vec<((&'static str, &'static str), Counter)>,
}

impl ShardMetrics {
    pub(crate) fn new(index: u16) -> Self {
        let shard = index.to_string();
        let count = |name: &'static str| counter!(name, "shard" => shard.clone());
        let by_kind = |name: &'static str| -> Vec<Gauge> {
            Kind::ALL
                .iter()
                .map(|kind| gauge!(name, "shard" => shard.clone(), "kind" => kind.name()))
                .collect()
        };
        Self {
            decided: count("interlock_shard_decisions_total"),
            turns: count("interlock_shard_turns_total"),
            loans: count("interlock_loans_total"),
            waits: count("interlock_waits_total"),
            busy_ns: count("interlock_shard_busy_nanoseconds_total"),
            gone: count("interlock_dropped_gone_total"),
            late: count("interlock_dropped_late_total"),
            no_room: count("interlock_disk_refused_total"),
            refused: count("interlock_queue_full_total"),
            broken: count("interlock_broken_decisions_total"),
            purged: Kind::ALL
                .iter()
                .map(|kind| {
                    counter!("interlock_purged_total", "shard" => shard.clone(), "kind" => kind.name())
                })
                .collect(),
            purge_late: gauge!("interlock_purge_late_seconds", "shard" => shard.clone()),
            entities: by_kind("interlock_entities"),
            entity_bytes: by_kind("interlock_entity_bytes"),
            snapshot_bytes: by_kind("interlock_entity_snapshot_bytes"),
            counted: [0; Kind::ALL.len()],
            encoded: Encoded::default(),
            decision_seconds: histogram!("interlock_decision_seconds"),
            outcomes: Vec::new(),
            shard,
        }
    }

    /// Adds what one turn counted.
    pub(crate) fn turn(&mut self, stats: Stats, busy_ns: u64) {
        self.turns.increment(stats.turns);
        self.busy_ns.increment(busy_ns);
        self.decided.increment(stats.decided);
        self.loans.increment(stats.loans);
        self.waits.increment(stats.waits);
        for (counter, count) in [
            (&self.gone, stats.gone),
            (&self.late, stats.late),
            (&self.no_room, stats.no_room),
            (&self.refused, stats.busy),
            (&self.broken, stats.broken),
        ] {
            if count > 0 {
                counter.increment(count);
            }
        }
        self.swept(&stats);
        self.encoded.add_all(&stats.encoded);
        self.sizes(&stats);
        if stats.decided > 0 {
            #[expect(clippy::cast_precision_loss, reason = "metrics are floating point")]
            self.decision_seconds.record(stats.slowest_ns as f64 / 1e9);
        }
        for (outcome, count) in stats.outcomes {
            self.outcome(outcome).increment(count);
        }
    }

    fn swept(&self, stats: &Stats) {
        for (counter, &count) in self.purged.iter().zip(&stats.purged) {
            if count > 0 {
                counter.increment(count);
            }
        }
        if let Some(late_ms) = stats.purge_late_ms {
            #[expect(clippy::cast_precision_loss, reason = "metrics are floating point")]
            self.purge_late.set(late_ms as f64 / 1e3);
        }
    }

    /// Entities by kind, and the bytes they take: a row of the map, and what an entity of the kind
    /// came to when it was last encoded.
    #[expect(
        clippy::cast_precision_loss,
        reason = "metrics are floating point by their format"
    )]
    fn sizes(&mut self, stats: &Stats) {
        for (at, &change) in stats.entities.iter().enumerate() {
            if change == 0 {
                continue;
            }
            self.counted[at] += change;
            let count = self.counted[at].max(0) as f64;
            let (entities, bytes) = self.encoded.by_kind[at];
            let mean = if entities == 0 {
                0.0
            } else {
                bytes as f64 / entities as f64
            };
            self.entities[at].set(count);
            self.entity_bytes[at].set(count * (MAP_ROW_BYTES + mean));
            self.snapshot_bytes[at].set(count * mean);
        }
    }

    fn outcome(&mut self, outcome: (&'static str, &'static str)) -> &Counter {
        let at = self
            .outcomes
            .iter()
            .position(|(seen, _)| *seen == outcome)
            .unwrap_or_else(|| {
                let (decision, reason) = outcome;
                let counter = counter!("interlock_decisions_total",
                "shard" => self.shard.clone(), "outcome" => decision, "reason" => reason);
                self.outcomes.push((outcome, counter));
                self.outcomes.len() - 1
            });
        &self.outcomes[at].1
    }
}

/// Counts of the committer.
pub(crate) struct CommitMetrics {
    commits: Counter,
    seconds: Histogram,
    bytes: Histogram,
    frames: Histogram,
    answers: Counter,
    journal_bytes: Gauge,
    journal_commits: Gauge,
    snapshots: Gauge,
    snapshot_age: Gauge,
    uncovered: Gauge,
    skew: Gauge,
    free: Gauge,
}

impl CommitMetrics {
    /// There is one for each node, so it also describes what all count.
    pub(crate) fn new() -> Self {
        describe();
        Self {
            commits: counter!("interlock_commits_total"),
            seconds: histogram!("interlock_commit_seconds"),
            bytes: histogram!("interlock_commit_bytes"),
            frames: histogram!("interlock_commit_frames"),
            answers: counter!("interlock_answers_total"),
            journal_bytes: gauge!("interlock_journal_bytes"),
            journal_commits: gauge!("interlock_journal_commits"),
            snapshots: gauge!("interlock_snapshots_completed"),
            snapshot_age: gauge!("interlock_snapshot_age_seconds"),
            uncovered: gauge!("interlock_partitions_uncovered"),
            skew: gauge!("interlock_clock_skew_milliseconds"),
            free: gauge!("interlock_disk_free_bytes"),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "metrics are floating point by their format"
    )]
    pub(crate) fn committed(&self, committed: Committed, took_ns: u64, journal: JournalSize) {
        self.answers.increment(committed.answers as u64);
        if committed.bytes == 0 {
            return;
        }
        self.commits.increment(1);
        self.seconds.record(took_ns as f64 / 1e9);
        self.bytes.record(committed.bytes as f64);
        self.frames.record(committed.frames as f64);
        self.journal_bytes.set(journal.bytes as f64);
        self.journal_commits.set(journal.commits as f64);
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "metrics are floating point by their format"
    )]
    pub(crate) fn looked(&self, skew_ms: i64, free: Option<u64>, keeper: &Keeper, now: Monotonic) {
        self.skew.set(skew_ms as f64);
        self.snapshots.set(keeper.sealed() as f64);
        self.snapshot_age.set(keeper.age(now).as_secs_f64());
        self.uncovered
            .set(keeper.coverage().uncovered().count() as f64);
        if let Some(free) = free {
            self.free.set(free as f64);
        }
    }
}

/// Counts of the writer of history.
pub(crate) struct HistoryMetrics {
    notes: Counter,
    written: Counter,
    seconds: Histogram,
    lag: Gauge,
    queue: Gauge,
    days: Gauge,
    days_held: Gauge,
    days_removed: Counter,
    bytes: Gauge,
}

impl HistoryMetrics {
    pub(crate) fn new() -> Self {
        Self {
            notes: counter!("interlock_history_notes_total"),
            written: counter!("interlock_history_written_bytes_total"),
            seconds: histogram!("interlock_history_write_seconds"),
            lag: gauge!("interlock_history_lag_commits"),
            queue: gauge!("interlock_history_queue_bytes"),
            days: gauge!("interlock_history_days"),
            days_held: gauge!("interlock_history_days_held"),
            days_removed: counter!("interlock_history_days_removed_total"),
            bytes: gauge!("interlock_history_bytes"),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "metrics are floating point by their format"
    )]
    pub(crate) fn wrote(&self, wrote: Wrote, took_ns: u64) {
        self.notes.increment(wrote.notes);
        self.written.increment(wrote.bytes);
        if wrote != Wrote::default() {
            self.seconds.record(took_ns as f64 / 1e9);
        }
    }

    /// What waits: in the queue, and packed but not written.
    #[expect(
        clippy::cast_precision_loss,
        reason = "metrics are floating point by their format"
    )]
    pub(crate) fn looked(&self, waiting: Waiting, projector: &Projector) {
        self.lag
            .set(waiting.appends as f64 + projector.waiting_appends() as f64);
        self.queue.set(waiting.bytes as f64);
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "metrics are floating point by their format"
    )]
    pub(crate) fn kept(&self, size: &HistorySize, first: HistoryDay) {
        self.days.set(size.days.len() as f64);
        let over = size.days.iter().filter(|day| **day < first).count();
        self.days_held.set(over as f64);
        self.bytes.set(size.bytes as f64);
    }

    /// Days that went.
    pub(crate) fn removed(&self, days: usize) {
        self.days_removed.increment(days as u64);
    }
}

/// What recovery found, once.
#[expect(
    clippy::cast_precision_loss,
    reason = "metrics are floating point by their format"
)]
pub(crate) fn recovered(report: RecoveryReport) {
    gauge!("interlock_recovery_seconds").set(report.millis as f64 / 1e3);
    gauge!("interlock_recovery_records").set(report.records as f64);
    gauge!("interlock_recovery_snapshots").set(report.snapshots as f64);
    gauge!("interlock_recovery_entities").set(report.entities as f64);
}
