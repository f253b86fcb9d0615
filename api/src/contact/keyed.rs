//! What every route with a required `Idempotency-Key` begins and goes on with.
//!
//! Here: caller, key and body, in the order all routes refuse in; the receipt; having one command
//! decided. Not here: checks, whose key is optional.

use actix_web::{HttpRequest, web};
use interlock_domain::contact::command::{Body, Command, Route};
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::reply::Reply;
use serde::Serialize;

use crate::contact::identity::Keyed;
use crate::contact::{ask, command};
use crate::decider::Decider;
use crate::directory::{Caller, Role};
use crate::extract;
use crate::problem::Failure;
use crate::state::AppState;
use crate::stopwatch::Stopwatch;

/// A request that may be repeated.
pub(crate) struct Request<'r> {
    /// Runs since it came in.
    pub(crate) started: Stopwatch,
    /// The Idempotency-Key; `None` only where the route does without one.
    key: Option<&'r str>,
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
        let caller = extract::coordinating(request, &state.directory)?;
        Self::of(caller, request, payload, state).await
    }

    /// The same for a route of people and systems of record, open to any of these roles.
    ///
    /// # Errors
    /// The first thing that is wrong: caller, key, body.
    pub(crate) async fn open_in_role<D: Decider>(
        request: &'r HttpRequest,
        payload: web::Payload,
        state: &AppState<D>,
        roles: &[Role],
    ) -> Result<Self, Failure> {
        let caller = extract::in_role(request, &state.directory, roles)?;
        Self::of(caller, request, payload, state).await
    }

    /// The same for a caller who is known already.
    ///
    /// # Errors
    /// The first thing that is wrong: key, body.
    pub(crate) async fn of<D: Decider>(
        caller: Caller,
        request: &'r HttpRequest,
        payload: web::Payload,
        state: &AppState<D>,
    ) -> Result<Self, Failure> {
        let key = extract::required_idempotency_key(request)?;
        Self::read(request, payload, state, (caller, Some(key))).await
    }

    /// The same for who erases and holds; a repeat of what is the same again needs no key.
    ///
    /// # Errors
    /// The first thing that is wrong: caller, key, body.
    pub(crate) async fn governing<D: Decider>(
        request: &'r HttpRequest,
        payload: web::Payload,
        state: &AppState<D>,
        needs_key: bool,
    ) -> Result<Self, Failure> {
        let caller = extract::governing(request, &state.directory)?;
        let key = if needs_key {
            Some(extract::required_idempotency_key(request)?)
        } else {
            extract::idempotency_key(request)?
        };
        Self::read(request, payload, state, (caller, key)).await
    }

    /// The same for people who add to the suppression list.
    ///
    /// # Errors
    /// The first thing that is wrong: caller, key, body.
    pub(crate) async fn securing<D: Decider>(
        request: &'r HttpRequest,
        payload: web::Payload,
        state: &AppState<D>,
    ) -> Result<Self, Failure> {
        let caller = extract::securing(request, &state.directory)?;
        let key = extract::required_idempotency_key(request)?;
        Self::read(request, payload, state, (caller, Some(key))).await
    }

    async fn read<D: Decider>(
        request: &HttpRequest,
        payload: web::Payload,
        state: &AppState<D>,
        (caller, key): (Caller, Option<&'r str>),
    ) -> Result<Self, Failure> {
        let limits = &state.limits;
        let body = extract::body(request, payload, limits, limits.body_bytes_max).await?;
        Ok(Self {
            started: extract::started(request),
            key,
            caller,
            body,
        })
    }

    /// Reads what a command is made from. It leaves nothing behind.
    pub(crate) async fn look<D: Decider>(
        &self,
        state: &AppState<D>,
        noted: Route,
        body: Body,
    ) -> Result<Reply, Failure> {
        let command = command::of(&self.caller, noted, None, body);
        self.ask(state, command).await
    }

    /// Has reads decided that leave no receipt, in order, within the request's deadline.
    pub(crate) async fn look_all<D: Decider>(
        &self,
        state: &AppState<D>,
        noted: Route,
        bodies: impl IntoIterator<Item = Body>,
    ) -> Result<Vec<Reply>, Failure> {
        let of = |body| command::of(&self.caller, noted, None, body);
        let commands = bodies.into_iter().map(of).collect();
        let deadline = state.limits.request_deadline_ms;
        ask::all(
            state,
            &self.caller,
            commands,
            self.started,
            deadline,
            self.body.len(),
        )
        .await
    }

    /// Has the command decided, or answers what was answered to the same request before.
    pub(crate) async fn decide<D: Decider>(
        &self,
        state: &AppState<D>,
        wanted: Wanted<'_, impl Serialize>,
    ) -> Result<Reply, Failure> {
        let source = self.caller.key.source.id;
        self.decide_as(state, wanted, source).await
    }

    /// The same for whom the caller speaks.
    pub(crate) async fn decide_as<D: Decider>(
        &self,
        state: &AppState<D>,
        wanted: Wanted<'_, impl Serialize>,
        by: SourceId,
    ) -> Result<Reply, Failure> {
        let Wanted {
            route,
            noted,
            place,
            request,
            body,
        } = wanted;
        let caller = &self.caller;
        let secret = caller.space.secret.prepared();
        let source = caller.key.source.id;
        let receipt = self
            .key
            .map(|key| Keyed { route, key }.receipt(secret, source, place, &request));
        let command = Command {
            source: by,
            ..command::of(caller, noted, receipt, body)
        };
        self.ask(state, command).await
    }

    async fn ask<D: Decider>(
        &self,
        state: &AppState<D>,
        command: Command,
    ) -> Result<Reply, Failure> {
        let deadline = state.limits.request_deadline_ms;
        ask::one(
            state,
            &self.caller,
            command,
            self.started,
            deadline,
            self.body.len(),
        )
        .await
    }
}
