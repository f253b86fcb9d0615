//! What is not an answer, as a problem.
//!
//! Here: the one exhaustive mapping from refusals and failures of the core to codes. Not here:
//! statuses and titles (`wire::problem`).

use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::{HeldReply, Member, Reply};
use interlock_domain::machine::Undecided;
use interlock_domain::time::Timestamp;
use interlock_wire::problem::Code;
use interlock_wire::time;

use crate::limits::ApiLimits;
use crate::problem::Failure;

/// A reply the route has no success for.
pub(crate) fn reply(reply: &Reply, limits: &ApiLimits) -> Failure {
    match reply {
        Reply::Refused(why) => refusal(*why),
        Reply::Conflict => Failure::new(
            Code::IdempotencyConflict,
            "the `Idempotency-Key` came with another request before; take a new key for this one",
        ),
        Reply::NotFound => Failure::new(
            Code::NotFound,
            "there is no effect, claim, admission, handoff or legal hold of this id, or it is forgotten; check \
             the id in the path",
        ),
        Reply::Held(held) => is_held(held),
        Reply::Exhausted { next_allowed_at } => exhausted(*next_allowed_at),
        Reply::ClockSuspect => Failure::new(
            Code::CoordinationUnavailable,
            "the server's clock cannot be trusted, and units are counted by time; nothing was \
             reserved, send the request again later",
        )
        .retry_after(limits.retry_after_s),
        Reply::Capacity => Failure::new(
            Code::Capacity,
            "memory or the disk is at its bound and nothing new is reserved; settle what is open or send \
             this again later",
        )
        .retry_after(limits.retry_after_s),
        Reply::TooManyKeys => Failure::new(
            Code::RateLimited,
            "the source has as many `Idempotency-Key`s remembered as it may have; wait until the oldest, \
             at most 24 hours old, are forgotten, or let the operator raise [limits] \
             receipts_per_source_max",
        )
        .retry_after(limits.retry_after_s),
        Reply::Undeclared(member) => undeclared(*member),
        Reply::Past(member) => {
            let member = member.name();
            Failure::invalid(format!("`{member}` must be later than now"))
        }
        // Another command's answer: a bug of ours.
        Reply::Check(_)
        | Reply::Effect(_)
        | Reply::Declared(_)
        | Reply::Observed
        | Reply::ObservedAgain
        | Reply::RunAsked(_)
        | Reply::RunEnded
        | Reply::Runs(_)
        | Reply::Claim(_)
        | Reply::Found(_)
        | Reply::Admission(_)
        | Reply::FoundAdmission { .. }
        | Reply::Advice(_)
        | Reply::Shown(_)
        | Reply::Erased(_)
        | Reply::Hold(_)
        | Reply::HoldFound(_)
        | Reply::Moved
        | Reply::Feed(_)
        | Reply::Handoff(_)
        | Reply::Effects(_)
        | Reply::EffectSeen(_)
        | Reply::FactEnded(_)
        | Reply::Ties(_) => broken(),
    }
}

fn refusal(why: Refusal) -> Failure {
    match why {
        Refusal::EffectInFlight => Failure::new(
            Code::EffectInFlight,
            "a live attempt has reserved the effect; wait until it is settled or its lease ends",
        ),
        Refusal::StaleAttempt => Failure::new(
            Code::StaleAttempt,
            "`attempt` is not the current attempt of this source; settle with the one that \
             its check or reservation answered",
        ),
        Refusal::InvalidTransition => Failure::new(
            Code::InvalidTransition,
            "the effect or admission does not move from its state to `state`; it stays as it is",
        ),
        Refusal::LeaseHeld => Failure::new(
            Code::LeaseHeld,
            "somebody else holds the target at this level or a stricter one",
        ),
        Refusal::TaskLocked => Failure::new(Code::TaskLocked, "somebody else has the task"),
        Refusal::StaleEpoch => Failure::new(
            Code::StaleEpoch,
            "`epoch` is not the claim's current one, and nothing changed; release with the epoch \
             that its last claim or renewal answered",
        ),
        Refusal::IdTaken => Failure::new(
            Code::IdTaken,
            "the id belongs to another customer's commitment; ids are unique in the space, take another",
        ),
        Refusal::OverCallCeiling => Failure::new(
            Code::OverCallCeiling,
            "the call costs more than one call of the operation may; without `cost_units` it costs the \
             most any call did so far. Nothing was reserved",
        ),
        Refusal::BudgetExhausted => Failure::new(
            Code::BudgetExhausted,
            "the operation's budget does not have the units; nothing was reserved",
        ),
        Refusal::TargetFull => Failure::new(
            Code::TargetFull,
            "the target has as many live claims or locks, open handoffs, promises, tied effect keys or \
             suppressions with a window as it may have; end some, or wait for one to end",
        ),
        Refusal::HandoffClosed => Failure::new(
            Code::HandoffClosed,
            "the handoff has an outcome already and keeps it; read it to see which",
        ),
        Refusal::HandoffExpired => Failure::new(
            Code::HandoffExpired,
            "the handoff's outcome was due before now, and it holds nobody any more; make a new one",
        ),
        Refusal::UnderLegalHold => Failure::new(
            Code::UnderLegalHold,
            "a legal hold keeps the customer or the object, or a handoff of theirs, and nothing was \
             erased or freed; release the hold, then ask again under a new `Idempotency-Key`. \
             `interlock show` of it names the holds on it, and `GET /v1/operator/legal-holds` lists \
             every hold of the space",
        ),
        Refusal::HoldsFull => Failure::new(
            Code::HoldsFull,
            "the space has 1,000 live legal holds, as many as it may have; release one that has ended",
        ),
    }
}

