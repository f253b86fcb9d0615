//! The stored outcome of an `Idempotency-Key`.
//!
//! Here: the receipt entity and what of a reply it keeps (`docs/spec/contact.md` §2, §20). Not
//! here: the key itself, which only the edge sees; and when it is consulted (`contact`).

use serde::{Deserialize, Serialize};

use crate::contact::command::{Body, Command, ReceiptRef};
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::handoff::HandoffStatus;
use crate::contact::legal_hold::LegalHold;
use crate::contact::name::{PurposeId, SourceId};
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{
    AdmissionReply, CheckReply, ClaimReply, ClaimedRef, DeclareReply, EffectReply, EffectState,
    ErasedReply, HandoffReply, HeldReply, Reply,
};
use crate::contact::text::Text;
use crate::contact::ties::Untied;
use crate::contact::{Contact, key};
use crate::ids::Id;
use crate::key::{EntityKey, Kind};
use crate::machine::{Decision, Entities};
use crate::time::Timestamp;

/// How long an outcome is kept, in seconds.
pub const KEPT_S: i64 = 24 * 3_600;

/// How long a check's outcome is kept, in seconds.
pub const CHECK_KEPT_S: i64 = 600;

/// The outcome of one keyed request; at most 64 bytes, except where an answer has texts (a check's, a
/// claim's).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Hash of the request it answered.
    pub fingerprint: [u8; 16],
    /// Until when it is kept.
    pub until: Timestamp,
    /// Whose key it is.
    pub source: SourceId,
    /// The outcome.
    pub stored: Stored,
}

impl Receipt {
    /// The receipt before its first event: over since ever.
    pub(super) const EMPTY: Self = Self {
        fingerprint: [0; 16],
        until: Timestamp(i64::MIN),
        source: SourceId(0),
        stored: Stored::Observed,
    };
}

/// What is kept of a reply: enough to give it again. Stored: append only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Stored {
    /// A check's decision.
    Check(Box<CheckReply>),
    /// An effect as it was.
    Effect(StoredEffect),
    /// A declaration's result, with nothing more to say.
    Declared {
        /// Whether the machines took it.
        accepted: bool,
    },
    /// A message was noted.
    Observed,
    /// A refusal.
    Refused(Refusal),
    /// A declared contact.
    Contact(Id),
    /// A declared claim or lock, made or given back.
    Claimed(ClaimedRef),
    /// A claim or lock as it was.
    Claim(Box<ClaimReply>),
    /// A refusal that names who has it.
    Held(Box<HeldReply>),
    /// What an erasure took.
    Erased(Box<ErasedReply>),
    /// A legal hold as it was.
    Hold(Box<LegalHold>),
    /// An admission as it was.
    Admission(Box<AdmissionReply>),
    /// A budget without the units, and when it has them.
    Exhausted(Timestamp),
    /// A handoff as it was; what never changes of it is with the handoff.
    Handoff(Box<HandoffRef>),
    /// What the end of a fact came to.
    FactEnded(Untied),
}

/// A handoff's answer, but for what its entity keeps. The longest outcome has 40 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffRef {
    /// Which.
    pub id: Id,
    /// Where it was.
    pub status: HandoffStatus,
    /// How it had ended.
    pub outcome: Option<Text>,
}

/// An effect's answer in 24 bytes: receipts are many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredEffect {
    reserved_at: Timestamp,
    /// Before `reserved_at` when it is not done.
    done_at: Timestamp,
    attempt: u32,
    state: EffectState,
    created: bool,
}

impl From<EffectReply> for StoredEffect {
    fn from(reply: EffectReply) -> Self {
        Self {
            reserved_at: reply.reserved_at,
            done_at: reply.done_at.unwrap_or(Timestamp(i64::MIN)),
            attempt: reply.attempt,
            state: reply.state,
            created: reply.created,
        }
    }
}

impl From<StoredEffect> for EffectReply {
    fn from(stored: StoredEffect) -> Self {
        Self {
            created: stored.created,
            state: stored.state,
            attempt: stored.attempt,
            reserved_at: stored.reserved_at,
            done_at: (stored.done_at >= stored.reserved_at).then_some(stored.done_at),
        }
    }
}

