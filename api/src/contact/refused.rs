//! What is not an answer, as a problem.
//!
//! Here: the one exhaustive mapping from refusals and failures of the core to codes. Not here:
//! statuses and titles (`wire::problem`).

use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::{Member, Reply};
use interlock_domain::machine::Undecided;
use interlock_wire::problem::Code;

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
            "there is no such effect; check the `effect_id` in the path",
        ),
        Reply::Capacity => Failure::new(
            Code::Capacity,
            "memory or the disk is at its bound and nothing new is reserved; settle what is open or send \
             this again later",
        )
        .retry_after(limits.retry_after_s),
        Reply::Undeclared(member) => undeclared(*member),
        // Another command's answer: a bug of ours.
        Reply::Check(_) | Reply::Effect(_) | Reply::Declared(_) | Reply::Observed => broken(),
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
            "the effect does not move from its state to `state`; it stays as it is",
        ),
    }
}

/// A name the space's rules do not have.
pub(crate) fn undeclared(member: Member) -> Failure {
    Failure::invalid(match member {
        Member::Purpose => "`purpose` must be one the space declares",
        Member::Channel => "`channel` must be one the space declares",
        Member::GatewayId => "`gateway_id` must be one the space declares",
        Member::Reason => "`reason` must be one the space declares",
    })
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
    };
    Failure::new(Code::CoordinationUnavailable, detail).retry_after(limits.retry_after_s)
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
