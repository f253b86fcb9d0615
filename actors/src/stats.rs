//! What a shard counted since it was last asked.
//!
//! Here: plain numbers of a bounded set. Not here: metric names (`metrics`).

use interlock_domain::key::Kind;

/// Counts of one shard; the thin actor drains them after each turn.
#[derive(Debug, Default)]
pub struct Stats {
    /// Turns taken.
    pub turns: u64,
    /// Commands decided.
    pub decided: u64,
    /// Entities that left for another shard.
    pub loans: u64,
    /// Transactions that waited for a lent entity.
    pub waits: u64,
    /// Commands dropped because their client had gone.
    pub gone: u64,
    /// Commands dropped because their deadline had passed.
    pub late: u64,
    /// Commands refused because an entity's queue was full.
    pub busy: u64,
    /// Commands refused because their record had no room on the disk.
    pub no_room: u64,
    /// Commands whose decision panicked.
    pub broken: u64,
    /// Entities purged, by kind.
    pub purged: [u64; Kind::ALL.len()],
    /// The longest that something was kept beyond its last use, in milliseconds, as far as the
    /// sweep has seen in this round and the one before; `None` when it has not looked.
    pub purge_late_ms: Option<i64>,
    /// Decisions by outcome and reason; both of a bounded set.
    pub outcomes: Vec<((&'static str, &'static str), u64)>,
    /// Entities gained and lost, by kind.
    pub entities: [i64; Kind::ALL.len()],
    /// Entities encoded for snapshots and their bytes, by kind.
    pub encoded: Encoded,
    /// The longest that a command decided since waited for its decision, in nanoseconds.
    pub slowest_ns: u64,
}

/// Encoded entities and their bytes, by kind: what an entity takes is known when it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// Entities and bytes.
    pub by_kind: [(u64, u64); Kind::ALL.len()],
}

impl Encoded {
    /// Counts one entity.
    pub(crate) fn add(&mut self, kind: Kind, bytes: usize) {
        let (entities, sum) = &mut self.by_kind[kind as usize];
        *entities += 1;
        *sum += bytes as u64;
    }

    /// Counts all of another count.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for (mine, theirs) in self.by_kind.iter_mut().zip(other.by_kind) {
            mine.0 += theirs.0;
            mine.1 += theirs.1;
        }
    }
}

impl Stats {
    /// Counts entities gained (or lost).
    pub(crate) fn count(&mut self, kind: Kind, change: i64) {
        self.entities[kind as usize] += change;
    }

    /// Counts a decision.
    pub(crate) fn outcome(&mut self, outcome: (&'static str, &'static str)) {
        self.decided += 1;
        match self.outcomes.iter_mut().find(|(seen, _)| *seen == outcome) {
            Some((_, count)) => *count += 1,
            None => self.outcomes.push((outcome, 1)),
        }
    }
}
