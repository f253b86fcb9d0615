//! Counters with a fault in them, so that one sees the simulator find it.
//!
//! Here: a machine that is `counters` but for one thing: what is taken off a pair twice is taken off
//! one half of it only. Never part of `--machine all`.

use interlock_domain::ids::IdStream;
use interlock_domain::key::{KeyList, Kind, SpaceId};
use interlock_domain::machine::{Broken, Context, Decision, Entities, Machine, Sweep, Undecided};
use interlock_domain::time::Timestamp;

use crate::counters::{Command, Counters, CountersModel, Entity, Event, Note, Policy, Reply};
use crate::machine::{SimMachine, Ticket};

/// See the module.
#[derive(Debug)]
pub struct Planted;

impl SimMachine for Planted {
    type Model = CountersModel;
}

impl Machine for Planted {
    type Entity = Entity;
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Note = Note;
    type Notice = Ticket;
    type Policy = Policy;

    const PRODUCT: u8 = Counters::PRODUCT;
    const FORMAT: u16 = Counters::FORMAT;
    const NAME: &'static str = "planted";

    fn space(command: &Command) -> SpaceId {
        Counters::space(command)
    }

    fn keys(command: &Command) -> KeyList {
        Counters::keys(command)
    }

    fn decide(
        entities: &Entities<'_, Entity>,
        command: &Command,
        context: &mut Context<'_, Policy>,
    ) -> Decision<Self> {
        let mut decision = Counters::decide(entities, command, context);
        let taken = |event: &Event| matches!(event, Event::Added { amount, .. } if *amount < 0);
        // The fault: where the pair is below zero already, the second half is forgotten.
        let below = |entity: Option<&Entity>| matches!(entity, Some(Entity::Counter(counter)) if counter.value < 0);
        decision.events.retain(|(key, event)| {
            !(taken(event) && key.kind == Kind::Object && below(entities.get(key)))
        });
        Decision {
            events: decision.events,
            reply: decision.reply,
            note: decision.note,
            notices: decision.notices,
        }
    }

    fn empty(kind: Kind) -> Entity {
        Counters::empty(kind)
    }

    fn apply(entity: &mut Entity, event: &Event) {
        Counters::apply(entity, event);
    }

    fn due(entity: &Entity) -> Option<Timestamp> {
        Counters::due(entity)
    }

    fn sweep(entity: &Entity, now: Timestamp) -> Sweep<Event> {
        Counters::sweep(entity, now)
    }

    fn check(entity: &Entity) -> Result<(), Broken> {
        Counters::check(entity)
    }

    fn rebind(command: &mut Command, policy: &Policy) -> Result<(), Reply> {
        Counters::rebind(command, policy)
    }

    fn undecided(
        command: &Command,
        policy: &Policy,
        why: Undecided,
        now: Timestamp,
        ids: &mut IdStream,
    ) -> Option<Reply> {
        Counters::undecided(command, policy, why, now, ids)
    }

    fn outcome(reply: &Reply) -> (&'static str, &'static str) {
        Counters::outcome(reply)
    }
}
