//! `POST /v1/coordination/admissions` and `/admissions/{admission_id}/settle` (§7).
//!
//! Here: which of `subject` and `object` an operation's scope asks for. Not here: what units there
//! are (`domain`).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{
    AdmissionPlace, AdmissionSettlement, Admit, Body, Route, SettleAdmission,
};
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::name::OperationId;
use interlock_domain::contact::paid::space_budget_hash;
use interlock_domain::contact::policy::PaidScope;
use interlock_domain::contact::reply::{AdmissionReply, Member, Reply};
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_wire::contact::admissions::{
    Admission, AdmissionOutcome, AdmissionRequest, AdmissionSettle,
};
use interlock_wire::read;
use interlock_wire::value::Uuid;

use crate::contact::keyed::{Request, Wanted};
use crate::contact::{ask, identity, ownership, refused};
use crate::decider::Decider;
use crate::directory::Caller;
use crate::problem::Failure;
use crate::state::AppState;

/// Admits a call of a paid operation.
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::open(&request, payload, &state).await?;
    let asked: AdmissionRequest<'_> = read::body(&opened.body)?;
    let id = ownership::new_id(&state)?;
    let wanted = Wanted {
        route: "admissions",
        noted: Route::Admissions,
        place: &[],
        body: admit(&opened.caller, &asked, id)?,
        request: &asked,
    };
    shown(
        &state,
        StatusCode::CREATED,
        &opened.decide(&state, wanted).await?,
    )
}

/// Settles an admission.
pub(crate) async fn settle<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
    path: web::Path<String>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::open(&request, payload, &state).await?;
    let id = refused::in_path(Uuid::parse(&path), &state.limits)?;
    let settle: AdmissionSettle = read::body(&opened.body)?;
    let wanted = Wanted {
        route: "admissions.settle",
        noted: Route::SettleAdmission,
        place: &id.0,
        body: Body::SettleAdmission(SettleAdmission {
            admission: Id(id.0),
            settlement: settlement(&settle)?,
            place: AdmissionPlace::ToFind,
        }),
        request: &settle,
    };
    shown(
        &state,
        StatusCode::OK,
        &opened.decide(&state, wanted).await?,
    )
}

fn admit(caller: &Caller, asked: &AdmissionRequest<'_>, new_id: Id) -> Result<Body, Failure> {
    let budget = caller.space.policy.paid_budget(&asked.operation);
    let budget = budget.ok_or_else(|| refused::undeclared(Member::Operation))?;
    Ok(Body::Admit(Admit {
        operation: Text::from(&*asked.operation),
        target: target(caller, asked, budget.scope)?,
        units: asked.cost_units.map(|units| units.0),
        new_id,
    }))
}

/// What the operation's cap is for.
fn target(
    caller: &Caller,
    asked: &AdmissionRequest<'_>,
    scope: PaidScope,
) -> Result<Target, Failure> {
    let secret = caller.space.secret.prepared();
    match (scope, &asked.subject, &asked.object) {
        (PaidScope::Subject, Some(handle), None) => {
            Ok(Target::Customer(identity::customer(secret, handle)))
        }
        (PaidScope::Object, None, Some(object)) => {
            Ok(Target::Object(identity::object(secret, object)))
        }
        (PaidScope::Space, None, None) => {
            let operation = OperationId::of(&asked.operation);
            Ok(Target::Space(space_budget_hash(operation)))
        }
        (PaidScope::Subject, _, _) => Err(Failure::invalid(
            "the operation's budget is each customer's: send `subject` and no `object`",
        )),
        (PaidScope::Object, _, _) => Err(Failure::invalid(
            "the operation's budget is each object's: send `object` and no `subject`",
        )),
        (PaidScope::Space, _, _) => Err(Failure::invalid(
            "the operation's budget is the space's: send neither `subject` nor `object`",
        )),
    }
}

fn settlement(settle: &AdmissionSettle) -> Result<AdmissionSettlement, Failure> {
    match (settle.state, settle.cost_units) {
        (AdmissionOutcome::Done, Some(cost)) => Ok(AdmissionSettlement::Done { cost: cost.0 }),
        (AdmissionOutcome::Failed, None) => Ok(AdmissionSettlement::Failed),
        (AdmissionOutcome::Skipped, None) => Ok(AdmissionSettlement::Skipped),
        (AdmissionOutcome::Done, None) => Err(Failure::invalid(
            "`cost_units` is missing: with `done` send what the call really cost",
        )),
        (AdmissionOutcome::Failed | AdmissionOutcome::Skipped, Some(_)) => Err(Failure::invalid(
            "`cost_units` goes with `done` only; leave it out",
        )),
    }
}

fn shown<D: Decider>(
    state: &AppState<D>,
    status: StatusCode,
    reply: &Reply,
) -> Result<HttpResponse, Failure> {
    let Reply::Admission(admission) = reply else {
        return Err(refused::reply(reply, &state.limits));
    };
    let mut answer = Vec::with_capacity(256);
    written(admission).write(&mut answer);
    Ok(ask::json(status, answer))
}

/// An admission as the client reads it.
pub(crate) fn written(admission: &AdmissionReply) -> Admission<'_> {
    Admission {
        admission_id: admission.admission_id.0,
        operation: &admission.operation,
        state: admission.state.slug(),
        units: admission.units,
        expires_at: admission.expires_at.0,
        remaining: admission.remaining,
    }
}
