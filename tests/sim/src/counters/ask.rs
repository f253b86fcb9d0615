//! What clients of counters ask, and of which pairs.
//!
//! Few partitions hold all entities, so that floors and snapshots are shared; a hot pair takes a
//! share of the commands that varies with the seed.

use interlock_domain::key::{EntityKey, Kind, SpaceId};
use interlock_storage::PARTITIONS_PER_GROUP;
use smallvec::SmallVec;

use super::{Act, Command, Pair, Policy};
use crate::keys::{key_in, space};
use crate::machine::Ask;
use crate::random::Random;

/// Names a command may use; a version of the rules may not know one of them.
const NAMES: u64 = 5;

/// One space's pairs.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) space: SpaceId,
    pub(super) pairs: Vec<Pair>,
    pub(super) receipts: Vec<EntityKey>,
}

/// What a seed's clients are like.
#[derive(Debug)]
pub(super) struct Clients {
    pub(super) places: Vec<Place>,
    /// Chance that a command is about the first pair, in a thousand.
    hot: u64,
    /// Chance of two pairs in one command.
    two: u64,
    /// Weights of add, clear, read, panic, misfit.
    acts: [u64; 5],
    /// Chance that an add names a receipt.
    receipted: u64,
    /// Largest amount.
    amount_max: u64,
    /// Largest limit.
    limit_max: u64,
}

impl Clients {
    pub(super) fn new(random: &mut Random) -> Self {
        let spaces = random.range(1..=3);
        let pairs = random.pick(&[1, 3, 8, 40]);
        let partitions = random.pick(&[1, 4, 32, u64::from(PARTITIONS_PER_GROUP)]);
        let places = (0..spaces).map(|_| Place::new(pairs, partitions, random));
        Self {
            places: places.collect(),
            hot: random.pick(&[0, 0, 300, 900]),
            two: random.pick(&[0, 200, 600]),
            acts: [60, random.pick(&[5, 30]), random.pick(&[5, 40]), 2, 1],
            receipted: random.pick(&[0, 300, 800]),
            amount_max: random.pick(&[3, 50]),
            limit_max: random.pick(&[20, 1_000]),
        }
    }

    pub(super) fn policy(&self, version: u32, random: &mut Random) -> Policy {
        Policy {
            version,
            limit: number(random.range(1..=self.limit_max)),
            // Half of the versions know every name.
            unknown: small(random.below(2 * NAMES)),
        }
    }

    pub(super) fn ask(&self, ask: &Ask<'_, Policy>, random: &mut Random) -> Command {
        let place = self.place(ask.space);
        let mut pairs = SmallVec::new();
        let first = if random.chance(self.hot) {
            0
        } else {
            random.index(place.pairs.len())
        };
        pairs.push(place.pairs[first]);
        let second = random.index(place.pairs.len());
        if second != first && random.chance(self.two) {
            pairs.push(place.pairs[second]);
        }
        let act = match random.weighted(&self.acts) {
            0 => {
                let amount = number(random.range(1..=self.amount_max));
                let receipted = random.chance(self.receipted);
                Act::Add {
                    amount: if random.chance(400) { -amount } else { amount },
                    receipt: receipted.then(|| random.pick(&place.receipts)),
                }
            }
            1 => Act::Clear,
            2 => Act::Read,
            3 => Act::Panic,
            _ => Act::Misfit,
        };
        // Clients use names their rules know.
        let mut name = small(random.below(NAMES));
        if name == ask.policy.unknown {
            name = (name + 1) % small(NAMES);
        }
        Command {
            ticket: ask.ticket,
            space: ask.space,
            bound: ask.policy.version,
            name,
            pairs,
            act,
        }
    }

    pub(super) fn place(&self, space: SpaceId) -> &Place {
        let found = self.places.iter().find(|place| place.space == space);
        found.expect("a command is of a space that takes part")
    }
}

impl Place {
    fn new(pairs: u64, partitions: u64, random: &mut Random) -> Self {
        let space = space(random);
        let mut key = |kind| key_in(space, kind, partitions, random);
        let pairs = (0..pairs).map(|number| Pair {
            number: usize::try_from(number).expect("a few pairs"),
            left: key(Kind::Customer),
            right: key(Kind::Object),
        });
        let pairs = pairs.collect();
        let receipts = (0..20).map(|_| key(Kind::Receipt)).collect();
        Self {
            space,
            pairs,
            receipts,
        }
    }
}

fn number(number: u64) -> i64 {
    i64::try_from(number).expect("a small number")
}

fn small(number: u64) -> u32 {
    u32::try_from(number).expect("a small number")
}
