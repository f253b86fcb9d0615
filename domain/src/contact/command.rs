//! What a client wants, after the edge has parsed, validated and hashed it.
//!
//! Here: commands with resolved names and hashed keys. Nothing in them is text a client sent, except
//! a window's zone, a holder, a level and a task, which are shown again. Not here: JSON (`wire`), hashing and authentication (`api`).

mod commitment;
mod facts;
mod ownership;
mod paid;
mod privacy;
mod reports;

pub use self::commitment::{EndCommitment, MakeCommitment};
pub use self::facts::{EndFact, FindTies};
pub use self::ownership::{
    ClaimPlace, ClaimTarget, EndObservation, FindClaim, LockTask, ObserveOwner, ReleaseClaim,
};
pub use self::paid::{AdmissionPlace, AdmissionSettlement, Admit, FindAdmission, SettleAdmission};
pub use self::privacy::{FindHold, ForgetCustomer, HoldPlace, PlaceHold, ReleaseHold};
pub use self::reports::{EndReport, NoteMessage, ObserveMessage, ReadReports, RequestReport};

use serde::{Deserialize, Serialize};

use crate::contact::directory::Target;
use crate::contact::handoff::command::HandoffCommand;
use crate::contact::name::{
    AgentId, ChannelId, GatewayId, IntentId, PurposeId, ReasonId, SourceId, TaskId,
};
use crate::contact::promise::{Promise, PromiseState};
use crate::contact::text::Text;
use crate::contact::window::Window;
use crate::ids::Id;
use crate::key::{KeyHash, Kind, SpaceId};
use crate::time::Timestamp;

/// One command of the contact product.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The tenant.
    pub space: SpaceId,
    /// The calling source.
    pub source: SourceId,
    /// The route it came by, for the decision receipt.
    pub route: Route,
    /// Where the outcome of an `Idempotency-Key` is kept; `None` when the request has no key.
    pub receipt: Option<ReceiptRef>,
    /// What is wanted.
    pub body: Body,
}

/// What is wanted: one variant and one file per command.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// May this agent do this now? (§4, §5)
    Check(Check),
    /// Reserve an effect (§8).
    ReserveEffect(ReserveEffect),
    /// Settle an attempt by its effect id (§8).
    SettleEffect(SettleEffect),
    /// `contact.made` (§17).
    DeclareContactMade(DeclareContactMade),
    /// `effect` (§17).
    DeclareEffect(DeclareEffect),
    /// `suppression.added` (§15, §17).
    AddSuppression(AddSuppression),
    /// `suppression.lifted` (§15, §17).
    LiftSuppression(LiftSuppression),
    /// A customer's message was seen on a channel (§12).
    ObserveMessage(ObserveMessage),
    /// Somebody takes a customer or an object (§9).
    ClaimTarget(ClaimTarget),
    /// An ownership source says who has a customer or an object (§9).
    ObserveOwner(ObserveOwner),
    /// Somebody takes one task of an object (§10).
    LockTask(LockTask),
    /// A claim or a lock is given back, by its id and epoch (§9, §10).
    ReleaseClaim(ReleaseClaim),
    /// `commitment.made` (§11, §17).
    MakeCommitment(MakeCommitment),
    /// `commitment.withdrawn` and `commitment.decided` (§11, §17).
    EndCommitment(EndCommitment),
    /// May this call of a paid operation be made? (§7)
    Admit(Admit),
    /// An admission is settled (§7).
    SettleAdmission(SettleAdmission),
    /// Which entities an admission draws on: the look-up before its settlement.
    FindAdmission(FindAdmission),
    /// Which entity an id leads to: the look-up before a command that names only an id.
    FindClaim(FindClaim),
    /// What is known of a customer or an object, as advice (§18).
    Advise(Advise),
    /// What one entity holds, for an operator.
    Show(Show),
    /// A customer is erased (§21).
    ForgetCustomer(ForgetCustomer),
    /// A legal hold is placed (§24).
    PlaceHold(PlaceHold),
    /// A legal hold is released (§24).
    ReleaseHold(ReleaseHold),
    /// What a hold is on: the look-up before its release.
    FindHold(FindHold),
    /// How far the suppression list is (§15).
    ReadFeed,
    /// A message to a customer went (§18).
    NoteMessage(NoteMessage),
    /// A mapped event ends what its source said about a target (§9).
    EndObservation(EndObservation),
    /// A shadow run is asked for (§18).
    RequestReport(RequestReport),
    /// A shadow run came to its end (§18).
    EndReport(EndReport),
    /// A page of the shadow runs of a space (§18).
    ReadReports(ReadReports),
    /// A customer is handed over, and what becomes of it (§16).
    Handoff(HandoffCommand),
    /// An operator's feed says how a promise stands (§11).
    TurnPromise(TurnPromise),
    /// The life of an object that keys are tied to is over (§8).
    EndFact(EndFact),
    /// Which keys are tied to an object: the look-up before the end of its life.
    FindTies(FindTies),
}

