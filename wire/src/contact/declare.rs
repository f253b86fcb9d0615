//! `POST /v1/coordination/declare`.
//!
//! The envelope is read first and keeps `detail` as text; the kind says how to read that.

use utoipa::openapi::schema::{Discriminator, OneOfBuilder};

use crate::answer::{Written, answer};
use crate::contact::claims::INTENTS_MAX;
use crate::contact::effects::EffectOutcome;
use crate::contact::subject::{Handle, ObjectRef};
use crate::json::{Object, number};
use crate::read::{List, request};
use crate::shape::{self, Components, Members, RefOr, Schema, Shape};
use crate::value::{
    AnyObject, Attempt, Count, DeclaredEpoch, Instant, Label, LeaseSeconds, LongLabel, Name,
    Number, Raw, TimeOfDay, Uuid, Weekday, Zone, one_of,
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

/// In the answer that shows one, what was left out stays out.
impl Written<Self> for ContactWindow<'_> {
    fn write(out: &mut Vec<u8>, value: &Self) {
        let mut object = Object::open(out);
        object.text("from", &value.from);
        object.text("to", &value.to);
        object.text("tz", &value.tz);
        if let Some(days) = &value.days {
            object.list("days", &days.0, |out, day| number(out, u64::from(day.0)));
        }
        object.close();
    }
}

request! {
    /// Something was offered.
    CommitmentMadeDetail<'a> {
        /// Its id, unique in the space.
        commitment_id: required LongLabel<'a>,
        /// Its type, which the space declares.
        r#type: required Name<'a>,
        /// Its rank among those of a type where the best one holds.
        score: optional Number,
        /// What was offered, kept whole.
        terms: defaulted AnyObject<'a>,
        /// Until when it holds.
        valid_until: optional Instant,
    }
}

request! {
    /// An offer was taken back.
    CommitmentWithdrawnDetail<'a> {
        /// The offer.
        commitment_id: required LongLabel<'a>,
    }
}

request! {
    /// The customer decided on an offer.
    CommitmentDecidedDetail<'a> {
        /// The offer.
        commitment_id: required LongLabel<'a>,
        /// What the customer decided.
        outcome: required CommitmentOutcome,
    }
}

one_of! {
    /// What a customer decided on an offer.
    CommitmentOutcome: "one of `accepted`, `declined`" {
        /// Taken.
        Accepted = "accepted",
        /// Not taken.
        Declined = "declined",
    }
}

request! {
    /// A handoff moved.
    HandoffDetail<'a> {
        /// The handoff.
        handoff_id: required LongLabel<'a>,
        /// Where it is now.
        status: required HandoffMoved,
        /// How it ended.
        outcome: optional Name<'a>,
    }
}

one_of! {
    /// Where a declared handoff is.
    HandoffMoved: "one of `created`, `accepted`, `closed`" {
        /// It was made.
        Created = "created",
        /// The target took it.
        Accepted = "accepted",
        /// It has an outcome.
        Closed = "closed",
    }
}

answer! {
    /// Whether a declaration was recorded.
    derive(Clone, Copy, Debug, PartialEq, Eq)
    DeclareResult {
        /// Whether it was recorded.
        accepted: required bool as bool,
        /// The decision a contact was recorded under.
        decision_id: optional [u8; 16] as Uuid,
        /// The claim of a `case.opened`, `lease` or `task_lock`.
        claim_id: optional [u8; 16] as Uuid,
        /// That claim's number.
        epoch: optional u64 as Count,
    }
}

/// A declaration as the document shows it: one object for each kind, told apart by `kind`.
#[derive(Clone, Copy, Debug)]
pub struct Declaration;

impl Shape for Declaration {
    fn shape(into: &mut Components) -> RefOr<Schema> {
        into.refer::<Self>("DeclareRequest", |into| {
            let mut any = OneOfBuilder::new().description(Some("Something that happened."));
            let mut names = Vec::new();
            for kind in DeclareKind::ALL {
                let shown = declared(*kind, into);
                if let RefOr::Ref(reference) = &shown {
                    names.push((kind.word(), reference.ref_location.clone()));
                }
                any = any.item(shown);
            }
            let told_apart = Discriminator::with_mapping("kind", names);
            any.discriminator(Some(told_apart)).build().into()
        })
    }
}

/// A declaration of one kind.
fn declared(kind: DeclareKind, into: &mut Components) -> RefOr<Schema> {
    match kind {
        DeclareKind::CaseOpened => with::<LeaseDetail<'_>>("CaseOpened", kind, into),
        DeclareKind::CaseClosed => with::<ReleaseDetail>("CaseClosed", kind, into),
        DeclareKind::Lease => with::<LeaseDetail<'_>>("LeaseDeclared", kind, into),
        DeclareKind::TaskLock => with::<TaskLockDetail<'_>>("TaskLockDeclared", kind, into),
        DeclareKind::ContactMade => with::<ContactMadeDetail<'_>>("ContactMade", kind, into),
        DeclareKind::Effect => with::<EffectDetail<'_>>("EffectDeclared", kind, into),
        DeclareKind::CommitmentMade => {
            with::<CommitmentMadeDetail<'_>>("CommitmentMade", kind, into)
        }
        DeclareKind::CommitmentWithdrawn => {
            with::<CommitmentWithdrawnDetail<'_>>("CommitmentWithdrawn", kind, into)
        }
        DeclareKind::CommitmentDecided => {
            with::<CommitmentDecidedDetail<'_>>("CommitmentDecided", kind, into)
        }
        DeclareKind::Handoff => with::<HandoffDetail<'_>>("HandoffDeclared", kind, into),
        DeclareKind::SuppressionAdded => {
            with::<SuppressionAddedDetail<'_>>("SuppressionAdded", kind, into)
        }
        DeclareKind::SuppressionLifted => {
            with::<SuppressionLiftedDetail<'_>>("SuppressionLifted", kind, into)
        }
    }
}

/// The envelope with its `kind` and `detail` made definite.
fn with<D: Shape>(name: &'static str, kind: DeclareKind, into: &mut Components) -> RefOr<Schema> {
    into.refer::<(DeclareKind, D)>(name, |into| {
        let mut envelope = DeclareRequest::members(into);
        let word = RefOr::T(shape::words("The kind.", [kind.word()]));
        let detail = D::shape(into);
        envelope.properties.insert("kind".to_owned(), word);
        envelope.properties.insert("detail".to_owned(), detail);
        envelope.into()
    })
}
