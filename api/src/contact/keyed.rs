//! What every route with a required `Idempotency-Key` begins and goes on with.
//!
//! Here: caller, key and body, in the order all routes refuse in; the receipt; having one command
//! decided. Not here: checks, whose key is optional.

use actix_web::{HttpRequest, web};
use interlock_domain::contact::command::{Body, Route};
use interlock_domain::contact::reply::Reply;
use serde::Serialize;

use crate::contact::identity::Keyed;
use crate::contact::{ask, command};
use crate::decider::Decider;
use crate::directory::Caller;
use crate::extract;
use crate::problem::Failure;
use crate::state::AppState;
use crate::stopwatch::Stopwatch;

/// A request that may be repeated.
pub(crate) struct Request<'r> {
    started: Stopwatch,
    key: &'r str,
    /// Who sends it.
    pub(crate) caller: Caller,
    /// Its body.
    pub(crate) body: extract::Body,
}

/// A command and what names a repeat of it.
pub(crate) struct Wanted<'a, T> {
    /// The route, as the receipt knows it.
    pub(crate) route: &'static str,
    /// The route, as the decision receipt knows it.
    pub(crate) noted: Route,
    /// What the path names, if anything.
    pub(crate) place: &'a [u8],
    /// The request as it was read.
    pub(crate) request: T,
    /// The command.
    pub(crate) body: Body,
}

impl<'r> Request<'r> {
    /// Takes what every keyed route needs from a request.
    ///
    /// # Errors
    /// The first thing that is wrong: caller, key, body.
    pub(crate) async fn open<D: Decider>(
        request: &'r HttpRequest,
        payload: web::Payload,
        state: &AppState<D>,
    ) -> Result<Self, Failure> {
        let limits = &state.limits;
        let caller = extract::coordinating(request, &state.directory)?;
        let key = extract::required_idempotency_key(request)?;
        let body = extract::body(request, payload, limits, limits.body_bytes_max).await?;
        Ok(Self {
            started: extract::started(request),
            key,
            caller,
            body,
        })
    }

    /// Has the command decided, or answers what was answered to the same request before.
    pub(crate) async fn decide<D: Decider>(
        &self,
        state: &AppState<D>,
        wanted: Wanted<'_, impl Serialize>,
    ) -> Result<Reply, Failure> {
        let Wanted {
            route,
            noted,
            place,
            request,
            body,
        } = wanted;
        let Self { caller, key, .. } = self;
        let secret = caller.space.secret.prepared();
        let receipt = Keyed { route, key }.receipt(secret, caller.key.source.id, place, &request);
        let command = command::of(caller, noted, Some(receipt), body);
        let deadline = state.limits.request_deadline_ms;
        ask::one(
            state,
            caller,
            command,
            self.started,
            deadline,
            self.body.len(),
        )
        .await
    }
}
