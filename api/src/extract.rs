//! What a handler takes from a request: who sends it, its Idempotency-Key, its body.
//!
//! Here: the order of refusals that all routes share (401, 403, 404 feature off, 429, then the
//! request itself); in `extract/`, the body with every bound on it. Not here: what a body means.
//! Nothing a client sends gets past here unbounded.

mod bodies;

use actix_web::http::header::{AUTHORIZATION, HeaderName};
use actix_web::{HttpMessage, HttpRequest, web};
use interlock_wire::problem::Code;

use crate::directory::{Caller, Directory, Role, Scope};
use crate::lines::Lines;
use crate::problem::Failure;
use crate::rate::Rates;
use crate::stopwatch::Stopwatch;

pub use self::bodies::{Body, batch, body};

/// The header of a request that may be repeated.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Most characters of an Idempotency-Key.
pub const IDEMPOTENCY_KEY_MAX: usize = 256;
/// Most characters of a key's text; a longer one is not hashed.
const BEARER_MAX: usize = 1_024;

/// When the request came in.
#[must_use]
pub fn started(request: &HttpRequest) -> Stopwatch {
    let started = request.extensions().get::<Stopwatch>().copied();
    started.unwrap_or_else(Stopwatch::start)
}

/// Who sends the request.
///
/// # Errors
/// 401 when nobody known does.
pub fn caller(request: &HttpRequest, directory: &Directory) -> Result<Caller, Failure> {
    let mut sent = request.headers().get_all(AUTHORIZATION);
    let header = sent.next();
    if sent.next().is_some() {
        return Err(Failure::new(
            Code::Unauthenticated,
            "the `Authorization` header must be sent once; which of several is meant is not guessed",
        ));
    }
    let Some(bearer) = header.and_then(|value| bearer(value.as_bytes())) else {
        return Err(Failure::new(
            Code::Unauthenticated,
            "the `Authorization` header must be `Bearer` and a key",
        ));
    };
    directory.authenticate(bearer).ok_or_else(|| {
        Failure::new(
            Code::Unauthenticated,
            "the key is not known or was turned off; use another",
        )
    })
}

/// Who sends a request to a coordination route. It counts one command of the key's rate.
///
/// # Errors
/// 401, 403, 404 or 429, in this order.
pub fn coordinating(request: &HttpRequest, directory: &Directory) -> Result<Caller, Failure> {
    let caller = permitted(request, directory)?;
    take(request, &caller, 1)?;
    Ok(caller)
}

/// Who sends a batch to a coordination route. What it counts of the key's rate is known later
/// ([`take`]); a key that is ahead of its rate, or a space with too many batches waiting, is refused
/// before its body is read.
///
/// # Errors
/// 401, 403, 404 or 429, in this order.
pub fn coordinating_batch(request: &HttpRequest, directory: &Directory) -> Result<Caller, Failure> {
    let caller = permitted(request, directory)?;
    may_wait(request, &caller)?;
    Ok(caller)
}

/// Who sends what happened in conversations: a batch like that of [`coordinating_batch`]. A space
/// that does not coordinate may send it too; nothing of it is kept.
///
/// # Errors
/// 401, 403 or 429, in this order.
pub fn tracking(request: &HttpRequest, directory: &Directory) -> Result<Caller, Failure> {
    let caller = caller(request, directory)?;
    scoped(&caller, Scope::Track)?;
    may_wait(request, &caller)?;
    Ok(caller)
}

/// Who sends a request to a route of people and systems of record: a key with any of these roles. It
/// counts one command of the key's rate.
///
/// # Errors
/// 401, 403, 404 or 429, in this order.
pub fn in_role(
    request: &HttpRequest,
    directory: &Directory,
    roles: &[Role],
) -> Result<Caller, Failure> {
    let caller = caller(request, directory)?;
    has_any_role(&caller, roles)?;
    has_coordination(&caller)?;
    take(request, &caller, 1)?;
    Ok(caller)
}

