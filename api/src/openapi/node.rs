//! The operations beside coordination: the node, what a key is, and what happened in conversations.

use interlock_wire::contact::advice::{ContextRequest, ContextResponse};
use interlock_wire::contact::keys::ContactKeys;
use interlock_wire::contact::messages::{BatchRequest, BatchResponse};
use interlock_wire::problem::Code;
use interlock_wire::profile::{NodeStatus, SdkProfile, SourceMe};
use interlock_wire::shape::{self, Components, Shape};
use interlock_wire::value::{Text, Uuid};

use super::operation::Operation;

pub(super) fn all(into: &mut Components) -> Vec<Operation> {
    let mut operations = keyed(into);
    operations.push(keys(into));
    operations.extend(public(into).into_iter().map(Operation::public));
    operations
}

fn keyed(into: &mut Components) -> Vec<Operation> {
    vec![
        Operation::post(
            "/v1/batch",
            "batch",
            "What happened in conversations, up to 500 items. Messages of customers open the \
             free-form window of their channel; other items are taken and not kept. Needs the scope \
             `track`.",
        )
        .keyed_by_source()
        .takes(BatchRequest::shape(into), None)
        .answers(200, "All items were taken.", BatchResponse::shape(into))
        .answers(207, "Some items were not; `errors` says why.", BatchResponse::shape(into))
        .problems(&[
            Code::Forbidden,
            Code::RateLimited,
            Code::Internal,
            Code::CoordinationUnavailable,
            Code::Capacity,
        ]),
        Operation::post(
            "/v1/context",
            "context",
            "What a turn reads before it speaks: with `coordination` in `include`, what is known of \
             the customer or record. It decides and reserves nothing. Needs the scope `context`.",
        )
        .keyed_by_source()
        .takes(ContextRequest::shape(into), None)
        .answers(
            200,
            "An empty pack, and the block.",
            ContextResponse::shape(into),
        )
        .problems(&[
            Code::Forbidden,
            Code::NotFound,
            Code::RateLimited,
            Code::Internal,
            Code::CoordinationUnavailable,
        ]),
        Operation::get("/v1/sdk/profile", "sdk_profile", "What the key's space has turned on.")
            .keyed_by_source()
            .answers(200, "The features.", SdkProfile::shape(into)),
        Operation::get("/v1/sources/me", "source_me", "What the key is.")
            .keyed_by_source()
            .answers(200, "The key, its source and its space.", SourceMe::shape(into)),
    ]
}

fn public(into: &mut Components) -> Vec<Operation> {
    vec![
        Operation::get("/healthz", "alive", "Whether the process answers.").answers(
            200,
            "It does.",
            NodeStatus::shape(into),
        ),
        Operation::head("/healthz", "alive", "Whether the process answers.").answers(
            200,
            "It does.",
            NodeStatus::shape(into),
        ),
        Operation::get("/readyz", "ready", "Whether the node can decide.")
            .answers(200, "It can.", NodeStatus::shape(into))
            .problems(&[Code::CoordinationUnavailable]),
        Operation::head("/readyz", "ready", "Whether the node can decide.")
            .answers(200, "It can.", NodeStatus::shape(into))
            .problems(&[Code::CoordinationUnavailable]),
        Operation::get(
            "/metrics",
            "metrics",
            "The node's metrics as Prometheus text.",
        )
        .answers_as(200, "The metrics.", "text/plain", Text::shape(into)),
        Operation::get("/openapi.json", "openapi", "This document.")
            .answers(200, "The document.", shape::any_object())
            .answers_nothing(304, "The document is the one `If-None-Match` names."),
    ]
}

fn keys(into: &mut Components) -> Operation {
    let path = "/.well-known/niadra-contact-keys.json";
    Operation::get(
        path,
        "contact_keys",
        "The keys a gateway verifies contact tokens of a space with.",
    )
    .public()
    .in_query("space", "The space.", true, Uuid::shape(into))
    .answers(200, "The keys.", ContactKeys::shape(into))
    .problems(&[Code::NotFound, Code::InvalidInput])
}
