//! The body of a request, within every bound on it.
//!
//! Here: reading, inflating, and the place of a batch in its space's line. Not here: what a body means.
//! Called by the handlers, through [`extract`](super).

use std::io::Read;
use std::ops::Deref;
use std::time::Duration;

use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use actix_web::{HttpRequest, web};
use futures_util::StreamExt;
use interlock_wire::problem::Code;

use crate::body_budget::{BodyBudget, Share};
use crate::directory::Caller;
use crate::limits::ApiLimits;
use crate::lines::{Lines, Place};
use crate::pace;
use crate::problem::Failure;

/// A request's body; counts against the bound on all bodies while it lives.
#[derive(Debug)]
pub struct Body {
    bytes: web::Bytes,
    _share: Share,
    _place: Option<Place>,
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
    let arriving = arriving(request, payload, bytes_max, limits, &mut share);
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
        _place: None,
    })
}

/// The body of a batch, once the space may have one more worked on; it holds that place while it lives.
///
/// # Errors
/// As [`body`], and 429 when the space has too many batches waiting or its turn does not come within
/// `patience`.
pub async fn batch(
    request: &HttpRequest,
    payload: web::Payload,
    caller: &Caller,
    limits: &ApiLimits,
    patience: Duration,
) -> Result<Body, Failure> {
    let mut body = body(request, payload, limits, limits.batch_bytes_max).await?;
    if let Some(lines) = request.app_data::<web::Data<Lines>>() {
        let space = caller.space.id;
        lines.asks(space);
        body._place = Some(lines.place(space, body.bytes.len(), patience).await?);
    }
    Ok(body)
}

/// The most that is set aside for a body because its client announced it, whatever then comes: what a
/// full batch usually has, twice.
const ROOM_BYTES_MAX: usize = 256 * 1024;

/// The body as it comes in.
async fn arriving(
    request: &HttpRequest,
    mut payload: web::Payload,
    bytes_max: usize,
    limits: &ApiLimits,
    share: &mut Share,
) -> Result<web::Bytes, Failure> {
    let announced = announced(request);
    let mut held = web::BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| broken_off())?;
        if held.len() + chunk.len() > bytes_max {
            return Err(too_large(bytes_max));
        }
        if !share.grow(chunk.len()) {
            return Err(no_room(limits));
        }
        if held.is_empty() {
            // Room for all of it at once, where the client says how much it is: it need not grow then.
            let room = announced.unwrap_or_default().min(ROOM_BYTES_MAX);
            held.reserve(room.max(chunk.len()));
        }
        held.extend_from_slice(&chunk);
        pace::taken(request, chunk.len(), announced.is_some());
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