/// Refuses a key that has none of these roles.
///
/// # Errors
/// 403.
pub fn has_any_role(caller: &Caller, roles: &[Role]) -> Result<(), Failure> {
    if roles.iter().any(|role| caller.key.has_role(*role)) {
        return Ok(());
    }
    Err(lacking(roles))
}

/// Who reads what a turn should know. It counts one command of the key's rate.
///
/// # Errors
/// 401, 403 or 429, in this order.
pub fn reading(request: &HttpRequest, directory: &Directory) -> Result<Caller, Failure> {
    let caller = caller(request, directory)?;
    scoped(&caller, Scope::Context)?;
    take(request, &caller, 1)?;
    Ok(caller)
}

/// Who erases customers and places legal holds: a key with the scope `admin`, or with the role
/// `security` or `admin`. It counts one command of the key's rate.
///
/// # Errors
/// 401, 403, 404 or 429, in this order.
pub fn governing(request: &HttpRequest, directory: &Directory) -> Result<Caller, Failure> {
    let caller = caller(request, directory)?;
    let by_role = [Role::Security, Role::Admin];
    if !caller.key.has_scope(Scope::Admin)
        && !by_role.into_iter().any(|role| caller.key.has_role(role))
    {
        return Err(Failure::new(
            Code::Forbidden,
            "the key has neither the scope `admin` nor the role `security` or `admin`; use a key that \
             has one",
        ));
    }
    has_coordination(&caller)?;
    take(request, &caller, 1)?;
    Ok(caller)
}

/// Who reads or changes the documents of a space: a key with one of these roles, or with `admin`. A
/// space that does not coordinate is asked too: that is how it begins to. It counts one command of
/// the key's rate.
///
/// # Errors
/// 401, 403 or 429, in this order.
pub fn administering(
    request: &HttpRequest,
    directory: &Directory,
    roles: &[Role],
) -> Result<Caller, Failure> {
    let caller = caller(request, directory)?;
    acting(&caller, roles)?;
    take(request, &caller, 1)?;
    Ok(caller)
}

/// Refuses a key that has none of the roles.
fn acting(caller: &Caller, roles: &[Role]) -> Result<(), Failure> {
    if roles.iter().any(|role| caller.key.acts_as(*role)) {
        return Ok(());
    }
    Err(lacking(roles))
}

fn lacking(roles: &[Role]) -> Failure {
    let names = roles.iter().map(|role| format!("`{}`", role.name()));
    let names: Vec<String> = names.collect();
    let names = names.join(", ");
    let detail = format!("the key has none of the roles {names}; use a key that has one");
    Failure::new(Code::Forbidden, detail)
}

/// Who sends a request to a route of people and feeds about a space that coordinates: a key with one
/// of these roles, or with the role or the scope `admin`. It counts one command of the key's rate.
///
/// # Errors
/// 401, 403, 404 or 429, in this order.
pub fn operating(
    request: &HttpRequest,
    directory: &Directory,
    roles: &[Role],
) -> Result<Caller, Failure> {
    let caller = caller(request, directory)?;
    if !caller.key.has_scope(Scope::Admin) {
        acting(&caller, roles)?;
    }
    has_coordination(&caller)?;
    take(request, &caller, 1)?;
    Ok(caller)
}

/// Who reads counts and reports: a key with the role `analysis` or `security`. It counts one command
/// of the key's rate.
///
/// # Errors
/// 401, 403, 404 or 429, in this order.
pub fn analysing(request: &HttpRequest, directory: &Directory) -> Result<Caller, Failure> {
    in_role(request, directory, &[Role::Analysis, Role::Security])
}

/// Who adds to the suppression list for the space's people: a key with the role `security` or `admin`.
/// It counts one command of the key's rate.
///
/// # Errors
/// 401, 403, 404 or 429, in this order.
pub fn securing(request: &HttpRequest, directory: &Directory) -> Result<Caller, Failure> {
    let caller = caller(request, directory)?;
    let by_role = [Role::Security, Role::Admin];
    if !by_role.into_iter().any(|role| caller.key.has_role(role)) {
        return Err(Failure::new(
            Code::Forbidden,
            "the key has neither the role `security` nor `admin`; use a key that has one",
        ));
    }
    has_coordination(&caller)?;
    take(request, &caller, 1)?;
    Ok(caller)
}

