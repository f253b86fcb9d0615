//! `POST /v1/handoffs`, `GET /v1/handoffs/{handoff_id}` and its `/accept` and `/outcome`.

use crate::answer::answer;
use crate::contact::check::{CommitmentRef, EffectKind, Owner, PromiseRef};
use crate::contact::effects::EffectState;
use crate::contact::subject::{Handle, ObjectRef};
use crate::read::request;
use crate::value::{
    AnyObject, Count, Hash32, Instant, Label, LongLabel, Name, ReasonText, Text, one_of,
};

request! {
    /// A customer to be handed over.
    HandoffCreate<'a> {
        /// The customer.
        subject: required Handle<'a>,
        /// Who is to take over.
        target: required Label<'a>,
        /// Who hands over; the key's name when left out.
        agent: optional Label<'a>,
        /// Why.
        reason: optional ReasonText<'a>,
        /// The conversation it comes out of.
        conversation_id: optional LongLabel<'a>,
        /// When the outcome is due; the space's wait when left out.
        expected_by: optional Instant,
        /// How far the receiving side has verified the customer.
        level: defaulted Verification,
    }
}

request! {
    /// How a handoff ended.
    HandoffOutcome<'a> {
        /// A word of the handoff's vocabulary.
        outcome: required Name<'a>,
        /// What else there is to say.
        detail: defaulted AnyObject<'a>,
    }
}

one_of! {
    /// How far somebody has verified a customer.
    Verification: "one of `V0`, `V1`, `V2`, `V3`, `V4`, `no_customer`" {
        /// Not at all.
        V0 = "V0",
        /// Weakly.
        V1 = "V1",
        /// By one factor.
        V2 = "V2",
        /// By two factors.
        V3 = "V3",
        /// In person or equal to it.
        V4 = "V4",
        /// There is no customer to verify.
        NoCustomer = "no_customer",
    }
}

impl Default for Verification {
    /// What a handoff means when it does not say.
    fn default() -> Self {
        Self::V0
    }
}

one_of! {
    /// Where a handoff is.
    HandoffStatus: "one of `created`, `accepted`, `closed`, `expired`" {
        /// It waits for its target.
        Created = "created",
        /// The target took it.
        Accepted = "accepted",
        /// It has an outcome.
        Closed = "closed",
        /// Its outcome did not come in time.
        Expired = "expired",
    }
}

answer! {
    /// A handoff.
    derive(Clone, Debug)
    Handoff<'a> {
        /// Its id.
        handoff_id: required &'a str as LongLabel<'_>,
        /// Where it is.
        status: required &'static str as HandoffStatus,
        /// When it was made.
        created_at: required i64 as Instant,
        /// When its outcome is due.
        expected_by: optional i64 as Instant,
        /// How it ended.
        outcome: optional &'a str as Label<'_>,
        /// What it carries to the receiving side.
        package: optional HandoffPackage<'a> as HandoffPackage<'_>,
    }
}

one_of! {
    /// The form of a package.
    PackageSpec: "one of `handoff-package.v0`" {
        /// The only one there is.
        V0 = "handoff-package.v0",
    }
}

answer! {
    /// What a handoff carries: never more than its target may read at `level`.
    derive(Clone, Debug)
    HandoffPackage<'a> {
        /// Its form.
        spec: required PackageSpec as PackageSpec,
        /// The handoff.
        handoff_id: required &'a str as LongLabel<'_>,
        /// When it was made.
        created_at: required i64 as Instant,
        /// Who hands over.
        from_agent: required &'a str as Label<'_>,
        /// Who is to take over.
        target: required &'a str as Label<'_>,
        /// How far the receiving side has verified the customer.
        level: required Verification as Verification,
        /// Why.
        reason: optional &'a str as ReasonText<'_>,
        /// The customer.
        subject: optional Handle<'a> as Handle<'_>,
        /// What the receiving side has to know, in words.
        context: required HandoffContext<'a> as HandoffContext<'_>,
        /// Who held the customer before.
        owner: optional Owner<'a> as Owner<'_>,
        /// Records of the customer that are open, at most 50.
        open_objects: listed Vec<OpenObject<'a>> as OpenObject<'_>; 50,
        /// How many more there are.
        open_objects_more: required u32 as Count,
        /// Offers that hold.
        commitments_active: listed Vec<CommitmentRef<'a>> as CommitmentRef<'_>,
        /// What the company owes the customer.
        promises_open: listed Vec<PromiseRef<'a>> as PromiseRef<'_>,
        /// Effects that are done, in flight or ambiguous.
        effects: listed Vec<EffectSeen> as EffectSeen,
        /// Purposes the customer is suppressed for.
        suppressions: listed Vec<&'a str> as Name<'_>,
        /// What is expected back.
        outcome: optional OutcomeRequest<'a> as OutcomeRequest<'_>,
    }
}

answer! {
    /// What the receiving side has to know, in words.
    derive(Clone, Debug)
    HandoffContext<'a> {
        /// The words.
        text: required &'a str as Text,
        /// The version of what they were made from.
        etag: optional &'a str as Label<'_>,
        /// The policy they were made under.
        policy_version: optional &'a str as Label<'_>,
    }
}

answer! {
    /// An open record of a customer.
    derive(Clone, Debug)
    OpenObject<'a> {
        /// The record.
        r#ref: required ObjectRef<'a> as ObjectRef<'_>,
        /// Its state, in its system's word.
        state: optional &'a str as Label<'_>,
        /// Since when.
        since: optional i64 as Instant,
    }
}

answer! {
    /// An effect as a package shows it.
    derive(Clone, Copy, Debug)
    EffectSeen {
        /// The key's public name.
        effect_id: required [u8; 32] as Hash32,
        /// What kind of act.
        kind: required EffectKind as EffectKind,
        /// Where it is.
        state: required EffectState as EffectState,
    }
}

answer! {
    /// What a handoff's target is asked to report.
    derive(Clone, Debug)
    OutcomeRequest<'a> {
        /// By when.
        expected_by: optional i64 as Instant,
        /// One of these words, at most 50; any word when there are none.
        vocabulary: listed Vec<&'a str> as Name<'_>; 50,
    }
}
