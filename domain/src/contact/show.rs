//! What one entity holds, for an operator.
//!
//! Here: the read. Not here: words for it (the verb `show`). Never called for a client of a space.

use crate::contact::command::{Command, Show};
use crate::contact::entity::ContactEntity;
use crate::contact::reply::Reply;
use crate::contact::{Contact, key};
use crate::machine::{Decision, Entities};

/// Answers with the entity as it is, ended things included; `None` when it does not exist.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    show: &Show,
) -> Decision<Contact> {
    let entity = entities.get(&key(command.space, show.kind, show.hash));
    Decision::read(Reply::Shown(entity.cloned().map(Box::new)))
}
