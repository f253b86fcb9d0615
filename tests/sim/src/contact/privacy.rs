//! Erasures and legal holds as the log tells them.
//!
//! Here: the books of holds, and what an erasure, a hold and its release must come to
//! (`docs/spec/contact.md` §21, `docs/security.md`). What an erasure takes from the other books is
//! said there. Handoffs and the terms of offers are beside their customers, so an erasure and a hold
//! name them, and what is not named turns an erasure down.

use std::collections::BTreeMap;

use interlock_domain::contact::command::{ForgetCustomer, HoldPlace, PlaceHold, ReleaseHold};
use interlock_domain::contact::directory::{DirectoryRow, Target, row_key};
use interlock_domain::contact::erasure::Erased;
use interlock_domain::contact::event::{
    CustomerErased, Event, HandoffHeld, HoldMarked, HoldReleased,
};
use interlock_domain::contact::handoff::handoff_key;
use interlock_domain::contact::legal_hold::{HoldTarget, LegalHold, holds_key};
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::{ErasedReply, Reply};
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, Kind, SpaceId};
use interlock_domain::time::Timestamp;

use super::books::Books;
use super::change::Change;
use super::handoffs::{is_long_ago, is_of, may_be_forgotten};
use super::judge::{Due, Moment, Outcome};
use super::limits::{ERASURE_ROW_S, RELEASED_HOLD_S};

#[derive(Clone, Copy, Debug)]
struct Placed {
    record: u64,
    hold: LegalHold,
    /// The record that released it.
    released: u64,
}

