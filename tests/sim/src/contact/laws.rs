//! What must hold at each record and at rest, whoever asked: C1 to C5 and C7, exactly once, one row for
//! each id, numbers without gaps, and nothing forgotten that must be known.

use std::fmt::Debug;

use interlock_domain::contact::Contact;
use interlock_domain::contact::claim::{Claim, ClaimVia};
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::event::{ContactCounted, Event};
use interlock_domain::contact::name::{IntentId, OperationId, PurposeId};
use interlock_domain::contact::reply::EffectState;
use interlock_domain::key::{EntityKey, Kind};
use interlock_domain::time::Timestamp;

use super::books::{Entry, State};
use super::budget::left;
use super::check::{Standing, standing};
use super::handoffs;
use super::holds::{Hold, Register};
use super::model::ContactModel;
use super::rules::Budget;
use crate::machine::{Memory, Violation, Written, violated};

impl ContactModel {
    /// C1, C2 and C5, and exactly once, at the moment a record reaches the log.
    pub(super) fn holds(
        &self,
        record: &Written<Contact>,
        key: EntityKey,
        event: &Event,
    ) -> Result<(), Violation> {
        let (number, now) = (record.number, record.time);
        match event {
            Event::EffectReserved(reserved) => {
                let held = self.books.attempt(key, number);
                match standing(held, now) {
                    Standing::Free(attempt) if attempt == reserved.attempt => Ok(()),
                    Standing::Free(_) | Standing::Held(..) => {
                        violated("C2", format!("{reserved:?} over {held:?}"))
                    }
                }
            }
            Event::CustomerErased(_) if self.books.legal_holds.covers(key, number) => {
                violated("model", format!("{key:?} is erased under a legal hold"))
            }
            Event::UnitsReserved(reserved) => {
                let of = (key, reserved.operation);
                let used = self.books.spent.used(of, number, now) + u64::from(reserved.units);
                let rules = &self.rules[&(record.space, record.policy)];
                let mut caps = rules.caps.iter();
                let cap = caps.find(|cap| OperationId::of(cap.name) == reserved.operation);
                match cap {
                    Some(cap) if reserved.units == 0 || used <= u64::from(cap.limit) => Ok(()),
                    cap => violated("C7", format!("{used} units by {reserved:?} of {cap:?}")),
                }
            }
            Event::ContactCounted(counted) if counted.decided => {
                let stops = |entry: &&Entry| {
                    entry.in_force(now)
                        && [counted.purpose, PurposeId::ANY].contains(&entry.purpose)
                        && (entry.channel.is_none() || entry.channel == counted.channel)
                        && entry
                            .window
                            .as_ref()
                            .is_none_or(|hours| hours.end(now).is_some())
                };
                if let Some(entry) = self.books.entries(key, number).find(stops) {
                    return violated("C5", format!("{counted:?} in spite of {entry:?}"));
                }
                let Some(budget) = self.is_kept(record, counted)? else {
                    return Ok(());
                };
                // A limit binds what had to be remembered, whatever the rules were.
                let contacts = self.books.contacts(key, number);
                let contacts = contacts.filter(|one| now < one.kept_until);
                let share = Some(IntentId(counted.share));
                let left = left(budget, counted.purpose, share, contacts, now);
                if left.remaining == 0 || left.paced {
                    return violated("C1", format!("{counted:?} with {left:?} of {budget:?}"));
                }
                Ok(())
            }
            Event::SuppressionAdded(added) => self.counts(record, event, added.number),
            Event::SuppressionLifted(lifted) => self.counts(record, event, lifted.number),
            Event::ReceiptKept(kept) => match self.books.receipts(key).last() {
                Some(last) if now < last.until => {
                    violated("model", format!("{kept:?} over a kept outcome, {last:?}"))
                }
                Some(_) | None => Ok(()),
            },
            Event::ContactCounted(counted) => self.is_kept(record, counted).map(|_| ()),
            _ => self.holds_alone(record, key, event),
        }
    }

