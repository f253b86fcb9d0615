//! The operations of reports and the overview.

use interlock_wire::contact::reports::{
    CoordinationOverview, CoordinationReportPage, ShadowRequest, ShadowRun,
};
use interlock_wire::shape::{self, Components, Shape};
use interlock_wire::value::Days;

use super::operation::Operation;
use super::pages::paged;

pub(super) fn all(into: &mut Components) -> Vec<Operation> {
    let operations = reports(into).into_iter();
    operations.map(Operation::coordinating).collect()
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
