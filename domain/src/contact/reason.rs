//! Numbered reasons: why a check came out as it did, and why a request was refused.
//!
//! Here: numbers and slugs. A number is never given twice and never changes; a slug is what a
//! client sees. Not here: statuses (`api` maps refusals), and which step gives which (`check`).

use serde::{Deserialize, Serialize};

/// What a check comes to. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Go.
    Allow,
    /// Not now.
    Defer,
    /// No.
    Deny,
    /// Somebody else answers.
    HandoffTo,
}

impl Verdict {
    /// The word on the wire.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Defer => "defer",
            Self::Deny => "deny",
            Self::HandoffTo => "handoff_to",
        }
    }
}

/// Why a check came out as it did (`docs/spec/contact.md` §4.2). Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Reason {
    /// The effect is done.
    EffectDone = 0,
    /// A live attempt has reserved the effect.
    EffectInFlight = 1,
    /// Nobody knows how the effect's attempt ended.
    EffectUnknownOutcome = 2,
    /// The customer may not be contacted for the purpose.
    Suppressed = 3,
    /// Not in these local hours.
    ContactWindow = 4,
    /// Another holder has the customer or the object.
    OwnerActive = 5,
    /// Another holder has the task.
    LockHeld = 6,
    /// No unit is left in the window.
    BudgetExhausted = 7,
    /// The next unit of a spread slice is not free yet.
    BudgetPaced = 8,
    /// The channel is inside its quiet hours.
    QuietHours = 9,
    /// Only an approved template may go.
    TemplateRequired = 10,
    /// State is being rebuilt.
    Rebuilding = 11,
    /// A part the decision needs cannot be used.
    Unavailable = 12,
}

impl Reason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::EffectDone,
        Self::EffectInFlight,
        Self::EffectUnknownOutcome,
        Self::Suppressed,
        Self::ContactWindow,
        Self::OwnerActive,
        Self::LockHeld,
        Self::BudgetExhausted,
        Self::BudgetPaced,
        Self::QuietHours,
        Self::TemplateRequired,
        Self::Rebuilding,
        Self::Unavailable,
    ];

    /// The code a client may log.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::EffectDone => "effect_done",
            Self::EffectInFlight => "effect_in_flight",
            Self::EffectUnknownOutcome => "effect_unknown_outcome",
            Self::Suppressed => "suppressed",
            Self::ContactWindow => "contact_window",
            Self::OwnerActive => "owner_active",
            Self::LockHeld => "lock_held",
            Self::BudgetExhausted => "budget_exhausted",
            Self::BudgetPaced => "budget_paced",
            Self::QuietHours => "quiet_hours",
            Self::TemplateRequired => "template_required",
            Self::Rebuilding => "rebuilding",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Why a state machine refused a request (`docs/spec/contact.md` §20); each is a 409 on a route
/// and `accepted: false` in a declaration. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Refusal {
    /// A live attempt has reserved the effect.
    EffectInFlight = 0,
    /// The attempt is not the current one, or not the caller's.
    StaleAttempt = 1,
    /// The effect's state does not move there.
    InvalidTransition = 2,
    /// Somebody else has the target at the same level or a stricter one.
    LeaseHeld = 3,
    /// Somebody else has the task.
    TaskLocked = 4,
    /// The epoch is not the claim's current one.
    StaleEpoch = 5,
    /// The target has as many live claims, locks, open handoffs, promises or tied keys as it may have.
    TargetFull = 6,
    /// Another customer's offer has this id.
    IdTaken = 7,
    /// A legal hold keeps what was to be erased or freed.
    UnderLegalHold = 8,
    /// The space has as many live legal holds as it may have.
    HoldsFull = 9,
    /// One call may not cost this much.
    OverCallCeiling = 10,
    /// The budget of the operation does not have the units.
    BudgetExhausted = 11,
    /// The handoff has another outcome, or one already.
    HandoffClosed = 12,
    /// The handoff's outcome did not come in time.
    HandoffExpired = 13,
}

impl Refusal {
    /// All refusals, in the order of their numbers.
    pub const ALL: [Self; 14] = [
        Self::EffectInFlight,
        Self::StaleAttempt,
        Self::InvalidTransition,
        Self::LeaseHeld,
        Self::TaskLocked,
        Self::StaleEpoch,
        Self::TargetFull,
        Self::IdTaken,
        Self::UnderLegalHold,
        Self::HoldsFull,
        Self::OverCallCeiling,
        Self::BudgetExhausted,
        Self::HandoffClosed,
        Self::HandoffExpired,
    ];

    /// The problem's code.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::EffectInFlight => "effect_in_flight",
            Self::StaleAttempt => "stale_attempt",
            Self::InvalidTransition => "invalid_transition",
            Self::LeaseHeld => "lease_held",
            Self::TaskLocked => "task_locked",
            Self::StaleEpoch => "stale_epoch",
            Self::TargetFull => "target_full",
            Self::IdTaken => "id_taken",
            Self::UnderLegalHold => "under_legal_hold",
            Self::HoldsFull => "legal_holds_full",
            Self::OverCallCeiling => "over_call_ceiling",
            Self::BudgetExhausted => "budget_exhausted",
            Self::HandoffClosed => "handoff_closed",
            Self::HandoffExpired => "handoff_expired",
        }
    }
}