    /// A contact is remembered for the window of its time; answers the budget it counts in.
    fn is_kept(
        &self,
        record: &Written<Contact>,
        counted: &ContactCounted,
    ) -> Result<Option<&Budget>, Violation> {
        let rules = &self.rules[&(record.space, record.policy)];
        let purpose = rules.purpose(counted.purpose);
        let budget = purpose.and_then(|purpose| purpose.budget.as_ref());
        let kept_ms = i64::from(counted.keep_hours) * 3_600_000;
        if budget.is_none_or(|budget| budget.reach_ms() <= kept_ms) {
            return Ok(budget);
        }
        violated("C1", format!("{counted:?} is forgotten within {budget:?}"))
    }

    /// Numbers of a space's list are in the order of its changes and leave none out.
    fn counts(
        &self,
        record: &Written<Contact>,
        event: &Event,
        number: u64,
    ) -> Result<(), Violation> {
        let mut before = 0;
        for entry in &record.entries {
            match &entry.event {
                Some(other) if other == event => break,
                Some(Event::SuppressionAdded(_) | Event::SuppressionLifted(_)) => before += 1,
                _ => {}
            }
        }
        let last = self.books.newest(record.space) + before;
        if number == last + 1 {
            return Ok(());
        }
        violated(
            "model",
            format!("{event:?} after change {last} of the list"),
        )
    }

    /// C3 and C4, and one row for each id.
    fn holds_alone(
        &self,
        record: &Written<Contact>,
        key: EntityKey,
        event: &Event,
    ) -> Result<(), Violation> {
        let (number, now) = (record.number, record.time);
        let epoch = match event {
            Event::ClaimAccepted(claim) => {
                let live = self.books.claims(key);
                let live = live.map_or_else(Vec::new, |all| all.live(number, now));
                let own = live.iter().any(|known| known.id == claim.id);
                let above =
                    |known: &&&Claim| known.holder != claim.holder && known.rank <= claim.rank;
                if claim.via == ClaimVia::Declaration
                    && !own
                    && claim.since == now
                    && let Some(held) = live.iter().find(above)
                {
                    return violated("C3", format!("{claim:?} under {held:?}"));
                }
                claim.epoch
            }
            Event::LockTaken(lock) => {
                let live = self.books.locks(key);
                let mut live = live.map_or_else(Vec::new, |all| all.live(number, now));
                live.retain(|known| known.task == lock.task && known.holder != lock.holder);
                if let Some(held) = live.first() {
                    return violated("C3", format!("{lock:?} beside {held:?}"));
                }
                lock.epoch
            }
            Event::RowWritten(row) => {
                // The id of an offer is free again long after its end.
                let known = self.books.row(key).filter(|known| now < known.until);
                return match known {
                    Some(known) if known.loses_terms(row, number) => Ok(()),
                    Some(known) => violated("model", format!("{row:?} over {known:?}")),
                    None => Ok(()),
                };
            }
            _ => return Ok(()),
        };
        let last = self.books.epoch(key);
        if epoch <= last {
            return violated("C4", format!("{event:?} after epoch {last}"));
        }
        Ok(())
    }

    /// A sweep forgot something: was there nothing left to remember?
    pub(super) fn swept(&mut self, record: &Written<Contact>) -> Result<(), Violation> {
        let now = record.time;
        for entry in &record.entries {
            let key = entry.key;
            let alive = entry.event.is_some() || self.is_needed(key, record.number, now);
            if alive {
                return violated("model", format!("a sweep forgot {key:?}: {record:?}"));
            }
            match key.kind {
                Kind::Customer => self.books.handoffs.gone(record.number, key),
                Kind::Reports => self.books.runs.gone(record.number, key.space),
                _ => {}
            }
        }
        Ok(())
    }

