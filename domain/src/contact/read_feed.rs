//! The number of the newest change of a space's suppression list.
//!
//! Here: the read. Its answer leaves after the commits of every change it counts, so a reader that
//! waits for this number has seen all that was answered before. Not here: the list (the edge).

use crate::contact::command::Command;
use crate::contact::entity::ContactEntity;
use crate::contact::reply::Reply;
use crate::contact::{Contact, feed};
use crate::machine::{Decision, Entities};

/// Answers with the number; 0 before the first change.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
) -> Decision<Contact> {
    Decision::read(Reply::Feed(feed::last(entities, command.space)))
}
