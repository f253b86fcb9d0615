//! `POST /v1/batch`: what happened in conversations.
//!
//! Here: the part of an item that a coordinator reads. The contract of this route is larger than
//! coordination, so members that are not listed here are let through unread, and one item that
//! cannot be read never fails the others. Not here: what a message changes (`domain`).

mod shown;

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::answer::{Written, answer};
use crate::contact::subject::{Handle, ObjectRef};
use crate::json::Object;
use crate::read::{self, Refusal};
use crate::shape::{self, Closed, Components, RefOr, Schema, Shape};
use crate::value::{Count, Text, Uuid};

/// Most items of one batch, by the contract.
pub const ITEMS_MAX: usize = 500;

/// Most handles of one item, by the contract.
pub const HANDLES_MAX: usize = 16;

/// The items, each still as text.
#[derive(Debug, Deserialize)]
pub struct BatchRequest<'a> {
    /// In the order they are taken.
    #[serde(borrow)]
    pub items: Vec<&'a RawValue>,
}

impl<'a> BatchRequest<'a> {
    /// Reads the envelope.
    ///
    /// # Errors
    /// It is not JSON, or not an object with 1 to 500 items.
    pub fn read(body: &'a [u8]) -> Result<Self, Refusal> {
        let items = "the body must be an object with the list `items` of 1 to 500 items";
        let contract = || Refusal::Contract(items.to_owned());
        let text = std::str::from_utf8(body).map_err(|_| Refusal::NotJson)?;
        let read: Self = serde_json::from_str(text).map_err(|_| {
            match serde_json::from_str::<serde::de::IgnoredAny>(text) {
                Ok(_) => contract(),
                Err(_) => Refusal::NotJson,
            }
        })?;
        if (1..=ITEMS_MAX).contains(&read.items.len()) {
            Ok(read)
        } else {
            Err(contract())
        }
    }
}

/// What kind of item it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ItemType {
    /// A message, an event of a system, an action.
    #[serde(rename = "event")]
    Event,
    /// Handles of one customer.
    #[serde(rename = "identify")]
    Identify,
    /// A customer proved who they are.
    #[serde(rename = "verify")]
    Verify,
    /// A conversation is over.
    #[serde(rename = "conversation.ended")]
    ConversationEnded,
    /// A task is over.
    #[serde(rename = "task.ended")]
    TaskEnded,
    /// A conversation went to somebody else.
    #[serde(rename = "handoff")]
    Handoff,
    /// The client is there.
    #[serde(rename = "heartbeat")]
    Heartbeat,
}

impl ItemType {
    /// How each is spelled.
    const WORDS: [&'static str; 7] = [
        "event",
        "identify",
        "verify",
        "conversation.ended",
        "task.ended",
        "handoff",
        "heartbeat",
    ];
}

/// One item, as far as it is read. Members whose form is not sure are kept as text: what cannot be
/// read of them is as if it were not there.
#[derive(Debug, Deserialize)]
struct Item<'a> {
    r#type: ItemType,
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    idempotency_key: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    channel: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    handles: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    object_refs: Option<&'a RawValue>,
    #[serde(borrow, default)]
    speaker: Option<Speaker<'a>>,
    #[serde(borrow, default)]
    direction: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    occurred_at: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    visibility: Option<&'a RawValue>,
    #[serde(borrow, default)]
    canonical_type: Option<&'a RawValue>,
    #[serde(borrow, default)]
    fields: Option<&'a RawValue>,
    #[serde(borrow, default)]
    purpose: Option<&'a RawValue>,
    #[serde(borrow, default)]
    intent: Option<&'a RawValue>,
    #[serde(borrow, default)]
    jti: Option<&'a RawValue>,
    #[serde(borrow, default)]
    template: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Speaker<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}

/// What an item says to a coordinator.
#[derive(Debug, PartialEq)]
pub enum Told<'a> {
    /// A message.
    Message(Message<'a>),
    /// An event of a system.
    Event(SystemEvent<'a>),
    /// Anything else that is known.
    Other,
}

/// A message between a customer and the company.
#[derive(Debug, PartialEq, Serialize)]
pub struct Message<'a> {
    /// What the client names the item by, so that a repeat is taken once.
    pub idempotency_key: Option<Cow<'a, str>>,
    /// Where it came or went.
    pub channel: Cow<'a, str>,
    /// Whose it is; several handles may name one customer.
    pub handles: Vec<Handle<'a>>,
    /// When it was written, in milliseconds since 1970; now when it does not say.
    pub occurred_at: Option<i64>,
    /// What is told of one that the company wrote; `None`: the customer wrote it.
    pub ours: Option<Ours<'a>>,
}

