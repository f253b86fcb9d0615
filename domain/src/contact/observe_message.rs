//! A customer's message was seen on a channel (`docs/spec/contact.md` §12).
//!
//! Here: the newest message opens the free-form window, whatever order messages arrive in; each one
//! leaves a note, for a shadow run asks when the window was open (§18). Not here: the window itself
//! (`channel`), and repeats of one item (`receipt`).

use smallvec::SmallVec;

use crate::contact::command::{Command, Direction, ObserveMessage};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{Event, MessageSeen};
use crate::contact::name::ChannelId;
use crate::contact::note::{Mark, MessageNoted, Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reply::{Member, Reply};
use crate::contact::{Contact, key};
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities};
use crate::time::Timestamp;

/// Decides the observation.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    observe: &ObserveMessage,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let Some(channel) = context.policy.channel_rules(observe.channel) else {
        return Decision::read(Reply::Undeclared(Member::Channel));
    };
    let entity = key(command.space, Kind::Customer, observe.customer);
    let customer = entities.get(&entity).and_then(ContactEntity::as_customer);
    // A time that a caller sends opens nothing in the future.
    let occurred_at = observe.occurred_at.min(context.now);
    let last = customer.and_then(|customer| customer.last_message(channel.id));
    let mut decision = Decision {
        note: Some(note(command, observe, channel.id, occurred_at)),
        ..Decision::read(Reply::Observed)
    };
    let Some(keep_hours) = channel.free_form_hours else {
        return decision;
    };
    let is_over = occurred_at.plus_s(i64::from(keep_hours) * 3_600) <= context.now;
    if !is_over && last.is_none_or(|last| last < occurred_at) {
        let seen = MessageSeen {
            channel: channel.id,
            occurred_at,
            keep_hours,
        };
        decision.events = SmallVec::from_iter([(entity, Event::MessageSeen(seen))]);
    }
    decision
}

fn note(
    command: &Command,
    observe: &ObserveMessage,
    channel: ChannelId,
    occurred_at: Timestamp,
) -> Note {
    Note {
        channel: Some(channel),
        direction: Some(Direction::Inbound),
        mark: Some(Mark::Message(Box::new(MessageNoted {
            customer: observe.customer,
            occurred_at,
            agent: None,
            name: None,
            intent: None,
            jti: None,
            template: false,
        }))),
        ..Note::new(command, Noted::Accepted)
    }
}
