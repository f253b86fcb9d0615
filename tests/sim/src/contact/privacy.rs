//! Erasures and legal holds as the log tells them.
//!
//! Here: the books of holds, and what an erasure, a hold and its release must come to
//! (`docs/spec/contact.md` §21, `docs/security.md`). What an erasure takes from the other books is
//! said there. Not here: handoffs and offers, whose rows go and stay with their customers.

use std::collections::BTreeMap;

use interlock_domain::contact::command::{ForgetCustomer, HoldPlace, PlaceHold, ReleaseHold};
use interlock_domain::contact::directory::{DirectoryRow, Target, row_key};
use interlock_domain::contact::erasure::{Erased, KEPT_S};
use interlock_domain::contact::event::{CustomerErased, Event, HoldMarked, HoldReleased};
use interlock_domain::contact::legal_hold::{HoldTarget, LegalHold, RELEASED_KEPT_S, holds_key};
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::{ErasedReply, Reply};
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, Kind, SpaceId};
use interlock_domain::time::Timestamp;

use super::change::Change;
use super::judge::{Due, Moment, Outcome};

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
        released.is_some_and(|at| now >= at.plus_s(RELEASED_KEPT_S))
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
    Due::Plain(Reply::Hold(Box::new(hold)), Noted::Accepted, changes)
}

/// An erasure takes what there is, and says how much of each: never more than there ever was, never
/// less than what must be there.
pub(super) fn forget(moment: &Moment<'_>, body: &ForgetCustomer) -> Due {
    let key = moment.key(Kind::Customer, body.customer);
    if moment.books.legal_holds.covers(key, moment.record) {
        let refusal = Refusal::UnderLegalHold;
        return Due::Plain(Reply::Refused(refusal), Noted::Refused(refusal), Vec::new());
    }
    let Some(erased) = moment.erased.filter(|erased| is_right(moment, key, erased)) else {
        return Due::OneOf(Vec::new());
    };
    let reply = ErasedReply {
        request_id: body.new_id,
        customer: body.customer,
        erased,
    };
    let row = DirectoryRow {
        target: Target::Customer(body.customer),
        until: moment.now.plus_s(KEPT_S),
        terms: None,
        erased: Some(Box::new(erased)),
        admission: None,
    };
    let row = exactly(
        row_key(moment.space, body.new_id),
        Event::RowWritten(Box::new(row)),
    );
    let at = moment.now;
    let gone = exactly(key, Event::CustomerErased(CustomerErased { at }));
    let outcome = |changes| Outcome {
        reply: Reply::Erased(Box::new(reply)),
        noted: Noted::Accepted,
        changes,
    };
    let mut all = vec![outcome(vec![row.clone(), gone])];
    // Of somebody unknown there is nothing to change.
    if erased.taken().iter().all(|(_, count)| *count == 0) {
        all.push(outcome(vec![row]));
    }
    Due::OneOf(all)
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
    erased.at == now
        && (u32::from(counts)..=count(contacts().count())).contains(&erased.contacts)
        && (count(live)..=count(known)).contains(&erased.claims)
        && erased.suppressions_kept == count(in_force)
        && u64::from(erased.paid_units) >= books.spent.on(key, before, now)
}
