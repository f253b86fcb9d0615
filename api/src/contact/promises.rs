//! `POST /v1/operator/promises`: what the company owes a customer (§11).
//!
//! Here: who may tell, and the command. Not here: how many a customer may have (`domain`).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Body, Route, TurnPromise};
use interlock_domain::contact::promise::{self, PromiseState};
use interlock_domain::contact::reply::Reply;
use interlock_domain::contact::text::Text;
use interlock_domain::time::Timestamp;
use interlock_wire::contact::promises::{Promise, PromiseState as WireState, PromiseTold};
use interlock_wire::read;

use crate::contact::keyed::{Request, Wanted};
use crate::contact::{ask, identity, refused};
use crate::decider::Decider;
use crate::directory::{Caller, Role};
use crate::extract;
use crate::problem::Failure;
use crate::state::AppState;

/// Takes a word about a promise.
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::operating(&request, &state.directory, &[Role::Integration])?;
    let opened = Request::of(caller, &request, payload, &state).await?;
    let told: PromiseTold<'_> = read::body(&opened.body)?;
    let wanted = Wanted {
        route: "promises",
        noted: Route::Promises,
        place: &[],
        body: turned(&opened.caller, &told),
        request: &told,
    };
    let reply = opened.decide(&state, wanted).await?;
    let Reply::Declared(_) = reply else {
        return Err(refused::reply(&reply, &state.limits));
    };
    let mut answer = Vec::with_capacity(128);
    let promise = Promise {
        promise_id: &told.promise_id,
        owner: &told.owner,
        due: told.due.map(|due| due.0),
        state: told.state,
    };
    promise.write(&mut answer);
    Ok(ask::json(StatusCode::OK, answer))
}

fn turned(caller: &Caller, told: &PromiseTold<'_>) -> Body {
    let secret = caller.space.secret.prepared();
    Body::TurnPromise(TurnPromise {
        customer: identity::customer(secret, &told.subject),
        promise: promise::Promise {
            id: Text::from(&*told.promise_id),
            owner: Text::from(&*told.owner),
            due: told.due.map(|due| Timestamp(due.0)),
        },
        state: match told.state {
            WireState::Open => PromiseState::Open,
            WireState::Kept => PromiseState::Kept,
            WireState::Withdrawn => PromiseState::Withdrawn,
        },
    })
}
