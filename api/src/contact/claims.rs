//! `POST /v1/coordination/claims` and `/claims/{claim_id}/release`.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::Route;
use interlock_domain::contact::reply::{ClaimReply, Reply};
use interlock_domain::ids::Id;
use interlock_wire::contact::claims::{ClaimRelease, ClaimRequest, OwnershipClaim};
use interlock_wire::read;
use interlock_wire::value::Uuid;

use crate::contact::keyed::{Request, Wanted};
use crate::contact::{ask, ownership, refused};
use crate::decider::Decider;
use crate::problem::Failure;
use crate::state::AppState;

/// Takes a customer, an object or a task, or reports who has one.
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::open(&request, payload, &state).await?;
    let claim: ClaimRequest<'_> = read::body(&opened.body)?;
    let id = ownership::new_id(&state)?;
    let wanted = Wanted {
        route: "claims",
        noted: Route::Claims,
        place: &[],
        body: ownership::claim(&opened.caller, &claim, id)?,
        request: &claim,
    };
    shown(
        &state,
        StatusCode::CREATED,
        &opened.decide(&state, wanted).await?,
    )
}

/// Gives a claim or a lock back.
pub(crate) async fn release<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
    path: web::Path<String>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::open(&request, payload, &state).await?;
    let id = refused::in_path(Uuid::parse(&path), &state.limits)?;
    let release: ClaimRelease = read::body(&opened.body)?;
    let wanted = Wanted {
        route: "release",
        noted: Route::Release,
        place: &id.0,
        body: ownership::release(Id(id.0), release.epoch.0),
        request: &release,
    };
    shown(
        &state,
        StatusCode::OK,
        &opened.decide(&state, wanted).await?,
    )
}

fn shown<D: Decider>(
    state: &AppState<D>,
    status: StatusCode,
    reply: &Reply,
) -> Result<HttpResponse, Failure> {
    let Reply::Claim(claim) = reply else {
        return Err(refused::reply(reply, &state.limits));
    };
    let mut answer = Vec::with_capacity(256);
    written(claim).write(&mut answer);
    Ok(ask::json(status, answer))
}

/// A claim as the client reads it.
pub(crate) fn written(claim: &ClaimReply) -> OwnershipClaim<'_> {
    OwnershipClaim {
        claim_id: claim.claim_id.0,
        epoch: claim.epoch,
        holder: &claim.holder,
        kind: claim.kind.slug(),
        level: &claim.level,
        valid_until: claim.valid_until.0,
    }
}
