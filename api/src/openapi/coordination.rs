//! The operations of coordination that are served.

use interlock_wire::contact::check::{
    CheckBatchRequest, CheckBatchResponse, CheckRequest, CheckResult,
};
use interlock_wire::contact::claims::{ClaimRelease, ClaimRequest, OwnershipClaim};
use interlock_wire::contact::declare::{Declaration, DeclareResult};
use interlock_wire::contact::effects::{Effect, EffectReserve, EffectSettle};
use interlock_wire::problem::Code;
use interlock_wire::shape::{Components, Shape};
use serde_json::{Value, json};

use super::operation::Operation;

pub(super) fn all(into: &mut Components) -> Vec<Operation> {
    let mut operations = checks(into);
    operations.extend(declarations(into));
    operations.extend(claims(into));
    operations.extend(effects(into));
    operations
}

fn checks(into: &mut Components) -> Vec<Operation> {
    vec![
        Operation::post(
            "/v1/coordination/check",
            "check",
            "May this agent do this now? An `allow` reserves what it promises in the same step; \
             everything else leaves nothing behind.",
        )
        .coordinating()
        .repeatable(false)
        .takes(CheckRequest::shape(into), Some(check_example()))
        .answers(200, "The decision.", CheckResult::shape(into))
        .problems(&[Code::Capacity]),
        Operation::post(
            "/v1/coordination/check/batch",
            "check_batch",
            "Up to 500 checks, decided as if they were asked one after the other. One that cannot be \
             decided in time is answered in place; none makes the others fail.",
        )
        .coordinating()
        .repeatable(false)
        .takes(CheckBatchRequest::shape(into), None)
        .answers(200, "The decisions, in order.", CheckBatchResponse::shape(into))
        .problems(&[Code::Capacity]),
    ]
}

fn declarations(into: &mut Components) -> Vec<Operation> {
    vec![
        Operation::post(
            "/v1/coordination/declare",
            "declare",
            "What happened, after the fact. What a state does not allow is answered with `accepted` \
             false and not recorded; the order of declarations is free.",
        )
        .coordinating()
        .repeatable(true)
        .takes(Declaration::shape(into), None)
        .answers(200, "Whether it was recorded.", DeclareResult::shape(into))
        .problems(&[Code::Capacity]),
    ]
}

fn claims(into: &mut Components) -> Vec<Operation> {
    vec![
        Operation::post(
            "/v1/coordination/claims",
            "claim",
            "Takes a customer, an object or a task of an object until a time; the same holder renews. \
             With `source` it reports what another system says, and is never refused.",
        )
        .coordinating()
        .repeatable(true)
        .takes(ClaimRequest::shape(into), Some(claim_example()))
        .answers(201, "The claim.", OwnershipClaim::shape(into))
        .problems(&[Code::LeaseHeld, Code::TaskLocked, Code::TargetFull, Code::Capacity]),
        Operation::post(
            "/v1/coordination/claims/{claim_id}/release",
            "release_claim",
            "Gives a claim back. Again with the same epoch it changes nothing.",
        )
        .coordinating()
        .in_path("claim_id", "The claim.")
        .repeatable(true)
        .takes(ClaimRelease::shape(into), None)
        .answers(200, "The claim, which has ended.", OwnershipClaim::shape(into))
        .problems(&[Code::StaleEpoch, Code::Capacity]),
    ]
}

fn effects(into: &mut Components) -> Vec<Operation> {
    let settle = "/v1/coordination/effects/{effect_id}/settle";
    vec![
        Operation::post(
            "/v1/coordination/effects",
            "reserve_effect",
            "Reserves an act that must happen once.",
        )
        .coordinating()
        .repeatable(true)
        .takes(EffectReserve::shape(into), None)
        .answers(201, "Reserved: act, then settle.", Effect::shape(into))
        .answers(
            200,
            "Nothing was reserved, the key being done or ambiguous: do not act.",
            Effect::shape(into),
        )
        .problems(&[
            Code::EffectInFlight,
            Code::OverCallCeiling,
            Code::BudgetExhausted,
            Code::TargetFull,
            Code::Capacity,
        ]),
        Operation::post(settle, "settle_effect", "Says how an attempt ended.")
            .coordinating()
            .in_path(
                "effect_id",
                "The key's public name, as its reservation answered it.",
            )
            .repeatable(true)
            .takes(EffectSettle::shape(into), None)
            .answers(200, "The effect as it is now.", Effect::shape(into))
            .problems(&[Code::StaleAttempt, Code::InvalidTransition, Code::Capacity]),
    ]
}

/// A check as most agents send it.
pub(super) fn check_example() -> Value {
    json!({
        "agent": "closing-assistant",
        "intent": "proposal_followup",
        "direction": "outbound",
        "purpose": "service",
        "channel": "whatsapp",
        "subject": {"type": "email", "value": "ana@example.com"},
        "effect_key": "proposal-4711-followup-1",
    })
}

/// An agent takes a customer for an hour.
pub(super) fn claim_example() -> Value {
    json!({
        "kind": "owner",
        "holder": "closing-assistant",
        "lease_s": 3_600,
        "subject": {"type": "email", "value": "ana@example.com"},
        "intents": ["payment_reminder"],
    })
}