/// The answer of a request that was answered before; `None`: it is new, or long ago.
///
/// The fingerprint is compared before anything of the state is, so that a key used for another
/// request is a conflict whatever that request would have come to.
pub(super) fn repeated(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    now: Timestamp,
) -> Option<Reply> {
    let receipt = command.receipt?;
    let known = entities.get(&entity(command, receipt))?.as_receipt()?;
    if known.until <= now {
        return None;
    }
    if known.fingerprint != receipt.fingerprint {
        return Some(Reply::Conflict);
    }
    Some(known.stored.reply())
}

/// Keeps the outcome of a keyed request in the record of its decision: what is decided and what is
/// answered again can never part.
pub(super) fn keep(
    decision: &mut Decision<Contact>,
    command: &Command,
    policy: &Policy,
    now: Timestamp,
) {
    let Some(receipt) = command.receipt else {
        return;
    };
    let Some((stored, kept_s)) = stored(&decision.reply, policy) else {
        return;
    };
    let event = Event::ReceiptKept(Box::new(Receipt {
        fingerprint: receipt.fingerprint,
        until: now.plus_s(kept_s),
        source: command.source,
        stored,
    }));
    decision.events.push((entity(command, receipt), event));
}

/// Would the command keep another outcome of a source that keeps as many as it may? What frees
/// something goes on: it is needed to get out of a shortage.
pub(super) fn is_one_too_many(entities: &Entities<'_, ContactEntity>, command: &Command) -> bool {
    let Some(receipt) = command.receipt else {
        return false;
    };
    let frees = match command.body {
        Body::SettleEffect(_)
        | Body::DeclareEffect(_)
        | Body::LiftSuppression(_)
        | Body::EndCommitment(_)
        | Body::ForgetCustomer(_)
        | Body::ReleaseHold(_)
        | Body::EndObservation(_)
        | Body::EndReport(_)
        | Body::ReleaseClaim(_)
        | Body::SettleAdmission(_)
        | Body::EndFact(_) => true,
        Body::Check(_)
        | Body::ReserveEffect(_)
        | Body::DeclareContactMade(_)
        | Body::AddSuppression(_)
        | Body::ObserveMessage(_)
        | Body::ClaimTarget(_)
        | Body::ObserveOwner(_)
        | Body::LockTask(_)
        | Body::MakeCommitment(_)
        | Body::Admit(_)
        | Body::FindAdmission(_)
        | Body::FindClaim(_)
        | Body::Advise(_)
        | Body::Show(_)
        | Body::PlaceHold(_)
        | Body::FindHold(_)
        | Body::ReadFeed
        | Body::NoteMessage(_)
        | Body::RequestReport(_)
        | Body::ReadReports(_)
        | Body::TurnPromise(_)
        | Body::FindTies(_) => false,
        Body::Handoff(ref body) => body.frees(),
    };
    !frees && entities.get(&entity(command, receipt)).is_none()
}

fn entity(command: &Command, receipt: ReceiptRef) -> EntityKey {
    key(command.space, Kind::Receipt, receipt.hash)
}

