//! How a command about a claim or a lock is answered: on its route with the claim or a refusal, in a
//! declaration with `accepted` (`docs/spec/contact.md` §9, §10, §17).
//!
//! Here: both forms. Not here: what is accepted (`claim_target`, `observe_owner`, `lock_task`,
//! `release_claim`).

use crate::contact::Contact;
use crate::contact::claim::Held;
use crate::contact::command::{Command, Route};
use crate::contact::note::{Facts, Mark, Note, Noted};
use crate::contact::reason::Refusal;
use crate::contact::reply::{ClaimedRef, DeclareReply, HeldReply, Reply};
use crate::contact::text::Text;
use crate::machine::{Decision, Events};
use crate::time::Timestamp;

/// The claim or lock stands as shown.
pub(in crate::contact) fn stands(
    command: &Command,
    held: &impl Held,
    noted: Noted,
) -> Decision<Contact> {
    let reply = held.reply();
    let reply = if command.route == Route::Batch {
        Reply::Observed
    } else if command.route == Route::Declare {
        Reply::Declared(DeclareReply {
            accepted: true,
            decision_id: None,
            claim: Some(ClaimedRef {
                id: reply.claim_id,
                epoch: reply.epoch,
            }),
        })
    } else {
        Reply::Claim(Box::new(reply))
    };
    noted_as(command, reply, noted, Facts::new())
}

/// The same, with the mark of a claim that came beside a live one of another holder.
pub(in crate::contact) fn beside(
    mut decision: Decision<Contact>,
    is_beside: bool,
) -> Decision<Contact> {
    if let Some(note) = &mut decision.note {
        note.mark = is_beside.then_some(Mark::OwnershipOverlap);
    }
    decision
}

/// Somebody else has it.
pub(in crate::contact) fn is_held(
    command: &Command,
    refusal: Refusal,
    (holder, until): (Text, Timestamp),
    facts: Facts,
) -> Decision<Contact> {
    let reply = if command.route == Route::Declare {
        Reply::Declared(DeclareReply::TURNED_DOWN)
    } else {
        Reply::Held(Box::new(HeldReply {
            refusal,
            holder,
            until,
        }))
    };
    noted_as(command, reply, Noted::Refused(refusal), facts)
}

/// The state machine refuses it, and there is nobody to name.
pub(in crate::contact) fn refused(
    command: &Command,
    refusal: Refusal,
    facts: Facts,
) -> Decision<Contact> {
    let reply = if command.route == Route::Declare {
        Reply::Declared(DeclareReply::TURNED_DOWN)
    } else {
        Reply::Refused(refusal)
    };
    noted_as(command, reply, Noted::Refused(refusal), facts)
}

/// There is no such claim.
pub(in crate::contact) fn unknown(command: &Command) -> Decision<Contact> {
    if command.route != Route::Declare {
        return Decision::read(Reply::NotFound);
    }
    let reply = Reply::Declared(DeclareReply::TURNED_DOWN);
    noted_as(command, reply, Noted::NothingToChange, Facts::new())
}

fn noted_as(command: &Command, reply: Reply, noted: Noted, facts: Facts) -> Decision<Contact> {
    Decision {
        events: Events::new(),
        reply,
        note: Some(Note {
            facts,
            ..Note::new(command, noted)
        }),
        notices: Vec::new(),
    }
}
