//! `POST /v1/coordination/admissions` and `/admissions/{admission_id}/settle`: routes of our own.

use crate::answer::answer;
use crate::contact::subject::{Handle, ObjectRef};
use crate::read::request;
use crate::value::{Instant, Name, Units, Uuid, one_of};

request! {
    /// A call of a paid operation that somebody is about to make.
    AdmissionRequest<'a> {
        /// The operation, as the space declares it.
        operation: required Name<'a>,
        /// The customer, where the operation's scope is `subject`.
        subject: optional Handle<'a>,
        /// The record, where the operation's scope is `object`.
        object: optional ObjectRef<'a>,
        /// What the call costs. Left out when nobody knows: the highest cost so far is reserved, or
        /// the ceiling while there is none.
        cost_units: optional Units,
    }
}

request! {
    /// How an admitted call ended.
    AdmissionSettle {
        /// How it ended.
        state: required AdmissionOutcome,
        /// With `done`, and only then: what the call really cost.
        cost_units: optional Units,
    }
}

one_of! {
    /// How an admitted call ended.
    AdmissionOutcome: "one of `done`, `failed`, `skipped`" {
        /// It was made.
        Done = "done",
        /// It failed; its units stay spent.
        Failed = "failed",
        /// It was not made; its units go back.
        Skipped = "skipped",
    }
}

one_of! {
    /// How an admission stands.
    AdmissionState: "one of `reserved`, `done`, `failed`, `skipped`" {
        /// Not settled yet.
        Reserved = "reserved",
        /// The call was made.
        Done = "done",
        /// It failed; its units stay spent.
        Failed = "failed",
        /// It was not made; its units went back.
        Skipped = "skipped",
    }
}

answer! {
    /// An admission as it is now.
    derive(Clone, Copy, Debug, PartialEq, Eq)
    Admission<'a> {
        /// Its id, by which it is settled.
        admission_id: required [u8; 16] as Uuid,
        /// The operation.
        operation: required &'a str as Name<'a>,
        /// How it stands.
        state: required &'static str as AdmissionState,
        /// Units that count of it.
        units: required u32 as Units,
        /// Until when a settlement is expected. After it the units stay spent, as with `failed`; a
        /// late settlement is still taken for a day.
        expires_at: required i64 as Instant,
        /// Units the budget has left; left out when the space no longer declares the operation.
        remaining: optional u32 as Units,
    }
}
