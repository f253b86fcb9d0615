//! A legal hold is released by its id (`docs/spec/contact.md` §24).
//!
//! Here: the end of the hold and of its mark, in one record. Again it changes nothing. Not here:
//! what the hold is on (`find_hold`), and the purge of what it kept (sweeps).

use crate::contact::Contact;
use crate::contact::command::{Command, HoldPlace, ReleaseHold};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{Event, HandoffHeld, HoldMarked, HoldReleased};
use crate::contact::handoff::handoff_key;
use crate::contact::legal_hold::{LegalHold, holds_key};
use crate::contact::note::{Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reply::Reply;
use crate::machine::{Context, Decision, Entities, Events};

/// Decides a release.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    release: &ReleaseHold,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let holds = holds_key(command.space);
    let known = entities.get(&holds).and_then(ContactEntity::as_holds);
    let hold = known.and_then(|known| known.find(release.hold));
    let (Some(hold), HoldPlace::At(target)) = (hold, release.place) else {
        return Decision {
            note: Some(Note::new(command, Noted::NothingToChange)),
            ..Decision::read(Reply::NotFound)
        };
    };
    if hold.released_at.is_some() {
        return answer(command, *hold, Noted::NothingToChange, Events::new());
    }
    let at = context.now;
    let mut events = Events::new();
    if let Some(entity) = target.key(command.space) {
        let mark = HoldMarked { placed: false, at };
        events.push((entity, Event::HoldMarked(mark)));
    }
    for id in &release.handoffs {
        let entity = handoff_key(command.space, *id);
        let known = entities.get(&entity).and_then(ContactEntity::as_handoff);
        if known.is_some_and(|known| known.holds.contains(&hold.id)) {
            let held = HandoffHeld {
                hold: hold.id,
                placed: false,
                at,
            };
            events.push((entity, Event::HandoffHeld(held)));
        }
    }
    events.push((holds, Event::HoldReleased(HoldReleased { id: hold.id, at })));
    let released = LegalHold {
        released_at: Some(at),
        ..*hold
    };
    answer(command, released, Noted::Accepted, events)
}

fn answer(
    command: &Command,
    hold: LegalHold,
    noted: Noted,
    events: Events<Event>,
) -> Decision<Contact> {
    Decision {
        events,
        note: Some(Note {
            decision_id: Some(hold.id),
            ..Note::new(command, noted)
        }),
        ..Decision::read(Reply::Hold(Box::new(hold)))
    }
}
