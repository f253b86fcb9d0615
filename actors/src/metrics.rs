//! The names of the core's metrics and the places that count them.
//!
//! Here: every name once, with bounded labels: shard, kind, outcome, reason. No customer, object,
//! space or key is ever a label.

use interlock_domain::key::Kind;
use interlock_storage::JournalSize;
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use crate::committer::Committed;
use crate::keeper::Keeper;
use crate::stats::Stats;

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
    refused: Counter,
    broken: Counter,
    purged: Counter,
    entities: Vec<Gauge>,
    outcomes: Vec<((&'static str, &'static str), Counter)>,
}

impl ShardMetrics {
    pub(crate) fn new(index: u16) -> Self {
        let shard = index.to_string();
        let count = |name: &'static str| counter!(name, "shard" => shard.clone());
        let entities = Kind::ALL
            .iter()
            .map(|kind| gauge!("interlock_entities", "shard" => shard.clone(), "kind" => kind.name()))
            .collect();
        Self {
            decided: count("interlock_shard_decisions_total"),
            turns: count("interlock_shard_turns_total"),
            loans: count("interlock_loans_total"),
            waits: count("interlock_waits_total"),
            busy_ns: count("interlock_shard_busy_nanoseconds_total"),
            gone: count("interlock_dropped_gone_total"),
            late: count("interlock_dropped_late_total"),
            refused: count("interlock_queue_full_total"),
            broken: count("interlock_broken_decisions_total"),
            purged: count("interlock_purged_total"),
            entities,
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
            (&self.refused, stats.busy),
            (&self.broken, stats.broken),
            (&self.purged, stats.purged),
        ] {
            if count > 0 {
                counter.increment(count);
            }
        }
        for (gauge, change) in self.entities.iter().zip(stats.entities) {
            if change != 0 {
                #[expect(clippy::cast_precision_loss, reason = "a gauge; changes are small")]
                gauge.increment(change as f64);
            }
        }
        for (outcome, count) in stats.outcomes {
            self.outcome(outcome).increment(count);
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
    uncovered: Gauge,
    skew: Gauge,
    free: Gauge,
}

impl CommitMetrics {
    pub(crate) fn new() -> Self {
        Self {
            commits: counter!("interlock_commits_total"),
            seconds: histogram!("interlock_commit_seconds"),
            bytes: histogram!("interlock_commit_bytes"),
            frames: histogram!("interlock_commit_frames"),
            answers: counter!("interlock_answers_total"),
            journal_bytes: gauge!("interlock_journal_bytes"),
            journal_commits: gauge!("interlock_journal_commits"),
            snapshots: gauge!("interlock_snapshots_completed"),
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
    pub(crate) fn looked(&self, skew_ms: i64, free: Option<u64>, keeper: &Keeper) {
        self.skew.set(skew_ms as f64);
        self.snapshots.set(keeper.sealed() as f64);
        self.uncovered
            .set(keeper.coverage().uncovered().count() as f64);
        if let Some(free) = free {
            self.free.set(free as f64);
        }
    }
}
