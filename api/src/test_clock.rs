//! `GET` and `PUT /test/clock`: the clock of a test.
//!
//! The routes exist only when the server was started with a test clock. They need no key, as such a
//! server is nobody's production.

use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::time::Timestamp;
use interlock_wire::clock::SetClock;
use interlock_wire::json::Object;
use interlock_wire::read;

use crate::extract;
use crate::problem::Failure;
use crate::state::{AppState, BackInTime, TestClock};

/// `GET /test/clock`.
pub(crate) async fn get(clock: web::Data<dyn TestClock>) -> HttpResponse {
    shown(clock.now())
}

/// `PUT /test/clock` with `{"now": …}`.
pub(crate) async fn put<D: 'static>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
    clock: web::Data<dyn TestClock>,
) -> Result<HttpResponse, Failure> {
    let bytes_max = state.limits.body_bytes_max;
    let body = extract::body(&request, payload, &state.limits, bytes_max).await?;
    let set: SetClock = read::body(&body)?;
    match clock.set(Timestamp(set.now.0)).await {
        Ok(()) => Ok(shown(clock.now())),
        Err(BackInTime) => Err(Failure::invalid(
            "`now` is before the time the clock shows; it only goes forward",
        )),
    }
}

fn shown(now: Timestamp) -> HttpResponse {
    let mut body = Vec::new();
    let mut object = Object::open(&mut body);
    object.instant("now", now.0);
    object.close();
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/json"))
        .body(body)
}
