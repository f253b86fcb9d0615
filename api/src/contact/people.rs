//! `POST /v1/operator/suppressions`: people add to the suppression list, and lift what people added.
//!
//! Here: the entries of people stand under a source number of their own, so no source lifts them and
//! people lift no source's (§15). Not here: the rules of an entry (`command`, `domain`).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Body, Route};
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::reply::Reply;
use interlock_wire::contact::declare::{SuppressionAddedDetail, SuppressionLiftedDetail};
use interlock_wire::contact::suppressions::{PeoplesAction, PeoplesSuppression};
use interlock_wire::read;

use crate::contact::declare;
use crate::contact::keyed::{Request, Wanted};
use crate::contact::{ask, command, refused};
use crate::decider::Decider;
use crate::directory::Caller;
use crate::problem::Failure;
use crate::state::AppState;

/// Adds or lifts an entry.
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::securing(&request, payload, &state).await?;
    let asked: PeoplesSuppression<'_> = read::body(&opened.body)?;
    let wanted = Wanted {
        route: "operator/suppressions",
        noted: Route::PeoplesSuppressions,
        place: &[],
        body: body(&opened.caller, &asked)?,
        request: &asked,
    };
    let reply = opened.decide_as(&state, wanted, SourceId::PEOPLE).await?;
    let Reply::Declared(reply) = reply else {
        return Err(refused::reply(&reply, &state.limits));
    };
    let mut answer = Vec::with_capacity(96);
    declare::written(&reply).write(&mut answer);
    Ok(ask::json(StatusCode::OK, answer))
}

fn body(caller: &Caller, asked: &PeoplesSuppression<'_>) -> Result<Body, Failure> {
    let subject = Some(&asked.subject);
    match asked.action {
        PeoplesAction::Added => {
            let reason = asked.reason.clone().ok_or_else(|| {
                Failure::invalid("`reason` is missing; an entry that is added needs a declared one")
            })?;
            let detail = SuppressionAddedDetail {
                purpose: asked.purpose.clone(),
                reason,
                channel: asked.channel.clone(),
                until: asked.until,
                window: asked.window.clone(),
            };
            command::add_suppression(caller, subject, (&detail, "window"))
        }
        PeoplesAction::Lifted => {
            if asked.reason.is_some() || asked.until.is_some() || asked.window.is_some() {
                return Err(Failure::invalid(
                    "`reason`, `until` and `window` go with the action `added`; leave them out",
                ));
            }
            let detail = SuppressionLiftedDetail {
                purpose: asked.purpose.clone(),
                channel: asked.channel.clone(),
            };
            command::lift_suppression(caller, subject, &detail)
        }
    }
}
