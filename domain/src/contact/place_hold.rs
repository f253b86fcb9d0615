//! A legal hold is placed (`docs/spec/contact.md` §21, §24).
//!
//! Here: the hold itself and the mark on what it holds, in one record. It goes on when memory is
//! short: what is held must not be lost for that. Not here: who may place one (the edge).

use crate::contact::Contact;
use crate::contact::command::{Command, PlaceHold};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{Event, HandoffHeld, HoldMarked};
use crate::contact::handoff::handoff_key;
use crate::contact::legal_hold::{LIVE_MAX, LegalHold, holds_key};
use crate::contact::note::{Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::Reply;
use crate::machine::{Context, Decision, Entities, Events};

/// Decides the placing of a hold.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    place: &PlaceHold,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let holds = holds_key(command.space);
    let known = entities.get(&holds).and_then(ContactEntity::as_holds);
    if known.is_some_and(|known| known.live.len() >= LIVE_MAX) {
        return Decision {
            note: Some(Note::new(command, Noted::Refused(Refusal::HoldsFull))),
            ..Decision::read(Reply::Refused(Refusal::HoldsFull))
        };
    }
    let hold = LegalHold {
        id: place.new_id,
        target: place.target,
        since: context.now,
        released_at: None,
    };
    let mut events = Events::new();
    if let Some(entity) = place.target.key(command.space) {
        let mark = HoldMarked {
            placed: true,
            at: context.now,
        };
        events.push((entity, Event::HoldMarked(mark)));
    }
    for id in &place.handoffs {
        let entity = handoff_key(command.space, *id);
        let known = entities.get(&entity).and_then(ContactEntity::as_handoff);
        if known.is_some_and(|known| known.is_of(place.target)) {
            let held = HandoffHeld {
                hold: hold.id,
                placed: true,
                at: context.now,
            };
            events.push((entity, Event::HandoffHeld(held)));
        }
    }
    events.push((holds, Event::HoldPlaced(Box::new(hold))));
    Decision {
        events,
        note: Some(Note {
            decision_id: Some(hold.id),
            ..Note::new(command, Noted::Accepted)
        }),
        ..Decision::read(Reply::Hold(Box::new(hold)))
    }
}
