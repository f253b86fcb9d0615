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
    /// Commands whose decision panicked.
    pub broken: u64,
    /// Entities purged.
    pub purged: u64,
    /// Decisions by outcome and reason; both of a bounded set.
    pub outcomes: Vec<((&'static str, &'static str), u64)>,
    /// Entities gained and lost, by kind.
    pub entities: [i64; Kind::ALL.len()],
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