/// What is kept of a reply, and for how many seconds; `None` for what a client may mend and send
/// again under the same key: validation, 404 and every 5xx.
fn stored(reply: &Reply, policy: &Policy) -> Option<(Stored, i64)> {
    match reply {
        Reply::Check(check) => {
            let mut kept = check.clone();
            kept.names = names(check, policy);
            Some((Stored::Check(kept), CHECK_KEPT_S))
        }
        Reply::Effect(effect) => Some((Stored::Effect((*effect).into()), KEPT_S)),
        Reply::Declared(declared) => Some((declaration(*declared), KEPT_S)),
        Reply::Claim(claim) => Some((Stored::Claim(claim.clone()), KEPT_S)),
        Reply::Held(held) => Some((Stored::Held(held.clone()), KEPT_S)),
        Reply::Admission(admission) => Some((Stored::Admission(admission.clone()), KEPT_S)),
        Reply::Exhausted { next_allowed_at } => Some((Stored::Exhausted(*next_allowed_at), KEPT_S)),
        Reply::Handoff(handoff) => {
            let kept = HandoffRef {
                id: handoff.id,
                status: handoff.status,
                outcome: handoff.outcome.clone(),
            };
            Some((Stored::Handoff(Box::new(kept)), KEPT_S))
        }
        Reply::Observed => Some((Stored::Observed, KEPT_S)),
        Reply::Refused(refusal) => Some((Stored::Refused(*refusal), KEPT_S)),
        Reply::Erased(erased) => Some((Stored::Erased(erased.clone()), KEPT_S)),
        Reply::Hold(hold) => Some((Stored::Hold(hold.clone()), KEPT_S)),
        Reply::FactEnded(untied) => Some((Stored::FactEnded(*untied), KEPT_S)),
        Reply::Conflict
        | Reply::NotFound
        | Reply::Capacity
        | Reply::TooManyKeys
        | Reply::Undeclared(_)
        | Reply::ClockSuspect
        | Reply::Found(_)
        | Reply::FoundAdmission { .. }
        | Reply::Advice(_)
        | Reply::Shown(_)
        | Reply::HoldFound(_)
        | Reply::Moved
        | Reply::Feed(_)
        | Reply::ObservedAgain
        | Reply::RunAsked(_)
        | Reply::RunEnded
        | Reply::Runs(_)
        | Reply::Past(_)
        | Reply::Effects(_)
        | Reply::EffectSeen(_)
        | Reply::Ties(_) => None,
    }
}

/// A declaration's result in the smallest form.
const fn declaration(declared: DeclareReply) -> Stored {
    match declared {
        DeclareReply {
            decision_id: Some(id),
            ..
        } => Stored::Contact(id),
        DeclareReply {
            claim: Some(claim), ..
        } => Stored::Claimed(claim),
        DeclareReply { accepted, .. } => Stored::Declared { accepted },
    }
}

/// The texts an answer needs, so that it reads the same under a policy without them.
fn names(check: &CheckReply, policy: &Policy) -> Vec<(PurposeId, Text)> {
    let budgets = check.budgets.iter().map(|budget| budget.purpose);
    let mut named: Vec<PurposeId> = budgets.chain(check.suppressions.iter().copied()).collect();
    named.sort_unstable();
    named.dedup();
    named
        .into_iter()
        .filter_map(|id| Some((id, policy.purpose_rules(id)?.name.clone())))
        .collect()
}

impl Stored {
    /// The reply again.
    #[must_use]
    pub fn reply(&self) -> Reply {
        match self {
            Self::Check(check) => Reply::Check(check.clone()),
            Self::Effect(effect) => Reply::Effect((*effect).into()),
            Self::Declared { accepted } => Reply::Declared(DeclareReply {
                accepted: *accepted,
                ..DeclareReply::TURNED_DOWN
            }),
            Self::Contact(id) => Reply::Declared(DeclareReply {
                decision_id: Some(*id),
                ..DeclareReply::TAKEN
            }),
            Self::Claimed(claim) => Reply::Declared(DeclareReply {
                claim: Some(*claim),
                ..DeclareReply::TAKEN
            }),
            Self::Claim(claim) => Reply::Claim(claim.clone()),
            Self::Held(held) => Reply::Held(held.clone()),
            Self::Erased(erased) => Reply::Erased(erased.clone()),
            Self::Hold(hold) => Reply::Hold(hold.clone()),
            Self::FactEnded(untied) => Reply::FactEnded(*untied),
            Self::Handoff(kept) => Reply::Handoff(Box::new(HandoffReply {
                id: kept.id,
                status: kept.status,
                outcome: kept.outcome.clone(),
                handoff: None,
            })),
            Self::Observed => Reply::ObservedAgain,
            Self::Admission(admission) => Reply::Admission(admission.clone()),
            Self::Exhausted(next_allowed_at) => Reply::Exhausted {
                next_allowed_at: *next_allowed_at,
            },
            Self::Refused(refusal) => Reply::Refused(*refusal),
        }
    }
}
