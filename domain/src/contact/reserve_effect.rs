//! Reserve an effect on its own (`POST /v1/coordination/effects`).
//!
//! Here: the route's answer to each standing of the key (`docs/spec/contact.md` §8), and the units of
//! a call that costs (§7) and the tie to a fact: made in the same decision, so there is never one
//! without the other. Not here: the transitions themselves (`effect`), how units count (`paid`), and
//! the end of a fact (`end_fact`).

use smallvec::{SmallVec, smallvec};

use crate::contact::admission;
use crate::contact::admit::{self, Draw};
use crate::contact::command::{Command, ReserveEffect};
use crate::contact::effect::{self, Effect, Standing};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{EffectReserved, Event, KeyTied};
use crate::contact::name::OperationId;
use crate::contact::note::{Fact, Facts, Note, Noted};
use crate::contact::paid::space_budget_key;
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{EffectState, Reply};
use crate::contact::ties::TIED_MAX;
use crate::contact::{Contact, key};
use crate::key::{EntityKey, KeyList, Kind, SpaceId};
use crate::machine::{Context, Decision, Entities};

impl ReserveEffect {
    /// The operation its units are drawn from, and its budget of the space; `None` when it draws
    /// nothing.
    fn draws(&self) -> Option<OperationId> {
        let operation = self.draws_on.as_ref().filter(|_| self.cost_units > 0)?;
        Some(OperationId::of(operation))
    }

    /// Adds the entities it touches: the effect, what its units are drawn from, and its fact.
    pub(super) fn keys(&self, space: SpaceId, keys: &mut KeyList) {
        keys.push(key(space, Kind::Effect, self.effect.hash));
        let budget = self.draws();
        keys.extend(budget.map(|operation| space_budget_key(space, operation)));
        keys.extend(self.fact.map(|fact| key(space, Kind::Object, fact)));
    }
}

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
            open(entities, command, reserve, attempt, context).unwrap_or_else(|refused| *refused)
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

/// Opens an attempt, with all that comes with it.
fn open(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    reserve: &ReserveEffect,
    attempt: u32,
    context: &Context<'_, Policy>,
) -> Result<Decision<Contact>, Box<Decision<Contact>>> {
    let tie = tie(entities, command, reserve, attempt, context)?;
    let spent = spend(entities, command, reserve, context)?;
    let entity = key(command.space, Kind::Effect, reserve.effect.hash);
    let known = entities.get(&entity).and_then(ContactEntity::as_effect);
    let event = effect::reservation(
        known,
        reserve.effect,
        attempt,
        command.source,
        context.policy,
        context.now,
    );
    let event = EffectReserved {
        tied: event.tied || tie.is_some(),
        ..event
    };
    let mut reserved = known.copied().unwrap_or(Effect::EMPTY);
    reserved.reserve(&event);
    let reply = Reply::Effect(reserved.reply(true, context.now));
    let mut decision = noted(command, reply, Noted::Accepted);
    decision.events.push((entity, Event::EffectReserved(event)));
    decision.events.extend(spent.event);
    decision.events.extend(tie);
    if let Some(note) = &mut decision.note {
        note.facts = spent.facts;
    }
    Ok(decision)
}

/// Ties the key of a first attempt to its fact, or refuses it; `None` where the key lives by days or
/// is tied already. The rules are those of now: newer ones may have taken the kind off the list.
fn tie(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    reserve: &ReserveEffect,
    attempt: u32,
    context: &Context<'_, Policy>,
) -> Result<Option<(EntityKey, Event)>, Box<Decision<Contact>>> {
    let counts = attempt == 1 && context.policy.effect_key_of_fact(reserve.effect.kind);
    let Some(fact) = reserve.fact.filter(|_| counts) else {
        return Ok(None);
    };
    let entity = key(command.space, Kind::Object, fact);
    let known = entities.get(&entity).and_then(ContactEntity::as_object);
    if known.is_some_and(|known| known.tied().len() >= TIED_MAX) {
        let facts = smallvec![(Fact::Limit, TIED_MAX.cast_signed() as i64)];
        let reply = Reply::Refused(Refusal::TargetFull);
        return Err(Box::new(admit::refused(command, reply, facts)));
    }
    let event = KeyTied {
        effect: reserve.effect.hash,
        at: context.now,
    };
    Ok(Some((entity, Event::KeyTied(event))))
}

/// What a call takes of a budget.
struct Spent {
    event: Option<(EntityKey, Event)>,
    facts: Facts,
}

/// Takes the units of a call, or refuses it. An operation that newer rules dropped caps nothing.
fn spend(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    reserve: &ReserveEffect,
    context: &Context<'_, Policy>,
) -> Result<Spent, Box<Decision<Contact>>> {
    let cost = (reserve.cost_units > 0).then_some((Fact::Units, i64::from(reserve.cost_units)));
    let budget = reserve.draws_on.as_deref();
    let budget = budget.and_then(|operation| context.policy.paid_budget(operation));
    let Some((operation, budget)) = reserve.draws().zip(budget) else {
        return Ok(Spent {
            event: None,
            facts: cost.into_iter().collect(),
        });
    };
    if context.clock_suspect {
        return Err(Box::new(Decision::read(Reply::ClockSuspect)));
    }
    let entity = space_budget_key(command.space, operation);
    let draw = Draw {
        operation,
        budget,
        units: reserve.cost_units,
    };
    let judged = draw.judge(admission::meters(entities, &entity), context.now);
    let (_, facts) =
        judged.map_err(|(reply, facts)| Box::new(admit::refused(command, reply, facts)))?;
    let event = admission::reservation(operation, budget, reserve.cost_units, context.now);
    Ok(Spent {
        event: Some((entity, Event::UnitsReserved(event))),
        facts,
    })
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