/// What is told of a message that the company wrote.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Ours<'a> {
    /// The agent inside the source.
    pub agent: Option<Cow<'a, str>>,
    /// A person wrote it, not a program.
    pub is_person: bool,
    /// Why.
    pub purpose: Option<Cow<'a, str>>,
    /// The step it was.
    pub intent: Option<Cow<'a, str>>,
    /// The token it went with.
    pub jti: Option<[u8; 16]>,
    /// It is an approved template.
    pub template: bool,
}

/// An event of a system, such as a session that was opened. Its parts are read when it matters.
#[derive(Debug)]
pub struct SystemEvent<'a> {
    /// What the client names the item by.
    pub idempotency_key: Option<Cow<'a, str>>,
    /// What happened.
    pub canonical_type: Cow<'a, str>,
    handles: Vec<&'a RawValue>,
    objects: Option<&'a RawValue>,
    occurred_at: Option<Cow<'a, str>>,
    fields: Option<&'a RawValue>,
}

/// The parts of an event that matters.
#[derive(Debug, PartialEq, Serialize)]
pub struct EventParts<'a> {
    /// What happened.
    pub canonical_type: &'a str,
    /// Whom it is about.
    pub handles: Vec<Handle<'a>>,
    /// What it is about.
    pub objects: Vec<ObjectRef<'a>>,
    /// When it happened, in milliseconds since 1970; now when it does not say.
    pub occurred_at: Option<i64>,
    /// The other members, as they were sent.
    fields: Option<&'a str>,
}

/// Most characters of a name that an event or a message carries.
const NAME_MAX: usize = 256;

/// Reads an item.
///
/// # Errors
/// What is wrong with it, in words.
pub fn told(item: &RawValue) -> Result<Told<'_>, &'static str> {
    let item: Item<'_> = serde_json::from_str(item.get()).map_err(|_| {
        "the item must be an object whose `type` is `event`, `identify`, `verify`, \
         `conversation.ended`, `task.ended`, `handoff` or `heartbeat`, with members of their kinds"
    })?;
    if item.r#type != ItemType::Event {
        return Ok(Told::Other);
    }
    match item.kind.as_deref() {
        None | Some("message") => message(item),
        Some(_) => event(item),
    }
}

fn message(item: Item<'_>) -> Result<Told<'_>, &'static str> {
    let is_ours = match (item.direction.as_deref(), &item.speaker) {
        (Some("inbound"), _) => false,
        (Some("outbound"), _) => true,
        (None, Some(speaker)) => speaker.role != "customer",
        (Some(_), _) | (None, None) => return Ok(Told::Other),
    };
    // What agents note for each other goes to nobody.
    if is_ours && text(item.visibility).as_deref() == Some("internal") {
        return Ok(Told::Other);
    }
    Ok(Told::Message(Message {
        channel: item.channel.ok_or("the message has no `channel`")?,
        handles: handles(&item.handles)?,
        occurred_at: instant(item.occurred_at.as_deref())?,
        idempotency_key: named(item.idempotency_key)?,
        ours: is_ours.then(|| Ours {
            agent: item.speaker.as_ref().and_then(|speaker| text(speaker.id)),
            is_person: item
                .speaker
                .as_ref()
                .is_some_and(|speaker| speaker.role == "human_agent"),
            purpose: text(item.purpose),
            intent: text(item.intent),
            jti: text(item.jti).and_then(|text| Some(Uuid::parse(&text)?.0)),
            template: item
                .template
                .is_some_and(|mark| !matches!(mark.get(), "null" | "false" | "\"\"")),
        }),
    }))
}

fn event(item: Item<'_>) -> Result<Told<'_>, &'static str> {
    let Some(canonical_type) = text(item.canonical_type).or(item.kind) else {
        return Ok(Told::Other);
    };
    Ok(Told::Event(SystemEvent {
        idempotency_key: named(item.idempotency_key)?,
        canonical_type,
        handles: item.handles,
        objects: item.object_refs,
        occurred_at: item.occurred_at,
        fields: item.fields,
    }))
}

impl PartialEq for SystemEvent<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.canonical_type == other.canonical_type && self.parts() == other.parts()
    }
}

