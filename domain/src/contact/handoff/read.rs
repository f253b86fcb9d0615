//! A handoff as it is (`docs/spec/contact.md` §16).
//!
//! Here: the read. Not here: any change; a handoff expires by being read late.

use crate::contact::Contact;
use crate::contact::command::Command;
use crate::contact::entity::ContactEntity;
use crate::contact::handoff::answer;
use crate::contact::handoff::command::ReadHandoff;
use crate::contact::reply::{HandoffReply, Reply};
use crate::machine::{Decision, Entities};
use crate::time::Timestamp;

/// Answers with the handoff.
pub(in crate::contact) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    read: ReadHandoff,
    now: Timestamp,
) -> Decision<Contact> {
    let id = read.handoff;
    let known = answer::known(entities, command, id, now);
    let shown = known.map(|known| HandoffReply::of(id, known, now));
    Decision::read(shown.map_or(Reply::NotFound, |shown| Reply::Handoff(Box::new(shown))))
}
