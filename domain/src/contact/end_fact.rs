//! The life of an object is over (`POST /v1/operator/facts/end`, `docs/spec/contact.md` §8).
//!
//! Here: what becomes of the effect keys tied to it: done and failed ones are free at once, the others
//! stay closed until they are settled and live by days from then on. It goes on when memory is short.
//! Not here: which keys there are (`find_ties`). A key tied between that look-up and this decision
//! stays tied, as one that was reserved after the end.

use crate::contact::command::{Command, EndFact};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{Event, FactEnded, KeyUntied};
use crate::contact::note::Noted;
use crate::contact::object::Object;
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::Reply;
use crate::contact::reserve_effect::noted;
use crate::contact::ties::Untied;
use crate::contact::{Contact, key};
use crate::key::{KeyHash, KeyList, Kind, SpaceId};
use crate::machine::{Context, Decision, Entities, Events};

impl EndFact {
    /// Adds the entities it touches: the object, and the keys that were found.
    pub(super) fn keys(&self, space: SpaceId, keys: &mut KeyList) {
        let found = self.keys.iter().flatten();
        keys.extend(found.map(|hash| key(space, Kind::Effect, *hash)));
        keys.push(key(space, Kind::Object, self.object));
    }
}

/// Decides the end.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    end: &EndFact,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let entity = key(command.space, Kind::Object, end.object);
    let object = entities.get(&entity).and_then(ContactEntity::as_object);
    if object.is_some_and(Object::is_held) {
        let refusal = Refusal::UnderLegalHold;
        return noted(command, Reply::Refused(refusal), Noted::Refused(refusal));
    }
    let at = context.now;
    let tied = object.map_or(&[][..], Object::tied);
    let found = end.keys.as_deref().unwrap_or_default();
    let effects: Vec<KeyHash> = found
        .iter()
        .copied()
        .filter(|hash| tied.contains(hash))
        .collect();
    let mut untied = Untied { freed: 0, kept: 0 };
    let mut events = Events::new();
    for hash in &effects {
        let entity = key(command.space, Kind::Effect, *hash);
        let Some(effect) = entities.get(&entity).and_then(ContactEntity::as_effect) else {
            continue;
        };
        if effect.is_settled() {
            untied.freed += 1;
        } else {
            untied.kept += 1;
        }
        events.push((entity, Event::KeyUntied(KeyUntied { at })));
    }
    let reply = Reply::FactEnded(untied);
    if effects.is_empty() {
        return noted(command, reply, Noted::NothingToChange);
    }
    events.push((entity, Event::FactEnded(FactEnded { effects, at })));
    Decision {
        events,
        ..noted(command, reply, Noted::Accepted)
    }
}