impl SystemEvent<'_> {
    /// Reads whom it is about and when it was.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parts(&self) -> Result<EventParts<'_>, &'static str> {
        let listed = self
            .objects
            .map(|list| list.get())
            .filter(|list| *list != "null");
        let listed: Vec<&RawValue> = match listed {
            Some(list) => serde_json::from_str(list).map_err(|_| "`object_refs` must be a list")?,
            None => Vec::new(),
        };
        if listed.len() > HANDLES_MAX {
            return Err("the event has more than 16 `object_refs`");
        }
        let objects = listed.iter().map(|one| one.get());
        let objects: Result<Vec<_>, Refusal> = objects
            .map(|one| read::text_at(one, Some("object_refs")))
            .collect();
        Ok(EventParts {
            canonical_type: &self.canonical_type,
            handles: handles(&self.handles)?,
            objects: objects
                .map_err(|_| "an object of the event needs `type`, `namespace` and `id`")?,
            occurred_at: instant(self.occurred_at.as_deref())?,
            fields: self.fields.map(RawValue::get),
        })
    }
}

impl EventParts<'_> {
    /// A text of 1 to 256 characters among its other members.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<String> {
        let fields: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(self.fields?).ok()?;
        text(fields.get(name).copied()).map(Cow::into_owned)
    }
}

/// A text of 1 to 256 characters, when it is one.
fn text(value: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let text: Text256<'_> = serde_json::from_str(value?.get()).ok()?;
    (1..=NAME_MAX)
        .contains(&text.0.chars().count())
        .then_some(text.0)
}

/// A text that borrows where it can.
#[derive(Deserialize)]
struct Text256<'a>(#[serde(borrow)] Cow<'a, str>);

fn handles<'a>(listed: &[&'a RawValue]) -> Result<Vec<Handle<'a>>, &'static str> {
    if listed.len() > HANDLES_MAX {
        return Err("the item has more than 16 `handles`");
    }
    let handles = listed.iter().map(|handle| handle.get());
    let handles: Result<Vec<_>, Refusal> = handles
        .map(|handle| read::text_at(handle, Some("handles")))
        .collect();
    handles.map_err(|_| "a handle of the item needs `type` and `value`")
}

fn instant(text: Option<&str>) -> Result<Option<i64>, &'static str> {
    match text.map(crate::time::parse) {
        None => Ok(None),
        Some(Some(at)) => Ok(Some(at)),
        Some(None) => Err("`occurred_at` must be an RFC 3339 date and time with an offset"),
    }
}

fn named(key: Option<Cow<'_, str>>) -> Result<Option<Cow<'_, str>>, &'static str> {
    match key {
        Some(key) if !(1..=512).contains(&key.chars().count()) => {
            Err("`idempotency_key` must have 1 to 512 characters")
        }
        key => Ok(key),
    }
}

answer! {
    /// What became of a batch.
    derive(Debug, Default, PartialEq, Eq)
    BatchResponse {
        /// Items taken.
        accepted: required usize as Count,
        /// Items that were taken before under the same key.
        duplicates: required usize as Count,
        /// Items that were not, by their place, and why.
        errors: present Vec<(usize, &'static str)> as ItemError,
    }
}

/// Why an item was not taken, as it is shown: its place in the list and what is wrong with it.
#[derive(Clone, Copy, Debug)]
pub struct ItemError;

impl Shape for ItemError {
    fn shape(into: &mut Components) -> RefOr<Schema> {
        into.refer::<Self>("ItemError", |into| {
            let text = Text::shape(into);
            Closed::new(&["Why an item was not taken."])
                .required(
                    "index",
                    &["Its place in the list, from 0."],
                    Count::shape(into),
                )
                .required("code", &["Always `invalid_input`."], text.clone())
                .required("detail", &["What is wrong, and never what was sent."], text)
                .build()
                .into()
        })
    }
}

impl Written<(usize, &'static str)> for ItemError {
    fn write(out: &mut Vec<u8>, (index, why): &(usize, &'static str)) {
        let mut error = Object::open(out);
        Count::write(error.member("index"), index);
        error.word("code", "invalid_input");
        error.text("detail", why);
        error.close();
    }
}

/// The body as it is shown. It is open: members of other parts of the contract are let through.
impl Shape for BatchRequest<'_> {
    fn shape(into: &mut Components) -> RefOr<Schema> {
        into.refer::<Self>("BatchRequest", |into| {
            let item = into.refer::<ItemType>("BatchItem", shown::item);
            let items = shape::list(item, 1, ITEMS_MAX);
            shape::open(
                "What happened in conversations.",
                &["items"],
                [("items", items)],
            )
        })
    }
}
