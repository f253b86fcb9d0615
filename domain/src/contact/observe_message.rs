//! A customer's message was seen on a channel (`docs/spec/contact.md` §12).
//!
//! Here: the newest message opens the free-form window, whatever order messages arrive in. Not
//! here: the window itself (`channel`), and repeats of one item (the edge's receipts).

use smallvec::SmallVec;

use crate::contact::command::{Command, ObserveMessage};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{Event, MessageSeen};
use crate::contact::policy::Policy;
use crate::contact::reply::{Member, Reply};
use crate::contact::{Contact, key};
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities};

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
    let mut decision = Decision::read(Reply::Observed);
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
