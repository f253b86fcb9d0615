//! What changed. Stored in records for ever: variants and fields are append only.
//!
//! Here: one enum over all entities; every event carries resolved values and its time, so applying
//! it needs neither policy nor clock. Not here: how an entity takes it (`customer`, `effect`, ...).

use serde::{Deserialize, Serialize};

use crate::contact::admission::AdmissionState;
use crate::contact::claim::{Claim, TaskLock};
use crate::contact::command::{EffectKind, Settlement};
use crate::contact::commitment::{Commitment, CommitmentState};
use crate::contact::directory::DirectoryRow;
use crate::contact::feed::Feed;
use crate::contact::handoff::{Handoff, HandoffStatus};
use crate::contact::legal_hold::LegalHold;
use crate::contact::name::{ChannelId, OperationId, PurposeId, SourceId};
use crate::contact::promise::{Promise, PromiseState};
use crate::contact::receipt::Receipt;
use crate::contact::suppression::Suppression;
use crate::contact::text::Text;
use crate::ids::Id;
use crate::key::KeyHash;
use crate::time::Timestamp;

/// One change of one entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// An attempt opened.
    EffectReserved(EffectReserved),
    /// An attempt ended.
    EffectSettled(EffectSettled),
    /// A contact entered the log and the budgets.
    ContactCounted(ContactCounted),
    /// A counted contact was declared made.
    ContactMade(ContactMade),
    /// A declaration named a token.
    TokenSeen(TokenSeen),
    /// A suppression was added, or one with its identity was renewed.
    SuppressionAdded(Box<Suppression>),
    /// A suppression was lifted.
    SuppressionLifted(SuppressionLifted),
    /// A customer's message was seen.
    MessageSeen(MessageSeen),
    /// The outcome of an `Idempotency-Key` is kept.
    ReceiptKept(Box<Receipt>),
    /// A claim was accepted, or one with its id was renewed or replaced.
    ClaimAccepted(Box<Claim>),
    /// A lock was taken or renewed.
    LockTaken(Box<TaskLock>),
    /// A claim or a lock was given back.
    ClaimReleased(ClaimReleased),
    /// An id was handed out.
    RowWritten(Box<DirectoryRow>),
    /// Something was offered.
    CommitmentMade(Box<Commitment>),
    /// An offer stands otherwise, or will once it comes.
    CommitmentTurned(Box<CommitmentTurned>),
    /// Everything about a customer is gone, except its suppressions.
    CustomerErased(CustomerErased),
    /// A legal hold on a customer or an object began or ended.
    HoldMarked(HoldMarked),
    /// A legal hold was placed.
    HoldPlaced(Box<LegalHold>),
    /// A legal hold was released.
    HoldReleased(HoldReleased),
    /// Entries of the suppression list changed: the number of the newest change.
    FeedMoved(Feed),
    /// A shadow run was asked for.
    RunRequested(RunRequested),
    /// A shadow run came to its end.
    RunEnded(Box<RunEnded>),
    /// Units of a paid operation were reserved.
    UnitsReserved(UnitsReserved),
    /// Reserved units turned out to be more or fewer.
    UnitsCorrected(UnitsCorrected),
    /// An admission was settled.
    AdmissionSettled(AdmissionSettled),
    /// A call cost more than any before it.
    CostMeasured(CostMeasured),
    /// A customer was handed over.
    HandoffCreated(Box<Handoff>),
    /// A handoff moved.
    HandoffTurned(Box<HandoffTurned>),
    /// A promise was told of.
    PromiseTurned(Box<PromiseTurned>),
    /// Everything about a handoff is gone.
    HandoffErased(CustomerErased),
    /// A legal hold on a handoff began or ended.
    HandoffHeld(HandoffHeld),
    /// A key was tied to the life of an object.
    KeyTied(KeyTied),
    /// An effect's key is not tied to an object any more.
    KeyUntied(KeyUntied),
    /// The life of an object that keys were tied to is over.
    FactEnded(FactEnded),
}

/// A key was tied to the life of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyTied {
    /// The hash of the key.
    pub effect: KeyHash,
    /// When.
    pub at: Timestamp,
}

/// An effect's key is not tied to an object any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUntied {
    /// When; a key that is settled as done or failed is free from then on.
    pub at: Timestamp,
}

/// The life of an object that keys were tied to is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactEnded {
    /// The hashes of the keys that were tied to it.
    pub effects: Vec<KeyHash>,
    /// When.
    pub at: Timestamp,
}

/// A customer was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomerErased {
    /// When.
    pub at: Timestamp,
}

/// Units of a paid operation were reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitsReserved {
    /// Of which operation.
    pub operation: OperationId,
    /// How many.
    pub units: u32,
    /// From when they count; no units that an erasure or a purge took counted from the same moment.
    pub at: Timestamp,
    /// For how many hours they count.
    pub keep_hours: u16,
    /// The cap they were reserved under, in units.
    pub limit: u32,
}

