//! Reading several entities before they are needed, so that the waits for them overlap.
//!
//! Here: loops whose rounds do not depend on each other; nothing is changed or kept. Called by a turn
//! before it decides and by recovery before it applies.

use std::hint::black_box;

use interlock_domain::machine::Machine;

use super::Found;

/// Reads entities. The second loop follows one reference more than the first: the places of the
/// entities, then what the entities refer to.
pub(crate) fn read_ahead<'a, M: Machine>(
    entities: impl Iterator<Item = Found<'a, M::Entity>> + Clone,
) where
    M::Entity: 'a,
{
    let versions = entities.clone().map(|found| match found {
        Found::Home(_, version) | Found::Absent(version) => version,
        Found::Lent => 0,
    });
    black_box(versions.fold(0, u64::wrapping_add));
    let touched = entities.map(|found| match found {
        Found::Home(entity, _) => M::touch(entity),
        Found::Absent(_) | Found::Lent => 0,
    });
    black_box(touched.fold(0, usize::wrapping_add));
}