/// Somebody else has it: who, and until when (§9).
fn is_held(held: &HeldReply) -> Failure {
    let until = time::text(held.until.0);
    let what = match held.refusal {
        Refusal::TaskLocked => "the task is locked",
        Refusal::LeaseHeld
        | Refusal::EffectInFlight
        | Refusal::StaleAttempt
        | Refusal::InvalidTransition
        | Refusal::StaleEpoch
        | Refusal::IdTaken
        | Refusal::TargetFull
        | Refusal::UnderLegalHold
        | Refusal::HoldsFull
        | Refusal::OverCallCeiling
        | Refusal::BudgetExhausted
        | Refusal::HandoffClosed
        | Refusal::HandoffExpired => "the target is held at this level or a stricter one",
    };
    let holder = &*held.holder;
    let code = refusal(held.refusal).code;
    let detail = format!("{what} by `{holder}` until {until}; ask again then, or ask the holder");
    Failure::new(code, detail).held_by(holder, held.until.0)
}

/// A budget has not enough units left, and has them later (§7).
fn exhausted(next_allowed_at: Timestamp) -> Failure {
    let at = time::text(next_allowed_at.0);
    let code = refusal(Refusal::BudgetExhausted).code;
    let detail = format!(
        "the operation's budget does not have the units before {at}; nothing was reserved, ask again then"
    );
    Failure::new(code, detail).next_allowed_at(next_allowed_at.0)
}

/// A name the space's rules do not have.
pub(crate) fn undeclared(member: Member) -> Failure {
    Failure::invalid(match member {
        Member::Purpose => "`purpose` must be one the space declares",
        Member::Channel => "`channel` must be one the space declares",
        Member::GatewayId => "`gateway_id` must be one the space declares",
        Member::Reason => "`reason` must be one the space declares",
        Member::Level => "`level` must be one of the space's ownership levels",
        Member::Type => "`type` must be a type of commitment the space declares",
        Member::Operation => {
            "`operation` must be a paid operation the space declares, asked for with what its `scope` says"
        }
        Member::Outcome => {
            "`outcome` must be one of the outcomes the space declares for handoffs; the package's \
             `outcome.vocabulary` lists those there were"
        }
        Member::ExpectedBy => "`expected_by` must be later than now",
        Member::Source => "`source` must be one of the space's ownership sources",
    })
}

/// What is said where the disk has no room for a record.
const NO_ROOM: &str = "the server's disk is full but for its last part, and nothing is recorded any \
    more: nothing was recorded of this either. The operator has to make room on the disk; reads go \
    on, and so does everything once there is room, so send this again later";

/// The disk has no room for a record: not `capacity`, after which settles and opt-outs go on.
pub(crate) fn no_room(limits: &ApiLimits) -> Failure {
    Failure::new(Code::CoordinationUnavailable, NO_ROOM).retry_after(limits.retry_after_s)
}

/// A command that was not decided.
pub(crate) fn undecided(why: Undecided, limits: &ApiLimits) -> Failure {
    let detail = match why {
        Undecided::Rebuilding => {
            "what the request needs is being rebuilt; nothing was recorded, send it again"
        }
        Undecided::Deadline => {
            "the request was not decided in time; nothing was recorded, send it again"
        }
        Undecided::NoRoom => return no_room(limits),
    };
    Failure::new(Code::CoordinationUnavailable, detail).retry_after(limits.retry_after_s)
}

/// The id in a path. Nothing has an id of another form, so such a one is unknown rather than wrong.
pub(crate) fn in_path<T>(id: Option<T>, limits: &ApiLimits) -> Result<T, Failure> {
    id.ok_or_else(|| reply(&Reply::NotFound, limits))
}

/// A failure of ours.
pub(crate) fn broken() -> Failure {
    Failure::new(
        Code::Internal,
        "the server failed on this request and recorded nothing; report the request id",
    )
}

/// The durable record cannot be written.
pub(crate) fn unavailable(limits: &ApiLimits) -> Failure {
    Failure::new(
        Code::CoordinationUnavailable,
        "the durable record cannot be written, and the outcome is not known; repeat the request \
         with the same `Idempotency-Key`",
    )
    .retry_after(limits.retry_after_s)
}

/// Too much waits for the same thing.
pub(crate) fn busy(limits: &ApiLimits) -> Failure {
    Failure::new(
        Code::RateLimited,
        "too many requests wait for the same customer, object or effect; send this one again later",
    )
    .retry_after(limits.retry_after_s)
}
