//! `commitment.made`: something was offered (`docs/spec/contact.md` §11, §17).
//!
//! Here: the offer takes its place among those that hold, and its terms are kept with its id. An id
//! that is known already is not offered again, and one whose end was declared before it came is
//! recorded as ended: the order of declarations is free. Not here: how types agree (`commitment`).

use crate::contact::command::{Command, MakeCommitment};
use crate::contact::commitment::{self, Commitment, CommitmentState, HELD_MAX, Standing};
use crate::contact::directory::{DirectoryRow, OFFER_KEPT_S, Target};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{CommitmentTurned, Event};
use crate::contact::note::{Note, Noted};
use crate::contact::policy::{Compatibility, Policy};
use crate::contact::reason::Refusal;
use crate::contact::reply::{DeclareReply, Member, Reply};
use crate::contact::{Contact, key};
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities, Events};
use crate::time::Timestamp;

/// Decides the declaration.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    made: &MakeCommitment,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let (now, policy) = (context.now, context.policy);
    let Some(rule) = policy.compatibility(&made.kind) else {
        return Decision::read(Reply::Undeclared(Member::Type));
    };
    let entity = key(command.space, Kind::Customer, made.customer);
    let customer = entities.get(&entity).and_then(ContactEntity::as_customer);
    let known = customer.map_or(&[][..], |known| &known.rare.commitments);
    let before = known.iter().find(|known| known.id == made.id);
    if before.is_some_and(Commitment::is_offered) {
        return taken(command, Noted::NothingToChange, Events::new());
    }
    let row = key(command.space, Kind::Directory, made.row);
    let named = entities.get(&row).and_then(ContactEntity::as_directory);
    let is_taken = named.is_some_and(|row| now < row.until);
    let is_full = known.iter().filter(|known| known.holds(now)).count() >= HELD_MAX;
    if is_taken || is_full {
        let refused = if is_taken {
            Refusal::IdTaken
        } else {
            Refusal::TargetFull
        };
        return turned_down(command, refused);
    }
    if context.full {
        return Decision::read(Reply::Capacity);
    }
    let (state, superseded) = stands(known, (made, rule, before), policy, now);
    let mut events: Events<Event> = superseded
        .into_iter()
        .map(|id| {
            let state = CommitmentState::Superseded;
            let turned = CommitmentTurned { id, state, at: now };
            (entity, Event::CommitmentTurned(Box::new(turned)))
        })
        .collect();
    let commitment = Commitment {
        id: made.id.clone(),
        kind: made.kind.clone(),
        score: made.score,
        until: made.until,
        state,
        turned_at: now,
    };
    events.push((entity, Event::CommitmentMade(Box::new(commitment))));
    let named = DirectoryRow {
        target: Target::Customer(made.customer),
        until: made.until.unwrap_or(now).max(now).plus_s(OFFER_KEPT_S),
        terms: made.terms.clone(),
        erased: None,
        admission: None,
    };
    events.push((row, Event::RowWritten(Box::new(named))));
    taken(command, Noted::Accepted, events)
}

/// How the offer stands, and whose place it takes. What was declared of it before it came counts.
fn stands(
    known: &[Commitment],
    (made, rule, before): (&MakeCommitment, Compatibility, Option<&Commitment>),
    policy: &Policy,
    now: Timestamp,
) -> (CommitmentState, Vec<crate::contact::text::Text>) {
    let declared = before.map_or(CommitmentState::Made, |before| before.state);
    match declared {
        CommitmentState::Superseded | CommitmentState::Withdrawn | CommitmentState::Declined => {
            (declared, Vec::new())
        }
        CommitmentState::Made | CommitmentState::Accepted => {
            match commitment::standing(known, (&made.kind, rule, made.score), policy, now) {
                Standing::Holds(superseded) => (declared, superseded),
                Standing::Superseded => (CommitmentState::Superseded, Vec::new()),
            }
        }
    }
}

fn taken(command: &Command, noted: Noted, events: Events<Event>) -> Decision<Contact> {
    Decision {
        events,
        reply: Reply::Declared(DeclareReply::TAKEN),
        note: Some(Note::new(command, noted)),
        notices: Vec::new(),
    }
}

fn turned_down(command: &Command, refusal: Refusal) -> Decision<Contact> {
    Decision {
        events: Events::new(),
        reply: Reply::Declared(DeclareReply::TURNED_DOWN),
        note: Some(Note::new(command, Noted::Refused(refusal))),
        notices: Vec::new(),
    }
}