/// The route a command came by (`docs/spec/contact.md` §21). Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Route {
    /// `POST /v1/coordination/check`.
    Check,
    /// One check of `POST /v1/coordination/check/batch`.
    CheckBatch,
    /// `POST /v1/coordination/declare`.
    Declare,
    /// `POST /v1/coordination/effects`.
    Effects,
    /// `POST /v1/coordination/effects/{effect_id}/settle`.
    Settle,
    /// `POST /v1/batch`.
    Batch,
    /// `POST /v1/coordination/claims`.
    Claims,
    /// `POST /v1/coordination/claims/{claim_id}/release`.
    Release,
    /// An operator's verb.
    Operator,
    /// `POST /v1/context`.
    Context,
    /// `POST /v1/forget`.
    Forget,
    /// `POST /v1/legal-holds` and the release of one.
    LegalHolds,
    /// `GET /v1/suppressions`.
    Suppressions,
    /// `POST /v1/operator/suppressions`.
    PeoplesSuppressions,
    /// `POST /v1/coordination/shadow`, and what becomes of the run.
    Shadow,
    /// `GET /v1/coordination/reports`.
    Reports,
    /// `POST /v1/coordination/admissions`.
    Admissions,
    /// `POST /v1/coordination/admissions/{admission_id}/settle`.
    SettleAdmission,
    /// `POST /v1/operator/effects/{effect_id}/settle`.
    OperatorSettle,
    /// `POST /v1/handoffs` and a read of one.
    Handoffs,
    /// `POST /v1/handoffs/{handoff_id}/accept`.
    HandoffAccept,
    /// `POST /v1/handoffs/{handoff_id}/outcome`.
    HandoffOutcome,
    /// `POST /v1/operator/promises`.
    Promises,
    /// `POST /v1/operator/facts/end`.
    EndFact,
}

/// Where the outcome of a keyed request is kept (`docs/spec/contact.md` §2, §20).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiptRef {
    /// Keyed hash of source, route and key (and, in a batch, the place of the check).
    pub hash: KeyHash,
    /// Hash of the request: another one under the same key is a conflict.
    pub fingerprint: [u8; 16],
}

/// Which way a message goes. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// It answers a message of the customer.
    Inbound,
    /// The company speaks first.
    Outbound,
}

/// What an effect is; decides how long its key is remembered. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum EffectKind {
    /// A message handed to a channel.
    Delivery,
    /// A document issued.
    Document,
    /// A notice served.
    Notice,
    /// A filing with an authority.
    Filing,
    /// A call that costs.
    PaidCall,
    /// Any other act outside.
    ExternalAction,
}

impl EffectKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::Delivery,
        Self::Document,
        Self::Notice,
        Self::Filing,
        Self::PaidCall,
        Self::ExternalAction,
    ];

    /// The kind's name on the wire and in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delivery => "delivery",
            Self::Document => "document",
            Self::Notice => "notice",
            Self::Filing => "filing",
            Self::PaidCall => "paid_call",
            Self::ExternalAction => "external_action",
        }
    }
}

/// How an attempt ended, as told. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Settlement {
    /// It happened.
    Done,
    /// It did not happen.
    Failed,
    /// Nobody knows.
    UnknownOutcome,
}

/// Who says how an attempt ended (`docs/spec/contact.md` §8). Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SettledBy {
    /// The source that reserved the attempt.
    Holder,
    /// The system of record; need not name the attempt.
    Observation,
    /// A person; need not name the attempt.
    Person,
}

