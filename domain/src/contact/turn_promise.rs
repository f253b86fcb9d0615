//! An operator's feed says how a promise stands (`docs/spec/contact.md` §11).
//!
//! Here: the word about one promise. The feed's last word counts: what is open again after it was
//! kept is open. A word about a promise that is not open, but to open it, changes nothing. Not here:
//! where promises are shown (`advise`, `check`, `handoff`).

use smallvec::smallvec;

use crate::contact::command::{Command, TurnPromise};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{Event, PromiseTurned};
use crate::contact::note::{Fact, Facts, Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::promise::{OPEN_MAX, PromiseState};
use crate::contact::reason::Refusal;
use crate::contact::reply::{DeclareReply, Reply};
use crate::contact::{Contact, key};
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities, Events};

/// Decides it.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    turn: &TurnPromise,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let entity = key(command.space, Kind::Customer, turn.customer);
    let customer = entities.get(&entity).and_then(ContactEntity::as_customer);
    let open = customer.map_or(&[][..], |known| known.promises());
    let known = open.iter().find(|known| known.id == turn.promise.id);
    let changes = match turn.state {
        PromiseState::Open => known != Some(&turn.promise),
        PromiseState::Kept | PromiseState::Withdrawn => known.is_some(),
    };
    if !changes {
        return answer(command, Noted::NothingToChange, Events::new());
    }
    if known.is_none() {
        if context.full {
            return Decision::read(Reply::Capacity);
        }
        if open.len() >= OPEN_MAX {
            return full(command);
        }
    }
    let turned = PromiseTurned {
        promise: turn.promise.clone(),
        state: turn.state,
        at: context.now,
    };
    let event = Event::PromiseTurned(Box::new(turned));
    answer(command, Noted::Accepted, smallvec![(entity, event)])
}

fn answer(command: &Command, noted: Noted, events: Events<Event>) -> Decision<Contact> {
    Decision {
        events,
        reply: Reply::Declared(DeclareReply::TAKEN),
        note: Some(Note::new(command, noted)),
        notices: Vec::new(),
    }
}

/// The customer has as many as it may have.
fn full(command: &Command) -> Decision<Contact> {
    let facts: Facts = smallvec![(Fact::Limit, OPEN_MAX.cast_signed() as i64)];
    Decision {
        events: Events::new(),
        reply: Reply::Refused(Refusal::TargetFull),
        note: Some(Note {
            facts,
            ..Note::new(command, Noted::Refused(Refusal::TargetFull))
        }),
        notices: Vec::new(),
    }
}
