//! `POST /v1/context`: what a turn reads before it speaks.
//!
//! Here: the part of the request that a coordinator reads, and an answer whose pack is empty: the
//! memory that fills it is not a coordinator's. Members that are not listed are let through unread.

use smallvec::SmallVec;

use crate::contact::check::{CommitmentRef, ContactBudget, Owner};
use crate::contact::subject::{Handle, ObjectRef};
use crate::json::{Object, text};
use crate::read::{self, Refusal};

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

/// What coordination knows, as advice.
#[derive(Clone, Debug, Default)]
pub struct CoordinationBlock<'a> {
    /// The claim that governs.
    pub owner: Option<Owner<'a>>,
    /// Purposes the subject is suppressed for.
    pub suppressions: SmallVec<[&'a str; 2]>,
    /// What is left, by purpose.
    pub contact_budget: SmallVec<[(&'a str, ContactBudget); 4]>,
    /// What holds for the subject.
    pub commitments_active: Vec<CommitmentRef<'a>>,
}

impl CoordinationBlock<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        if let Some(owner) = &self.owner {
            owner.write(object.member("owner"));
        }
        object.list("suppressions", &self.suppressions, |out, purpose| {
            text(out, purpose);
        });
        let mut budgets = Object::open(object.member("contact_budget"));
        for (purpose, budget) in &self.contact_budget {
            budget.write(budgets.entry(purpose));
        }
        budgets.close();
        let commitments = &self.commitments_active;
        object.list("commitments_active", commitments, |out, commitment| {
            commitment.write(out);
        });
        object.close();
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
