//! The operations of handoffs, and the promises of an operator's feed.

use interlock_wire::contact::handoffs::{Handoff, HandoffCreate, HandoffOutcome};
use interlock_wire::contact::promises::{Promise, PromiseTold};
use interlock_wire::problem::Code;
use interlock_wire::shape::{Components, Shape};

use super::operation::Operation;

pub(super) fn all(into: &mut Components) -> Vec<Operation> {
    let one = "/v1/handoffs/{handoff_id}";
    let accept = "/v1/handoffs/{handoff_id}/accept";
    let outcome = "/v1/handoffs/{handoff_id}/outcome";
    let id = "The handoff.";
    let ended = [Code::HandoffClosed, Code::HandoffExpired];
    let operations = vec![
        Operation::post(
            "/v1/handoffs",
            "create_handoff",
            "Hands a customer over: the target holds it until the outcome is due.",
        )
        .repeatable(true)
        .takes(HandoffCreate::shape(into), None)
        .answers(201, "The handoff with its package.", Handoff::shape(into))
        .problems(&[Code::TargetFull, Code::Capacity]),
        Operation::get(one, "read_handoff", "A handoff as it is now.")
            .in_path("handoff_id", id)
            .answers(200, "The handoff.", Handoff::shape(into))
            .problems(&[Code::InvalidInput]),
        Operation::post(
            accept,
            "accept_handoff",
            "Takes a handoff over. Again it changes nothing.",
        )
        .in_path("handoff_id", id)
        .repeatable(true)
        .answers(200, "The handoff.", Handoff::shape(into))
        .problems(&ended)
        .problems(&[Code::NotReadable, Code::RequestTimeout, Code::TooLarge])
        .problems(&[Code::UnsupportedMediaType, Code::Capacity]),
        Operation::post(
            outcome,
            "handoff_outcome",
            "Reports how a handoff ended, and ends the target's hold. The same outcome again changes \
             nothing.",
        )
        .in_path("handoff_id", id)
        .repeatable(true)
        .takes(HandoffOutcome::shape(into), None)
        .answers(200, "The handoff.", Handoff::shape(into))
        .problems(&ended)
        .problems(&[Code::Capacity]),
        Operation::post(
            "/v1/operator/promises",
            "promise",
            "What the company owes a customer, as an operator's feed tells it; the last word counts. \
             Needs the role `integration` or the scope `admin`.",
        )
        .repeatable(true)
        .takes(PromiseTold::shape(into), None)
        .answers(200, "The promise as it was told.", Promise::shape(into))
        .problems(&[Code::TargetFull, Code::Capacity]),
    ];
    let coordinating = operations.into_iter().map(Operation::coordinating);
    coordinating.collect()
}
