//! `POST /v1/coordination/effects` and `/effects/{effect_id}/settle`.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::Route;
use interlock_domain::contact::reply::{EffectReply, Reply};
use interlock_wire::contact::effects::{Effect, EffectReserve, EffectSettle};
use interlock_wire::read;
use interlock_wire::value::Hash32;

use crate::contact::keyed::{Request, Wanted};
use crate::contact::{ask, command, identity, refused};
use crate::decider::Decider;
use crate::problem::Failure;
use crate::state::AppState;

/// Reserves an effect.
pub(crate) async fn reserve<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::open(&request, payload, &state).await?;
    let reserve: EffectReserve<'_> = read::body(&opened.body)?;
    let secret = opened.caller.space.secret.prepared();
    let effect_id = identity::effect_id(secret, &reserve.effect_key);
    let wanted = Wanted {
        route: "effects",
        noted: Route::Effects,
        place: &[],
        body: command::reserve_effect(&opened.caller.space, &reserve, &effect_id),
        request: &reserve,
    };
    let reply = opened.decide(&state, wanted).await?;
    let Reply::Effect(effect) = reply else {
        return Err(refused::reply(&reply, &state.limits));
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
    let opened = Request::open(&request, payload, &state).await?;
    let effect_id = refused::in_path(Hash32::parse(&path), &state.limits)?;
    let settle: EffectSettle = read::body(&opened.body)?;
    let wanted = Wanted {
        route: "settle",
        noted: Route::Settle,
        place: &effect_id.0,
        body: command::settle_effect(&settle, &effect_id.0),
        request: &settle,
    };
    let reply = opened.decide(&state, wanted).await?;
    let Reply::Effect(effect) = reply else {
        return Err(refused::reply(&reply, &state.limits));
    };
    Ok(shown(StatusCode::OK, effect_id.0, &effect))
}

fn shown(status: StatusCode, effect_id: [u8; 32], effect: &EffectReply) -> HttpResponse {
    let mut answer = Vec::with_capacity(192);
    written(effect_id, effect).write(&mut answer);
    ask::json(status, answer)
}

/// An effect as the client reads it.
pub(crate) fn written(effect_id: [u8; 32], effect: &EffectReply) -> Effect {
    Effect {
        effect_id,
        state: effect.state.slug(),
        attempt: effect.attempt,
        reserved_at: effect.reserved_at.0,
        done_at: effect.done_at.map(|at| at.0),
    }
}
