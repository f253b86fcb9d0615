//! `POST /v1/operator/promises`: what the company owes a customer, as an operator's feed tells it.

use crate::answer::answer;
use crate::contact::subject::Handle;
use crate::read::request;
use crate::value::{Instant, Label, LongLabel, one_of};

request! {
    /// A word about a promise; the last one counts.
    PromiseTold<'a> {
        /// The customer.
        subject: required Handle<'a>,
        /// The promise, by an id that is the feed's own.
        promise_id: required LongLabel<'a>,
        /// Who owes it.
        owner: required Label<'a>,
        /// When it is due.
        due: optional Instant,
        /// How it stands.
        state: required PromiseState,
    }
}

one_of! {
    /// How a promise stands.
    PromiseState: "one of `open`, `kept`, `withdrawn`" {
        /// The company owes it.
        Open = "open",
        /// It was kept.
        Kept = "kept",
        /// It was taken back.
        Withdrawn = "withdrawn",
    }
}

answer! {
    /// A promise as it was told.
    derive(Clone, Copy, Debug)
    Promise<'a> {
        /// The promise.
        promise_id: required &'a str as LongLabel<'_>,
        /// Who owes it.
        owner: required &'a str as Label<'_>,
        /// When it is due.
        due: optional i64 as Instant,
        /// How it stands.
        state: required PromiseState as PromiseState,
    }
}
