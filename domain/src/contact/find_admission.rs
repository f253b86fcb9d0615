//! Which entities an admission draws on: the look-up before its settlement.
//!
//! Here: the read of the id's directory row. Not here: how it stands (`settle_admission`).

use crate::contact::Contact;
use crate::contact::command::{Command, FindAdmission};
use crate::contact::directory::row_key;
use crate::contact::entity::ContactEntity;
use crate::contact::reply::Reply;
use crate::machine::{Decision, Entities};
use crate::time::Timestamp;

/// Answers where the id leads.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    find: &FindAdmission,
    now: Timestamp,
) -> Decision<Contact> {
    let row = entities.get(&row_key(command.space, find.admission));
    let row = row.and_then(ContactEntity::as_directory);
    let found = row.filter(|row| now < row.until).and_then(|row| {
        let operation = row.admission.as_ref()?.operation_id();
        Some(Reply::FoundAdmission {
            target: row.target,
            operation,
        })
    });
    Decision::read(found.unwrap_or(Reply::NotFound))
}
