//! `contact.made`: a contact went out (`docs/spec/contact.md` §6, §17).
//!
//! Here: which contacts count, and under which decision one is recorded. A declaration is never an
//! error for its order: what cites no decision held counts as a contact of its own, over the limit
//! or not. Not here: how contacts count (`budget`).

use crate::contact::command::{Command, DeclareContactMade, Direction};
use crate::contact::customer::{ContactState, Customer, UNSLICED};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{ContactCounted, ContactMade, Event, TokenSeen};
use crate::contact::note::{Mark, Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reply::{DeclareReply, Member, Reply};
use crate::contact::{Contact, budget, key};
use crate::ids::Id;
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities, Events};

/// Decides the declaration.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    declare: &DeclareContactMade,
    context: &mut Context<'_, Policy>,
) -> Decision<Contact> {
    let now = context.now;
    let Some(purpose) = context.policy.purpose_rules(declare.purpose) else {
        return Decision::read(Reply::Undeclared(Member::Purpose));
    };
    let Some(hash) = declare.customer else {
        let id = context.ids.next(now);
        return answer(command, declare, id, (false, None), Events::new());
    };
    let entity = key(command.space, Kind::Customer, hash);
    let customer = entities.get(&entity).and_then(ContactEntity::as_customer);
    let held = customer
        .zip(declare.decision)
        .and_then(|(customer, id)| customer.held_decision(id, declare.purpose, now));
    if held.is_none() && context.full {
        return Decision::read(Reply::Capacity);
    }
    // A decision that is declared again is the same contact.
    let mark = match held.map(|held| held.state) {
        Some(ContactState::Reserved) => Some(Mark::ContactMade),
        Some(ContactState::Made | ContactState::Declared) => None,
        None => Some(Mark::ContactDeclared),
    };
    let (id, contact) = match held {
        Some(held) => {
            let made = ContactMade {
                id: held.id,
                at: now,
            };
            (held.id, Event::ContactMade(made))
        }
        None => {
            let id = context.ids.next(now);
            let keep = budget::keep(purpose);
            let counted = ContactCounted {
                id,
                purpose: purpose.id,
                channel: Some(declare.channel),
                share: UNSLICED,
                at: now,
                keep_hours: keep.hours,
                keep_newest: keep.newest,
                decided: false,
                effect: None,
            };
            (id, Event::ContactCounted(counted))
        }
    };
    let mut events = Events::new();
    events.push((entity, contact));
    let mut token_reused = false;
    if let Some(jti) = declare.jti {
        token_reused = customer.is_some_and(|known: &Customer| known.has_seen_token(jti));
        let seen = TokenSeen {
            jti,
            at: now,
            reused: token_reused,
        };
        events.push((entity, Event::TokenSeen(seen)));
    }
    answer(command, declare, id, (token_reused, mark), events)
}

fn answer(
    command: &Command,
    declare: &DeclareContactMade,
    id: Id,
    (token_reused, mark): (bool, Option<Mark>),
    events: Events<Event>,
) -> Decision<Contact> {
    let decision = if token_reused {
        Noted::AcceptedTokenReused
    } else {
        Noted::Accepted
    };
    Decision {
        events,
        reply: Reply::Declared(DeclareReply {
            decision_id: Some(id),
            ..DeclareReply::TAKEN
        }),
        note: Some(Note {
            decision_id: Some(id),
            purpose: Some(declare.purpose),
            channel: Some(declare.channel),
            direction: Some(Direction::Outbound),
            mark,
            ..Note::new(command, decision)
        }),
        notices: Vec::new(),
    }
}
