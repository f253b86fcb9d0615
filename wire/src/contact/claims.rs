//! `POST /v1/coordination/claims` and `/claims/{claim_id}/release`.

use crate::answer::answer;
use crate::contact::subject::{Handle, ObjectRef};
use crate::read::{List, request};
use crate::value::{AnyInteger, Count, Instant, Label, LeaseSeconds, Name, Uuid, one_of};

/// Most intents that a claim allows others, by the contract.
pub const INTENTS_MAX: usize = 20;

request! {
    /// Somebody takes a customer, an object or a task of an object.
    ClaimRequest<'a> {
        /// What is taken.
        kind: required ClaimKind,
        /// By whom.
        holder: required Label<'a>,
        /// For how many seconds; the space's rules may shorten it.
        lease_s: required LeaseSeconds,
        /// What others may still do.
        intents: defaulted List<Name<'a>, 0, INTENTS_MAX>,
        /// How strictly; the least strict level when left out.
        level: optional Name<'a>,
        /// The customer.
        subject: optional Handle<'a>,
        /// The record.
        object: optional ObjectRef<'a>,
        /// The task of the record, for a task lock.
        task: optional Name<'a>,
        /// The ownership source that reports it; left out by who takes it.
        source: optional Name<'a>,
        /// When what the source reports was so; now when left out.
        observed_at: optional Instant,
    }
}

one_of! {
    /// What is taken.
    ClaimKind: "one of `owner`, `case`, `task_lock`" {
        /// The customer or record.
        Owner = "owner",
        /// The customer or record, for a case.
        Case = "case",
        /// One task of a record.
        TaskLock = "task_lock",
    }
}

request! {
    /// A claim is given back.
    ClaimRelease {
        /// The epoch that the claim's last answer had.
        epoch: required AnyInteger,
    }
}

answer! {
    /// A claim or lock as it is now.
    derive(Clone, Copy, Debug, PartialEq, Eq)
    OwnershipClaim<'a> {
        /// Its UUID.
        claim_id: required [u8; 16] as Uuid,
        /// Its epoch.
        epoch: required u64 as Count,
        /// Its holder.
        holder: required &'a str as Label<'_>,
        /// What is held.
        kind: required &'static str as ClaimKind,
        /// Its level.
        level: required &'a str as Name<'_>,
        /// Until when.
        valid_until: required i64 as Instant,
    }
}
