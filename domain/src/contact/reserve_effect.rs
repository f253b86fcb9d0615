//! Reserve an effect on its own (`POST /v1/coordination/effects`).
//!
//! Here: the route's answer to each standing of the key (`docs/spec/contact.md` §8). Not here: the
//! transitions themselves (`effect`).

use smallvec::{SmallVec, smallvec};

use crate::contact::command::{Command, ReserveEffect};
use crate::contact::effect::{self, Effect, Standing};
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::note::{Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{EffectState, Reply};
use crate::contact::{Contact, key};
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities};

/// Decides a reservation.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    reserve: &ReserveEffect,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let entity = key(command.space, Kind::Effect, reserve.effect.hash);
    let known = entities.get(&entity).and_then(ContactEntity::as_effect);
    let now = context.now;
    match (effect::standing(known, now), known) {
        (Standing::Free { .. }, _) if context.full => Decision::read(Reply::Capacity),
        (Standing::Free { attempt }, _) => {
            let event = effect::reservation(
                known,
                reserve.effect,
                attempt,
                command.source,
                context.policy,
                now,
            );
            let mut reserved = known.copied().unwrap_or(Effect::EMPTY);
            reserved.reserve(&event);
            Decision {
                events: smallvec![(entity, Event::EffectReserved(event))],
                ..noted(
                    command,
                    Reply::Effect(reserved.reply(true, now)),
                    Noted::Accepted,
                )
            }
        }
        (Standing::Held { state, .. }, Some(known)) if state != EffectState::Reserved => {
            // The caller must not act, and is told how the key stands.
            noted(
                command,
                Reply::Effect(known.reply(false, now)),
                Noted::NothingToChange,
            )
        }
        (Standing::Held { .. }, _) => {
            let refusal = Refusal::EffectInFlight;
            noted(command, Reply::Refused(refusal), Noted::Refused(refusal))
        }
    }
}

/// A decision about an effect that changes nothing.
pub(super) fn noted(command: &Command, reply: Reply, decision: Noted) -> Decision<Contact> {
    Decision {
        events: SmallVec::new(),
        reply,
        note: Some(Note::new(command, decision)),
        notices: Vec::new(),
    }
}
