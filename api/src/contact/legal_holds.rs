//! `POST /v1/legal-holds`, `POST /v1/legal-holds/{hold_id}/release`, `GET /v1/operator/legal-holds`.
//!
//! Here: what a hold is on, as a keyed hash. The reason is read and not kept: it may name people.
//! Not here: what a hold keeps (`domain`).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Body, HoldPlace, PlaceHold, ReleaseHold, Route, Show};
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::handoff::Handoff;
use interlock_domain::contact::legal_hold::{self, HoldTarget, holds_key};
use interlock_domain::contact::reply::Reply;
use interlock_domain::ids::Id;
use interlock_wire::contact::privacy::{LegalHold, LegalHoldCreate, LegalHoldRelease, LegalHolds};
use interlock_wire::read;
use interlock_wire::value::Uuid;

use crate::contact::keyed::{Request, Wanted};
use crate::contact::{ask, command, identity, ownership, refused, sought};
use crate::decider::Decider;
use crate::directory::Caller;
use crate::extract;
use crate::problem::Failure;
use crate::state::AppState;

/// Places a hold.
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::governing(&request, payload, &state, true).await?;
    let hold: LegalHoldCreate<'_> = read::body(&opened.body)?;
    let target = target(&opened.caller, &hold)?;
    let space = opened.caller.space.id;
    let handoffs = match target {
        HoldTarget::Customer(_) | HoldTarget::Conversation(_) => {
            let is_of = move |handoff: &Handoff| handoff.is_of(target);
            sought::handoffs(&state, opened.started, space, is_of).await?
        }
        // No handoff is of an object.
        HoldTarget::Object(_) => Vec::new(),
    };
    let wanted = Wanted {
        route: "legal-holds",
        noted: Route::LegalHolds,
        place: &[],
        body: Body::PlaceHold(PlaceHold {
            target,
            new_id: ownership::new_id(&state)?,
            handoffs,
        }),
        request: &hold,
    };
    let reply = opened.decide(&state, wanted).await?;
    shown(&state, StatusCode::CREATED, &reply)
}

/// Releases a hold.
pub(crate) async fn release<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
    path: web::Path<String>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::governing(&request, payload, &state, false).await?;
    let id = refused::in_path(Uuid::parse(&path), &state.limits)?;
    let release: LegalHoldRelease<'_> = read::body(&opened.body)?;
    let (space, hold) = (opened.caller.space.id, Id(id.0));
    let is_held = move |handoff: &Handoff| handoff.holds.contains(&hold);
    let handoffs = sought::handoffs(&state, opened.started, space, is_held).await?;
    let wanted = Wanted {
        route: "legal-holds/release",
        noted: Route::LegalHolds,
        place: &id.0,
        body: Body::ReleaseHold(ReleaseHold {
            hold,
            handoffs,
            place: HoldPlace::ToFind,
        }),
        request: &release,
    };
    let reply = opened.decide(&state, wanted).await?;
    shown(&state, StatusCode::OK, &reply)
}

/// The live holds of the space.
pub(crate) async fn get<D: Decider>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::governing(&request, &state.directory)?;
    let holds = holds_key(caller.space.id);
    let show = Body::Show(Show {
        kind: holds.kind,
        hash: holds.hash,
    });
    let command = command::of(&caller, Route::LegalHolds, None, show);
    let (started, deadline) = (extract::started(&request), state.limits.request_deadline_ms);
    let reply = ask::one(&state, &caller, command, started, deadline, 0).await?;
    let Reply::Shown(found) = reply else {
        return Err(refused::reply(&reply, &state.limits));
    };
    let live = found.as_deref().and_then(ContactEntity::as_holds);
    let live = live.map_or(&[][..], |holds| &holds.live);
    let page = LegalHolds {
        items: live.iter().map(written).collect(),
    };
    let mut answer = Vec::new();
    page.write(&mut answer);
    Ok(ask::json(StatusCode::OK, answer))
}

/// What the hold is on: one of three members.
fn target(caller: &Caller, hold: &LegalHoldCreate<'_>) -> Result<HoldTarget, Failure> {
    let secret = caller.space.secret.prepared();
    match (&hold.handle, &hold.object, &hold.conversation_id) {
        (Some(handle), None, None) => Ok(HoldTarget::Customer(identity::customer(secret, handle))),
        (None, Some(object), None) => Ok(HoldTarget::Object(identity::object(secret, object))),
        (None, None, Some(id)) => Ok(HoldTarget::Conversation(identity::conversation(secret, id))),
        _ => Err(Failure::invalid(
            "a hold is on one thing: send exactly one of `handle`, `object` and `conversation_id`",
        )),
    }
}

fn shown<D: Decider>(
    state: &AppState<D>,
    status: StatusCode,
    reply: &Reply,
) -> Result<HttpResponse, Failure> {
    let Reply::Hold(hold) = reply else {
        return Err(refused::reply(reply, &state.limits));
    };
    let mut answer = Vec::with_capacity(256);
    written(hold).write(&mut answer);
    Ok(ask::json(status, answer))
}

/// A hold as the client reads it.
pub(crate) fn written(hold: &legal_hold::LegalHold) -> LegalHold {
    LegalHold {
        hold_id: hold.id.0,
        scope: hold.target.slug(),
        status: if hold.released_at.is_some() {
            "released"
        } else {
            "active"
        },
        created_at: hold.since.0,
        released_at: hold.released_at.map(|at| at.0),
    }
}
