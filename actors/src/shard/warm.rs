//! Reading what the next transactions need before they need it.
//!
//! A shard holds more entities than a processor's caches do, and a decision waits for each of its
//! entities to come from memory, one after the other. Here the entities of several transactions are
//! read together (`partition/ahead`); the decisions that follow find them near. Only the turn calls it.

use std::hint::black_box;

use interlock_domain::machine::Machine;

use super::{Shard, acquire};
use crate::partition::read_ahead;

/// Commands looked at ahead: enough that waits overlap, few enough that the first is still near when the
/// last was read.
const AHEAD: usize = 32;

impl<M: Machine> Shard<M> {
    /// Reads the entities of the next transactions; answers how many these are.
    ///
    /// The transactions themselves first, then what they are about.
    pub(super) fn warm(&self) -> usize {
        let ahead = self.queue.ahead(AHEAD);
        let seen = ahead.clone().map(|next| next.places.len());
        black_box(seen.sum::<usize>());
        let count = ahead.clone().count();
        let places = ahead.flat_map(|next| &next.places);
        let local = places.filter(|place| place.shard == self.options.index);
        read_ahead::<M>(local.map(|place| acquire::find(&self.partitions, place)));
        count.max(1)
    }
}
