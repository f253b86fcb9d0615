//! `GET /v1/operator/effects/awaiting`: effects whose outcome nobody knows, oldest first (§8).
//!
//! Here: the look at all effects of the caller's space. Not here: their settlement (`operator`).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::EffectKind as Kind;
use interlock_domain::contact::effect::Effect;
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::reply::EffectState;
use interlock_domain::key::{EntityKey, KeyHash, SpaceId};
use interlock_domain::time::Timestamp;
use interlock_wire::contact::check::EffectKind;
use interlock_wire::contact::operator::{AWAITING_MAX, AwaitingEffect, AwaitingEffects};

use crate::contact::{ask, sought};
use crate::decider::Decider;
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
    let pick = move |key: &EntityKey, entity: &ContactEntity, now| {
        let effect = entity.as_effect().filter(|_| key.space == space)?;
        found(key.hash, effect, now)
    };
    let started = extract::started(&request);
    let scanned = sought::all(&state, started, AWAITING_MAX, pick).await?;
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
