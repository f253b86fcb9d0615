//! `POST /v1/operator/facts/end`: the life of a record that effect keys are tied to is over (§8).
//!
//! Here: who may say so, and the command. Not here: what becomes of the keys (`domain`).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Body, EndFact, Route};
use interlock_domain::contact::reply::Reply;
use interlock_domain::contact::ties::Untied;
use interlock_wire::contact::operator::{FactEnd, FactEnded};
use interlock_wire::read;

use crate::contact::keyed::{Request, Wanted};
use crate::contact::{ask, identity, refused};
use crate::decider::Decider;
use crate::directory::Role;
use crate::problem::Failure;
use crate::state::AppState;

/// Ends the life of a record.
pub(crate) async fn end<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let roles = [Role::Security, Role::Integration];
    let opened = Request::open_in_role(&request, payload, &state, &roles).await?;
    let end: FactEnd<'_> = read::body(&opened.body)?;
    let secret = opened.caller.space.secret.prepared();
    let wanted = Wanted {
        route: "facts.end",
        noted: Route::EndFact,
        place: &[],
        body: Body::EndFact(EndFact {
            object: identity::object(secret, &end.object),
            keys: None,
        }),
        request: &end,
    };
    let reply = opened.decide(&state, wanted).await?;
    let Reply::FactEnded(untied) = reply else {
        return Err(refused::reply(&reply, &state.limits));
    };
    let mut answer = Vec::with_capacity(64);
    written(untied).write(&mut answer);
    Ok(ask::json(StatusCode::OK, answer))
}

/// What became of the keys, as the client reads it.
pub(crate) fn written(untied: Untied) -> FactEnded {
    FactEnded {
        freed: untied.freed.into(),
        kept: untied.kept.into(),
    }
}
