//! `GET /v1/operator/effects/awaiting`: effects whose outcome nobody knows, oldest first (§8).
//!
//! Here: the look at all effects of the caller's space. Not here: their settlement (`operator`).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::EffectKind as Kind;
use interlock_domain::contact::effect::Effect;
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::reply::EffectState;
use interlock_domain::key::{KeyHash, SpaceId};
use interlock_domain::time::Timestamp;
use interlock_wire::contact::check::EffectKind;
use interlock_wire::contact::operator::{AWAITING_MAX, AwaitingEffect, AwaitingEffects};
use interlock_wire::problem::Code;

use crate::contact::ask;
use crate::decider::{Decider, NotScanned};
use crate::directory::{Caller, Role};
use crate::extract;
use crate::problem::Failure;
use crate::state::AppState;

/// An effect that was found; ordered by age, then by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    since: Timestamp,
    hash: KeyHash,
    kind: Kind,
    source: SourceId,
    attempt: u32,
    reserved_at: Timestamp,
    lapsed: bool,
    age_s: u64,
}

/// Lists them.
pub(crate) async fn get<D: Decider>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let roles = [Role::Security, Role::Analysis];
    let caller = extract::in_role(&request, &state.directory, &roles)?;
    let space: SpaceId = caller.space.id;
    let scanned = state
        .decider
        .scan(AWAITING_MAX, move |key, entity, now| {
            let effect = entity.as_effect().filter(|_| key.space == space)?;
            found(key.hash, effect, now)
        })
        .await
        .map_err(|why| not_scanned(why, state.limits.retry_after_s))?;
    let items = scanned.found.iter().map(|found| item(&caller, found));
    let effects = AwaitingEffects {
        items: items.collect(),
        awaiting: scanned.matched,
        left_out: scanned.left_out,
    };
    let mut answer = Vec::with_capacity(256);
    effects.write(&mut answer);
    Ok(ask::json(StatusCode::OK, answer))
}

fn found(hash: KeyHash, effect: &Effect, now: Timestamp) -> Option<Found> {
    let is_unknown = effect.state_at(now) == EffectState::UnknownOutcome;
    is_unknown.then(|| Found {
        since: effect.turned_at,
        hash,
        kind: effect.kind,
        source: effect.source,
        attempt: effect.attempt,
        reserved_at: effect.reserved_at,
        lapsed: effect.state == EffectState::Reserved,
        age_s: u64::try_from(now.since(effect.turned_at) / 1_000).unwrap_or(0),
    })
}

fn item<'a>(caller: &'a Caller, found: &Found) -> AwaitingEffect<'a> {
    let mut sources = caller.space.sources.iter();
    let source = sources.find(|source| source.id == found.source);
    AwaitingEffect {
        short_id: found.hash.0,
        kind: kind(found.kind),
        // A source is never taken out of a space; one the edge does not know has no name to show.
        source: source.map_or("unknown", |source| &*source.name),
        attempt: found.attempt,
        reserved_at: found.reserved_at.0,
        unknown_since: found.since.0,
        age_s: found.age_s,
        because: if found.lapsed {
            "lease_over"
        } else {
            "declared"
        },
    }
}

const fn kind(kind: Kind) -> EffectKind {
    match kind {
        Kind::Delivery => EffectKind::Delivery,
        Kind::Document => EffectKind::Document,
        Kind::Notice => EffectKind::Notice,
        Kind::Filing => EffectKind::Filing,
        Kind::PaidCall => EffectKind::PaidCall,
        Kind::ExternalAction => EffectKind::ExternalAction,
    }
}

fn not_scanned(why: NotScanned, retry_after_s: u32) -> Failure {
    Failure::new(
        Code::CoordinationUnavailable,
        match why {
            NotScanned::Rebuilding => {
                "the node is still rebuilding and does not know all effects; ask again later"
            }
            NotScanned::GivenUp => {
                "the node has too much to look for, or is going down; ask again later"
            }
        },
    )
    .retry_after(retry_after_s)
}
