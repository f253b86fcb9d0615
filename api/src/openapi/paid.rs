//! The operations of paid calls, and of what people and systems of record say of effects and facts.

use interlock_wire::contact::admissions::{Admission, AdmissionRequest, AdmissionSettle};
use interlock_wire::contact::operator::{
    AwaitingEffects, FactEnd, FactEnded, OperatorEffect, OperatorSettle,
};
use interlock_wire::problem::Code;
use interlock_wire::shape::{Components, Shape};

use super::operation::Operation;

pub(super) fn all(into: &mut Components) -> Vec<Operation> {
    let mut operations = admissions(into);
    operations.extend(operator(into));
    operations
        .into_iter()
        .map(Operation::coordinating)
        .collect()
}

fn admissions(into: &mut Components) -> Vec<Operation> {
    vec![
        Operation::post(
            "/v1/coordination/admissions",
            "admit",
            "May this call of a paid operation be made? Its units are reserved in the same step. \
             Needs the scope `coordinate`.",
        )
        .repeatable(true)
        .takes(AdmissionRequest::shape(into), None)
        .answers(201, "Make the call, then settle.", Admission::shape(into))
        .problems(&[Code::OverCallCeiling, Code::BudgetExhausted, Code::Capacity]),
        Operation::post(
            "/v1/coordination/admissions/{admission_id}/settle",
            "settle_admission",
            "How the call ended. `done` charges what it really cost, `failed` keeps its units spent, \
             `skipped` gives them back. The same again changes nothing. Needs the scope \
             `coordinate`.",
        )
        .in_path("admission_id", "The admission.")
        .repeatable(true)
        .takes(AdmissionSettle::shape(into), None)
        .answers(200, "The admission as it is now.", Admission::shape(into))
        .problems(&[Code::InvalidTransition, Code::Capacity]),
    ]
}

fn operator(into: &mut Components) -> Vec<Operation> {
    vec![
        Operation::get(
            "/v1/operator/effects/awaiting",
            "awaiting",
            "Effects whose outcome nobody knows, oldest first, at most 200. Needs the role \
             `security` or `analysis`.",
        )
        .answers(
            200,
            "What waits for a decision.",
            AwaitingEffects::shape(into),
        ),
        Operation::post(
            "/v1/operator/effects/{effect_id}/settle",
            "operator_settle",
            "How an attempt ended, as a person or the system of record says. Needs the role \
             `integration`, or with `by: person` the role `security`.",
        )
        .in_path(
            "effect_id",
            "The key's public name, or the `short_id` that the list shows.",
        )
        .repeatable(true)
        .takes(OperatorSettle::shape(into), None)
        .answers(200, "The effect as it is now.", OperatorEffect::shape(into))
        .problems(&[Code::StaleAttempt, Code::InvalidTransition, Code::Capacity]),
        Operation::post(
            "/v1/operator/facts/end",
            "end_fact",
            "The life of a record is over. Effect keys that live as long as it are free when they are \
             done or failed; the others stay closed until they are settled, and from then on for the \
             days of their kind. Needs the role `integration` or `security`.",
        )
        .repeatable(true)
        .takes(FactEnd::shape(into), None)
        .answers(
            200,
            "What became of the keys, in counts.",
            FactEnded::shape(into),
        )
        .problems(&[Code::UnderLegalHold]),
    ]
}
