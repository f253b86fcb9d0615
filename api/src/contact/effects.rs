//! `POST /v1/coordination/effects` and `/effects/{effect_id}/settle`.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::Route;
use interlock_domain::contact::reply::{EffectReply, Reply};
use interlock_wire::contact::effects::{Effect, EffectReserve, EffectSettle};
use interlock_wire::read;
use interlock_wire::value::Hash32;

use crate::contact::identity::{self, Keyed};
use crate::contact::{ask, command, refused};
use crate::decider::Decider;
use crate::extract;
use crate::problem::Failure;
use crate::state::AppState;

/// Reserves an effect.
pub(crate) async fn reserve<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let limits = &state.limits;
    let caller = extract::coordinating(&request, &state.directory)?;
    let key = extract::required_idempotency_key(&request)?;
    let body = extract::body(&request, payload, limits, limits.body_bytes_max).await?;
    let reserve: EffectReserve<'_> = read::body(&body)?;
    let secret = caller.space.secret.prepared();
    let effect_id = identity::effect_id(secret, &reserve.effect_key);
    let route = "effects";
    let receipt = Keyed { route, key }.receipt(secret, caller.key.source.id, &[], &reserve);
    let wanted = command::reserve_effect(&reserve, &effect_id);
    let wanted = command::of(&caller, Route::Effects, Some(receipt), wanted);
    let deadline = limits.request_deadline_ms;
    let reply = ask::one(&state, &caller, wanted, started, deadline, body.len()).await?;
    let Reply::Effect(effect) = reply else {
        return Err(refused::reply(&reply, limits));
    };
    let status = if effect.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok(shown(status, effect_id, &effect))
}

/// Settles an attempt.
pub(crate) async fn settle<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
    path: web::Path<String>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let limits = &state.limits;
    let caller = extract::coordinating(&request, &state.directory)?;
    // No effect has an id of another form, so it is unknown rather than wrong.
    let effect_id = Hash32::parse(&path).ok_or_else(|| refused::reply(&Reply::NotFound, limits))?;
    let key = extract::required_idempotency_key(&request)?;
    let body = extract::body(&request, payload, limits, limits.body_bytes_max).await?;
    let settle: EffectSettle = read::body(&body)?;
    let secret = caller.space.secret.prepared();
    let route = "settle";
    let source = caller.key.source.id;
    let receipt = Keyed { route, key }.receipt(secret, source, &effect_id.0, &settle);
    let wanted = command::settle_effect(&settle, &effect_id.0);
    let wanted = command::of(&caller, Route::Settle, Some(receipt), wanted);
    let deadline = limits.request_deadline_ms;
    let reply = ask::one(&state, &caller, wanted, started, deadline, body.len()).await?;
    let Reply::Effect(effect) = reply else {
        return Err(refused::reply(&reply, limits));
    };
    Ok(shown(StatusCode::OK, effect_id.0, &effect))
}

fn shown(status: StatusCode, effect_id: [u8; 32], effect: &EffectReply) -> HttpResponse {
    let effect = Effect {
        effect_id,
        state: effect.state.slug(),
        attempt: effect.attempt,
        reserved_at: effect.reserved_at.0,
        done_at: effect.done_at.map(|at| at.0),
    };
    let mut answer = Vec::with_capacity(192);
    effect.write(&mut answer);
    ask::json(status, answer)
}