/// An effect a check asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectRef {
    /// The first 16 bytes of the effect id.
    pub hash: KeyHash,
    /// The other 16 bytes of it.
    pub rest: [u8; 16],
    /// Its kind, fixed by the first reservation.
    pub kind: EffectKind,
}

impl EffectRef {
    /// The public id.
    #[must_use]
    pub fn id(self) -> [u8; 32] {
        let mut id = [0; 32];
        id[..16].copy_from_slice(&self.hash.0);
        id[16..].copy_from_slice(&self.rest);
        id
    }
}

/// May this agent do this now?
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Which way the message goes.
    pub direction: Direction,
    /// Who asks.
    pub agent: AgentId,
    /// The step it is about to take.
    pub intent: IntentId,
    /// Why.
    pub purpose: PurposeId,
    /// On which channel.
    pub channel: Option<ChannelId>,
    /// Through which gateway.
    pub gateway: Option<GatewayId>,
    /// To whom.
    pub customer: Option<KeyHash>,
    /// About which object.
    pub object: Option<KeyHash>,
    /// Which task of the object.
    pub task: Option<TaskId>,
    /// The act that must happen once.
    pub effect: Option<EffectRef>,
    /// The edge's number of the key that would sign a token: carried into the reply and kept with
    /// it, so that a repeat signs the same bytes. The machine does not read it.
    pub signer: u32,
}

/// Reserve an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReserveEffect {
    /// Which, and of what kind.
    pub effect: EffectRef,
    /// What it costs, in units.
    pub cost_units: u32,
    /// The space-wide operation its units are drawn from; `None`: the cost is noted and caps
    /// nothing.
    pub draws_on: Option<Text>,
    /// The object whose life is the key's; `None`: none is named, or the kind's keys live by days.
    pub fact: Option<KeyHash>,
}

/// Settle an attempt, on the route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettleEffect {
    /// The first 16 bytes of the effect id of the path.
    pub effect: KeyHash,
    /// Which attempt, 1 or more. The holder always names it; others may leave it out and mean the
    /// current one.
    pub attempt: Option<u32>,
    /// How it ended.
    pub settlement: Settlement,
    /// Who says so.
    pub by: SettledBy,
}

/// A contact was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclareContactMade {
    /// To whom; without one it is recorded and counts nowhere.
    pub customer: Option<KeyHash>,
    /// Why.
    pub purpose: PurposeId,
    /// On which channel.
    pub channel: ChannelId,
    /// Through which gateway.
    pub gateway: Option<GatewayId>,
    /// The decision it cites.
    pub decision: Option<Id>,
    /// The token it went out with.
    pub jti: Option<Id>,
    /// It went out without an answer of ours.
    pub unchecked: bool,
}

/// An attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclareEffect {
    /// The first 16 bytes of the effect id of the declared key.
    pub effect: KeyHash,
    /// Which attempt, 1 or more.
    pub attempt: u32,
    /// How it ended.
    pub settlement: Settlement,
}

/// A customer may not be contacted.
#[derive(Clone, Debug, PartialEq)]
pub struct AddSuppression {
    /// Who.
    pub customer: KeyHash,
    /// For which purpose; [`PurposeId::ANY`] for every one.
    pub purpose: PurposeId,
    /// On which channel; `None` for every one.
    pub channel: Option<ChannelId>,
    /// Why.
    pub reason: ReasonId,
    /// Until when; `None`: the reason's interval, or no end.
    pub until: Option<Timestamp>,
    /// In which local hours; `None`: in all.
    pub window: Option<Window>,
    /// The canonical destination, sealed by the edge for the list.
    pub destination: Box<[u8]>,
}

/// What the same source added may be contacted again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiftSuppression {
    /// Who.
    pub customer: KeyHash,
    /// For which purpose.
    pub purpose: PurposeId,
    /// On which channel; `None` names the entries for every channel.
    pub channel: Option<ChannelId>,
}

/// What is known of a customer or an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advise {
    /// Of what.
    pub target: Target,
}

/// What one entity holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Show {
    /// A customer, an object or an effect.
    pub kind: Kind,
    /// Which one.
    pub hash: KeyHash,
}

/// How a promise stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPromise {
    /// To whom.
    pub customer: KeyHash,
    /// The promise; what is kept or withdrawn is found by its id alone.
    pub promise: Promise,
    /// How it stands from now on.
    pub state: PromiseState,
}
