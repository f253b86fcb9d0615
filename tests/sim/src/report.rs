//! What a run came to: counts of everything that happened, and a digest of all of it.

use std::collections::BTreeMap;
use std::fmt;

use interlock_actors::message::Answer;
use interlock_domain::key::Kind;
use interlock_domain::machine::Machine;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::node::Node;
use crate::swarm::Step;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Of steps and records in order: equal for equal runs.
    pub digest: u64,
    /// Steps taken.
    pub steps: u64,
    /// Commits that landed.
    pub commits: u64,
    /// Records in them.
    pub records: u64,
    /// Answers that arrived.
    pub answers: u64,
    /// Answers of commands that were not decided.
    pub undecided: u64,
    /// Answers of commands whose decision panicked.
    pub broken: u64,
    /// Answers of commands that found a queue full.
    pub busy: u64,
    /// Commands whose client had gone.
    pub gone: u64,
    /// Entities lent to another shard.
    pub loans: u64,
    /// Waits for an entity that was away.
    pub waits: u64,
    /// Entities purged.
    pub purged: u64,
    /// Sweeps of everything that came to their end.
    pub sweeps: u64,
    /// Slices of snapshots.
    pub slices: u64,
    /// Snapshots completed.
    pub seals: u64,
    /// Truncations.
    pub truncations: u64,
    /// Commits that failed.
    pub faults: u64,
    /// Commits that failed and were in the log all the same.
    pub landed_unknown: u64,
    /// Commits that landed and of which nobody was told.
    pub silent: u64,
    /// Commits that landed and of which only some were told.
    pub between: u64,
    /// Truncations that failed.
    pub failed_truncations: u64,
    /// Ends of the process.
    pub crashes: u64,
    /// Starts that failed.
    pub failed_starts: u64,
    /// Moments of rest.
    pub rests: u64,
    /// Entities as the shards of this process counted them.
    pub entities: [i64; Kind::ALL.len()],
    /// Cases the model saw.
    pub seen: BTreeMap<&'static str, u64>,
}

impl Report {
    /// Takes in a step.
    pub fn step(&mut self, step: Step) {
        self.steps += 1;
        self.digest = self
            .digest
            .rotate_left(5)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ step as u64;
    }

    /// Takes in bytes that reached the log.
    pub fn mix(&mut self, bytes: &[u8]) {
        self.digest = xxh3_64_with_seed(bytes, self.digest);
    }

    /// Takes in an answer.
    pub fn answer<R: fmt::Debug>(&mut self, answer: &Answer<R>) {
        self.mix(format!("{answer:?}").as_bytes());
        match answer {
            Answer::NotDecided(_) | Answer::Instead(_) => self.undecided += 1,
            Answer::Broken => self.broken += 1,
            Answer::Busy => self.busy += 1,
            Answer::Decided(_) | Answer::Unavailable => {}
        }
    }

    /// Takes in what the shards counted.
    pub fn finish<M: Machine>(&mut self, node: &mut Node<M>) {
        for shard in &mut node.shards {
            let stats = shard.take_stats();
            self.gone += stats.gone;
            self.loans += stats.loans;
            self.waits += stats.waits;
            self.purged += stats.purged.iter().sum::<u64>();
            for (sum, count) in self.entities.iter_mut().zip(stats.entities) {
                *sum += count;
            }
        }
    }
}

impl Report {
    /// Everything that is counted, with its name.
    #[must_use]
    pub const fn events(&self) -> [(&'static str, u64); 23] {
        [
            ("steps", self.steps),
            ("commits", self.commits),
            ("records", self.records),
            ("answers", self.answers),
            ("undecided", self.undecided),
            ("broken", self.broken),
            ("busy", self.busy),
            ("gone", self.gone),
            ("loans", self.loans),
            ("waits", self.waits),
            ("purged", self.purged),
            ("swept through", self.sweeps),
            ("slices", self.slices),
            ("seals", self.seals),
            ("truncations", self.truncations),
            ("crashes", self.crashes),
            ("in a commit", self.faults),
            ("landed unknown", self.landed_unknown),
            ("landed silently", self.silent),
            ("landed and told in part", self.between),
            ("failed truncations", self.failed_truncations),
            ("failed starts", self.failed_starts),
            ("rests", self.rests),
        ]
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.commits += other.commits;
        self.records += other.records;
        self.answers += other.answers;
        self.undecided += other.undecided;
        self.broken += other.broken;
        self.busy += other.busy;
        self.gone += other.gone;
        self.loans += other.loans;
        self.waits += other.waits;
        self.purged += other.purged;
        self.sweeps += other.sweeps;
        self.slices += other.slices;
        self.seals += other.seals;
        self.truncations += other.truncations;
        self.crashes += other.crashes;
        self.faults += other.faults;
        self.landed_unknown += other.landed_unknown;
        self.silent += other.silent;
        self.between += other.between;
        self.failed_truncations += other.failed_truncations;
        self.failed_starts += other.failed_starts;
        self.rests += other.rests;
        for (case, count) in &other.seen {
            *self.seen.entry(case).or_default() += count;
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in self.events() {
            write!(f, "{count} {name}, ")?;
        }
        write!(f, "digest {:016x}", self.digest)
    }
}
