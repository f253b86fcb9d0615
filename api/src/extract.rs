//! What a handler takes from a request: who sends it, its Idempotency-Key, its body.
//!
//! Here: the order of refusals that all routes share (401, 403, 404 feature off, 429, then the
//! request itself) and every bound on a body. Not here: what a body means. Nothing a client sends
//! gets past this file unbounded.

use std::io::Read;
use std::ops::Deref;
use std::time::Duration;

use actix_web::http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName,
};
use actix_web::{HttpMessage, HttpRequest, web};
use futures_util::StreamExt;
use interlock_wire::problem::Code;

use crate::body_budget::{BodyBudget, Share};
use crate::directory::{Caller, Directory, Role, Scope};
use crate::limits::ApiLimits;
use crate::problem::Failure;
use crate::rate::Rates;
use crate::stopwatch::Stopwatch;

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
    let header = request.headers().get(AUTHORIZATION);
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
/// ([`take`]); a key that is ahead of its rate is refused before its body is read.
///
/// # Errors
/// 401, 403, 404 or 429, in this order.
pub fn coordinating_batch(request: &HttpRequest, directory: &Directory) -> Result<Caller, Failure> {
    let caller = permitted(request, directory)?;
    ahead(request, &caller)?;
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
    ahead(request, &caller)?;
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

/// Refuses a key that is ahead of its rate.
fn ahead(request: &HttpRequest, caller: &Caller) -> Result<(), Failure> {
    match request.app_data::<web::Data<Rates>>() {
        Some(rates) => rates.look(caller.key.digest),
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

/// A request's body; counts against the bound on all bodies while it lives.
#[derive(Debug)]
pub struct Body {
    bytes: web::Bytes,
    _share: Share,
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The body, inflated where it was deflated.
///
/// # Errors
/// 415 when it is of a type or encoding that is not taken, 413 when it is above `bytes_max`, 408
/// when it takes too long, 400 when it breaks off, 503 when too many bodies are held.
pub async fn body(
    request: &HttpRequest,
    payload: web::Payload,
    limits: &ApiLimits,
    bytes_max: usize,
) -> Result<Body, Failure> {
    let encoding = encoding(request)?;
    if announced(request).is_some_and(|length| length > bytes_max) {
        return Err(too_large(bytes_max));
    }
    let mut share = match request.app_data::<web::Data<BodyBudget>>() {
        Some(budget) => budget.clone().into_inner().share(),
        None => BodyBudget::new(usize::MAX).share(),
    };
    let read_max = Duration::from_millis(limits.body_read_ms_max);
    let arriving = arriving(payload, bytes_max, limits, &mut share);
    let bytes = tokio::time::timeout(read_max, arriving)
        .await
        .map_err(|_| {
            Failure::new(
                Code::RequestTimeout,
                "the body did not arrive in time; send the request again",
            )
        })??;
    if !bytes.is_empty() {
        expect_json(request)?;
    }
    let bytes = match encoding {
        Encoding::Identity => bytes,
        Encoding::Gzip => {
            let inflated = inflate(&bytes, bytes_max)?;
            if !share.grow(inflated.len()) {
                return Err(no_room(limits));
            }
            inflated
        }
    };
    Ok(Body {
        bytes,
        _share: share,
    })
}

/// The body as it comes in.
async fn arriving(
    mut payload: web::Payload,
    bytes_max: usize,
    limits: &ApiLimits,
    share: &mut Share,
) -> Result<web::Bytes, Failure> {
    let mut held = web::BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| broken_off())?;
        if held.len() + chunk.len() > bytes_max {
            return Err(too_large(bytes_max));
        }
        if !share.grow(chunk.len()) {
            return Err(no_room(limits));
        }
        held.extend_from_slice(&chunk);
    }
    Ok(held.freeze())
}

enum Encoding {
    Identity,
    Gzip,
}

fn encoding(request: &HttpRequest) -> Result<Encoding, Failure> {
    let mut sent = request.headers().get_all(CONTENT_ENCODING);
    let word = sent
        .next()
        .map(|value| value.as_bytes().to_ascii_lowercase());
    match (word.as_deref(), sent.next()) {
        (None | Some(b"identity" | b""), None) => Ok(Encoding::Identity),
        (Some(b"gzip" | b"x-gzip"), None) => Ok(Encoding::Gzip),
        _ => Err(Failure::new(
            Code::UnsupportedMediaType,
            "the header `Content-Encoding` must be `gzip` or left out",
        )),
    }
}

/// Refuses a body whose media type says that it is not JSON. One without a type is taken as JSON.
fn expect_json(request: &HttpRequest) -> Result<(), Failure> {
    let Some(value) = request.headers().get(CONTENT_TYPE) else {
        return Ok(());
    };
    let sent = String::from_utf8_lossy(value.as_bytes());
    let media_type = sent.split(';').next().unwrap_or_default().trim();
    let json = media_type.eq_ignore_ascii_case("application/json")
        || media_type.to_ascii_lowercase().ends_with("+json");
    if json {
        Ok(())
    } else {
        Err(Failure::new(
            Code::UnsupportedMediaType,
            "the header `Content-Type` must be `application/json`",
        ))
    }
}

/// The length the client announced, when it did.
fn announced(request: &HttpRequest) -> Option<usize> {
    let value = request.headers().get(CONTENT_LENGTH)?;
    value.to_str().ok()?.trim().parse().ok()
}

/// Inflates a body, never beyond the bound and one byte.
fn inflate(body: &[u8], bytes_max: usize) -> Result<web::Bytes, Failure> {
    if body.is_empty() {
        return Ok(web::Bytes::new());
    }
    let bound = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    let mut inflated = Vec::new();
    let mut reader = flate2::read::MultiGzDecoder::new(body).take(bound.saturating_add(1));
    reader.read_to_end(&mut inflated).map_err(|_| {
        Failure::new(
            Code::NotReadable,
            "the body is not gzip as `Content-Encoding` says; send gzip or leave the header out",
        )
    })?;
    if inflated.len() > bytes_max {
        return Err(too_large(bytes_max));
    }
    Ok(inflated.into())
}

fn too_large(bytes_max: usize) -> Failure {
    Failure::new(
        Code::TooLarge,
        format!("the body must have at most {bytes_max} bytes, also after inflation"),
    )
}

fn no_room(limits: &ApiLimits) -> Failure {
    Failure::new(
        Code::CoordinationUnavailable,
        "the node holds too many requests; nothing was recorded, send this one again later",
    )
    .retry_after(limits.retry_after_s)
}

fn broken_off() -> Failure {
    Failure::new(
        Code::NotReadable,
        "the body broke off; send the request again",
    )
}

/// The key in `Bearer <key>`.
fn bearer(header: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(header).ok()?;
    let (scheme, key) = text.split_once(' ')?;
    let key = key.trim();
    let fits = scheme.eq_ignore_ascii_case("bearer") && (1..=BEARER_MAX).contains(&key.len());
    fits.then_some(key)
}
