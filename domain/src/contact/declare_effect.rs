//! `effect`: an attempt ended, as its holder declares (`docs/spec/contact.md` §17).
//!
//! Here: the declaration's answer; what the machine refuses is `accepted: false`, never an error.
//! Not here: which settlements the machine takes (`effect`).

use smallvec::smallvec;

use crate::contact::command::{Command, DeclareEffect, SettledBy};
use crate::contact::effect::{self, NotSettled, SettleRequest};
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::note::Noted;
use crate::contact::policy::Policy;
use crate::contact::reply::{DeclareReply, Reply};
use crate::contact::reserve_effect::noted;
use crate::contact::{Contact, key};
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities};

/// Decides the declaration.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    declare: &DeclareEffect,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let entity = key(command.space, Kind::Effect, declare.effect);
    let known = entities.get(&entity).and_then(ContactEntity::as_effect);
    let request = SettleRequest {
        attempt: Some(declare.attempt),
        source: command.source,
        settlement: declare.settlement,
        by: SettledBy::Holder,
    };
    match effect::settlement(known, request, context.policy, context.now) {
        Err(NotSettled::Refused(refusal)) => {
            noted(command, declared(false), Noted::Refused(refusal))
        }
        Err(NotSettled::Unknown) => noted(command, declared(false), Noted::NothingToChange),
        Ok(None) => noted(command, declared(true), Noted::Accepted),
        Ok(Some(event)) => Decision {
            events: smallvec![(entity, Event::EffectSettled(event))],
            ..noted(command, declared(true), Noted::Accepted)
        },
    }
}

const fn declared(accepted: bool) -> Reply {
    Reply::Declared(DeclareReply {
        accepted,
        ..DeclareReply::TURNED_DOWN
    })
}
