//! Answers, as facts: numbers, instants and shared text.
//!
//! Here: everything the edge renders. Not here: JSON, statuses and signatures (`api`, `wire`).
//! Names are numbers of the policy; [`CheckReply::name`] gives their text, also when the answer is
//! repeated under a policy that has dropped the name.

mod handoffs;
mod ownership;

pub use self::handoffs::{EffectSight, HandoffReply};
pub use self::ownership::{ClaimReply, ClaimedRef, HeldReply};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::contact::admission::AdmissionState;
use crate::contact::claim::{ClaimKind, ClaimVia};
use crate::contact::command::Direction;
use crate::contact::directory::Target;
use crate::contact::entity::ContactEntity;
use crate::contact::erasure::Erased;
use crate::contact::legal_hold::{HoldTarget, LegalHold};
use crate::contact::name::{OperationId, PurposeId};
use crate::contact::policy::Policy;
use crate::contact::promise::Promise;
use crate::contact::reason::{Reason, Refusal, Verdict};
use crate::contact::reports::Run;
use crate::contact::text::Text;
use crate::contact::ties::Untied;
use crate::ids::Id;
use crate::key::KeyHash;
use crate::time::Timestamp;

/// The answer to a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A check's decision: 200.
    Check(Box<CheckReply>),
    /// An effect as it is now: 201 when [`EffectReply::created`], else 200. The edge knows the
    /// effect id from the request.
    Effect(EffectReply),
    /// A declaration's result: 200.
    Declared(DeclareReply),
    /// The message or event was noted: one accepted item of `/v1/batch`.
    Observed,
    /// It was noted before, under the same key: one duplicate of `/v1/batch`.
    ObservedAgain,
    /// A shadow run, new or still under way: 202.
    RunAsked(RunAsked),
    /// The end of a shadow run was noted, now or before.
    RunEnded,
    /// A page of shadow runs: 200.
    Runs(Box<RunsPage>),
    /// A claim or a lock as it is now: 201 when it was asked for, 200 when it was given back.
    Claim(Box<ClaimReply>),
    /// Where a claim is; completes a release and never leaves the node.
    Found(Target),
    /// What is known of a customer or an object.
    Advice(Box<AdviceReply>),
    /// What an entity holds, for an operator.
    Shown(Option<Box<ContactEntity>>),
    /// What an erasure took: 200.
    Erased(Box<ErasedReply>),
    /// A legal hold as it is now: 201 when it was placed, 200 when it was released.
    Hold(Box<LegalHold>),
    /// What a hold is on; completes a release and never leaves the node.
    HoldFound(HoldTarget),
    /// What the command was made from has moved on; the edge reads again and never answers this.
    Moved,
    /// The number of the newest change of the suppression list; never leaves the edge.
    Feed(u64),
    /// 409 with the refusal's code: somebody else has it.
    Held(Box<HeldReply>),
    /// An admission as it is now: 201 when it was asked for, 200 when it was settled.
    Admission(Box<AdmissionReply>),
    /// Where an admission is; completes a settlement and never leaves the node.
    FoundAdmission {
        /// The entity its units are on.
        target: Target,
        /// Its operation.
        operation: OperationId,
    },
    /// 409 `budget_exhausted`: the operation's budget does not have the units, but has them then.
    Exhausted {
        /// When they are free again.
        next_allowed_at: Timestamp,
    },
    /// 503 `coordination_unavailable`: the clock cannot be trusted, and what is counted in a window
    /// is not decided.
    ClockSuspect,
    /// 409 with the refusal's code.
    Refused(Refusal),
    /// 409 `idempotency_conflict`: the key was used for another request.
    Conflict,
    /// 404 `not_found`: no such effect, claim or admission.
    NotFound,
    /// 503 `capacity`: memory is above its bound and nothing new is reserved.
    Capacity,
    /// 429 `rate_limited`: the source keeps as many outcomes of idempotency keys as it may.
    TooManyKeys,
    /// 422 `invalid_input`: a newer policy no longer declares the name of this member.
    Undeclared(Member),
    /// 422 `invalid_input`: the instant in this member has passed.
    Past(Member),
    /// A handoff: 201 when it was made, else 200.
    Handoff(Box<HandoffReply>),
    /// Ids of effects, the newest first; completes a handoff and never leaves the node.
    Effects(Vec<[u8; 32]>),
    /// An effect as a package shows it, if it does; never leaves the node.
    EffectSeen(Option<EffectSight>),
    /// What the end of a fact came to: 200.
    FactEnded(Untied),
    /// The keys tied to an object; completes the end of a fact and never leaves the node.
    Ties(Vec<KeyHash>),
}

