//! A customer is erased (`docs/spec/contact.md` §21).
//!
//! Here: everything that is known of the customer goes in one record, and the suppressions stay. The
//! customer's next claim still gets a higher epoch, for an epoch is the entity's version. Not here:
//! notes, which name no customer and go with their day; and the rows of claims, which lead to a
//! customer that does not know them any more.

use crate::contact::command::{Command, ForgetCustomer};
use crate::contact::customer::Customer;
use crate::contact::directory::{DirectoryRow, Target, row_key};
use crate::contact::entity::ContactEntity;
use crate::contact::erasure::{Erased, KEPT_S};
use crate::contact::event::{CustomerErased, Event};
use crate::contact::handoff::handoff_key;
use crate::contact::note::{Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{ErasedReply, Reply};
use crate::contact::{Contact, key};
use crate::ids::Id;
use crate::key::{KeyList, Kind, SpaceId};
use crate::machine::{Context, Decision, Entities, Events};
use crate::time::Timestamp;

/// The entities an erasure touches.
pub(super) fn keys(space: SpaceId, forget: &ForgetCustomer) -> KeyList {
    let offers = forget.offers.iter();
    let rows = offers.map(|(_, hash)| key(space, Kind::Directory, *hash));
    let handoffs = forget.handoffs.iter();
    let mut keys: KeyList = rows.collect();
    keys.extend(handoffs.map(|id| handoff_key(space, *id)));
    keys.push(row_key(space, forget.new_id));
    keys.push(key(space, Kind::Customer, forget.customer));
    keys
}

/// Decides an erasure.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    forget: &ForgetCustomer,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let entity = key(command.space, Kind::Customer, forget.customer);
    let known = entities.get(&entity).and_then(ContactEntity::as_customer);
    let keeps = |id: &Id| {
        let handoff = entities.get(&handoff_key(command.space, *id));
        let handoff = handoff.and_then(ContactEntity::as_handoff);
        handoff
            .is_some_and(|handoff| handoff.customer == forget.customer && !handoff.holds.is_empty())
    };
    if forget.handoffs.iter().any(keeps) || known.is_some_and(Customer::is_held) {
        let refusal = Refusal::UnderLegalHold;
        return Decision {
            note: Some(Note::new(command, Noted::Refused(refusal))),
            ..Decision::read(Reply::Refused(refusal))
        };
    }
    if known.is_some_and(|known| !names_all(forget, known)) {
        return Decision::read(Reply::Moved);
    }
    let now = context.now;
    let mut events = terms(entities, command, forget);
    let sealed = u32::try_from(events.len()).unwrap_or(u32::MAX);
    let handoffs = handoffs(entities, command, forget, now);
    let gone = u32::try_from(handoffs.len()).unwrap_or(u32::MAX);
    let erased = Erased::of(known, (sealed, gone), now);
    events.extend(handoffs);
    if known.is_some() {
        events.push((entity, Event::CustomerErased(CustomerErased { at: now })));
    }
    let row = DirectoryRow {
        target: Target::Customer(forget.customer),
        until: now.plus_s(KEPT_S),
        terms: None,
        erased: Some(Box::new(erased)),
        admission: None,
    };
    let row_of = row_key(command.space, forget.new_id);
    events.push((row_of, Event::RowWritten(Box::new(row))));
    Decision {
        events,
        note: Some(Note {
            decision_id: Some(forget.new_id),
            ..Note::new(command, Noted::Accepted)
        }),
        ..Decision::read(Reply::Erased(Box::new(ErasedReply {
            request_id: forget.new_id,
            customer: forget.customer,
            erased,
        })))
    }
}

/// Does the command name the row of every offer, and every handoff, that the customer has?
fn names_all(forget: &ForgetCustomer, known: &Customer) -> bool {
    let mut offers = known.rare.commitments.iter();
    let mut handoffs = known.handoffs().iter();
    offers.all(|offer| forget.offers.iter().any(|(id, _)| *id == offer.id))
        && handoffs.all(|handoff| forget.handoffs.contains(&handoff.id))
}

/// The customer's handoffs, with nothing left of them.
fn handoffs(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    forget: &ForgetCustomer,
    now: Timestamp,
) -> Events<Event> {
    let named = forget.handoffs.iter().filter_map(|id| {
        let entity = handoff_key(command.space, *id);
        let handoff = entities.get(&entity)?.as_handoff()?;
        let is_theirs = handoff.customer == forget.customer && !handoff.is_erased();
        let gone = Event::HandoffErased(CustomerErased { at: now });
        is_theirs.then_some((entity, gone))
    });
    named.collect()
}

/// The customer's rows with sealed terms, without them. The ids stay taken.
fn terms(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    forget: &ForgetCustomer,
) -> Events<Event> {
    let rows = forget.offers.iter().filter_map(|(_, hash)| {
        let entity = key(command.space, Kind::Directory, *hash);
        let row = entities.get(&entity)?.as_directory()?;
        let is_theirs = row.target == Target::Customer(forget.customer);
        (is_theirs && row.terms.is_some()).then(|| {
            let emptied = DirectoryRow {
                terms: None,
                ..row.clone()
            };
            (entity, Event::RowWritten(Box::new(emptied)))
        })
    });
    rows.collect()
}
