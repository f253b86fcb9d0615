//! `POST /v1/coordination/declare`.
//!
//! The envelope is read first and keeps `detail` as text; the kind says how to read that.

use crate::contact::claims::INTENTS_MAX;
use crate::contact::effects::EffectOutcome;
use crate::contact::subject::{Handle, ObjectRef};
use crate::json::Object;
use crate::read::{List, request};
use crate::value::{
    Attempt, DeclaredEpoch, Instant, Label, LeaseSeconds, LongLabel, Name, Raw, TimeOfDay, Uuid,
    Weekday, Zone, one_of,
};

request! {
    /// The envelope of every declaration.
    DeclareRequest<'a> {
        /// What is declared.
        kind: required DeclareKind,
        /// Who declares it.
        agent: required Label<'a>,
        /// The customer.
        subject: optional Handle<'a>,
        /// The record.
        object: optional ObjectRef<'a>,
        /// What there is to say, by kind.
        detail: required Raw<'a>,
    }
}

one_of! {
    /// What is declared.
    DeclareKind: "one of `case.opened`, `case.closed`, `lease`, `task_lock`, `contact.made`, `effect`, \
        `commitment.made`, `commitment.withdrawn`, `commitment.decided`, `handoff`, \
        `suppression.added`, `suppression.lifted`" {
        /// A claim on the customer or object.
        CaseOpened = "case.opened",
        /// The end of that claim.
        CaseClosed = "case.closed",
        /// A claim on the customer or object.
        Lease = "lease",
        /// A claim on a task.
        TaskLock = "task_lock",
        /// A contact went.
        ContactMade = "contact.made",
        /// An attempt of an effect came to an end.
        Effect = "effect",
        /// Something was offered.
        CommitmentMade = "commitment.made",
        /// An offer was taken back.
        CommitmentWithdrawn = "commitment.withdrawn",
        /// The customer decided.
        CommitmentDecided = "commitment.decided",
        /// A handoff moved.
        Handoff = "handoff",
        /// The customer must not be contacted.
        SuppressionAdded = "suppression.added",
        /// The customer may be contacted again.
        SuppressionLifted = "suppression.lifted",
    }
}

request! {
    /// A contact went.
    ContactMadeDetail<'a> {
        /// Where.
        channel: required Name<'a>,
        /// Why.
        purpose: required Name<'a>,
        /// The decision that allowed it.
        decision_id: optional Uuid,
        /// The token it went with.
        jti: optional Uuid,
        /// The gateway it went through.
        gateway_id: optional Name<'a>,
        /// Nobody was asked.
        unchecked: defaulted bool,
    }
}

request! {
    /// An attempt of an effect came to an end.
    EffectDetail<'a> {
        /// The effect.
        effect_key: required LongLabel<'a>,
        /// The attempt.
        attempt: required Attempt,
        /// How it ended.
        state: required EffectOutcome,
    }
}

request! {
    /// The customer must not be contacted.
    SuppressionAddedDetail<'a> {
        /// For which purpose; `any` is every one.
        purpose: required Name<'a>,
        /// Why.
        reason: required Name<'a>,
        /// Where; every channel when left out.
        channel: optional Name<'a>,
        /// Until when.
        until: optional Instant,
        /// Only inside these local hours.
        window: optional ContactWindow<'a>,
    }
}

request! {
    /// The customer may be contacted again.
    SuppressionLiftedDetail<'a> {
        /// For which purpose.
        purpose: required Name<'a>,
        /// Where.
        channel: optional Name<'a>,
    }
}

request! {
    /// Local hours of some days.
    ContactWindow<'a> {
        /// First minute inside.
        from: required TimeOfDay<'a>,
        /// First minute outside.
        to: required TimeOfDay<'a>,
        /// The zone of both.
        tz: required Zone<'a>,
        /// The days the window starts on; every day when left out.
        days: optional List<Weekday, 1, 7>,
    }
}

request! {
    /// The customer or record is taken.
    LeaseDetail<'a> {
        /// For how many seconds; the space's rules may shorten it.
        lease_s: required LeaseSeconds,
        /// How strictly; the least strict level when left out.
        level: optional Name<'a>,
        /// What others may still do.
        intents: defaulted List<Name<'a>, 0, INTENTS_MAX>,
    }
}

request! {
    /// A claim is given back.
    ReleaseDetail {
        /// Which.
        claim_id: required Uuid,
        /// The epoch that its last answer had.
        epoch: required DeclaredEpoch,
    }
}

request! {
    /// A task of the record is taken.
    TaskLockDetail<'a> {
        /// For how many seconds; the space's rules may shorten it.
        lease_s: required LeaseSeconds,
        /// The task.
        task: required Name<'a>,
    }
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclareResult {
    /// Whether it was recorded.
    pub accepted: bool,
    /// The decision a contact was recorded under.
    pub decision_id: Option<[u8; 16]>,
    /// The claim or lock that was made or given back, and its epoch.
    pub claim: Option<([u8; 16], u64)>,
}

impl DeclareResult {
    /// Writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.boolean("accepted", self.accepted);
        if let Some(id) = &self.decision_id {
            object.uuid("decision_id", id);
        }
        if let Some((id, epoch)) = &self.claim {
            object.uuid("claim_id", id);
            object.number("epoch", *epoch);
        }
        object.close();
    }
}
