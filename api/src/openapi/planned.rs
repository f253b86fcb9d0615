//! The operations of coordination that are not served yet.

use interlock_wire::contact::reports::{
    CoordinationOverview, CoordinationReportPage, ShadowRequest, ShadowRun,
};
use interlock_wire::contact::suppressions::{SuppressionPage, SuppressionSalt};
use interlock_wire::shape::{self, Components, Shape};
use interlock_wire::value::{Cursor, Days, Limit};

use super::operation::Operation;

pub(super) fn all(into: &mut Components) -> Vec<Operation> {
    let mut operations = reports(into);
    operations.extend(suppressions(into));
    operations
        .into_iter()
        .map(Operation::coordinating)
        .map(Operation::planned)
        .collect()
}

/// Where a page starts and how long it may be.
fn paged(operation: Operation, limit: u32, into: &mut Components) -> Operation {
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

fn reports(into: &mut Components) -> Vec<Operation> {
    let days = shape::with_default(Days::shape(into), 7.into());
    let reports = Operation::get(
        "/v1/coordination/reports",
        "reports",
        "Shadow runs and what they found, newest first. Needs the role `analysis` or `security`.",
    );
    vec![
        Operation::get(
            "/v1/coordination/overview",
            "overview",
            "What holds now, and what was decided in the last days, in counts. Needs the role \
             `analysis` or `security`.",
        )
        .in_query("days", "How many days back.", false, days)
        .answers(200, "The counts.", CoordinationOverview::shape(into)),
        paged(reports, 50, into).answers(
            200,
            "A page of reports.",
            CoordinationReportPage::shape(into),
        ),
        Operation::post(
            "/v1/coordination/shadow",
            "shadow",
            "Asks for a shadow run: the rules over messages that went already, with nothing enforced. \
             Needs the role `analysis` or `security`.",
        )
        .takes(ShadowRequest::shape(into), None)
        .answers(202, "The run, which goes on by itself.", ShadowRun::shape(into)),
    ]
}

fn suppressions(into: &mut Components) -> Vec<Operation> {
    let list = Operation::get(
        "/v1/suppressions",
        "suppressions",
        "Changes of the suppression list, oldest first; without a cursor all that is in force. A page \
         with fewer items than the limit is the last for now.",
    );
    vec![
        paged(list, 200, into).answers(200, "A page of changes.", SuppressionPage::shape(into)),
        Operation::get(
            "/v1/suppressions/salt",
            "suppression_salt",
            "The salt the calling source's copy of the list is keyed with.",
        )
        .answers(200, "The salt.", SuppressionSalt::shape(into)),
    ]
}
