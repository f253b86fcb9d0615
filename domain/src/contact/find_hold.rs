//! What a legal hold is on: the look-up before its release.
//!
//! Here: the read of the space's holds. Not here: whether it is live still (`release_hold`).

use crate::contact::Contact;
use crate::contact::command::{Command, FindHold};
use crate::contact::entity::ContactEntity;
use crate::contact::legal_hold::holds_key;
use crate::contact::reply::Reply;
use crate::machine::{Decision, Entities};

/// Answers what the hold is on.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    find: &FindHold,
) -> Decision<Contact> {
    let holds = entities.get(&holds_key(command.space));
    let holds = holds.and_then(ContactEntity::as_holds);
    let hold = holds.and_then(|holds| holds.find(find.hold));
    Decision::read(hold.map_or(Reply::NotFound, |hold| Reply::HoldFound(hold.target)))
}
