//! How a command about a handoff is answered: on its route with the handoff or a refusal, in a
//! declaration with `accepted` (`docs/spec/contact.md` §16, §17).
//!
//! Here: both forms, and their notes. Not here: what is accepted (`create`, `accept`, `close`).

use smallvec::smallvec;

use crate::contact::Contact;
use crate::contact::command::{Command, Route};
use crate::contact::entity::ContactEntity;
use crate::contact::handoff::{Handoff, handoff_key};
use crate::contact::note::{Fact, Facts, Note, Noted};
use crate::contact::reason::Refusal;
use crate::contact::reply::{DeclareReply, HandoffReply, Reply};
use crate::ids::Id;
use crate::machine::{Decision, Entities, Events};
use crate::time::Timestamp;

/// The handoff of an id; one that is forgotten is unknown before the sweep takes it.
pub(super) fn known<'a>(
    entities: &Entities<'a, ContactEntity>,
    command: &Command,
    id: Id,
    now: Timestamp,
) -> Option<&'a Handoff> {
    let entity = entities.get(&handoff_key(command.space, id))?;
    let lasts = |handoff: &&Handoff| handoff.due().is_none_or(|due| now < due);
    entity.as_handoff().filter(lasts)
}

/// The handoff stands as shown.
pub(super) fn stands(
    command: &Command,
    id: Id,
    handoff: &Handoff,
    noted: Noted,
    now: Timestamp,
) -> Decision<Contact> {
    let reply = if command.route == Route::Declare {
        Reply::Declared(DeclareReply::TAKEN)
    } else {
        Reply::Handoff(Box::new(HandoffReply::of(id, handoff, now)))
    };
    let facts = smallvec![(Fact::UntilMs, handoff.expected_by.0)];
    about(command, id, (reply, noted), facts)
}

/// The machine refuses it.
pub(super) fn refused(command: &Command, id: Id, refusal: Refusal) -> Decision<Contact> {
    let reply = if command.route == Route::Declare {
        Reply::Declared(DeclareReply::TURNED_DOWN)
    } else {
        Reply::Refused(refusal)
    };
    about(command, id, (reply, Noted::Refused(refusal)), Facts::new())
}

/// We hold no such handoff: 404 on a route; a declaration about it is recorded and holds nobody.
pub(super) fn unknown(command: &Command) -> Decision<Contact> {
    if command.route == Route::Declare {
        return recorded(command);
    }
    Decision::read(Reply::NotFound)
}

/// The declaration names another customer than the handoff's: one of both is a mistake, so nothing
/// moves.
pub(super) fn anothers(command: &Command, id: Id) -> Decision<Contact> {
    let reply = Reply::Declared(DeclareReply::TURNED_DOWN);
    about(command, id, (reply, Noted::NothingToChange), Facts::new())
}

/// A declaration is recorded and changes nothing.
pub(super) fn recorded(command: &Command) -> Decision<Contact> {
    Decision {
        events: Events::new(),
        reply: Reply::Declared(DeclareReply::TAKEN),
        note: Some(Note::new(command, Noted::NothingToChange)),
        notices: Vec::new(),
    }
}

/// A decision whose receipt is found by the handoff's id.
fn about(
    command: &Command,
    id: Id,
    (reply, noted): (Reply, Noted),
    facts: Facts,
) -> Decision<Contact> {
    Decision {
        events: Events::new(),
        reply,
        note: Some(Note {
            decision_id: Some(id),
            facts,
            ..Note::new(command, noted)
        }),
        notices: Vec::new(),
    }
}
