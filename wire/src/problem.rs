//! What a client is told when a request does not go through.
//!
//! Here: every code with its status and title, and how a problem is written. Not here: which refusal
//! of the domain becomes which code (`api`). A detail names members and rules, never what was sent.

use crate::json::Object;
use crate::shape::{Closed, Components, RefOr, Schema, Shape};
use crate::value::{Instant, Label, Text};

/// The media type of every problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Declares the codes once.
macro_rules! codes {
    ($($(#[$about:meta])* $variant:ident = $status:literal $code:literal $title:literal,)+) => {
        /// Why a request did not go through. One variant for each pair of status and code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$about])* $variant,)+ }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The HTTP status.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ }
            }

            /// The word a program tells problems apart by.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// The same for every problem of this code.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }
        }
    };
}

codes! {
    /// The request is not what HTTP or JSON allow.
    NotReadable = 400 "invalid_input" "The request cannot be read",
    /// No key, or one that is not known or turned off.
    Unauthenticated = 401 "unauthenticated" "The key is missing or not known",
    /// The key may not do this.
    Forbidden = 403 "forbidden" "The key may not do this",
    /// No such route, thing or feature.
    NotFound = 404 "not_found" "Not found",
    /// The route has other methods.
    MethodNotAllowed = 405 "method_not_allowed" "The route does not take this method",
    /// The body took too long to arrive.
    RequestTimeout = 408 "request_timeout" "The request took too long to arrive",
    /// Somebody else holds the target.
    LeaseHeld = 409 "lease_held" "Somebody else holds it",
    /// Somebody else holds the task.
    TaskLocked = 409 "task_locked" "Somebody else holds the task",
    /// A live attempt has the effect.
    EffectInFlight = 409 "effect_in_flight" "The effect is in flight",
    /// The claim has moved on.
    StaleEpoch = 409 "stale_epoch" "The epoch is not the current one",
    /// The effect has moved on.
    StaleAttempt = 409 "stale_attempt" "The attempt is not the current one",
    /// Another one has the id.
    IdTaken = 409 "id_taken" "The id belongs to another one",
    /// The target has as much as it may have.
    TargetFull = 409 "target_full" "The target has no room for one more",
    /// The state does not move that way.
    InvalidTransition = 409 "invalid_transition" "The state does not move that way",
    /// The handoff is closed.
    HandoffClosed = 409 "handoff_closed" "The handoff is closed",
    /// The handoff is expired.
    HandoffExpired = 409 "handoff_expired" "The handoff is expired",
    /// The Idempotency-Key came with another request before.
    IdempotencyConflict = 409 "idempotency_conflict" "The key belongs to another request",
    /// One call may not cost this much.
    OverCallCeiling = 409 "over_call_ceiling" "The call costs more than one call may",
    /// The budget does not have the units.
    BudgetExhausted = 409 "budget_exhausted" "The budget is exhausted",
    /// A legal hold keeps what was to be erased.
    UnderLegalHold = 409 "under_legal_hold" "A legal hold keeps it",
    /// The space has as many live legal holds as it may have.
    HoldsFull = 409 "legal_holds_full" "The space has no room for one more legal hold",
    /// Another version of the document came in.
    StaleVersion = 409 "stale_version" "The document has another version by now",
    /// The edit is applied or rejected.
    DiffClosed = 409 "diff_closed" "The edit is closed",
    /// The body is above its bound.
    TooLarge = 413 "payload_too_large" "The body is too large",
    /// The body is of a type or encoding that is not taken.
    UnsupportedMediaType = 415 "unsupported_media_type" "The body must be JSON",
    /// The space is elsewhere.
    WrongCell = 421 "wrong_cell" "The space is served elsewhere",
    /// The body or a header breaks the contract, or a name is not declared.
    InvalidInput = 422 "invalid_input" "The request breaks the contract",
    /// Too much in flight for this space or entity.
    RateLimited = 429 "rate_limited" "Too many requests",
    /// Our bug.
    Internal = 500 "internal" "The server failed",
    /// The durable record cannot be written, or the node cannot decide now.
    CoordinationUnavailable = 503 "coordination_unavailable" "Coordination is not available",
    /// Memory is above its bound.
    Capacity = 503 "capacity" "No room for new reservations",
}

/// A problem, ready to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem<'a> {
    /// Why.
    pub code: Code,
    /// Which member or rule, and what to do.
    pub detail: &'a str,
    /// The request, as the server's log knows it.
    pub request_id: &'a str,
    /// With `lease_held` and `task_locked`: who has it, and until when in milliseconds since 1970.
    pub held: Option<(&'a str, i64)>,
    /// With `budget_exhausted`: when the units are free again, in milliseconds since 1970.
    pub next_allowed_at: Option<i64>,
}

impl Problem<'_> {
    /// Writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.text("type", "about:blank");
        object.text("title", self.code.title());
        object.number("status", u64::from(self.code.status()));
        object.text("code", self.code.word());
        object.text("detail", self.detail);
        object.text("request_id", self.request_id);
        if let Some((holder, until)) = self.held {
            object.text("holder", holder);
            object.instant("until", until);
        }
        if let Some(next) = self.next_allowed_at {
            object.instant("next_allowed_at", next);
        }
        object.close();
    }
}

impl Shape for Problem<'_> {
    fn shape(into: &mut Components) -> RefOr<Schema> {
        into.refer::<Self>("Problem", |into| {
            let (min, max) = Code::ALL.iter().fold((599, 100), |(min, max), code| {
                (code.status().min(min), code.status().max(max))
            });
            let status = crate::shape::integer(min.into(), max.into());
            let title = Text::shape(into);
            Closed::new(&["Why a request did not go through (RFC 9457)."])
                .required(
                    "type",
                    &["Always `about:blank`; `code` tells problems apart."],
                    title.clone(),
                )
                .required(
                    "title",
                    &["The same for every problem of this code."],
                    title.clone(),
                )
                .required("status", &["The HTTP status."], status)
                .required(
                    "code",
                    &["The word a program tells problems apart by."],
                    title.clone(),
                )
                .required(
                    "detail",
                    &["Which member or rule, and what to do; never a value that was sent."],
                    title.clone(),
                )
                .required(
                    "request_id",
                    &["The request, as the server's log knows it."],
                    title,
                )
                .optional(
                    "holder",
                    &["With `lease_held` and `task_locked`: who holds it."],
                    Label::shape(into),
                )
                .optional(
                    "until",
                    &["With `lease_held` and `task_locked`: until when."],
                    Instant::shape(into),
                )
                .optional(
                    "next_allowed_at",
                    &["With `budget_exhausted`: when the units are free again."],
                    Instant::shape(into),
                )
                .build()
                .into()
        })
    }
}
