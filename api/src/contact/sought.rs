//! Looking at all entities for a request: the handoffs of a customer or a conversation, what a customer
//! has forgotten and an erasure takes, and effects whose outcome nobody knows.
//!
//! Here: the walk, and the turn for it: shards queue few walks, so a request waits for its own within
//! its deadline instead of being refused. A walk that was begun keeps its turn until it ends, also when
//! nobody waits for it any more, because the shards go on with it. Not here: what becomes of what is
//! found (`domain`), which judges each again.

use std::sync::Arc;

use actix_web::rt;
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::handoff::Handoff;
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, KeyHash, SpaceId};
use interlock_domain::time::Timestamp;
use interlock_wire::problem::Code;

use crate::contact::refused;
use crate::decider::{Decider, NotScanned, Scanned};
use crate::problem::Failure;
use crate::state::AppState;
use crate::stopwatch::Stopwatch;

/// How many handoffs one hold is about; those with the smallest ids, which are the oldest.
const HANDOFFS_MAX: usize = 4_096;

/// How many handoffs and forgotten offers one erasure is about, handoffs first; another one takes the
/// next.
const LEFT_MAX: usize = 4_096;

/// What is left beside a customer, also where the customer knows it no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Left {
    /// A handoff: one that a legal hold keeps outlives what its customer knows of it.
    Handoff(Id),
    /// The row of an offer, with terms.
    Terms(KeyHash),
}

/// The ids of a space's handoffs that are `wanted`.
///
/// # Errors
/// The entities cannot all be looked at in time: 503, and the client comes again.
pub(crate) async fn handoffs<D: Decider>(
    state: &AppState<D>,
    started: Stopwatch,
    space: SpaceId,
    wanted: impl Fn(&Handoff) -> bool + Send + Sync + 'static,
) -> Result<Vec<Id>, Failure> {
    let pick = move |key: &EntityKey, entity: &ContactEntity, _| {
        let handoff = entity.as_handoff().filter(|_| key.space == space)?;
        wanted(handoff).then_some(Id(key.hash.0))
    };
    whole(state, all(state, started, HANDOFFS_MAX, pick).await?)
}

/// What is left beside a customer.
///
/// # Errors
/// As [`handoffs`].
pub(crate) async fn left<D: Decider>(
    state: &AppState<D>,
    started: Stopwatch,
    space: SpaceId,
    customer: KeyHash,
) -> Result<Vec<Left>, Failure> {
    let pick = move |key: &EntityKey, entity: &ContactEntity, _| {
        if key.space != space {
            return None;
        }
        if let Some(handoff) = entity.as_handoff() {
            let is_theirs = handoff.customer == customer && !handoff.is_erased();
            return is_theirs.then_some(Left::Handoff(Id(key.hash.0)));
        }
        let row = entity.as_directory()?;
        let is_theirs = row.target == Target::Customer(customer);
        (is_theirs && row.terms.is_some()).then_some(Left::Terms(key.hash))
    };
    whole(state, all(state, started, LEFT_MAX, pick).await?)
}

/// What was found, if nothing was away.
fn whole<D, T>(state: &AppState<D>, scanned: Scanned<T>) -> Result<Vec<T>, Failure> {
    if scanned.left_out > 0 {
        return Err(unavailable(
            state,
            "some of what must be looked at is in the hands of other requests; nothing was recorded, \
             send it again",
        ));
    }
    Ok(scanned.found)
}

/// Looks at every entity, when it is this request's turn, and keeps the `limit` smallest of what
/// `pick` makes of them.
///
/// # Errors
/// It cannot be done in time: 503, and the client comes again.
pub(crate) async fn all<D, T, F>(
    state: &AppState<D>,
    started: Stopwatch,
    limit: usize,
    pick: F,
) -> Result<Scanned<T>, Failure>
where
    D: Decider,
    T: Ord + Send + 'static,
    F: Fn(&EntityKey, &ContactEntity, Timestamp) -> Option<T> + Send + Sync + 'static,
{
    let Ok(_wait) = state.analysis.waits.try_acquire() else {
        return Err(unavailable(
            state,
            "too many requests wait to look at all that is known; nothing was recorded, send it again \
             later",
        ));
    };
    let looks = Arc::clone(&state.analysis.looks);
    let decider = state.decider.clone();
    let look = async move {
        // It is never closed.
        let turn = looks.acquire_owned().await;
        let scan = rt::spawn(async move {
            let scanned = decider.scan(limit, pick).await;
            drop(turn);
            scanned
        });
        scan.await
    };
    let left = started.left(state.limits.request_deadline_ms);
    let scanned = rt::time::timeout(left, look).await.map_err(|_| {
        unavailable(
            state,
            "all that is known could not be looked at in time, because others look at it too; nothing \
             was recorded, send it again later",
        )
    })?;
    let scanned = scanned.map_err(|_| refused::broken())?;
    scanned.map_err(|why| {
        let detail = match why {
            NotScanned::Rebuilding => {
                "the node is still rebuilding and does not know everything yet; nothing was recorded, \
                 send it again later"
            }
            NotScanned::GivenUp => {
                "the node has too much to look for, or is going down; nothing was recorded, send it \
                 again later"
            }
        };
        unavailable(state, detail)
    })
}

fn unavailable<D>(state: &AppState<D>, detail: &'static str) -> Failure {
    let failure = Failure::new(Code::CoordinationUnavailable, detail);
    failure.retry_after(state.limits.retry_after_s)
}