/// Reserved units turned out to be more or fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitsCorrected {
    /// Of which operation.
    pub operation: OperationId,
    /// When they were reserved.
    pub reserved_at: Timestamp,
    /// How many counted so far.
    pub from: u32,
    /// How many count from now on.
    pub to: u32,
}

/// An admission was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmissionSettled {
    /// How it ended.
    pub state: AdmissionState,
    /// When.
    pub at: Timestamp,
}

/// A handoff moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffTurned {
    /// Where it is from now on.
    pub state: HandoffStatus,
    /// How it ended.
    pub outcome: Option<Text>,
    /// When.
    pub at: Timestamp,
}

/// A legal hold on a customer or an object began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldMarked {
    /// It began; else it ended.
    pub placed: bool,
    /// When.
    pub at: Timestamp,
}

impl HoldMarked {
    /// Counts it among the holds of one entity.
    pub(super) const fn count(&self, holds: &mut u32) {
        *holds = if self.placed {
            holds.saturating_add(1)
        } else {
            holds.saturating_sub(1)
        };
    }
}

/// A legal hold on a handoff began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffHeld {
    /// Which hold.
    pub hold: Id,
    /// It began; else it ended.
    pub placed: bool,
    /// When.
    pub at: Timestamp,
}

/// A legal hold was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldReleased {
    /// Which.
    pub id: Id,
    /// When.
    pub at: Timestamp,
}

/// A shadow run was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequested {
    /// Its id.
    pub id: Id,
    /// How many days it looks at.
    pub days: u8,
    /// When.
    pub at: Timestamp,
}

/// A shadow run came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnded {
    /// Which.
    pub id: Id,
    /// When.
    pub at: Timestamp,
    /// What it found; `None`: it failed.
    pub summary: Option<Vec<u8>>,
}

/// A call cost more than any before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostMeasured {
    /// What it cost, in units.
    pub cost: u32,
    /// When that was settled.
    pub at: Timestamp,
}

/// A promise was told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseTurned {
    /// The promise.
    pub promise: Promise,
    /// How it stands from now on.
    pub state: PromiseState,
    /// When.
    pub at: Timestamp,
}

/// An offer stands otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitmentTurned {
    /// Which.
    pub id: Text,
    /// How it stands from now on.
    pub state: CommitmentState,
    /// When.
    pub at: Timestamp,
}

/// A claim or a lock was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimReleased {
    /// Which.
    pub id: Id,
    /// When.
    pub at: Timestamp,
}

/// An attempt opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectReserved {
    /// What the effect is.
    pub kind: EffectKind,
    /// The attempt, 1 or more.
    pub attempt: u32,
    /// Its holder.
    pub source: SourceId,
    /// When.
    pub at: Timestamp,
    /// When its lease ends.
    pub lease_until: Timestamp,
    /// The key lives as long as an object.
    pub tied: bool,
}

/// An attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectSettled {
    /// How.
    pub settlement: Settlement,
    /// When.
    pub at: Timestamp,
    /// For how many days a done or failed key is remembered.
    pub keep_days: u16,
}

/// A contact entered the log and the budgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactCounted {
    /// The decision, or the log row of a contact no decision allowed.
    pub id: Id,
    /// For which purpose.
    pub purpose: PurposeId,
    /// On which channel.
    pub channel: Option<ChannelId>,
    /// From which share of the budget: an intent's number, or 0 for the unsliced share.
    pub share: u64,
    /// When.
    pub at: Timestamp,
    /// For how many hours it is remembered.
    pub keep_hours: u16,
    /// How many contacts of the purpose and of the share are kept at least.
    pub keep_newest: u16,
    /// An `allow` reserved it; else it was declared without a decision held.
    pub decided: bool,
    /// The id of the effect that was reserved with it.
    pub effect: Option<[u8; 32]>,
}

/// A counted contact was declared made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactMade {
    /// Its decision.
    pub id: Id,
    /// When it was declared.
    pub at: Timestamp,
}

/// A declaration named a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenSeen {
    /// The token's id.
    pub jti: Id,
    /// When.
    pub at: Timestamp,
    /// It had been named before.
    pub reused: bool,
}

/// A suppression was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuppressionLifted {
    /// Which entry.
    pub entry: Id,
    /// When.
    pub at: Timestamp,
    /// The change's number in the space's list.
    pub number: u64,
}

/// A customer's message was seen; the newest on its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSeen {
    /// On which channel.
    pub channel: ChannelId,
    /// When it was written; never later than when it was noted.
    pub occurred_at: Timestamp,
    /// For how many hours it is remembered.
    pub keep_hours: u16,
}