impl Reply {
    /// Words for metrics: the outcome and its reason, both of a bounded set.
    #[must_use]
    pub fn outcome(&self) -> (&'static str, &'static str) {
        match self {
            Self::Check(check) => {
                let reason = check.reasons.first();
                (
                    check.verdict.slug(),
                    reason.map_or("none", |known| known.slug()),
                )
            }
            Self::Effect(effect) if effect.created => ("reserved", "none"),
            Self::Effect(effect) => (effect.state.slug(), "none"),
            Self::Declared(declared) if declared.accepted => ("accepted", "none"),
            Self::Declared(_) => ("turned_down", "none"),
            Self::Observed => ("observed", "none"),
            Self::ObservedAgain => ("observed_again", "none"),
            Self::RunAsked(_) => ("run_asked", "none"),
            Self::RunEnded => ("run_ended", "none"),
            Self::Runs(_) => ("runs", "none"),
            Self::Claim(_) => ("claim", "none"),
            Self::Found(_) | Self::HoldFound(_) | Self::FoundAdmission { .. } | Self::Ties(_) => {
                ("found", "none")
            }
            Self::Advice(_) => ("advice", "none"),
            Self::Shown(_) => ("shown", "none"),
            Self::Erased(_) => ("erased", "none"),
            Self::Hold(_) => ("legal_hold", "none"),
            Self::Moved => ("moved", "none"),
            Self::Feed(_) => ("feed", "none"),
            Self::Held(held) => ("refused", held.refusal.slug()),
            Self::Admission(admission) => ("admission", admission.state.slug()),
            Self::Exhausted { .. } => ("refused", Refusal::BudgetExhausted.slug()),
            Self::ClockSuspect => ("refused", "clock_suspect"),
            Self::Refused(refusal) => ("refused", refusal.slug()),
            Self::Conflict => ("refused", "idempotency_conflict"),
            Self::NotFound => ("refused", "not_found"),
            Self::Capacity => ("refused", "capacity"),
            Self::TooManyKeys => ("refused", "too_many_keys"),
            Self::Undeclared(member) => ("undeclared", member.name()),
            Self::Past(member) => ("past", member.name()),
            Self::Handoff(handoff) => ("handoff", handoff.status.slug()),
            Self::Effects(_) => ("effects", "none"),
            Self::EffectSeen(_) => ("effect_seen", "none"),
            Self::FactEnded(_) => ("fact_ended", "none"),
        }
    }
}

/// A member of a request that names something declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// `purpose`.
    Purpose,
    /// `channel`.
    Channel,
    /// `gateway_id`.
    GatewayId,
    /// `reason`.
    Reason,
    /// `level`.
    Level,
    /// `source`: an ownership source.
    Source,
    /// `type`: of a commitment.
    Type,
    /// `operation`: a paid one, with the scope it was asked for.
    Operation,
    /// `outcome`: of a handoff.
    Outcome,
    /// `expected_by`: of a handoff.
    ExpectedBy,
}

