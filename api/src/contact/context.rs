//! `POST /v1/context`: the advice block (§18).
//!
//! Here: the read of what is known of a customer or an object. The rest of the answer is an empty
//! pack: the memory that fills it is not a coordinator's.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Advise, Body, Route};
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::reply::{AdviceReply, Reply};
use interlock_wire::contact::advice::{ContextRequest, ContextResponse, CoordinationBlock};

use crate::contact::{ask, command, identity, refused, show};
use crate::decider::Decider;
use crate::directory::Caller;
use crate::extract;
use crate::problem::Failure;
use crate::state::AppState;

/// Reads what a turn should know.
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let limits = &state.limits;
    let caller = extract::reading(&request, &state.directory)?;
    let body = extract::body(&request, payload, limits, limits.body_bytes_max).await?;
    let read = ContextRequest::read(&body)?;
    let Some(target) = target(&caller, &read).filter(|_| read.coordination) else {
        return Ok(answer(&ContextResponse::default()));
    };
    extract::has_coordination(&caller)?;
    let wanted = Body::Advise(Advise { target });
    let wanted = command::of(&caller, Route::Context, None, wanted);
    let deadline = limits.request_deadline_ms;
    let reply = ask::one(&state, &caller, wanted, started, deadline, body.len()).await?;
    let Reply::Advice(advice) = reply else {
        return Err(refused::reply(&reply, limits));
    };
    Ok(answer(&ContextResponse {
        coordination: Some(block(&advice, &caller.space.policy)),
    }))
}

fn target(caller: &Caller, read: &ContextRequest<'_>) -> Option<Target> {
    let secret = caller.space.secret.prepared();
    let subject = read
        .subject
        .as_ref()
        .map(|handle| identity::customer(secret, handle));
    let object = read
        .object
        .as_ref()
        .map(|object| identity::object(secret, object));
    subject.map(Target::Customer).or(object.map(Target::Object))
}

fn block<'a>(advice: &'a AdviceReply, policy: &'a Policy) -> CoordinationBlock<'a> {
    let name = |purpose| policy.suppression_purpose_name(purpose);
    let budgets = advice.budgets.iter();
    let suppressions = advice.suppressions.iter();
    CoordinationBlock {
        owner: advice.owner.as_ref().map(show::owner),
        suppressions: suppressions.filter_map(|purpose| name(*purpose)).collect(),
        contact_budget: budgets
            .filter_map(|view| Some((name(view.purpose)?, show::budget(view))))
            .collect(),
        commitments_active: show::commitments(&advice.commitments),
        promises_open: show::promises(&advice.promises),
    }
}

fn answer(response: &ContextResponse<'_>) -> HttpResponse {
    let mut body = Vec::with_capacity(512);
    response.write(&mut body);
    ask::json(StatusCode::OK, body)
}
