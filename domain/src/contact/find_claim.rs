//! Which entity a claim or a lock is on: the look-up before a release.
//!
//! Here: the read of the id's directory row. Not here: whether the claim is still there
//! (`release_claim`).

use crate::contact::Contact;
use crate::contact::command::{Command, FindClaim};
use crate::contact::directory::row_key;
use crate::contact::entity::ContactEntity;
use crate::contact::reply::Reply;
use crate::machine::{Decision, Entities};
use crate::time::Timestamp;

/// Answers where the id leads.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    find: &FindClaim,
    now: Timestamp,
) -> Decision<Contact> {
    let row = entities.get(&row_key(command.space, find.claim));
    let row = row.and_then(ContactEntity::as_directory);
    let target = row.filter(|row| now < row.until).map(|row| row.target);
    Decision::read(target.map_or(Reply::NotFound, Reply::Found))
}
