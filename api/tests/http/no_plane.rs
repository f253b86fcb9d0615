//! A configuration plane that knows no space: its steps are shown with the built server (`tests/it`).

use interlock_api::plane::{Asking, Diff, Document, Plane, Proposal, Refused, Who};
use interlock_domain::key::SpaceId;
use interlock_wire::plane::DocumentKind;

pub(crate) struct NoPlane;

fn none<T: Send + 'static>() -> Asking<'static, T> {
    Box::pin(std::future::ready(Err(Refused::NotFound)))
}

impl Plane for NoPlane {
    fn document(&self, _: SpaceId, _: DocumentKind) -> Asking<'_, Document> {
        none()
    }

    fn propose(&self, _: Who, _: Proposal) -> Asking<'_, Diff> {
        none()
    }

    fn approve(&self, _: Who, _: [u8; 16]) -> Asking<'_, Diff> {
        none()
    }

    fn reject(&self, _: Who, _: [u8; 16]) -> Asking<'_, Diff> {
        none()
    }

    fn diffs(&self, _: SpaceId) -> Asking<'_, Vec<Diff>> {
        none()
    }

    fn diff(&self, _: SpaceId, _: [u8; 16]) -> Asking<'_, Diff> {
        none()
    }
}
