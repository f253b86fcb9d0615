//! The only place where load is refused.
//!
//! Here: bounds on commands and bytes in flight, for the node and for each space. Queues inside the
//! node are sized for all credits, so nothing behind the entrance can be full. A credit goes back
//! when its command was answered or dropped, also when the client has gone.
//!
//! The node's bounds are shared fairly: each space with something in flight may hold an equal part,
//! counted with one space more than there are. A space that is alone has a bound of its own. What it
//! holds above its part when others come is not taken away; it only gets nothing more until it is
//! below. The last eighth of the node is for spaces that hold little, so that floods, however many,
//! never keep them out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use interlock_domain::key::SpaceId;

use crate::placement::KeyHasher;

/// A space's part is never below one full batch; up to that it holds little.
pub const PART_MIN: usize = 500;
/// One part in so many of the node's bounds is for spaces that hold little.
const RESERVED: usize = 8;
/// Up to one part in so many of the node's bytes a space holds little.
const LITTLE_BYTES: usize = 64;

/// The bounds.
#[derive(Clone, Copy, Debug)]
pub struct CreditOptions {
    /// Commands in flight.
    pub commands_max: usize,
    /// Their bytes.
    pub bytes_max: usize,
    /// Commands in flight of one space while no other has any.
    pub space_commands_max: usize,
}

/// What one space has in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    commands: usize,
    bytes: usize,
}

/// Commands and bytes in flight.
#[derive(Debug)]
pub struct Credits {
    options: CreditOptions,
    commands: AtomicUsize,
    bytes: AtomicUsize,
    /// Spaces with something in flight.
    active: AtomicUsize,
    /// What each has. An entry goes with its last command, so there are at most as many as commands.
    spaces: DashMap<SpaceId, Held, KeyHasher>,
}

/// Which bound was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfCredits {
    /// The space's part.
    Space,
    /// The node's.
    Node,
}

/// Credits of one request; they go back when it is dropped.
#[derive(Debug)]
pub struct Permit {
    credits: Arc<Credits>,
    space: SpaceId,
    commands: usize,
    bytes: usize,
}

impl Credits {
    /// All credits free.
    #[must_use]
    pub fn new(options: CreditOptions) -> Arc<Self> {
        Arc::new(Self {
            options,
            commands: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            spaces: DashMap::default(),
        })
    }

    /// Takes credits for a request.
    ///
    /// # Errors
    /// The bound that was reached; nothing is taken then.
    pub fn take(
        self: &Arc<Self>,
        space: SpaceId,
        commands: usize,
        bytes: usize,
    ) -> Result<Permit, OutOfCredits> {
        // Held to the end: two requests of a space are judged one after the other.
        let entry = self.spaces.entry(space);
        let (held, is_new) = match &entry {
            Entry::Occupied(entry) => (*entry.get(), false),
            Entry::Vacant(_) => (Held::default(), true),
        };
        let others = self.active.load(Ordering::Acquire) - usize::from(!is_new);
        let after = Held {
            commands: held.commands.saturating_add(commands),
            bytes: held.bytes.saturating_add(bytes),
        };
        if !self.is_its_part(after, is_new, others) {
            return Err(OutOfCredits::Space);
        }
        let (commands_max, bytes_max, refusal) = self.bounds_of(after, is_new);
        if !add(&self.commands, commands, commands_max) {
            return Err(refusal);
        }
        if !add(&self.bytes, bytes, bytes_max) {
            self.commands.fetch_sub(commands, Ordering::AcqRel);
            return Err(refusal);
        }
        if is_new {
            self.active.fetch_add(1, Ordering::AcqRel);
        }
        drop(entry.insert(after));
        Ok(Permit {
            credits: Arc::clone(self),
            space,
            commands,
            bytes,
        })
    }

    /// Commands in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.commands.load(Ordering::Acquire)
    }

    /// May a space hold this much beside so many others? Its first request is never held against its
    /// part of the bytes: one body may be larger than that.
    const fn is_its_part(&self, after: Held, is_first: bool, others: usize) -> bool {
        let CreditOptions {
            commands_max,
            bytes_max,
            space_commands_max,
        } = self.options;
        // With itself and with the one that may come next.
        let parts = others + 2;
        let part = commands_max / parts;
        let commands = match others {
            0 => space_commands_max,
            _ if part < PART_MIN => PART_MIN,
            _ if part < space_commands_max => part,
            _ => space_commands_max,
        };
        let has_bytes =
            is_first || after.bytes <= bytes_max / LITTLE_BYTES || after.bytes <= bytes_max / parts;
        after.commands <= commands && has_bytes
    }

    /// The node's bounds for a space that would hold this much, and what it means to reach them.
    const fn bounds_of(&self, after: Held, is_first: bool) -> (usize, usize, OutOfCredits) {
        let CreditOptions {
            commands_max,
            bytes_max,
            ..
        } = self.options;
        let is_little =
            after.commands <= PART_MIN && (is_first || after.bytes <= bytes_max / LITTLE_BYTES);
        if is_little {
            return (commands_max, bytes_max, OutOfCredits::Node);
        }
        let commands = commands_max - commands_max / RESERVED;
        let bytes = bytes_max - bytes_max / RESERVED;
        (commands, bytes, OutOfCredits::Space)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Self {
            credits,
            space,
            commands,
            bytes,
        } = self;
        if let Entry::Occupied(mut held) = credits.spaces.entry(*space) {
            held.get_mut().commands -= *commands;
            held.get_mut().bytes -= *bytes;
            if held.get().commands == 0 {
                held.remove();
                credits.active.fetch_sub(1, Ordering::AcqRel);
            }
        }
        credits.bytes.fetch_sub(*bytes, Ordering::AcqRel);
        credits.commands.fetch_sub(*commands, Ordering::AcqRel);
    }
}

