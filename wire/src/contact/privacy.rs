//! `POST /v1/forget`, `GET /v1/forget/{request_id}`, `POST /v1/legal-holds` and its `/release`.
//!
//! The bodies are those the published SDK sends and reads.

use crate::answer::answer;
use crate::contact::subject::{Handle, ObjectRef};
use crate::read::request;
use crate::value::{Count, Instant, LongLabel, ReasonText, Uuid, one_of};

request! {
    /// Whom or what to erase: the member that `target` names.
    ForgetRequest<'a> {
        /// What is named; this server erases what a handle names.
        target: required ForgetTarget,
        /// The customer.
        handle: optional Handle<'a>,
        /// A profile of a memory service, which this server has none of.
        profile_id: optional LongLabel<'a>,
        /// A conversation of a memory service.
        conversation_id: optional LongLabel<'a>,
    }
}

one_of! {
    /// What an erasure names.
    ForgetTarget: "one of `handle`, `profile`, `conversation`" {
        /// A customer, by a handle.
        Handle = "handle",
        /// A profile.
        Profile = "profile",
        /// A conversation.
        Conversation = "conversation",
    }
}

one_of! {
    /// How far an erasure is.
    ErasureStatus: "one of `pending`, `running`, `completed`, `failed`" {
        /// It waits.
        Pending = "pending",
        /// It goes on.
        Running = "running",
        /// It is done.
        Completed = "completed",
        /// It was not done.
        Failed = "failed",
    }
}

answer! {
    /// What an erasure took, in counts. It is done when it is answered.
    derive(Clone, Debug, PartialEq, Eq)
    Erasure<'a> {
        /// The erasure's id.
        request_id: required [u8; 16] as Uuid,
        /// How far it is.
        status: required &'static str as ErasureStatus,
        /// What was named.
        target_kind: required &'static str as ForgetTarget,
        /// Whom it was about: a pseudonym, never a handle.
        target_id: required &'a str as LongLabel<'_>,
        /// When it was asked for.
        requested_at: required i64 as Instant,
        /// When it was done.
        completed_at: optional i64 as Instant,
        /// How much was erased, by kind.
        erased: charted Vec<(&'static str, u64)> as Count,
        /// How many suppressions stay.
        suppressions_kept: required u64 as Count,
    }
}

request! {
    /// What is kept from purging and erasure until the release: exactly one of `handle`, `object` and
    /// `conversation_id`.
    LegalHoldCreate<'a> {
        /// A customer.
        handle: optional Handle<'a>,
        /// A record.
        object: optional ObjectRef<'a>,
        /// What belongs to a conversation.
        conversation_id: optional LongLabel<'a>,
        /// Why. It is read and not kept.
        reason: required ReasonText<'a>,
    }
}

request! {
    /// The end of a hold.
    LegalHoldRelease<'a> {
        /// Why. It is read and not kept.
        reason: required ReasonText<'a>,
    }
}

one_of! {
    /// What a hold is on.
    HoldScope: "one of `handle`, `object`, `conversation`" {
        /// A customer.
        Handle = "handle",
        /// A record.
        Object = "object",
        /// What belongs to a conversation.
        Conversation = "conversation",
    }
}

one_of! {
    /// Whether a hold keeps anything.
    HoldStatus: "one of `active`, `released`" {
        /// It does.
        Active = "active",
        /// It did.
        Released = "released",
    }
}

answer! {
    /// A legal hold as it is now. What it is on is not shown.
    derive(Clone, Copy, Debug, PartialEq, Eq)
    LegalHold {
        /// Its UUID.
        hold_id: required [u8; 16] as Uuid,
        /// What it is on.
        scope: required &'static str as HoldScope,
        /// Whether it keeps anything.
        status: required &'static str as HoldStatus,
        /// Since when.
        created_at: required i64 as Instant,
        /// When it was released.
        released_at: optional i64 as Instant,
    }
}

answer! {
    /// The live holds of a space.
    derive(Clone, Debug, PartialEq, Eq)
    LegalHolds {
        /// The holds, oldest first; at most 1,000.
        items: present Vec<LegalHold> as LegalHold,
    }
}
