//! `POST /v1/coordination/check`.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Direction, Route};
use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::reason::Reason;
use interlock_domain::contact::reply::{CheckReply, Reply};
use interlock_domain::machine::Undecided;
use interlock_wire::contact::check::CheckRequest;
use interlock_wire::read;

use crate::contact::identity::Keyed;
use crate::contact::{ask, command, refused, show};
use crate::decider::Decider;
use crate::extract;
use crate::problem::Failure;
use crate::signing;
use crate::state::AppState;

/// The route, as receipts know it.
pub(crate) const ROUTE: &str = "check";

/// May this agent do this now?
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let limits = &state.limits;
    let caller = extract::coordinating(&request, &state.directory)?;
    let key = extract::idempotency_key(&request)?;
    let body = extract::body(&request, payload, limits, limits.body_bytes_max).await?;
    let check: CheckRequest<'_> = read::body(&body)?;
    let route = ROUTE;
    let secret = caller.space.secret.prepared();
    let receipt =
        key.map(|key| Keyed { route, key }.receipt(secret, caller.key.source.id, &[], &check));
    let wanted = command::check(&caller, &check, (state.now)())?;
    let wanted = command::of(&caller, Route::Check, receipt, wanted);
    let deadline = limits.check_deadline_ms;
    let reply = ask::one(&state, &caller, wanted, started, deadline, body.len()).await?;
    let Reply::Check(reply) = reply else {
        return Err(refused::reply(&reply, limits));
    };
    if is_late(&reply, &caller.space.policy, &check.purpose) {
        return Err(refused::undecided(Undecided::Deadline, limits));
    }
    let mut answer = Vec::with_capacity(512);
    let token = signing::token(&caller, &check, &reply);
    show::check(&reply, &caller.space.policy, token.as_deref()).write(&mut answer);
    Ok(ask::json(StatusCode::OK, answer))
}

/// Whether a single check was not decided and its purpose fails open. The client then decides by
/// what it knows itself, which a `defer` would keep it from (§4.2, §20); in a batch the same check
/// is answered in place.
fn is_late(reply: &CheckReply, policy: &Policy, purpose: &str) -> bool {
    let undecided = reply.reasons.contains(&Reason::Unavailable);
    let rules = policy.purpose(purpose);
    let rules = rules.and_then(|id| policy.purpose_rules(id));
    undecided
        && reply.direction == Direction::Outbound
        && rules.is_some_and(|rules| !rules.fails_closed)
}