impl Placed {
    /// Was it released so long ago that nobody need remember it?
    fn may_be_forgotten(&self, now: Timestamp) -> bool {
        let released = self.hold.released_at;
        released.is_some_and(|at| now >= at.plus_s(RELEASED_HOLD_S))
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct LegalHolds(BTreeMap<SpaceId, Vec<Placed>>);

impl LegalHolds {
    pub(super) fn enter(&mut self, record: u64, space: SpaceId, event: &Event) {
        let list = self.0.entry(space).or_default();
        match event {
            Event::HoldPlaced(hold) => list.push(Placed {
                record,
                hold: **hold,
                released: u64::MAX,
            }),
            Event::HoldReleased(released) => {
                let placed = list.iter_mut().find(|placed| placed.hold.id == released.id);
                if let Some(placed) = placed {
                    placed.released = record;
                    placed.hold.released_at = Some(released.at);
                }
            }
            _ => {}
        }
    }

    fn of(&self, space: SpaceId) -> &[Placed] {
        self.0.get(&space).map_or(&[], Vec::as_slice)
    }

    fn of_id(&self, space: SpaceId, id: Id, before: u64) -> Option<&Placed> {
        let mut all = self.of(space).iter();
        all.find(|placed| placed.hold.id == id && placed.record < before)
    }

    /// What a hold is on, if it was placed before a record.
    pub(super) fn target(&self, space: SpaceId, id: Id, before: u64) -> Option<HoldTarget> {
        self.of_id(space, id, before)
            .map(|placed| placed.hold.target)
    }

    /// May the answer be that there is no such hold, between two records and until a time?
    pub(super) fn may_be_unknown(
        &self,
        space: SpaceId,
        id: Id,
        before: u64,
        now: Timestamp,
    ) -> bool {
        let placed = self.of_id(space, id, before);
        placed.is_none_or(|placed| placed.may_be_forgotten(now))
    }

    /// Is there a live hold on an entity before a record?
    pub(super) fn covers(&self, key: EntityKey, before: u64) -> bool {
        let mut all = self.of(key.space).iter();
        all.any(|placed| {
            placed.record < before
                && placed.released >= before
                && placed.hold.target.key(key.space) == Some(key)
        })
    }

    /// Is there any live hold of a space?
    pub(super) fn any(&self, space: SpaceId) -> bool {
        let mut all = self.of(space).iter();
        all.any(|placed| placed.released == u64::MAX)
    }
}

fn exactly(key: EntityKey, event: Event) -> Change {
    Change::Exactly {
        key,
        event: Box::new(event),
    }
}

fn marked(moment: &Moment<'_>, target: HoldTarget, placed: bool) -> Option<Change> {
    let at = moment.now;
    let event = Event::HoldMarked(HoldMarked { placed, at });
    target.key(moment.space).map(|key| exactly(key, event))
}

/// What happens to the handoffs that are named, and whether each of them may be gone.
fn kept(moment: &Moment<'_>, named: &[Id], event: Event) -> Vec<(bool, Change)> {
    let book = &moment.books.handoffs;
    let named = named.iter().filter_map(|id| {
        let key = handoff_key(moment.space, *id);
        let handoff = book.of_id(key, moment.record)?;
        let gone = may_be_forgotten(handoff, moment.now);
        Some((gone, exactly(key, event.clone())))
    });
    named.collect()
}

fn handoff_held(moment: &Moment<'_>, hold: Id, placed: bool) -> Event {
    let at = moment.now;
    Event::HandoffHeld(HandoffHeld { hold, placed, at })
}

/// Of what may be gone each may be there still: shards sweep when they come to it.
fn with_handoffs(mut changes: Vec<Change>, handoffs: Vec<(bool, Change)>) -> Vec<Change> {
    changes.extend(handoffs.into_iter().map(|(gone, change)| match gone {
        true => Change::Perhaps(Box::new(change)),
        false => change,
    }));
    changes
}

pub(super) fn place(moment: &Moment<'_>, body: &PlaceHold) -> Due {
    let hold = LegalHold {
        id: body.new_id,
        target: body.target,
        since: moment.now,
        released_at: None,
    };
    let mut changes = vec![exactly(
        holds_key(moment.space),
        Event::HoldPlaced(Box::new(hold)),
    )];
    changes.extend(marked(moment, body.target, true));
    let book = &moment.books.handoffs;
    let mut named = body.handoffs.clone();
    named.retain(|id| {
        let handoff = book.of_id(handoff_key(moment.space, *id), moment.record);
        handoff.is_some_and(|handoff| is_of(handoff, body.target))
    });
    let handoffs = kept(moment, &named, handoff_held(moment, body.new_id, true));
    held(hold, with_handoffs(changes, handoffs))
}

fn held(hold: LegalHold, changes: Vec<Change>) -> Due {
    Due::Plain(Reply::Hold(Box::new(hold)), Noted::Accepted, changes)
}

pub(super) fn release(moment: &Moment<'_>, body: &ReleaseHold) -> Due {
    let holds = &moment.books.legal_holds;
    let placed = holds.of_id(moment.space, body.hold, moment.record);
    let (Some(placed), HoldPlace::At(_)) = (placed, body.place) else {
        return Due::Plain(Reply::NotFound, Noted::NothingToChange, Vec::new());
    };
    if placed.released < moment.record {
        let outcome = |reply, noted| Outcome {
            reply,
            noted,
            changes: Vec::new(),
        };
        let mut all = vec![outcome(Reply::Hold(Box::new(placed.hold)), Noted::Accepted)];
        if placed.may_be_forgotten(moment.now) {
            all.push(outcome(Reply::NotFound, Noted::NothingToChange));
        }
        return Due::OneOf(all);
    }
    let hold = LegalHold {
        released_at: Some(moment.now),
        ..placed.hold
    };
    let released = HoldReleased {
        id: body.hold,
        at: moment.now,
    };
    let mut changes = vec![exactly(
        holds_key(moment.space),
        Event::HoldReleased(released),
    )];
    changes.extend(marked(moment, hold.target, false));
    let book = &moment.books.handoffs;
    let mut named = body.handoffs.clone();
    named.retain(|id| {
        let handoff = book.of_id(handoff_key(moment.space, *id), moment.record);
        handoff.is_some_and(|handoff| handoff.holds.contains(&body.hold))
    });
    let handoffs = kept(moment, &named, handoff_held(moment, body.hold, false));
    held(hold, with_handoffs(changes, handoffs))
}

/// Offers and handoffs of a customer before a record that an erasure does not name, and whether each
/// of them must be known.
pub(super) fn unnamed(
    books: &Books,
    customer: EntityKey,
    body: &ForgetCustomer,
    (before, now): (u64, Timestamp),
) -> Vec<bool> {
    let offers = books.offers.before(customer, before);
    let offers = offers
        .filter(|(id, _)| body.offers.iter().all(|(named, _)| named != *id))
        .map(|(id, _)| books.offers.is_known(customer, id, before, now));
    let handoffs = books.handoffs.of_customer(customer, before);
    let handoffs = handoffs
        .filter(|(id, _)| !body.handoffs.contains(id))
        .map(|(_, handoff)| !is_long_ago(handoff, now));
    offers.chain(handoffs).collect()
}

/// An erasure takes what there is, and says how much of each: never more than there ever was, never
/// less than what must be there.
pub(super) fn forget(moment: &Moment<'_>, body: &ForgetCustomer) -> Due {
    let key = moment.key(Kind::Customer, body.customer);
    let refusal = Refusal::UnderLegalHold;
    let refused = || Outcome {
        reply: Reply::Refused(refusal),
        noted: Noted::Refused(refusal),
        changes: Vec::new(),
    };
    if moment.books.legal_holds.covers(key, moment.record) {
        return Due::OneOf(vec![refused()]);
    }
    let handoffs = moment.books.handoffs.of_customer(key, moment.record);
    let mut named = handoffs.filter(|(id, _)| body.handoffs.contains(id));
    if named.any(|(_, handoff)| !handoff.holds.is_empty()) {
        return Due::OneOf(vec![refused()]);
    }
    let moved = unnamed(moment.books, key, body, (moment.record, moment.now));
    let Some(erased) = moment.erased.filter(|erased| is_right(moment, key, erased)) else {
        return Due::OneOf(Vec::new());
    };
    if moved.contains(&true) {
        return Due::OneOf(Vec::new());
    }
    let reply = ErasedReply {
        request_id: body.new_id,
        customer: body.customer,
        erased,
    };
    let row = DirectoryRow {
        target: Target::Customer(body.customer),
        until: moment.now.plus_s(ERASURE_ROW_S),
        terms: None,
        erased: Some(Box::new(erased)),
        admission: None,
    };
    let row = exactly(
        row_key(moment.space, body.new_id),
        Event::RowWritten(Box::new(row)),
    );
    let at = moment.now;
    let mut changes = vec![row];
    let terms = terms(moment, body);
    let is_sure = |change: &&Change| !matches!(change, Change::Perhaps(_));
    let sure = terms.iter().filter(is_sure).count();
    if !(sure..=terms.len()).contains(&usize::try_from(erased.terms).unwrap_or(usize::MAX)) {
        return Due::OneOf(Vec::new());
    }
    changes.extend(terms);
    let gone = exactly(key, Event::CustomerErased(CustomerErased { at }));
    let mut all = Vec::new();
    let handoffs = kept(
        moment,
        &body.handoffs,
        Event::HandoffErased(CustomerErased { at }),
    );
    let certain = handoffs.iter().filter(|(gone, _)| !gone).count();
    let counts = certain..=handoffs.len();
    if !counts.contains(&usize::try_from(erased.handoffs).unwrap_or(usize::MAX)) {
        return Due::OneOf(Vec::new());
    }
    let mut changes = with_handoffs(changes, handoffs);
    // Of somebody unknown there is nothing to change.
    if erased.taken().iter().all(|(_, count)| *count == 0) {
        all.push(erasure(&reply, changes.clone()));
    }
    changes.push(gone);
    all.push(erasure(&reply, changes));
    Due::OneOf(all)
}

fn erasure(reply: &ErasedReply, changes: Vec<Change>) -> Outcome {
    Outcome {
        reply: Reply::Erased(Box::new(*reply)),
        noted: Noted::Accepted,
        changes,
    }
}

/// The rows of offers go on, without their terms.
fn terms(moment: &Moment<'_>, body: &ForgetCustomer) -> Vec<Change> {
    let named = body.offers.iter().filter_map(|(_, row)| {
        let key = row_key(moment.space, Id(row.0));
        let row = moment.books.row(key)?;
        let here = row.target == Target::Customer(body.customer);
        (here && row.has_terms(moment.record)).then_some((key, row))
    });
    let without = named.map(|(key, row)| {
        let row = DirectoryRow {
            target: row.target,
            until: row.until,
            terms: None,
            erased: None,
            admission: None,
        };
        let is_over = row.until <= moment.now;
        let change = exactly(key, Event::RowWritten(Box::new(row)));
        // A row that is over may be gone.
        if is_over {
            Change::Perhaps(Box::new(change))
        } else {
            change
        }
    });
    without.collect()
}

fn is_right(moment: &Moment<'_>, key: EntityKey, erased: &Erased) -> bool {
    let (books, before, now) = (moment.books, moment.record, moment.now);
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let contacts = || books.contacts(key, before);
    // Of those that count still a budget keeps the newest that its limit needs: how many is its own
    // affair, but never none.
    let counts = contacts().any(|contact| now < contact.kept_until);
    let claims = books.claims(key);
    let live = claims.map_or(0, |all| all.live(before, now).len());
    let known = claims.map_or(0, |all| all.ids(before));
    let in_force = books.entries(key, before);
    let in_force = in_force.filter(|entry| entry.in_force(now)).count();
    let offers = || books.offers.before(key, before);
    let offered = offers().filter(|(id, _)| books.offers.is_known(key, id, before, now));
    let (counted, drawn) = books.spent.on(key, before, now);
    erased.at == now
        && (u32::from(counts)..=count(contacts().count())).contains(&erased.contacts)
        && (count(live)..=count(known)).contains(&erased.claims)
        && (count(offered.count())..=count(offers().count())).contains(&erased.commitments)
        && erased.promises == count(books.offers.open(key, before).len())
        && erased.effects <= count(books.handoffs.effects(key, before).len())
        && erased.suppressions_kept == count(in_force)
        && (counted..=drawn).contains(&u64::from(erased.paid_units))
}
