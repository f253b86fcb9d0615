//! `commitment.withdrawn` and `commitment.decided`: what became of an offer
//! (`docs/spec/contact.md` §11, §17).
//!
//! Here: the word about an offer. One about an id that nobody offered yet is recorded with the
//! customer and waits for it. What was superseded, withdrawn or declined stays so. Not here: what is
//! offered (`make_commitment`).

use smallvec::smallvec;

use crate::contact::Contact;
use crate::contact::command::{ClaimPlace, Command, EndCommitment};
use crate::contact::commitment::{Commitment, CommitmentState};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{CommitmentTurned, Event};
use crate::contact::note::{Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reply::{DeclareReply, Reply};
use crate::machine::{Context, Decision, Entities, Events};

/// Decides the declaration.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    end: &EndCommitment,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let ClaimPlace::At(target) = end.place else {
        // Nobody is named and nobody has it: it is noted, and there is nothing to keep it with.
        return answer(command, Noted::NothingToChange, Events::new());
    };
    let entity = target.key(command.space);
    let customer = entities.get(&entity).and_then(ContactEntity::as_customer);
    let known = customer.and_then(|customer| {
        let mut all = customer.rare.commitments.iter();
        all.find(|known| known.id == end.id)
    });
    if known.is_some_and(|known| !moves(known, end.state)) {
        return answer(command, Noted::NothingToChange, Events::new());
    }
    if known.is_none() && context.full {
        return Decision::read(Reply::Capacity);
    }
    let turned = CommitmentTurned {
        id: end.id.clone(),
        state: end.state,
        at: context.now,
    };
    let event = Event::CommitmentTurned(Box::new(turned));
    answer(command, Noted::Accepted, smallvec![(entity, event)])
}

/// Whether the word changes anything.
fn moves(known: &Commitment, to: CommitmentState) -> bool {
    match (known.state, to) {
        (CommitmentState::Made, _)
        | (CommitmentState::Accepted, CommitmentState::Withdrawn | CommitmentState::Declined) => {
            true
        }
        (
            CommitmentState::Accepted
            | CommitmentState::Superseded
            | CommitmentState::Withdrawn
            | CommitmentState::Declined,
            _,
        ) => false,
    }
}

fn answer(command: &Command, noted: Noted, events: Events<Event>) -> Decision<Contact> {
    Decision {
        events,
        reply: Reply::Declared(DeclareReply::TAKEN),
        note: Some(Note::new(command, noted)),
        notices: Vec::new(),
    }
}
