//! What happens around every request: its id, its time, its line in the log, and the form of errors.
//!
//! Here: the one middleware. Every error that leaves the server passes it and becomes a problem
//! document with the request's id. Logs and metrics carry route patterns, never paths or bodies.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage};
use interlock_wire::problem::Code;

use crate::metrics;
use crate::problem::Failure;
use crate::request_id::{HEADER, RequestId};
use crate::stopwatch::Stopwatch;

/// Runs a request and gives its answer the form every answer has.
pub(crate) async fn observe<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let started = Stopwatch::start();
    let id = RequestId::of(request.headers().get(HEADER));
    request.extensions_mut().insert(started);
    let mut response = as_problem(next.call(request).await?, &id);
    if let Ok(value) = id.as_str().try_into() {
        response.headers_mut().insert(HEADER, value);
    }
    let status = response.status();
    let route = response.request().match_pattern();
    let route = route.as_deref().unwrap_or("none");
    metrics::answered(route, status, started.elapsed());
    if status.is_server_error() {
        tracing::warn!(
            request_id = id.as_str(),
            route,
            status = status.as_u16(),
            "failed"
        );
    } else if status.is_client_error() {
        tracing::debug!(
            request_id = id.as_str(),
            route,
            status = status.as_u16(),
            "refused"
        );
    }
    Ok(response)
}

/// The response, or the problem document of the error it stands for.
fn as_problem<B: MessageBody + 'static>(
    response: ServiceResponse<B>,
    id: &RequestId,
) -> ServiceResponse<BoxBody> {
    let failure = match response.response().error() {
        None => return response.map_into_boxed_body(),
        Some(error) => match error.as_error::<Failure>() {
            Some(failure) => failure.clone(),
            None => foreign(error.as_response_error().status_code()),
        },
    };
    response.into_response(failure.respond(id.as_str()))
}

/// An error that is not ours: the framework's. Its text may repeat the request, so it is dropped.
fn foreign(status: StatusCode) -> Failure {
    if status.is_server_error() {
        Failure::new(Code::Internal, "the server failed; report the request id")
    } else {
        Failure::new(
            Code::NotReadable,
            "the request cannot be read; check its form",
        )
    }
}
