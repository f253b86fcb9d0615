//! `/healthz` and `/readyz`, to `GET` and `HEAD`.
//!
//! The first says that the process answers, the second that the node can decide. Neither needs a
//! key and neither waits for a shard.

use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpResponse, web};
use interlock_wire::problem::Code;
use interlock_wire::profile::NodeStatus;

use crate::problem::Failure;
use crate::state::{AppState, Readiness};

/// `/healthz`.
pub(crate) async fn alive() -> HttpResponse {
    status("ok")
}

/// `/readyz`.
pub(crate) async fn ready<D: 'static>(
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    match (state.readiness)() {
        Readiness::Ready => Ok(status("ready")),
        Readiness::NotReady(why) => Err(Failure::new(
            Code::CoordinationUnavailable,
            format!("the node cannot decide yet: {why}"),
        )
        .retry_after(state.limits.retry_after_s)),
    }
}

fn status(word: &'static str) -> HttpResponse {
    let mut body = Vec::new();
    NodeStatus { status: word }.write(&mut body);
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/json"))
        .body(body)
}
