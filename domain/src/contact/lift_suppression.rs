//! `suppression.lifted`: what the same source added is taken out (`docs/spec/contact.md` §15, §17).
//!
//! Here: which entries a lift names: the same source's for that purpose and channel, in whatever
//! window, also when the space's document has dropped the purpose or channel since: an entry is never
//! stuck. Entries of others are never touched. A lifted entry stays for a while without effect, so
//! that readers hear of it. Not here: what an entry stops (`check`).

use crate::contact::command::{Command, LiftSuppression};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{Event, SuppressionLifted};
use crate::contact::feed::Changes;
use crate::contact::note::{Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::rebind::Names;
use crate::contact::reply::{DeclareReply, Reply};
use crate::contact::suppression::Suppression;
use crate::contact::{Contact, key};
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities};

/// Decides the declaration.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    lift: &LiftSuppression,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let now = context.now;
    let entity = key(command.space, Kind::Customer, lift.customer);
    let customer = entities.get(&entity).and_then(ContactEntity::as_customer);
    let known = customer.map_or(&[][..], |customer| &customer.rare.suppressions);
    let is_named = |entry: &&Suppression| {
        entry.source == command.source
            && entry.purpose == lift.purpose
            && entry.channel == lift.channel
    };
    let named = known.iter().filter(is_named);
    // Without an entry of that name nobody ever declared it, as far as is known: it is a slip.
    if named.clone().next().is_none()
        && let Err(undeclared) = Names(context.policy).of_suppression(lift.purpose, lift.channel)
    {
        return Decision::read(undeclared);
    }
    let mut changes = Changes::new(entities, command.space, lift.customer);
    for entry in named.filter(|entry| entry.in_force(now)) {
        let lifted = Suppression {
            lifted: Some(now),
            ..entry.clone()
        };
        changes.push(lifted, |entry| {
            Event::SuppressionLifted(SuppressionLifted {
                entry: entry.entry,
                at: now,
                number: entry.number,
            })
        });
    }
    let (events, notices) = changes.end();
    let accepted = !events.is_empty();
    let decision = if accepted {
        Noted::Accepted
    } else {
        Noted::NothingToChange
    };
    Decision {
        events,
        reply: Reply::Declared(DeclareReply {
            accepted,
            ..DeclareReply::TURNED_DOWN
        }),
        note: Some(Note {
            purpose: Some(lift.purpose),
            channel: lift.channel,
            ..Note::new(command, decision)
        }),
        notices,
    }
}
