//! Reading what the next transactions need before they need it.
//!
//! A shard holds more entities than a processor's caches do, and a decision waits for each of its
//! entities to come from memory, one after the other. Here the entities of several transactions are
//! read in loops whose rounds do not depend on each other, so that their waits overlap; the decisions
//! that follow find them near. Nothing is changed or kept. Only the turn calls it.

use std::hint::black_box;

use interlock_domain::machine::Machine;

use super::{Shard, acquire};
use crate::partition::Found;

/// Commands looked at ahead: enough that waits overlap, few enough that the first is still near when the
/// last was read.
const AHEAD: usize = 32;

impl<M: Machine> Shard<M> {
    /// Reads the entities of the next transactions; answers how many these are.
    ///
    /// Each loop follows one reference more than the one before it: the transactions, then the
    /// places of their entities, then what the entities refer to.
    pub(super) fn warm(&self) -> usize {
        let ahead = self.queue.ahead(AHEAD);
        let seen = ahead.clone().map(|next| next.places.len());
        black_box(seen.sum::<usize>());
        let count = ahead.clone().count();
        let places = ahead.flat_map(|next| &next.places);
        let local = places.filter(|place| place.shard == self.options.index);
        let found = local.map(|place| acquire::find(&self.partitions, place));
        let versions = found.clone().map(|found| match found {
            Found::Home(_, version) | Found::Absent(version) => version,
            Found::Lent => 0,
        });
        black_box(versions.fold(0, u64::wrapping_add));
        let touched = found.map(|found| match found {
            Found::Home(entity, _) => M::touch(entity),
            Found::Absent(_) | Found::Lent => 0,
        });
        black_box(touched.fold(0, usize::wrapping_add));
        count.max(1)
    }
}
