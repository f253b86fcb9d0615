//! Whose handoff it is: the look-up before an outcome, which names only the id.
//!
//! Here: the read. Not here: whether it can still be closed (`close`).

use crate::contact::Contact;
use crate::contact::command::Command;
use crate::contact::directory::Target;
use crate::contact::entity::ContactEntity;
use crate::contact::handoff::answer;
use crate::contact::handoff::command::FindHandoff;
use crate::contact::reply::Reply;
use crate::machine::{Decision, Entities};
use crate::time::Timestamp;

/// Answers with the customer.
pub(in crate::contact) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    find: FindHandoff,
    now: Timestamp,
) -> Decision<Contact> {
    let known = answer::known(entities, command, find.handoff, now);
    let customer = known.map(|known| Target::Customer(known.customer));
    Decision::read(customer.map_or(Reply::NotFound, Reply::Found))
}
