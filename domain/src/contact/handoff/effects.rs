//! What a package shows of effects: the newest ones the customer was checked with.
//!
//! Here: two reads, of the customer's list and of one effect. They come before the handoff is made,
//! because an effect lives elsewhere and its keys depend on the list. Not here: how an effect turns
//! (`effect`).

use crate::contact::command::Command;
use crate::contact::effect::Effect;
use crate::contact::entity::ContactEntity;
use crate::contact::handoff::command::{ListEffects, SeeEffect};
use crate::contact::reply::{EffectSight, EffectState, Reply};
use crate::contact::{Contact, key};
use crate::key::Kind;
use crate::machine::{Decision, Entities};
use crate::time::Timestamp;

/// Answers with the ids, the newest first.
pub(in crate::contact) fn list(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    list: ListEffects,
) -> Decision<Contact> {
    let entity = entities.get(&key(command.space, Kind::Customer, list.customer));
    let customer = entity.and_then(ContactEntity::as_customer);
    let effects = customer.map_or(&[][..], |known| &known.effects);
    Decision::read(Reply::Effects(effects.iter().rev().copied().collect()))
}

/// Answers with the effect; with none when its attempt failed or it is forgotten.
pub(in crate::contact) fn see(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    see: SeeEffect,
    now: Timestamp,
) -> Decision<Contact> {
    let entity = entities.get(&key(command.space, Kind::Effect, see.effect));
    let effect = entity.and_then(ContactEntity::as_effect);
    let lasts = |effect: &&Effect| effect.due().is_none_or(|due| now < due);
    let sight = effect.filter(lasts).map(|effect| EffectSight {
        kind: effect.kind,
        state: effect.state_at(now),
    });
    let sight = sight.filter(|sight| sight.state != EffectState::Failed);
    Decision::read(Reply::EffectSeen(sight))
}
