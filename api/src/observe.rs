//! What happens around every request: its id, its time, its line in the log, and the form of errors.
//!
//! Here: the one middleware. Every error that leaves the server passes it and becomes a problem
//! document with the request's id. Logs and metrics carry route patterns, never paths or bodies.

use std::time::Duration;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage};
use interlock_wire::problem::Code;

use crate::metrics;
use crate::pace;
use crate::problem::Failure;
use crate::request_id::{HEADER, RequestId};
use crate::stopwatch::Stopwatch;

/// Runs a request and gives its answer the form every answer has. With `access_log` every request
/// gets a line, else only one that fails or is refused.
pub(crate) async fn observe<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
    access_log: bool,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let started = Stopwatch::start();
    let turn = pace::turn(&request).await;
    let id = RequestId::of(request.headers().get(HEADER));
    request.extensions_mut().insert(started);
    let mut response = as_problem(next.call(request).await?, &id);
    if let Ok(value) = id.as_str().try_into() {
        response.headers_mut().insert(HEADER, value);
    }
    let status = response.status();
    let route = response.request().match_pattern();
    let route = route.as_deref().unwrap_or("none");
    let took = started.elapsed();
    metrics::answered(route, status, took);
    write_line(&id, route, status, took, access_log);
    drop(turn);
    Ok(response.map_body(|_, body| pace::in_pieces(body)))
}

/// The request's line in the log: one, at the level of what came of it.
fn write_line(id: &RequestId, route: &str, status: StatusCode, took: Duration, access_log: bool) {
    /// One line; a macro, since the level of a line is a constant.
    macro_rules! line {
        ($level:ident, $said:literal) => {
            tracing::$level!(
                request_id = id.as_str(),
                route,
                status = status.as_u16(),
                ms = milliseconds(took),
                $said
            )
        };
    }
    if status.is_server_error() {
        line!(warn, "failed");
    } else if access_log {
        line!(info, "answered");
    } else if status.is_client_error() {
        line!(debug, "refused");
    }
}

/// Milliseconds to three digits.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
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