impl Member {
    /// The member's name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Purpose => "purpose",
            Self::Channel => "channel",
            Self::GatewayId => "gateway_id",
            Self::Reason => "reason",
            Self::Level => "level",
            Self::Source => "source",
            Self::Type => "type",
            Self::Operation => "operation",
            Self::Outcome => "outcome",
            Self::ExpectedBy => "expected_by",
        }
    }
}

/// What a check comes to (`docs/spec/contact.md` §4.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckReply {
    /// What the caller acts on.
    pub verdict: Verdict,
    /// Which way the message goes.
    pub direction: Direction,
    /// Names the decision, and the token made of it.
    pub decision_id: Id,
    /// When it was decided: the token's `iat`, in its seconds.
    pub decided_at: Timestamp,
    /// For how many seconds the decision may be relied on.
    pub valid_for_s: u32,
    /// The code that decided, or what an `allow` must respect.
    pub reasons: SmallVec<[Reason; 2]>,
    /// The claim that governs. With [`Verdict::HandoffTo`] its holder is the answer's `holder`.
    pub owner: Option<OwnerView>,
    /// Every live task lock on the object.
    pub locks: Vec<LockView>,
    /// The effect, when this check reserved it or it is held.
    pub effect: Option<EffectView>,
    /// The channel, when one was asked about.
    pub channel: Option<ChannelView>,
    /// One for each purpose with a budget, when a subject was given; values after the decision.
    pub budgets: SmallVec<[BudgetView; 4]>,
    /// Purposes the subject is suppressed for, in order, without repeats; [`PurposeId::ANY`] reads
    /// `any`.
    pub suppressions: SmallVec<[PurposeId; 2]>,
    /// When the window that deferred the check ends.
    pub contact_window_until: Option<Timestamp>,
    /// What was offered to the subject and holds.
    pub commitments: Vec<CommitmentView>,
    /// A token is due, when the request had a gateway, a channel and a recipient (§13.2).
    pub sign: bool,
    /// The request's number of the signing key.
    pub signer: u32,
    /// Texts of the purposes above, only in a repeated answer; see [`Self::name`].
    pub names: Vec<(PurposeId, Text)>,
    /// What the company owes the subject.
    pub promises: Vec<Promise>,
}

impl CheckReply {
    /// The text of a purpose of this answer.
    #[must_use]
    pub fn name<'a>(&'a self, purpose: PurposeId, policy: &'a Policy) -> Option<&'a str> {
        if purpose == PurposeId::ANY {
            return Some("any");
        }
        self.names
            .iter()
            .find(|(id, _)| *id == purpose)
            .map(|(_, text)| &**text)
            .or_else(|| policy.purpose_name(purpose))
    }
}

/// Who has the customer or the object (Appendix A, Owner).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerView {
    /// Its holder.
    pub holder: Text,
    /// `owner` or `case`.
    pub kind: ClaimKind,
    /// Its level's name.
    pub level: Text,
    /// The source it came from.
    pub source: Text,
    /// The way it came.
    pub via: ClaimVia,
    /// Since when.
    pub since: Timestamp,
    /// Until when.
    pub valid_until: Timestamp,
    /// Its epoch.
    pub epoch: u64,
}

/// Who has a task (Appendix A, Lock); `kind` is always `task_lock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockView {
    /// Its holder.
    pub holder: Text,
    /// The task's name.
    pub task: Text,
    /// Until when.
    pub until: Timestamp,
}

/// How an effect key stands, as a check sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectView {
    /// Its state.
    pub state: EffectViewState,
    /// The attempt that was reserved, or that holds it.
    pub attempt: u32,
}

/// A key's state in a check's answer. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectViewState {
    /// Nothing held it, and this check reserved it.
    None,
    /// A live attempt has it.
    InFlight,
    /// It happened.
    Done,
    /// Nobody knows.
    UnknownOutcome,
}

impl EffectViewState {
    /// The word on the wire.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::InFlight => "in_flight",
            Self::Done => "done",
            Self::UnknownOutcome => "unknown_outcome",
        }
    }
}