/// Adds unless the bound would be passed.
fn add(counter: &AtomicUsize, by: usize, bound: usize) -> bool {
    let taken = counter.fetch_add(by, Ordering::AcqRel);
    if taken.saturating_add(by) > bound {
        counter.fetch_sub(by, Ordering::AcqRel);
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use interlock_storage::rng::Rng;

    use super::*;

    const fn space(number: u8) -> SpaceId {
        SpaceId([number; 16])
    }

    const OPTIONS: CreditOptions = CreditOptions {
        commands_max: 6_000,
        bytes_max: 60_000,
        space_commands_max: 4_000,
    };

    /// Pitfall 30.
    #[test]
    fn a_refused_request_takes_nothing() {
        let credits = Credits::new(OPTIONS);
        let alone = credits.take(space(1), 4_000, 10).expect("room");
        let refused = credits.take(space(1), 1, 1);
        assert_eq!(refused.err(), Some(OutOfCredits::Space));
        let others: Vec<_> = (2..6)
            .map(|other| credits.take(space(other), 500, 10).expect("room"))
            .collect();
        let refused = credits.take(space(7), 1, 1);
        assert_eq!(refused.err(), Some(OutOfCredits::Node));
        drop(alone);
        let refused = credits.take(space(7), 1, 59_961);
        assert_eq!(refused.err(), Some(OutOfCredits::Node));
        assert_eq!(credits.in_flight(), 2_000);
        drop(others);
        assert!(credits.take(space(7), 500, 60_000).is_ok());
        assert_eq!(credits.in_flight(), 0);
    }

    /// Whoever floods, by commands or by bytes, and however many do, leaves room for those who ask for
    /// little.
    /// Pitfall 29.
    #[test]
    fn floods_never_keep_a_quiet_space_out() {
        for (commands, bytes) in [(500, 100), (1, 15_000)] {
            for floods in 1..9_u8 {
                let credits = Credits::new(CreditOptions {
                    commands_max: 65_536,
                    bytes_max: 655_360,
                    space_commands_max: 65_036,
                });
                let mut held = Vec::new();
                for round in 0..20 {
                    for flood in 0..floods {
                        while let Ok(permit) = credits.take(space(flood), commands, bytes) {
                            held.push(permit);
                        }
                    }
                    let quiet = credits.take(space(100), 500, 5_000);
                    assert!(quiet.is_ok(), "round {round} of {floods} floods");
                    // The oldest are answered and come back.
                    held.drain(..held.len() / 2);
                }
            }
        }
    }

    /// A space that had all gets nothing more until it is down to its part.
    #[test]
    fn parts_shrink_when_others_come() {
        let credits = Credits::new(OPTIONS);
        let mut first: Vec<_> = (0..8)
            .map(|_| credits.take(space(1), 500, 1).expect("alone"))
            .collect();
        let _second = credits.take(space(2), 1, 1).expect("room");
        while first.len() > 4 {
            first.pop();
            // Below a third of 6,000 is 2,000, which it may fill and not pass.
            let more = credits.take(space(1), 500, 1);
            assert_eq!(more.is_ok(), first.len() < 4, "{} held", first.len());
        }
        first.pop();
        assert!(credits.take(space(1), 500, 1).is_ok());
    }

    /// Whatever is taken and given back: sums stay within the bounds, each space keeps its own, and
    /// in the end everything is free again.
    #[test]
    fn credits_always_come_back() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed);
            let credits = Credits::new(OPTIONS);
            let mut held: Vec<Permit> = Vec::new();
            for _ in 0..600 {
                if rng.chance(2, 5) && !held.is_empty() {
                    let gone = rng.index(held.len());
                    held.swap_remove(gone);
                } else {
                    let space = space(u8::try_from(rng.below(12)).expect("below 12"));
                    let commands = 1 + rng.index(PART_MIN);
                    held.extend(credits.take(space, commands, rng.index(4_000)));
                }
                let mut by_space: BTreeMap<SpaceId, usize> = BTreeMap::new();
                for permit in &held {
                    *by_space.entry(permit.space).or_default() += permit.commands;
                }
                let commands: usize = by_space.values().sum();
                let bytes: usize = held.iter().map(|permit| permit.bytes).sum();
                assert_eq!(credits.in_flight(), commands);
                assert_eq!(credits.bytes.load(Ordering::Acquire), bytes);
                assert_eq!(credits.active.load(Ordering::Acquire), by_space.len());
                assert!(commands <= OPTIONS.commands_max && bytes <= OPTIONS.bytes_max);
                assert!(
                    by_space
                        .values()
                        .all(|&own| own <= OPTIONS.space_commands_max)
                );
            }
            held.clear();
            let left = credits.spaces.len();
            assert_eq!((credits.in_flight(), left), (0, 0), "seed {seed}");
        }
    }
}
