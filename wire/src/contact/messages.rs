//! `POST /v1/batch`: what happened in conversations.
//!
//! Here: the part of an item that a coordinator reads. The contract of this route is larger than
//! coordination, so members that are not listed here are let through unread, and one item that
//! cannot be read never fails the others. Not here: what a message changes (`domain`).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::answer::{Written, answer};
use crate::contact::subject::Handle;
use crate::json::Object;
use crate::read::{self, Refusal};
use crate::shape::{self, Closed, Components, RefOr, Schema, Shape};
use crate::value::{Count, Text};

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

/// One item, as far as it is read.
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
    speaker: Option<Speaker<'a>>,
    #[serde(borrow, default)]
    direction: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    occurred_at: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
struct Speaker<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
}

/// A message of a customer.
#[derive(Debug, PartialEq, Serialize)]
pub struct CustomerMessage<'a> {
    /// What the client names the item by, so that a repeat is taken once.
    pub idempotency_key: Option<Cow<'a, str>>,
    /// Where it came.
    pub channel: Cow<'a, str>,
    /// Whose it is; several handles may name one customer.
    pub handles: Vec<Handle<'a>>,
    /// When it was written, in milliseconds since 1970; now when it does not say.
    pub occurred_at: Option<i64>,
}

/// Reads an item: the customer's message it is, or `None` when it is anything else that is known.
///
/// # Errors
/// What is wrong with it, in words.
pub fn customer_message(item: &RawValue) -> Result<Option<CustomerMessage<'_>>, &'static str> {
    let item: Item<'_> = serde_json::from_str(item.get()).map_err(|_| {
        "the item must be an object whose `type` is `event`, `identify`, `verify`, \
         `conversation.ended`, `task.ended`, `handoff` or `heartbeat`, with members of their kinds"
    })?;
    if item.r#type != ItemType::Event || item.kind.is_some_and(|kind| kind != "message") {
        return Ok(None);
    }
    let inbound = match (item.direction.as_deref(), item.speaker) {
        (Some(direction), _) => direction == "inbound",
        (None, Some(speaker)) => speaker.role == "customer",
        (None, None) => false,
    };
    if !inbound {
        return Ok(None);
    }
    let channel = item.channel.ok_or("the message has no `channel`")?;
    if item.handles.len() > HANDLES_MAX {
        return Err("the message has more than 16 `handles`");
    }
    let handles = item.handles.iter().map(|handle| handle.get());
    let handles: Result<Vec<_>, Refusal> = handles
        .map(|handle| read::text_at(handle, Some("handles")))
        .collect();
    let handles = handles.map_err(|_| "a handle of the message needs `type` and `value`")?;
    let occurred_at = match item.occurred_at.as_deref().map(crate::time::parse) {
        None => None,
        Some(Some(at)) => Some(at),
        Some(None) => {
            return Err("`occurred_at` must be an RFC 3339 date and time with an offset");
        }
    };
    if let Some(key) = &item.idempotency_key
        && !(1..=512).contains(&key.chars().count())
    {
        return Err("`idempotency_key` must have 1 to 512 characters");
    }
    Ok(Some(CustomerMessage {
        idempotency_key: item.idempotency_key,
        channel,
        handles,
        occurred_at,
    }))
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
            let item = into.refer::<ItemType>("BatchItem", |_| {
                let kinds = RefOr::T(shape::words("What kind of item.", ItemType::WORDS));
                let about = "Something that happened in a conversation; other members are taken \
                    and not read.";
                shape::open(about, &["type"], [("type", kinds)])
            });
            let items = shape::list(item, 1, ITEMS_MAX);
            shape::open(
                "What happened in conversations.",
                &["items"],
                [("items", items)],
            )
        })
    }
}
