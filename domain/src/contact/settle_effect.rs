//! Settle an attempt by its effect id (`POST /v1/coordination/effects/{effect_id}/settle`).
//!
//! Here: the route's answer. Not here: which settlements the machine takes (`effect`), and the
//! declaration of the same (`declare_effect`).

use smallvec::smallvec;

use crate::contact::command::{Command, SettleEffect};
use crate::contact::effect::{self, NotSettled, SettleRequest};
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::note::Noted;
use crate::contact::policy::Policy;
use crate::contact::reply::Reply;
use crate::contact::reserve_effect::noted;
use crate::contact::{Contact, key};
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities};

/// Decides a settlement.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    settle: &SettleEffect,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let entity = key(command.space, Kind::Effect, settle.effect);
    let known = entities.get(&entity).and_then(ContactEntity::as_effect);
    let request = SettleRequest {
        attempt: settle.attempt,
        source: command.source,
        settlement: settle.settlement,
        by: settle.by,
    };
    let settled = effect::settlement(known, request, context.policy, context.now);
    match (settled, known) {
        (Err(NotSettled::Refused(refusal)), _) => {
            noted(command, Reply::Refused(refusal), Noted::Refused(refusal))
        }
        (Err(NotSettled::Unknown), _) | (Ok(_), None) => Decision::read(Reply::NotFound),
        (Ok(None), Some(known)) => {
            let reply = known.reply(false, context.now);
            noted(command, Reply::Effect(reply), Noted::NothingToChange)
        }
        (Ok(Some(event)), Some(known)) => {
            let mut after = *known;
            after.settle(&event);
            let reply = Reply::Effect(after.reply(false, context.now));
            Decision {
                events: smallvec![(entity, Event::EffectSettled(event))],
                ..noted(command, reply, Noted::Accepted)
            }
        }
    }
}
