//! Which effect keys are tied to an object: the look-up before the end of its life.
//!
//! Here: the read. Not here: what the end does to the keys (`end_fact`).

use crate::contact::command::{Command, FindTies};
use crate::contact::entity::ContactEntity;
use crate::contact::object::Object;
use crate::contact::reply::Reply;
use crate::contact::{Contact, key};
use crate::key::Kind;
use crate::machine::{Decision, Entities};

/// Answers with the hashes of the keys.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    find: FindTies,
) -> Decision<Contact> {
    let object = entities.get(&key(command.space, Kind::Object, find.object));
    let object = object.and_then(ContactEntity::as_object);
    Decision::read(Reply::Ties(object.map_or(&[][..], Object::tied).to_vec()))
}
