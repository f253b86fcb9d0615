//! The texts of a handoff that the core never sees: the handle, the reason, the conversation, the
//! agent.
//!
//! Here: how they are sealed into a handoff and read again. Not here: the cipher (`sealing`).

use std::borrow::Cow;

use interlock_domain::ids::Id;
use interlock_wire::contact::handoffs::{HandoffCreate, Verification};
use interlock_wire::contact::subject::{Handle, HandleType, SubjectKind};
use interlock_wire::value::{HandleValue, Label};
use serde::{Deserialize, Serialize};

use crate::directory::Caller;
use crate::hashing::PreparedKey;
use crate::sealing;

/// The texts. Words of closed sets are kept as words, so that a set may be put in another order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Texts<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) from_agent: Cow<'a, str>,
    pub(crate) level: Cow<'a, str>,
    pub(crate) reason: Option<Cow<'a, str>>,
    /// Kept with the handoff; the package has no place for it.
    pub(crate) conversation_id: Option<Cow<'a, str>>,
}

/// The customer's handle.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Subject<'a> {
    pub(crate) r#type: Cow<'a, str>,
    pub(crate) value: Cow<'a, str>,
    pub(crate) scope: Option<Cow<'a, str>>,
    pub(crate) kind: Option<Cow<'a, str>>,
}

/// Those of a request; the agent is the key's source when the request does not say.
pub(super) fn of<'a>(caller: &'a Caller, create: &'a HandoffCreate<'_>) -> Texts<'a> {
    let borrowed = |text: &'a str| Cow::Borrowed(text);
    let subject = &create.subject;
    let agent = create.agent.as_deref();
    Texts {
        subject: Subject {
            r#type: borrowed(subject.r#type.word()),
            value: borrowed(&subject.value),
            scope: subject.scope.as_deref().map(borrowed),
            kind: subject.subject_kind.map(|kind| borrowed(kind.word())),
        },
        from_agent: borrowed(agent.unwrap_or(&caller.key.source.name)),
        level: borrowed(create.level.word()),
        reason: create.reason.as_deref().map(borrowed),
        conversation_id: create.conversation_id.as_deref().map(borrowed),
    }
}

/// The texts sealed into a handoff; `None` when they were sealed for another one.
pub(super) fn open(secret: &PreparedKey, id: Id, sealed: &[u8]) -> Option<Texts<'static>> {
    let text = sealing::open(secret, &place(id), sealed)?;
    serde_json::from_slice(&text).ok()
}

/// What the texts are of.
fn place(id: Id) -> Vec<u8> {
    [b"handoff".as_slice(), &id.0].concat()
}

impl Texts<'_> {
    /// Seals them for the handoff of an id; `None` when the operating system has no random bytes.
    pub(super) fn seal(&self, secret: &PreparedKey, id: Id) -> Option<Vec<u8>> {
        let text = serde_json::to_vec(self).ok()?;
        sealing::seal(secret, &place(id), &text)
    }

    /// The handle as a client reads it.
    pub(super) fn handle(&self) -> Option<Handle<'_>> {
        let Subject {
            r#type,
            value,
            scope,
            kind,
        } = &self.subject;
        let of_type = |known: &&HandleType| known.word() == &**r#type;
        let kind = match kind.as_deref() {
            Some(word) => Some(*SubjectKind::ALL.iter().find(|kind| kind.word() == word)?),
            None => None,
        };
        Some(Handle {
            r#type: *HandleType::ALL.iter().find(of_type)?,
            value: HandleValue(Cow::Borrowed(value)),
            scope: scope.as_deref().map(|scope| Label(Cow::Borrowed(scope))),
            subject_kind: kind,
        })
    }

    /// How far the receiving side has verified the customer.
    pub(super) fn level(&self) -> Option<Verification> {
        let of_word = |known: &&Verification| known.word() == &*self.level;
        Verification::ALL.iter().find(of_word).copied()
    }
}
