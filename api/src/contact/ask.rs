//! Having a command decided.
//!
//! Here: what all routes with one command share. Not here: batches, whose items are answered in
//! place.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use interlock_domain::contact::command::Command;
use interlock_domain::contact::reply::Reply;

use crate::contact::refused;
use crate::decider::{Answer, Asked, Decider};
use crate::directory::Caller;
use crate::problem::Failure;
use crate::state::AppState;
use crate::stopwatch::Stopwatch;

/// Has one command decided. `started` is when the request came in, `bytes` the size of its body.
pub(crate) async fn one<D: Decider>(
    state: &AppState<D>,
    caller: &Caller,
    command: Command,
    started: Stopwatch,
    deadline_ms: u64,
    bytes: usize,
) -> Result<Reply, Failure> {
    let asked = Asked {
        commands: vec![command],
        policy: caller.space.policy.clone(),
        deadline: started.left(deadline_ms),
        bytes,
    };
    let answer = state.decider.submit(asked).await?.pop();
    match answer.unwrap_or(Answer::Broken) {
        Answer::Decided(reply) => Ok(reply),
        Answer::NotDecided(why) => Err(refused::undecided(why, &state.limits)),
        Answer::Broken => Err(refused::broken()),
        Answer::Unavailable => Err(refused::unavailable(&state.limits)),
        Answer::Busy => Err(refused::busy(&state.limits)),
    }
}

/// An answer.
pub(crate) fn json(status: StatusCode, body: Vec<u8>) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((CONTENT_TYPE, "application/json"))
        .body(body)
}
