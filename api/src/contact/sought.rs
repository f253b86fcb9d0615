//! Handoffs that only a walk over all entities finds: those of a customer or a conversation.
//!
//! Here: the walk, for legal holds, which are rare. Not here: what becomes of them
//! (`domain`), which judges each again.

use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::handoff::Handoff;
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, SpaceId};

use crate::contact::refused;
use crate::decider::{Decider, NotScanned};
use crate::problem::Failure;
use crate::state::AppState;

/// How many handoffs one hold is about; those with the smallest ids, which are the oldest.
const HANDOFFS_MAX: usize = 4_096;

/// The ids of a space's handoffs that are `wanted`.
///
/// # Errors
/// The entities cannot all be looked at now: the client comes again.
pub(crate) async fn handoffs<D: Decider>(
    state: &AppState<D>,
    space: SpaceId,
    wanted: impl Fn(&Handoff) -> bool + Send + Sync + 'static,
) -> Result<Vec<Id>, Failure> {
    let pick = move |key: &EntityKey, entity: &ContactEntity, _| {
        let handoff = entity.as_handoff().filter(|_| key.space == space)?;
        wanted(handoff).then_some(Id(key.hash.0))
    };
    match state.decider.scan(HANDOFFS_MAX, pick).await {
        Ok(scanned) if scanned.left_out == 0 => Ok(scanned.found),
        Ok(_) | Err(NotScanned::Rebuilding | NotScanned::GivenUp) => {
            Err(refused::busy(&state.limits))
        }
    }
}
