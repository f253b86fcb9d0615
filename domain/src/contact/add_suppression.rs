//! `suppression.added`: a destination may not be contacted (`docs/spec/contact.md` §15, §17).
//!
//! Here: the identity of an entry and its end. It goes on when memory is short: an opt-out that is
//! not taken is a contact that should not be made. Not here: what an entry stops (`check`), and
//! that the subject has a destination at all (the edge).

use smallvec::smallvec;

use crate::contact::command::{AddSuppression, Command};
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::note::{Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reply::{DeclareReply, Member, Reply};
use crate::contact::suppression::Suppression;
use crate::contact::{Contact, key};
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities};
use crate::time::Timestamp;

/// How many entries one customer keeps; each window and source has one of its own, and an entity
/// must stay far below 1 MiB.
const SUPPRESSIONS_MAX: usize = 1_000;

/// Decides the declaration.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    add: &AddSuppression,
    context: &mut Context<'_, Policy>,
) -> Decision<Contact> {
    let now = context.now;
    let Some(reason) = context.policy.reason_rules(add.reason) else {
        return Decision::read(Reply::Undeclared(Member::Reason));
    };
    let reason_end = reason.days.map(|days| now.plus_s(i64::from(days) * 86_400));
    let entity = key(command.space, Kind::Customer, add.customer);
    let customer = entities.get(&entity).and_then(ContactEntity::as_customer);
    let known = customer.map_or(&[][..], |customer| &customer.suppressions);
    let mut entry = Suppression {
        entry: context.ids.next(now),
        source: command.source,
        purpose: add.purpose,
        channel: add.channel,
        reason: add.reason,
        since: now,
        until: add.until.or(reason_end),
        window: add.window.clone(),
    };
    match known.iter().find(|known| known.same_identity(&entry)) {
        Some(known) => entry.entry = known.entry,
        None if lasting(known, now) >= SUPPRESSIONS_MAX => return Decision::read(Reply::Capacity),
        None => {}
    }
    Decision {
        events: smallvec![(entity, Event::SuppressionAdded(Box::new(entry)))],
        reply: Reply::Declared(DeclareReply::TAKEN),
        note: Some(Note {
            purpose: Some(add.purpose),
            channel: add.channel,
            ..Note::new(command, Noted::Accepted)
        }),
        notices: Vec::new(),
    }
}

/// Entries that are not over; those that are go with the event.
fn lasting(known: &[Suppression], now: Timestamp) -> usize {
    let lasts = |entry: &&Suppression| entry.until.is_none_or(|until| now < until);
    known.iter().filter(lasts).count()
}
