//! A handoff has an outcome (`docs/spec/contact.md` §16).
//!
//! Here: the vocabulary that counts, which is the space's now; the end of the hold and of nothing
//! else; what the space maps the outcome to. The same outcome again changes nothing, so what it
//! suppresses is added once. Not here: whose the handoff is (`find`).

use smallvec::smallvec;

use crate::contact::add_suppression::{self, Wanted};
use crate::contact::claim::Claim;
use crate::contact::command::{ClaimPlace, Command};
use crate::contact::directory::Target;
use crate::contact::entity::ContactEntity;
use crate::contact::event::{ClaimReleased, Event, HandoffTurned};
use crate::contact::feed::Changes;
use crate::contact::handoff::command::CloseHandoff;
use crate::contact::handoff::{Handoff, HandoffStatus, answer, handoff_key};
use crate::contact::note::Noted;
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{Member, Reply};
use crate::contact::text::Text;
use crate::contact::{Contact, key};
use crate::ids::Id;
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities, Events};

/// Decides it.
pub(in crate::contact) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    close: &CloseHandoff,
    context: &mut Context<'_, Policy>,
) -> Decision<Contact> {
    let (id, now) = (close.handoff, context.now);
    let named = answer::known(entities, command, id, now);
    // The look-up found whose it is in an earlier turn; that never changes.
    let named =
        named.filter(|named| close.place == ClaimPlace::At(Target::Customer(named.customer)));
    let Some(known) = named else {
        return answer::unknown(command);
    };
    if !known.may_be_of(close.subject) {
        return answer::anothers(command, id);
    }
    let status = known.status(now);
    if status == HandoffStatus::Closed && known.outcome == close.outcome {
        return answer::stands(command, id, known, Noted::NothingToChange, now);
    }
    let vocabulary = &context.policy.handoffs.vocabulary;
    let Some(outcome) = &close.outcome else {
        // Only a declaration leaves it out, and without one there is nothing to close it with.
        return answer::refused(command, id, Refusal::InvalidTransition);
    };
    if !vocabulary.contains(outcome) {
        return Decision::read(Reply::Undeclared(Member::Outcome));
    }
    match status {
        HandoffStatus::Closed => answer::refused(command, id, Refusal::HandoffClosed),
        HandoffStatus::Expired => answer::refused(command, id, Refusal::HandoffExpired),
        HandoffStatus::Created | HandoffStatus::Accepted => {
            closed(entities, command, (id, known, outcome), context)
        }
    }
}

fn closed(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    (id, known, outcome): (Id, &Handoff, &Text),
    context: &mut Context<'_, Policy>,
) -> Decision<Contact> {
    let now = context.now;
    let turned = HandoffTurned {
        state: HandoffStatus::Closed,
        outcome: Some(outcome.clone()),
        at: now,
    };
    let mut after = known.clone();
    after.turn(&turned);
    let mut events: Events<Event> = smallvec![(
        handoff_key(command.space, id),
        Event::HandoffTurned(Box::new(turned)),
    )];
    let entity = key(command.space, Kind::Customer, known.customer);
    let customer = entities.get(&entity).and_then(ContactEntity::as_customer);
    // The hold lasts until the outcome is due, and nothing else ends it, so it is live.
    let is_hold = |claim: &Claim| claim.id == id;
    if customer.is_some_and(|customer| customer.rare.claims.iter().any(is_hold)) {
        events.push((entity, Event::ClaimReleased(ClaimReleased { id, at: now })));
    }
    let notices = match suppressed(entities, command, (known, outcome), context) {
        Ok(changes) => {
            let (more, notices) = changes.end();
            events.extend(more);
            notices
        }
        Err(reply) => return Decision::read(*reply),
    };
    Decision {
        events,
        notices,
        ..answer::stands(command, id, &after, Noted::Accepted, now)
    }
}

/// What the space maps the outcome to. A handle that is no destination cannot be suppressed.
fn suppressed(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    (known, outcome): (&Handoff, &Text),
    context: &mut Context<'_, Policy>,
) -> Result<Changes, Box<Reply>> {
    let mut mapped = context.policy.handoffs.suppressions.iter();
    let mapped = mapped.find(|mapped| mapped.outcome == *outcome);
    let Some(mapped) = mapped.filter(|_| !known.destination.is_empty()) else {
        return Ok(Changes::new(entities, command.space, known.customer));
    };
    let wanted = Wanted {
        space: command.space,
        source: command.source,
        customer: known.customer,
        purpose: mapped.purpose,
        channel: mapped.channel,
        reason: mapped.reason,
        until: None,
        window: None,
        destination: &known.destination,
    };
    add_suppression::added(entities, &wanted, context).map_err(Box::new)
}
