//! Having a command decided.
//!
//! Here: what all routes with one command share, and reads before it. Not here: batches, whose items are answered in
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
    let commands = vec![command];
    let replies = all(state, caller, commands, started, deadline_ms, bytes).await?;
    replies.into_iter().next().ok_or_else(refused::broken)
}

/// Has commands decided that are nothing without each other: the first that is not decided is the
/// failure of all. None are no question.
pub(crate) async fn all<D: Decider>(
    state: &AppState<D>,
    caller: &Caller,
    commands: Vec<Command>,
    started: Stopwatch,
    deadline_ms: u64,
    bytes: usize,
) -> Result<Vec<Reply>, Failure> {
    if commands.is_empty() {
        return Ok(Vec::new());
    }
    let asked = Asked {
        commands,
        policy: caller.space.policy.clone(),
        deadline: started.left(deadline_ms),
        bytes,
    };
    let answers = state.decider.submit(asked).await?;
    let decided = |answer| match answer {
        Answer::Decided(reply) | Answer::Instead(reply) => Ok(reply),
        Answer::NotDecided(why) => Err(refused::undecided(why, &state.limits)),
        Answer::Broken => Err(refused::broken()),
        Answer::Unavailable => Err(refused::unavailable(&state.limits)),
        Answer::Busy => Err(refused::busy(&state.limits)),
    };
    answers.into_iter().map(decided).collect()
}

/// An answer.
pub(crate) fn json(status: StatusCode, body: Vec<u8>) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((CONTENT_TYPE, "application/json"))
        .body(body)
}
