//! A handoff's target takes the customer over (`docs/spec/contact.md` §16).
//!
//! Here: from created to accepted; again it changes nothing. Not here: the hold, which stays as it
//! is until the outcome.

use smallvec::smallvec;

use crate::contact::Contact;
use crate::contact::command::Command;
use crate::contact::entity::ContactEntity;
use crate::contact::event::{Event, HandoffTurned};
use crate::contact::handoff::command::AcceptHandoff;
use crate::contact::handoff::{HandoffStatus, answer, handoff_key};
use crate::contact::note::Noted;
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::machine::{Context, Decision, Entities};

/// Decides it.
pub(in crate::contact) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    accept: AcceptHandoff,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let (id, now) = (accept.handoff, context.now);
    let Some(known) = answer::known(entities, command, id, now) else {
        return answer::unknown(command);
    };
    if !known.may_be_of(accept.subject) {
        return answer::anothers(command, id);
    }
    match known.status(now) {
        HandoffStatus::Closed => answer::refused(command, id, Refusal::HandoffClosed),
        HandoffStatus::Expired => answer::refused(command, id, Refusal::HandoffExpired),
        HandoffStatus::Accepted => answer::stands(command, id, known, Noted::NothingToChange, now),
        HandoffStatus::Created => {
            let turned = HandoffTurned {
                state: HandoffStatus::Accepted,
                outcome: None,
                at: now,
            };
            let mut after = known.clone();
            after.turn(&turned);
            let event = Event::HandoffTurned(Box::new(turned));
            Decision {
                events: smallvec![(handoff_key(command.space, id), event)],
                ..answer::stands(command, id, &after, Noted::Accepted, now)
            }
        }
    }
}
