//! The operations of privacy: erasures and legal holds.

use interlock_wire::contact::privacy::{
    Erasure, ForgetRequest, LegalHold, LegalHoldCreate, LegalHoldRelease, LegalHolds,
};
use interlock_wire::problem::Code;
use interlock_wire::shape::{Components, Shape};

use super::operation::Operation;

/// What every operation here says of its callers.
const WHO: &str = "Needs the scope `admin`, or the role `security` or `admin`.";

pub(super) fn all(into: &mut Components) -> Vec<Operation> {
    let mut operations = erasures(into);
    operations.extend(holds(into));
    operations
        .into_iter()
        .map(Operation::coordinating)
        .collect()
}

fn erasures(into: &mut Components) -> Vec<Operation> {
    let about = format!(
        "Erases a customer: contacts and what they count, claims, offers with their terms, last \
         messages, tokens. Suppressions stay. It is done when it is answered. {WHO}"
    );
    let again = format!("What an erasure took, for 400 days. {WHO}");
    vec![
        Operation::post("/v1/forget", "forget", &about)
            .repeatable(true)
            .takes(ForgetRequest::shape(into), None)
            .answers(200, "What was erased, in counts.", Erasure::shape(into))
            .problems(&[Code::UnderLegalHold]),
        Operation::get("/v1/forget/{request_id}", "read_forget", &again)
            .in_path("request_id", "The erasure.")
            .answers(200, "What was erased, in counts.", Erasure::shape(into)),
    ]
}

fn holds(into: &mut Components) -> Vec<Operation> {
    let place = format!(
        "Keeps what a handle, an object or a conversation names from purging and erasure until the \
         release. {WHO}"
    );
    let release = format!("Ends a hold. Again it changes nothing. {WHO}");
    let live = format!("The live holds of the space. {WHO}");
    vec![
        Operation::post("/v1/legal-holds", "create_legal_hold", &place)
            .repeatable(true)
            .takes(LegalHoldCreate::shape(into), None)
            .answers(201, "The hold.", LegalHold::shape(into))
            .problems(&[Code::HoldsFull]),
        Operation::post(
            "/v1/legal-holds/{hold_id}/release",
            "release_legal_hold",
            &release,
        )
        .in_path("hold_id", "The hold.")
        .repeatable(false)
        .takes(LegalHoldRelease::shape(into), None)
        .answers(200, "The hold, which has ended.", LegalHold::shape(into)),
        Operation::get("/v1/operator/legal-holds", "legal_holds", &live).answers(
            200,
            "The holds, oldest first.",
            LegalHolds::shape(into),
        ),
    ]
}
