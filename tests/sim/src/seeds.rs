//! Seeds that once found something; every gate runs them before fresh ones.
//!
//! A seed's course changes with the simulator and with what clients ask, so none of these need find
//! again what it found. They stay all the same: they cost little, and each was bad luck once.

use crate::swarm::Faults;
use crate::world::Options;

/// A seed that found something.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// The machine's name.
    pub machine: &'static str,
    /// The seed.
    pub seed: u64,
    /// Steps of its run.
    pub steps: u64,
    /// Shards of the first process.
    pub shards: u16,
    /// What it found.
    pub found: &'static str,
}

impl Kept {
    /// The run, with every kind of fault.
    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            seed: self.seed,
            steps: self.steps,
            shards: self.shards,
            faults: Faults::all(),
        }
    }
}

/// What seeds found of which only so much is on record.
const SNAPSHOTS: &str =
    "one of the two faults of snapshots that tests/snapshots.rs has step by step";

/// See the module.
pub const KEPT: [Kept; 7] = [
    Kept {
        machine: "counters",
        seed: 11,
        steps: 5_000,
        shards: 2,
        found: "a snapshot whose listed keys were all gone never ended",
    },
    Kept {
        machine: "counters",
        seed: 1_012,
        steps: 7_000,
        shards: 3,
        found: SNAPSHOTS,
    },
    Kept {
        machine: "counters",
        seed: 1_214,
        steps: 5_000,
        shards: 5,
        found: SNAPSHOTS,
    },
    Kept {
        machine: "contact",
        seed: 401_655_024,
        steps: 14_000,
        shards: 5,
        found: "units of an admission from before an erasure, settled against those drawn after it in \
                the same millisecond",
    },
    Kept {
        machine: "contact",
        seed: 203_140_816,
        steps: 17_000,
        shards: 2,
        found: "the model: a claim that was over for long ended once more, when the end of its source \
                came under another id",
    },
    Kept {
        machine: "contact",
        seed: 430_940_812,
        steps: 18_000,
        shards: 3,
        found: "the model: a sweep after the last answer was judged by the time of that answer",
    },
    Kept {
        machine: "contact",
        seed: 694_638_148,
        steps: 20_000,
        shards: 4,
        found: "the model: of several handoffs of long ago that a hold names, some were swept and others \
                not yet",
    },
];
