//! From a refusal or failure inside to the problem a client reads.
//!
//! Here: [`Failure`], what every handler may end with. Not here: the codes (`wire::problem`). The
//! request id is added by [`observe`](crate::observe), which turns every error into a problem.

use std::borrow::Cow;
use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use actix_web::{HttpResponse, ResponseError};
use interlock_wire::problem::{Code, MEDIA_TYPE, Problem};
use interlock_wire::read::Refusal;

use crate::decider::Refused;

/// Why a request does not go through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Status and code.
    pub code: Code,
    /// The member or rule and what to do; never a value that was sent.
    pub detail: Cow<'static, str>,
    /// When to come back, in seconds.
    pub retry_after_s: Option<u32>,
    /// Who has what was asked for, and until when in milliseconds since 1970.
    pub held: Option<(Box<str>, i64)>,
    /// The methods the route does take, as the header `Allow` lists them.
    pub allow: Option<&'static str>,
    /// When a budget has the units, in milliseconds since 1970.
    pub next_allowed_at: Option<i64>,
}

impl Failure {
    /// A failure the client should not simply repeat.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            detail: detail.into(),
            retry_after_s: None,
            held: None,
            allow: None,
            next_allowed_at: None,
        }
    }

    /// The request breaks the contract.
    #[must_use]
    pub fn invalid(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidInput, detail)
    }

    /// The same failure, with word of when to come back.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// The same failure, with word of who has what was asked for.
    #[must_use]
    pub fn held_by(mut self, holder: &str, until: i64) -> Self {
        self.held = Some((holder.into(), until));
        self
    }

    /// The route does not take the method; `allow` lists those it takes (RFC 9110 §15.5.6).
    #[must_use]
    pub fn wrong_method(allow: Option<&'static str>) -> Self {
        let detail = "the route does not take this method; the header `Allow` lists those it takes";
        Self {
            allow,
            ..Self::new(Code::MethodNotAllowed, detail)
        }
    }

    /// The same failure, with word of when a budget has the units.
    #[must_use]
    pub fn next_allowed_at(mut self, at: i64) -> Self {
        self.next_allowed_at = Some(at);
        self
    }

    /// The problem document of a request.
    #[must_use]
    pub fn problem<'a>(&'a self, request_id: &'a str) -> Problem<'a> {
        let held = self.held.as_ref();
        Problem {
            code: self.code,
            detail: &self.detail,
            request_id,
            held: held.map(|(holder, until)| (&**holder, *until)),
            next_allowed_at: self.next_allowed_at,
        }
    }

    /// The answer with the problem document.
    #[must_use]
    pub fn respond(&self, request_id: &str) -> HttpResponse {
        let mut body = Vec::with_capacity(256);
        self.problem(request_id).write(&mut body);
        let mut response = HttpResponse::build(self.status_code());
        response.insert_header((CONTENT_TYPE, MEDIA_TYPE));
        if let Some(seconds) = self.retry_after_s {
            response.insert_header((RETRY_AFTER, seconds));
        }
        if let Some(methods) = self.allow {
            response.insert_header((ALLOW, methods));
        }
        response.body(body)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.word(), self.detail)
    }
}

impl ResponseError for Failure {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        self.respond("")
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotJson => Self::new(
                Code::NotReadable,
                "the body is not JSON in UTF-8; send one JSON object",
            ),
            Refusal::Contract(sentence) => Self::invalid(sentence),
        }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Busy { retry_after_s } => Self::new(
                Code::RateLimited,
                "the space has too many requests in flight; send this one again later",
            )
            .retry_after(retry_after_s),
            Refused::Overloaded { retry_after_s } => Self::new(
                Code::CoordinationUnavailable,
                "the node has too many requests in flight, or a journal that snapshots must shorten \
                 first; nothing was recorded, send this one again later",
            )
            .retry_after(retry_after_s),
            Refused::Stopping => Self::new(
                Code::CoordinationUnavailable,
                "the node is stopping; nothing was recorded, send this request again",
            )
            .retry_after(1),
        }
    }
}
