//! The operations of the configuration plane.

use interlock_wire::plane::{ConfigDiff, ConfigDiffCreate, ConfigDiffs, ConfigDocument};
use interlock_wire::problem::Code;
use interlock_wire::shape::{Components, Shape};
use interlock_wire::value::Uuid;

use super::operation::Operation;

const DIFFS: &str = "/v1/config/diffs";
const DIFF: &str = "/v1/config/diffs/{diff_id}";

pub(super) fn all(into: &mut Components) -> Vec<Operation> {
    let mut operations = reads(into);
    operations.extend(edits(into));
    operations
        .into_iter()
        .map(|operation| {
            operation.keyed_by_source().problems(&[
                Code::Forbidden,
                Code::NotFound,
                Code::RateLimited,
                Code::Internal,
                Code::CoordinationUnavailable,
            ])
        })
        .collect()
}

fn reads(into: &mut Components) -> Vec<Operation> {
    let space = "The space of the key.";
    vec![
        Operation::get(
            "/v1/config/{type}",
            "config_document",
            "A document of the space, `features` or `coordination`, with its version. Needs the role \
             `security`, `integration` or `analysis`; `admin` stands for every role.",
        )
        .in_path("type", "The document: `features` or `coordination`.")
        .in_query("space_id", space, true, Uuid::shape(into))
        .answers(200, "The document.", ConfigDocument::shape(into)),
        Operation::get(
            DIFFS,
            "config_diffs",
            "The edits of the space: all that are open and the last 100 that are closed, newest \
             first, without their documents and with long values cut. Needs a role as reading a \
             document does.",
        )
        .in_query("space_id", space, true, Uuid::shape(into))
        .answers(200, "The edits.", ConfigDiffs::shape(into)),
        Operation::get(
            DIFF,
            "config_diff",
            "An edit, with the whole document proposed. Needs a role as reading a document does.",
        )
        .in_path("diff_id", "The edit.")
            .answers(200, "The edit.", ConfigDiff::shape(into)),
    ]
}

fn edits(into: &mut Components) -> Vec<Operation> {
    let approve = "/v1/config/diffs/{diff_id}/approve";
    let reject = "/v1/config/diffs/{diff_id}/reject";
    vec![
        Operation::post(
            DIFFS,
            "propose_config",
            "Proposes another document. `features` is proposed by the role `security`, \
             `coordination` by `integration`. It comes into force when every role in `needs` has \
             agreed. A document that is the one in force is refused.",
        )
        .takes(ConfigDiffCreate::shape(into), None)
        .answers(201, "The edit.", ConfigDiff::shape(into))
        .problems(&[Code::TargetFull]),
        Operation::post(
            approve,
            "approve_config",
            "Agrees to an edit as a role that is missing. One key agrees as one role, unless it has \
             `admin`. With the last agreement the document is in force on every shard before the \
             answer. Again it changes nothing.",
        )
        .in_path("diff_id", "The edit.")
        .answers(200, "The edit.", ConfigDiff::shape(into))
        .problems(&[Code::StaleVersion, Code::DiffClosed, Code::InvalidInput]),
        Operation::post(
            reject,
            "reject_config",
            "Turns an edit down: by the key that proposed it, or by a role that it needs. Again it \
             changes nothing.",
        )
        .in_path("diff_id", "The edit.")
        .answers(200, "The edit.", ConfigDiff::shape(into))
        .problems(&[Code::StaleVersion, Code::DiffClosed]),
    ]
}
