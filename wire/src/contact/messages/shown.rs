//! An item of `/v1/batch` as the document shows it: each member that is read of it.
//!
//! Here: names, forms and words. Not here: the reading (`messages`), which passes over what is not of
//! its form where that loses nothing. Called by the shape of the body.

use super::{HANDLES_MAX, ItemType, NAME_MAX};
use crate::contact::subject::{Handle, ObjectRef};
use crate::shape::{self, Components, RefOr, Schema, Shape};
use crate::value::{Instant, Uuid};

/// Members that are texts of at most [`NAME_MAX`] characters.
const NAMES: [(&str, &str); 6] = [
    (
        "kind",
        "Of an event: `message`, as when it is left out, or what a system says happened.",
    ),
    (
        "channel",
        "Where a message came or went; a message needs one.",
    ),
    (
        "visibility",
        "An outbound message that is `internal` went to nobody and counts for nothing.",
    ),
    (
        "canonical_type",
        "Of a system's event: what it means to a mapping; its `kind` when left out.",
    ),
    ("purpose", "Of an outbound message: its purpose."),
    ("intent", "Of an outbound message: its intent."),
];

/// The item.
pub(super) fn item(into: &mut Components) -> Schema {
    let names = NAMES.map(|(name, about)| (name, text(NAME_MAX, about)));
    let others = [
        ("type", word("What kind of item.", &ItemType::WORDS)),
        (
            "idempotency_key",
            text(
                512,
                "An item that is sent again under the same key counts once.",
            ),
        ),
        ("handles", handles(into)),
        ("object_refs", objects(into)),
        ("speaker", RefOr::T(speaker())),
        (
            "direction",
            word(
                "Which way a message went; when left out, `inbound` where its `speaker` is the \
                 customer and `outbound` where it is another.",
                &["inbound", "outbound"],
            ),
        ),
        (
            "occurred_at",
            shape::described(Instant::shape(into), &["When it was; now when left out."]),
        ),
        (
            "fields",
            shape::described(
                shape::any_object(),
                &["Of a system's event: where a mapping finds the holder."],
            ),
        ),
        (
            "jti",
            shape::described(
                Uuid::shape(into),
                &["Of an outbound message: the `jti` of the token it went with."],
            ),
        ),
        (
            "template",
            shape::described(
                shape::anything(),
                &[
                    "Of an outbound message: anything but `null`, `false` and an empty text says that it is an \
                   approved template.",
                ],
            ),
        ),
    ];
    shape::open(
        "Something that happened in a conversation. Of other types than `event` only `type` is read. \
         Members that are not listed are taken and not read.",
        &["type"],
        names.into_iter().chain(others),
    )
}

fn text(max: usize, about: &str) -> RefOr<Schema> {
    shape::described(shape::text(Some(1), Some(max)), &[about])
}

fn word(about: &str, words: &[&str]) -> RefOr<Schema> {
    RefOr::T(shape::words(about, words.iter().copied()))
}

fn handles(into: &mut Components) -> RefOr<Schema> {
    let handles = shape::list(Handle::shape(into), 0, HANDLES_MAX);
    shape::described(handles, &["The customer, by each handle that is known."])
}

fn objects(into: &mut Components) -> RefOr<Schema> {
    let objects = shape::list(ObjectRef::shape(into), 0, HANDLES_MAX);
    shape::described(objects, &["Of a system's event: the records it is about."])
}

fn speaker() -> Schema {
    let role = "`customer`, `human_agent`, or another word for a program.";
    shape::open(
        "Who spoke.",
        &["role"],
        [
            ("role", shape::described(shape::text(None, None), &[role])),
            (
                "id",
                text(
                    NAME_MAX,
                    "Of an outbound message: the agent inside the source.",
                ),
            ),
        ],
    )
}