/// How many checks of a batch of the caller's space may be decided at once now.
#[must_use]
pub fn checks_at_once(request: &HttpRequest, caller: &Caller) -> usize {
    let lines = request.app_data::<web::Data<Lines>>();
    lines.map_or(usize::MAX, |lines| lines.checks_at_once(caller.space.id))
}

/// Refuses a space that does not coordinate.
///
/// # Errors
/// 404.
pub fn has_coordination(caller: &Caller) -> Result<(), Failure> {
    if caller.space.features.coordination {
        return Ok(());
    }
    Err(Failure::new(
        Code::NotFound,
        "the space does not coordinate; turn the feature `coordination` on",
    ))
}

/// Refuses a batch of a key that is ahead of its rate, or of a space with too many waiting.
fn may_wait(request: &HttpRequest, caller: &Caller) -> Result<(), Failure> {
    if let Some(rates) = request.app_data::<web::Data<Rates>>() {
        rates.look(caller.key.digest)?;
    }
    match request.app_data::<web::Data<Lines>>() {
        Some(lines) => lines.look(caller.space.id),
        None => Ok(()),
    }
}

/// Refuses a key that lacks a scope.
fn scoped(caller: &Caller, scope: Scope) -> Result<(), Failure> {
    if caller.key.has_scope(scope) {
        return Ok(());
    }
    let name = scope.name();
    let detail = format!("the key lacks the scope `{name}`; use a key that has it");
    Err(Failure::new(Code::Forbidden, detail))
}

/// Takes so many commands of the rate of the caller's key.
///
/// # Errors
/// 429 when the key is ahead of its rate.
pub fn take(request: &HttpRequest, caller: &Caller, commands: usize) -> Result<(), Failure> {
    if let Some(lines) = request.app_data::<web::Data<Lines>>() {
        lines.asks(caller.space.id);
    }
    match request.app_data::<web::Data<Rates>>() {
        Some(rates) => rates.take(caller.key.digest, commands),
        None => Ok(()),
    }
}

/// Who sends a request to a coordination route, whatever the rate.
fn permitted(request: &HttpRequest, directory: &Directory) -> Result<Caller, Failure> {
    let caller = caller(request, directory)?;
    scoped(&caller, Scope::Coordinate)?;
    has_coordination(&caller)?;
    Ok(caller)
}

/// The request's Idempotency-Key, when it has one.
///
/// # Errors
/// 422 when it is not 1 to 256 visible characters, or there are several.
pub fn idempotency_key(request: &HttpRequest) -> Result<Option<&str>, Failure> {
    let mut sent = request.headers().get_all(IDEMPOTENCY_KEY);
    let Some(value) = sent.next() else {
        return Ok(None);
    };
    let text = value.to_str().ok().filter(|text| {
        // The header's own form allows only visible ASCII here, so bytes are characters.
        (1..=IDEMPOTENCY_KEY_MAX).contains(&text.len())
    });
    match (text, sent.next()) {
        (Some(text), None) => Ok(Some(text)),
        _ => Err(Failure::invalid(
            "the header `Idempotency-Key` must be sent once and hold 1 to 256 characters of ASCII",
        )),
    }
}

/// The request's Idempotency-Key, on a route that needs one.
///
/// # Errors
/// 422 when there is none or it breaks its rule.
pub fn required_idempotency_key(request: &HttpRequest) -> Result<&str, Failure> {
    idempotency_key(request)?.ok_or_else(|| {
        Failure::invalid(
            "the header `Idempotency-Key` is missing; send 1 to 256 characters, the same for a \
             repeat of the same request",
        )
    })
}

/// The key in `Bearer <key>`.
fn bearer(header: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(header).ok()?;
    let (scheme, key) = text.split_once(' ')?;
    let key = key.trim();
    let fits = scheme.eq_ignore_ascii_case("bearer") && (1..=BEARER_MAX).contains(&key.len());
    fits.then_some(key)
}
