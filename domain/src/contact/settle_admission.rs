//! An admission is settled (`POST /v1/coordination/admissions/{admission_id}/settle`,
//! `docs/spec/contact.md` §7).
//!
//! Here: once, and what it does to the units: `done` names the real cost, `failed` keeps the
//! reservation spent, `skipped` gives it back. Not here: where the id leads (`find_admission`).

use smallvec::smallvec;

use crate::contact::Contact;
use crate::contact::admission::{self, Admission, AdmissionState};
use crate::contact::admit::{noted, shown};
use crate::contact::command::{AdmissionPlace, AdmissionSettlement, Command, SettleAdmission};
use crate::contact::directory::{DirectoryRow, Target, row_key};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{AdmissionSettled, CostMeasured, Event, UnitsCorrected};
use crate::contact::note::{Fact, Facts, Noted};
use crate::contact::paid::{self, Meters, space_budget_key};
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::Reply;
use crate::key::{KeyList, SpaceId};
use crate::machine::{Context, Decision, Entities, Events};
use crate::time::Timestamp;

impl SettleAdmission {
    /// Adds the entities it touches, once its place is known.
    pub(super) fn keys(&self, space: SpaceId, keys: &mut KeyList) {
        let AdmissionPlace::At { target, operation } = self.place else {
            return;
        };
        keys.push(row_key(space, self.admission));
        let budget = space_budget_key(space, operation);
        let target = target.key(space);
        keys.extend((target != budget).then_some(target));
        keys.push(budget);
    }
}

/// The place a look-up found.
pub(super) fn place(found: &Reply) -> AdmissionPlace {
    if let Reply::FoundAdmission { target, operation } = *found {
        AdmissionPlace::At { target, operation }
    } else {
        AdmissionPlace::Nowhere
    }
}

/// Decides a settlement.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    settle: &SettleAdmission,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let AdmissionPlace::At { target, operation } = settle.place else {
        return Decision::read(Reply::NotFound);
    };
    let (now, space) = (context.now, command.space);
    let row = row_key(space, settle.admission);
    let known = entities.get(&row).and_then(ContactEntity::as_directory);
    // Another source's call is none of the caller's: its units are money that is not its own.
    let known = known.and_then(|row| admission_of(row, target, now));
    let Some(before) = known.filter(|known| known.source == command.source) else {
        return Decision::read(Reply::NotFound);
    };
    let entity = target.key(space);
    let meters = admission::meters(entities, &entity);
    let state = settled(settle.settlement);
    if before.state == state {
        let remaining = remaining(meters, before, None, context);
        let reply = shown(before, settle.admission, remaining);
        let decided = (Noted::NothingToChange, Facts::new());
        return noted(command, Some(settle.admission), reply, decided);
    }
    if before.state != AdmissionState::Reserved {
        let refusal = Refusal::InvalidTransition;
        let decided = (Noted::Refused(refusal), Facts::new());
        return noted(
            command,
            Some(settle.admission),
            Reply::Refused(refusal),
            decided,
        );
    }
    let after = Admission {
        state,
        ..before.clone()
    };
    let correction = before
        .correction(state)
        .filter(|_| meters.is_some_and(|known| known.holds(operation, before.at)));
    let remaining = remaining(meters, before, correction.as_ref(), context);
    let mut events = Events::new();
    let event = AdmissionSettled { state, at: now };
    events.push((row, Event::AdmissionSettled(event)));
    events.extend(correction.map(|event| (entity, Event::UnitsCorrected(event))));
    let budget = space_budget_key(space, operation);
    if let AdmissionState::Done { cost } = state
        && admission::measured(entities, &budget).is_none_or(|highest| highest < cost)
    {
        let event = CostMeasured { cost, at: now };
        events.push((budget, Event::CostMeasured(event)));
    }
    let facts = smallvec![(Fact::Units, i64::from(after.units()))];
    let reply = shown(&after, settle.admission, remaining);
    Decision {
        events,
        ..noted(
            command,
            Some(settle.admission),
            reply,
            (Noted::Accepted, facts),
        )
    }
}

/// The admission of a row, while it is remembered and still is where the look-up found it.
fn admission_of(row: &DirectoryRow, target: Target, now: Timestamp) -> Option<&Admission> {
    let is_there = now < row.until && row.target == target;
    row.admission.as_deref().filter(|_| is_there)
}

/// Units left after the settlement.
fn remaining(
    meters: Option<&Meters>,
    admission: &Admission,
    correction: Option<&UnitsCorrected>,
    context: &Context<'_, Policy>,
) -> Option<u32> {
    let budget = context.policy.paid_budget(&admission.operation)?;
    let operation = admission.operation_id();
    let mut corrected = correction.and_then(|_| meters.cloned());
    if let Some((known, event)) = corrected.as_mut().zip(correction) {
        known.correct(event);
    }
    let meters = corrected.as_ref().or(meters);
    Some(paid::look(meters, operation, budget, context.now).remaining)
}

const fn settled(settlement: AdmissionSettlement) -> AdmissionState {
    match settlement {
        AdmissionSettlement::Done { cost } => AdmissionState::Done { cost },
        AdmissionSettlement::Failed => AdmissionState::Failed,
        AdmissionSettlement::Skipped => AdmissionState::Skipped,
    }
}