/// A channel at the moment of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelView {
    /// Free-form messages may go until then; `None` when the window is closed.
    pub free_form_until: Option<Timestamp>,
    /// Only an approved template may go.
    pub template_required: bool,
    /// The end of the quiet hours it is in.
    pub quiet_until: Option<Timestamp>,
}

/// What is left of a purpose's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetView {
    /// Whose budget.
    pub purpose: PurposeId,
    /// Units left.
    pub remaining: u32,
    /// At zero or paced: the next moment a unit is free; `None` at zero when none ever is.
    pub next_allowed_at: Option<Timestamp>,
}

/// A commitment that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitmentView {
    /// Its id, as declared.
    pub id: Text,
    /// Its type's name.
    pub kind: Text,
    /// Until when; `None`: no end.
    pub valid_until: Option<Timestamp>,
}

/// Advice for a turn (§18); decides nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct AdviceReply {
    /// The claim that governs.
    pub owner: Option<OwnerView>,
    /// Purposes the subject is suppressed for, on any channel.
    pub suppressions: SmallVec<[PurposeId; 2]>,
    /// One for each purpose with a budget, of a customer.
    pub budgets: SmallVec<[BudgetView; 4]>,
    /// What was offered to the subject and holds.
    pub commitments: Vec<CommitmentView>,
    /// What the company owes the subject.
    pub promises: Vec<Promise>,
}

/// An effect as it is now (Appendix A, Effect).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectReply {
    /// This request reserved it.
    pub created: bool,
    /// Its state; a lapsed lease reads as unknown.
    pub state: EffectState,
    /// Its current attempt.
    pub attempt: u32,
    /// When the attempt was reserved.
    pub reserved_at: Timestamp,
    /// When it was settled as done.
    pub done_at: Option<Timestamp>,
}

/// An effect's state. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum EffectState {
    /// A live attempt has it.
    Reserved,
    /// It happened.
    Done,
    /// The attempt did not happen; the next may open.
    Failed,
    /// Nobody knows.
    UnknownOutcome,
}

impl EffectState {
    /// The word on the wire.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::UnknownOutcome => "unknown_outcome",
        }
    }
}

/// A declaration's result (Appendix A, DeclareResult).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclareReply {
    /// The machines took it.
    pub accepted: bool,
    /// The decision a `contact.made` was recorded under.
    pub decision_id: Option<Id>,
    /// The claim or lock that was made or given back.
    pub claim: Option<ClaimedRef>,
}

impl DeclareReply {
    /// The machines did not take it.
    pub const TURNED_DOWN: Self = Self {
        accepted: false,
        decision_id: None,
        claim: None,
    };

    /// The machines took it, and there is nothing more to say.
    pub const TAKEN: Self = Self {
        accepted: true,
        ..Self::TURNED_DOWN
    };
}

/// A shadow run that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunAsked {
    /// Its id.
    pub id: Id,
    /// How many days it looks at; those of the run under way, not those asked for now.
    pub days: u8,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// It was not under way before.
    pub is_new: bool,
}

/// Some shadow runs, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunsPage {
    /// The runs.
    pub runs: Vec<Run>,
    /// Where the next page starts; `None`: this is the last.
    pub next: Option<u32>,
}

/// What an erasure took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedReply {
    /// The erasure's id.
    pub request_id: Id,
    /// The keyed hash of whom it was about.
    pub customer: KeyHash,
    /// What was taken, and when.
    pub erased: Erased,
}

/// An admission as it is now (§7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmissionReply {
    /// Its id.
    pub admission_id: Id,
    /// The operation's name.
    pub operation: Text,
    /// How it stands.
    pub state: AdmissionState,
    /// Units that count of it.
    pub units: u32,
    /// Until when its settlement is expected.
    pub expires_at: Timestamp,
    /// Units the budget has left after this; `None` when the rules have no such operation any more.
    pub remaining: Option<u32>,
}
