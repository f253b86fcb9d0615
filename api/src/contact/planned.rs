//! Routes of the contract that this server does not serve yet.
//!
//! Here: they know who may call them, so that a wrong key is told so; everybody else gets 404, which
//! the SDK takes for a feature that is off. Each leaves this file when it is built.

use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_wire::problem::Code;

use crate::decider::Decider;
use crate::extract;
use crate::problem::Failure;
use crate::state::AppState;

/// Routes under the scope `coordinate`: method and path.
pub(crate) const COORDINATE: [(Method, &str); 4] = [
    (Method::POST, "/v1/handoffs"),
    (Method::GET, "/v1/handoffs/{handoff_id}"),
    (Method::POST, "/v1/handoffs/{handoff_id}/accept"),
    (Method::POST, "/v1/handoffs/{handoff_id}/outcome"),
];

/// Answers a route under the scope `coordinate`.
pub(crate) async fn coordinating<D: Decider>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    extract::coordinating(&request, &state.directory)?;
    Err(not_built())
}

fn not_built() -> Failure {
    Failure::new(
        Code::NotFound,
        "this server does not have the route yet; `/openapi.json` marks such routes",
    )
}
