//! `POST /v1/context`: what a turn reads before it speaks.
//!
//! Here: the part of the request that a coordinator reads, and an answer whose pack is empty: the
//! memory that fills it is not a coordinator's. Members that are not listed are let through unread.

use smallvec::SmallVec;

use crate::answer::answer;
use crate::contact::check::{CommitmentRef, ContactBudget, Owner, PromiseRef};
use crate::contact::subject::{Handle, ObjectRef};
use crate::json::Object;
use crate::read::{self, Refusal};
use crate::shape::{self, Closed, Components, RefOr, Schema, Shape};
use crate::value::{Name, Text};

/// Most blocks one read may ask for, by the contract.
const INCLUDES_MAX: usize = 4;

/// What is read, and of whom.
#[derive(Debug)]
pub struct ContextRequest<'a> {
    /// The customer.
    pub subject: Option<Handle<'a>>,
    /// The record.
    pub object: Option<ObjectRef<'a>>,
    /// Whether the block `coordination` is asked for.
    pub coordination: bool,
}

#[derive(serde::Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    subject: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow, default)]
    object: Option<&'a serde_json::value::RawValue>,
    #[serde(default)]
    include: Option<Vec<String>>,
}

impl<'a> ContextRequest<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// It is not JSON, or has not exactly one of `subject` and `object`.
    pub fn read(body: &'a [u8]) -> Result<Self, Refusal> {
        let contract = |what: &str| Refusal::Contract(what.to_owned());
        let body = std::str::from_utf8(body).map_err(|_| Refusal::NotJson)?;
        let envelope: Envelope<'a> = serde_json::from_str(body).map_err(|_| {
            match serde_json::from_str::<serde::de::IgnoredAny>(body) {
                Ok(_) => contract("the body must be an object with `subject` or `object`"),
                Err(_) => Refusal::NotJson,
            }
        })?;
        let include = envelope.include.unwrap_or_default();
        if include.len() > INCLUDES_MAX {
            return Err(contract("`include` must have at most 4 items"));
        }
        let subject = envelope.subject.map(|sent| sent.get());
        let object = envelope.object.map(|sent| sent.get());
        let read = Self {
            subject: optional(subject, "subject")?,
            object: optional(object, "object")?,
            coordination: include.iter().any(|block| block == "coordination"),
        };
        if read.subject.is_some() == read.object.is_some() {
            return Err(contract("send exactly one of `subject` and `object`"));
        }
        Ok(read)
    }
}

fn optional<'a, T: read::Read<'a>>(
    sent: Option<&'a str>,
    member: &'static str,
) -> Result<Option<T>, Refusal> {
    match sent {
        None | Some("null") => Ok(None),
        Some(sent) => read::text_at(sent, Some(member)).map(Some),
    }
}

answer! {
    /// What coordination knows, as advice: nothing is decided or reserved.
    derive(Clone, Debug, Default)
    CoordinationBlock<'a> {
        /// The claim that governs.
        owner: optional Owner<'a> as Owner<'_>,
        /// Purposes the subject is suppressed for.
        suppressions: present SmallVec<[&'a str; 2]> as Name<'_>,
        /// What is left, by purpose.
        contact_budget: charted SmallVec<[(&'a str, ContactBudget); 4]> as ContactBudget,
        /// What holds for the subject.
        commitments_active: present Vec<CommitmentRef<'a>> as CommitmentRef<'_>,
        /// What the company owes the subject.
        promises_open: listed Vec<PromiseRef<'a>> as PromiseRef<'_>,
    }
}

/// The answer: an empty pack, and the block that was asked for.
#[derive(Clone, Debug, Default)]
pub struct ContextResponse<'a> {
    /// The block, when it was asked for.
    pub coordination: Option<CoordinationBlock<'a>>,
}

impl ContextResponse<'_> {
    /// Writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.word("version", "interlock");
        object.word("etag", "empty");
        object.word("path", "t1");
        object.word("text", "");
        let mut verification = Object::open(object.member("verification"));
        // A coordinator verifies nobody.
        verification.word("requested", "V0");
        verification.word("effective", "V0");
        verification.close();
        if let Some(block) = &self.coordination {
            block.write(object.member("coordination"));
        }
        object.close();
    }
}

impl Shape for ContextResponse<'_> {
    fn shape(into: &mut Components) -> RefOr<Schema> {
        into.refer::<Self>("ContextResponse", |into| {
            let text = Text::shape(into);
            let verification = Closed::new(&[])
                .required(
                    "requested",
                    &["The level that was asked for."],
                    text.clone(),
                )
                .required("effective", &["The level that counts."], text.clone())
                .build();
            Closed::new(&["An empty pack, and the block that was asked for."])
                .required("version", &["Who answered."], text.clone())
                .required("etag", &["The pack's version."], text.clone())
                .required("path", &["How the pack was made."], text.clone())
                .required("text", &["The pack: a coordinator has none."], text)
                .required(
                    "verification",
                    &["Whom the server verified."],
                    verification.into(),
                )
                .optional("coordination", &[], CoordinationBlock::shape(into))
                .build()
                .into()
        })
    }
}

/// The body as it is shown. It is open: members of other parts of the contract are let through.
impl Shape for ContextRequest<'_> {
    fn shape(into: &mut Components) -> RefOr<Schema> {
        into.refer::<Self>("ContextRequest", |into| {
            let about = "What is read, and of whom: exactly one of `subject` and `object`.";
            let blocks = shape::list(Text::shape(into), 0, INCLUDES_MAX);
            let members = [
                ("subject", shape::nullable(Handle::shape(into))),
                ("object", shape::nullable(ObjectRef::shape(into))),
                ("include", shape::nullable(blocks)),
            ];
            shape::open(about, &[], members)
        })
    }
}
