//! The operations of coordination that are not served yet.

use interlock_wire::contact::handoffs::{Handoff, HandoffCreate, HandoffOutcome};
use interlock_wire::problem::Code;
use interlock_wire::shape::{self, Components, Shape};
use interlock_wire::value::{Cursor, Limit};

use super::operation::Operation;

pub(super) fn all(into: &mut Components) -> Vec<Operation> {
    let operations = handoffs(into);
    operations
        .into_iter()
        .map(Operation::coordinating)
        .map(Operation::planned)
        .collect()
}

fn handoffs(into: &mut Components) -> Vec<Operation> {
    let one = "/v1/handoffs/{handoff_id}";
    let accept = "/v1/handoffs/{handoff_id}/accept";
    let outcome = "/v1/handoffs/{handoff_id}/outcome";
    let id = "The handoff.";
    vec![
        Operation::post(
            "/v1/handoffs",
            "create_handoff",
            "Hands a customer over: the target holds it until the outcome is due.",
        )
        .repeatable(true)
        .takes(HandoffCreate::shape(into), None)
        .answers(201, "The handoff with its package.", Handoff::shape(into))
        .problems(&[Code::Capacity]),
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
        .problems(&[Code::HandoffClosed, Code::HandoffExpired]),
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
        .problems(&[Code::HandoffClosed, Code::HandoffExpired]),
    ]
}

/// Where a page starts and how long it may be.
pub(super) fn paged(operation: Operation, limit: u32, into: &mut Components) -> Operation {
    let cursor = Cursor::shape(into);
    let limits = shape::with_default(Limit::shape(into), limit.into());
    operation
        .in_query(
            "cursor",
            "The `next_cursor` of the page before.",
            false,
            cursor,
        )
        .in_query("limit", "Most items of the page.", false, limits)
}
