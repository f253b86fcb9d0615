//! The operations of the suppression list.

use interlock_wire::contact::declare::DeclareResult;
use interlock_wire::contact::suppressions::{PeoplesSuppression, SuppressionPage, SuppressionSalt};
use interlock_wire::problem::Code;
use interlock_wire::shape::{Components, Shape};

use super::operation::Operation;
use super::pages::paged;

pub(super) fn all(into: &mut Components) -> Vec<Operation> {
    let list = Operation::get(
        "/v1/suppressions",
        "suppressions",
        "Changes of the suppression list, oldest first; without a cursor all that is in force. A page \
         with fewer items than the limit is the last for now. An entry that was added or lifted is in \
         the next page that is asked for.",
    );
    let operations = vec![
        paged(list, 200, into)
            .answers(200, "A page of changes.", SuppressionPage::shape(into))
            .problems(&[Code::InvalidInput]),
        Operation::get(
            "/v1/suppressions/salt",
            "suppression_salt",
            "The salt the calling source's copy of the list is keyed with.",
        )
        .answers(200, "The salt.", SuppressionSalt::shape(into)),
        Operation::post(
            "/v1/operator/suppressions",
            "operator_suppressions",
            "People add an entry to the list, or lift what people added. No source lifts it, and it \
             lifts no source's. Needs the role `security` or `admin`.",
        )
        .repeatable(true)
        .takes(PeoplesSuppression::shape(into), None)
        .answers(200, "Whether anything changed.", DeclareResult::shape(into))
        .problems(&[Code::TargetFull, Code::Capacity]),
    ];
    operations
        .into_iter()
        .map(Operation::coordinating)
        .collect()
}
