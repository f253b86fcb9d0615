//! `POST /v1/coordination/declare`.
//!
//! Here: the twelve kinds. Not here: what a claim needs (`ownership`), an offer (`offers`) or a word
//! about a handoff (`handoffs`).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::claim::ClaimKind;
use interlock_domain::contact::command::{Body, Route};
use interlock_domain::contact::reply::{DeclareReply, Reply};
use interlock_domain::ids::Id;
use interlock_wire::contact::declare::{
    CommitmentDecidedDetail, CommitmentMadeDetail, CommitmentWithdrawnDetail, ContactMadeDetail,
    DeclareKind, DeclareRequest, DeclareResult, EffectDetail, HandoffDetail, LeaseDetail,
    ReleaseDetail, SuppressionAddedDetail, SuppressionLiftedDetail, TaskLockDetail,
};
use interlock_wire::read::{self, Read};
use serde::Serialize;

use crate::contact::keyed::{Request, Wanted};
use crate::contact::{ask, command, handoffs, offers, ownership, refused};
use crate::decider::Decider;
use crate::directory::Caller;
use crate::problem::Failure;
use crate::state::AppState;

/// The route, as receipts know it.
pub(crate) const ROUTE: &str = "declare";

/// Something happened.
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::open(&request, payload, &state).await?;
    let declared: DeclareRequest<'_> = read::body(&opened.body)?;
    let id = ownership::new_id(&state)?;
    let (detail, body) = detail(&opened.caller, &declared, id)?;
    let wanted = Wanted {
        route: ROUTE,
        noted: Route::Declare,
        place: &[],
        request: canonical(&declared, &detail),
        body,
    };
    let reply = opened.decide(&state, wanted).await?;
    let Reply::Declared(reply) = reply else {
        return Err(refused::reply(&reply, &state.limits));
    };
    let mut answer = Vec::with_capacity(96);
    written(&reply).write(&mut answer);
    Ok(ask::json(StatusCode::OK, answer))
}

/// What makes two declarations the same.
pub(crate) fn canonical<'r>(
    declared: &'r DeclareRequest<'_>,
    detail: &'r Detail<'_>,
) -> impl Serialize + 'r {
    let DeclareRequest {
        kind,
        agent,
        subject,
        object,
        detail: _,
    } = declared;
    (kind, agent, subject, object, detail)
}

/// A declaration's result as the client reads it.
pub(crate) fn written(reply: &DeclareReply) -> DeclareResult {
    DeclareResult {
        accepted: reply.accepted,
        decision_id: reply.decision_id.map(|id| id.0),
        claim_id: reply.claim.map(|claim| claim.id.0),
        epoch: reply.claim.map(|claim| claim.epoch),
    }
}

/// The detail of a declaration, whichever its kind.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Detail<'a> {
    ContactMade(ContactMadeDetail<'a>),
    Effect(EffectDetail<'a>),
    SuppressionAdded(SuppressionAddedDetail<'a>),
    SuppressionLifted(SuppressionLiftedDetail<'a>),
    Lease(LeaseDetail<'a>),
    Release(ReleaseDetail),
    TaskLock(TaskLockDetail<'a>),
    Made(CommitmentMadeDetail<'a>),
    Withdrawn(CommitmentWithdrawnDetail<'a>),
    Decided(CommitmentDecidedDetail<'a>),
    Handoff(HandoffDetail<'a>),
}

/// Reads the detail by the declaration's kind.
pub(crate) fn detail<'a>(
    caller: &Caller,
    declared: &DeclareRequest<'a>,
    new_id: Id,
) -> Result<(Detail<'a>, Body), Failure> {
    let subject = declared.subject.as_ref();
    Ok(match declared.kind {
        DeclareKind::ContactMade => {
            let detail = read_detail(declared)?;
            let wanted = command::contact_made(caller, subject, &detail)?;
            (Detail::ContactMade(detail), wanted)
        }
        DeclareKind::Effect => {
            let detail = read_detail(declared)?;
            let wanted = command::declare_effect(caller, &detail);
            (Detail::Effect(detail), wanted)
        }
        DeclareKind::SuppressionAdded => {
            let detail = read_detail(declared)?;
            let wanted = command::add_suppression(caller, subject, (&detail, "detail.window"))?;
            (Detail::SuppressionAdded(detail), wanted)
        }
        DeclareKind::SuppressionLifted => {
            let detail = read_detail(declared)?;
            let wanted = command::lift_suppression(caller, subject, &detail)?;
            (Detail::SuppressionLifted(detail), wanted)
        }
        kind @ (DeclareKind::CaseOpened | DeclareKind::Lease) => {
            let detail = read_detail(declared)?;
            let kind = if kind == DeclareKind::CaseOpened {
                ClaimKind::Case
            } else {
                ClaimKind::Owner
            };
            let wanted = ownership::declared(caller, declared, (kind, &detail, new_id))?;
            (Detail::Lease(detail), wanted)
        }
        DeclareKind::CaseClosed => {
            let detail = read_detail(declared)?;
            let wanted = ownership::closed(&detail);
            (Detail::Release(detail), wanted)
        }
        DeclareKind::TaskLock => {
            let detail = read_detail(declared)?;
            let wanted = ownership::declared_lock(caller, declared, &detail, new_id)?;
            (Detail::TaskLock(detail), wanted)
        }
        DeclareKind::CommitmentMade => {
            let detail = read_detail(declared)?;
            let wanted = offers::made(caller, subject, &detail)?;
            (Detail::Made(detail), wanted)
        }
        DeclareKind::CommitmentWithdrawn => {
            let detail = read_detail(declared)?;
            let wanted = offers::withdrawn(caller, subject, &detail);
            (Detail::Withdrawn(detail), wanted)
        }
        DeclareKind::CommitmentDecided => {
            let detail = read_detail(declared)?;
            let wanted = offers::decided(caller, subject, &detail);
            (Detail::Decided(detail), wanted)
        }
        DeclareKind::Handoff => {
            let detail = read_detail(declared)?;
            let wanted = handoffs::declared(caller, subject, &detail);
            (Detail::Handoff(detail), wanted)
        }
    })
}

fn read_detail<'a, T: Read<'a>>(declared: &DeclareRequest<'a>) -> Result<T, Failure> {
    Ok(read::text_at(declared.detail.0.get(), Some("detail"))?)
}
