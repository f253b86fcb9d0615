//! `POST /v1/operator/effects/{effect_id}/settle`: how an attempt ended, as a person or the system of
//! record says (§8).
//!
//! Here: which role may say what. Not here: which settlements the machine takes (`domain`).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Body, Route, SettleEffect, SettledBy as By, Settlement};
use interlock_domain::contact::reply::Reply;
use interlock_domain::key::KeyHash;
use interlock_wire::contact::operator::{
    OperatorEffect, OperatorOutcome, OperatorSettle, SettledBy,
};
use interlock_wire::read;
use interlock_wire::value::{Hash32, ShortHash};

use crate::contact::keyed::{Request, Wanted};
use crate::contact::{ask, refused};
use crate::decider::Decider;
use crate::directory::Role;
use crate::extract;
use crate::hashing::key_hash;
use crate::problem::Failure;
use crate::state::AppState;

/// Settles an attempt that its holder does not.
pub(crate) async fn settle<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
    path: web::Path<String>,
) -> Result<HttpResponse, Failure> {
    let roles = [Role::Security, Role::Integration];
    let opened = Request::open_in_role(&request, payload, &state, &roles).await?;
    let effect = refused::in_path(effect(&path), &state.limits)?;
    let settle: OperatorSettle<'_> = read::body(&opened.body)?;
    let by = match settle.by {
        SettledBy::Person => By::Person,
        SettledBy::Observation => {
            // What a system of record shows moves more than what a person says.
            extract::has_any_role(&opened.caller, &[Role::Integration])?;
            By::Observation
        }
    };
    let wanted = Wanted {
        route: "operator.settle",
        noted: Route::OperatorSettle,
        place: &effect.0,
        body: Body::SettleEffect(SettleEffect {
            effect,
            attempt: settle.attempt.map(|attempt| attempt.0),
            settlement: match settle.state {
                OperatorOutcome::Done => Settlement::Done,
                OperatorOutcome::Failed => Settlement::Failed,
            },
            by,
        }),
        request: &settle,
    };
    let reply = opened.decide(&state, wanted).await?;
    let Reply::Effect(reply) = reply else {
        return Err(refused::reply(&reply, &state.limits));
    };
    let mut answer = Vec::with_capacity(192);
    OperatorEffect {
        short_id: effect.0,
        state: reply.state.slug(),
        attempt: reply.attempt,
        reserved_at: reply.reserved_at.0,
        done_at: reply.done_at.map(|at| at.0),
    }
    .write(&mut answer);
    Ok(ask::json(StatusCode::OK, answer))
}

/// The effect of a path: its public id, or the short one that lists show.
fn effect(path: &str) -> Option<KeyHash> {
    let whole = Hash32::parse(path).map(|id| key_hash(&id.0));
    whole.or_else(|| ShortHash::parse(path).map(|short| KeyHash(short.0)))
}
