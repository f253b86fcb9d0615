//! `POST /v1/coordination/declare`.
//!
//! Here: the kinds this server takes. The contract has twelve; one that is not taken yet is refused
//! by its name.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Body, Route};
use interlock_domain::contact::reply::Reply;
use interlock_wire::contact::declare::{
    ContactMadeDetail, DeclareKind, DeclareRequest, DeclareResult, EffectDetail,
    SuppressionAddedDetail, SuppressionLiftedDetail,
};
use interlock_wire::read::{self, Read};
use serde::Serialize;

use crate::contact::identity::Keyed;
use crate::contact::{ask, command, refused};
use crate::decider::Decider;
use crate::directory::Caller;
use crate::extract;
use crate::problem::Failure;
use crate::state::AppState;

/// Something happened.
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let limits = &state.limits;
    let caller = extract::coordinating(&request, &state.directory)?;
    let key = extract::required_idempotency_key(&request)?;
    let body = extract::body(&request, payload, limits, limits.body_bytes_max).await?;
    let declared: DeclareRequest<'_> = read::body(&body)?;
    let (detail, wanted) = detail(&caller, &declared)?;
    let secret = caller.space.secret.prepared();
    let route = "declare";
    let receipt = Keyed { route, key }.receipt(
        secret,
        caller.key.source.id,
        &[],
        &(
            declared.kind,
            &declared.agent,
            &declared.subject,
            &declared.object,
            detail,
        ),
    );
    let wanted = command::of(&caller, Route::Declare, Some(receipt), wanted);
    let deadline = limits.request_deadline_ms;
    let reply = ask::one(&state, &caller, wanted, started, deadline, body.len()).await?;
    let Reply::Declared(reply) = reply else {
        return Err(refused::reply(&reply, limits));
    };
    let result = DeclareResult {
        accepted: reply.accepted,
        decision_id: reply.decision_id.map(|id| id.0),
    };
    let mut answer = Vec::with_capacity(96);
    result.write(&mut answer);
    Ok(ask::json(StatusCode::OK, answer))
}

/// The detail of a declaration, whichever its kind.
#[derive(Serialize)]
#[serde(untagged)]
enum Detail<'a> {
    ContactMade(ContactMadeDetail<'a>),
    Effect(EffectDetail<'a>),
    SuppressionAdded(SuppressionAddedDetail<'a>),
    SuppressionLifted(SuppressionLiftedDetail<'a>),
}

/// Reads the detail by the declaration's kind.
fn detail<'a>(
    caller: &Caller,
    declared: &DeclareRequest<'a>,
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
            let wanted = command::add_suppression(caller, subject, &detail)?;
            (Detail::SuppressionAdded(detail), wanted)
        }
        DeclareKind::SuppressionLifted => {
            let detail = read_detail(declared)?;
            let wanted = command::lift_suppression(caller, subject, &detail)?;
            (Detail::SuppressionLifted(detail), wanted)
        }
        DeclareKind::CaseOpened
        | DeclareKind::CaseClosed
        | DeclareKind::Lease
        | DeclareKind::TaskLock
        | DeclareKind::CommitmentMade
        | DeclareKind::CommitmentWithdrawn
        | DeclareKind::CommitmentDecided
        | DeclareKind::Handoff => return Err(not_taken(declared.kind)),
    })
}

fn read_detail<'a, T: Read<'a>>(declared: &DeclareRequest<'a>) -> Result<T, Failure> {
    Ok(read::text_at(declared.detail.0.get(), Some("detail"))?)
}

fn not_taken(kind: DeclareKind) -> Failure {
    let kind = kind.word();
    Failure::invalid(format!(
        "`kind` is `{kind}`, which this server does not take yet; send `contact.made`, `effect`, \
         `suppression.added` or `suppression.lifted`"
    ))
}