    /// Is there anything of an entity, as it stood before a record, that must be remembered?
    pub(super) fn is_needed(&self, key: EntityKey, before: u64, now: Timestamp) -> bool {
        let books = &self.books;
        books.legal_holds.covers(key, before)
            || match key.kind {
                Kind::Effect => books
                    .attempt(key, before)
                    .is_some_and(|attempt| attempt.at(now).is_some()),
                Kind::Receipt => {
                    let last = books.receipts(key).last();
                    last.is_some_and(|kept| now < kept.until)
                }
                Kind::Customer | Kind::Object => {
                    let mut entries = books.entries(key, before);
                    let claims = books.claims(key);
                    let locks = books.locks(key);
                    entries.any(|entry| entry.in_force(now))
                        || books.offers.is_needed(key, before, now)
                        || books.handoffs.count(key, before, now).known > 0
                        || !books.ties.of(key, before).is_empty()
                        || claims.is_some_and(|all| all.is_needed(before, now))
                        || locks.is_some_and(|all| all.is_needed(before, now))
                }
                // Without it numbers of the list would come back.
                Kind::Feed => true,
                Kind::Holds => books.legal_holds.any(key.space),
                Kind::Directory => {
                    let row = books.row(key);
                    row.is_some_and(|row| now < row.until)
                }
                Kind::Handoff => {
                    let handoff = books.handoffs.of_id(key, before);
                    handoff.is_some_and(|it| !handoffs::may_be_forgotten(it, now))
                }
                Kind::Reports => books.runs.is_needed(key.space, now),
                Kind::SpaceBudget => false,
            }
    }

    /// At rest: every entity is what the books have, and nothing that must be known is missing.
    pub(super) fn agrees(&self, memory: &Memory<ContactEntity>) -> Result<(), Violation> {
        let now = self.latest;
        for (key, (_, entity)) in memory {
            self.is_as_booked(*key, entity, u64::MAX)?;
        }
        for (key, handoff) in self.books.handoffs.all() {
            if !handoffs::may_be_forgotten(handoff, now) && !memory.contains_key(key) {
                return violated("model", format!("{handoff:?} is not in memory"));
            }
        }
        Ok(())
    }

    /// Is an entity what the books have of it before a record?
    pub(super) fn is_as_booked(
        &self,
        key: EntityKey,
        entity: &ContactEntity,
        before: u64,
    ) -> Result<(), Violation> {
        remembers(self.books.claims(key), entity.claims(), before, self.latest)?;
        remembers(self.books.locks(key), entity.locks(), before, self.latest)?;
        if let Some(effect) = entity.as_effect() {
            let stands = self.books.attempt(key, before);
            let fine = stands.is_some_and(|attempt| {
                let state = match attempt.state {
                    State::Reserved { .. } => EffectState::Reserved,
                    State::Done { .. } => EffectState::Done,
                    State::Failed { .. } => EffectState::Failed,
                    State::Unknown => EffectState::UnknownOutcome,
                };
                (effect.attempt, effect.state, effect.tied) == (attempt.number, state, attempt.tied)
            });
            if !fine {
                return violated("model", format!("{effect:?} is {stands:?} by the books"));
            }
        }
        if let Some(handoff) = entity.as_handoff() {
            let stands = self.books.handoffs.of_id(key, before);
            // What was erased is there until a sweep takes it, and says nothing.
            if stands != Some(handoff) && !(stands.is_none() && handoff.is_erased()) {
                return violated("model", format!("{handoff:?} is {stands:?} by the books"));
            }
        }
        if let Some(object) = entity.as_object() {
            let ties = self.books.ties.of(key, before);
            if object.tied() != ties {
                return violated("model", format!("{object:?} has {ties:?} by the books"));
            }
        }
        if let Some(customer) = entity.as_customer() {
            let of = self.books.handoffs.of_customer(key, before);
            let ids: Vec<_> = of.map(|(id, _)| id).collect();
            let mut known = customer.handoffs().iter();
            if let Some(unknown) = known.find(|known| !ids.contains(&known.id)) {
                return violated("model", format!("{unknown:?} is none of {key:?}"));
            }
        }
        Ok(())
    }
}

/// What memory has is what the books have, and nothing that must be known is missing.
fn remembers<T: Hold + Clone + PartialEq + Debug>(
    all: Option<&Register<T>>,
    memory: &[T],
    before: u64,
    now: Timestamp,
) -> Result<(), Violation> {
    for known in memory {
        let stands = all.and_then(|all| all.of_id(known.id(), before));
        if stands != Some(known) {
            return violated("model", format!("{known:?} is {stands:?} by the books"));
        }
    }
    let live = all.map_or_else(Vec::new, |all| all.live(before, now));
    match live.into_iter().find(|due| !memory.contains(due)) {
        Some(missing) => violated("C3", format!("{missing:?} is not in memory")),
        None => Ok(()),
    }
}
