//! Paid operations by a plain list: every unit that was ever drawn, with the record that drew it.
//!
//! Here: the books of units and admissions, and what an admission, its settlement and a paid effect
//! must come to (`docs/spec/contact.md` §7). Nothing is joined and nothing is forgotten, so C7 is a
//! sum. An operation's window never changes within a run.

use std::collections::BTreeMap;

use interlock_domain::contact::admission::{Admission, AdmissionState};
use interlock_domain::contact::command::{
    AdmissionPlace, AdmissionSettlement, Admit, SettleAdmission,
};
use interlock_domain::contact::directory::{DirectoryRow, Target, row_key};
use interlock_domain::contact::event::{
    AdmissionSettled, CostMeasured, Event, UnitsCorrected, UnitsReserved,
};
use interlock_domain::contact::name::{OperationId, SourceId};
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::paid::{space_budget_hash, space_budget_key};
use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::{AdmissionReply, Reply};
use interlock_domain::key::{EntityKey, SpaceId};
use interlock_domain::time::Timestamp;

use super::change::Change;
use super::judge::{Due, Moment, Outcome};
use super::limits::LATE_SETTLEMENT_S;
use crate::random::Random;

/// The hours of every window.
pub(super) const HOURS: u16 = 1;
/// The operation that paid effects draw on.
pub(super) const EFFECTS_DRAW_ON: &str = "capped";
/// Operations with what their cap is for.
const OPERATIONS: [(&str, &str); 3] = [
    ("search", "object"),
    ("lookup", "subject"),
    (EFFECTS_DRAW_ON, "space"),
];

/// One operation's cap.
#[derive(Clone, Debug)]
pub(super) struct Cap {
    pub(super) name: &'static str,
    pub(super) scope: &'static str,
    pub(super) limit: u32,
    pub(super) ceiling: u32,
}

impl Cap {
    /// The caps of a version; the first operation may be missing.
    pub(super) fn some(random: &mut Random) -> Vec<Self> {
        let from = usize::from(random.chance(150));
        let caps = OPERATIONS[from..].iter().map(|&(name, scope)| {
            let limit = u32::try_from(random.range(3..=20)).unwrap_or(3);
            Self {
                name,
                scope,
                limit,
                ceiling: limit.min(random.pick(&[2, 4, 8])),
            }
        });
        caps.collect()
    }

    /// Its part of the document.
    pub(super) fn text(&self) -> String {
        let Self {
            name,
            scope,
            limit,
            ceiling,
        } = self;
        format!(
            r#""{name}":{{"scope":"{scope}","limit_units":{limit},"per_hours":{HOURS},"call_ceiling":{ceiling}}}"#
        )
    }
}

/// Units that were drawn at once.
#[derive(Debug)]
struct Drawn {
    record: u64,
    at: Timestamp,
    /// How many, from which record on.
    units: Vec<(u64, u32)>,
    /// The record that erased whom they were for.
    gone: u64,
}

impl Drawn {
    fn units(&self, before: u64) -> u64 {
        let mut units = self.units.iter().rev();
        let known = units.find(|(record, _)| *record < before);
        known.map_or(0, |(_, units)| u64::from(*units))
    }

    fn counts(&self, before: u64, now: Timestamp) -> bool {
        self.is_there(before) && now < self.over()
    }

    /// Was it there before a record?
    fn is_there(&self, before: u64) -> bool {
        self.record < before && self.gone >= before
    }

    fn over(&self) -> Timestamp {
        self.at.plus_s(i64::from(HOURS) * 3_600)
    }
}

/// An admission, with its forms from which record on.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) target: Target,
    pub(super) until: Timestamp,
    forms: Vec<(u64, Admission)>,
}

impl Admitted {
    /// The record that made it and drew its units.
    fn made(&self) -> u64 {
        self.forms.first().map_or(0, |(record, _)| *record)
    }

    pub(super) fn form(&self, before: u64) -> Option<&Admission> {
        let mut forms = self.forms.iter().rev();
        forms
            .find(|(record, _)| *record < before)
            .map(|(_, form)| form)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Spent {
    drawn: BTreeMap<(EntityKey, OperationId), Vec<Drawn>>,
    admissions: BTreeMap<EntityKey, Admitted>,
    measured: BTreeMap<(SpaceId, OperationId), Vec<(u64, u32)>>,
    /// The record that drew what the last settlement is of.
    settled: u64,
}

impl Spent {
    pub(super) fn enter(&mut self, record: u64, key: EntityKey, event: &Event) {
        match event {
            Event::UnitsReserved(reserved) => {
                let list = self.drawn.entry((key, reserved.operation)).or_default();
                list.push(Drawn {
                    record,
                    at: reserved.at,
                    units: vec![(record, reserved.units)],
                    gone: u64::MAX,
                });
            }
            Event::UnitsCorrected(it) => {
                let list = self.drawn.get_mut(&(key, it.operation));
                let mut list = list.into_iter().flatten();
                if let Some(drawn) = list.find(|drawn| drawn.record == self.settled) {
                    drawn.units.push((record, it.to));
                }
            }
            Event::RowWritten(row) => {
                if let Some(admission) = &row.admission {
                    let admitted = Admitted {
                        target: row.target,
                        until: row.until,
                        forms: vec![(record, (**admission).clone())],
                    };
                    self.admissions.insert(key, admitted);
                }
            }
            Event::AdmissionSettled(settled) => self.settled(record, key, settled),
            Event::CustomerErased(_) => {
                let of = |at: &EntityKey| *at == key;
                let lists = self.drawn.iter_mut().filter(|((at, _), _)| of(at));
                for drawn in lists.flat_map(|(_, list)| list) {
                    drawn.gone = drawn.gone.min(record);
                }
            }
            _ => {}
        }
    }

    fn settled(&mut self, record: u64, key: EntityKey, settled: &AdmissionSettled) {
        let Some(admitted) = self.admissions.get_mut(&key) else {
            return;
        };
        let Some((_, last)) = admitted.forms.last() else {
            return;
        };
        self.settled = admitted.made();
        let mut form = last.clone();
        form.state = settled.state;
        if let AdmissionState::Done { cost } = settled.state {
            let of = (key.space, OperationId::of(&form.operation));
            self.measured.entry(of).or_default().push((record, cost));
        }
        admitted.forms.push((record, form));
    }

    pub(super) fn admission(&self, row: EntityKey) -> Option<&Admitted> {
        self.admissions.get(&row)
    }

    /// The highest cost that was settled.
    fn measured(&self, space: SpaceId, operation: OperationId, before: u64) -> Option<u32> {
        let list = self.measured.get(&(space, operation))?;
        let costs = list.iter().filter(|(record, _)| *record < before);
        costs.map(|(_, cost)| *cost).max()
    }

    fn counted(
        &self,
        of: (EntityKey, OperationId),
        before: u64,
        now: Timestamp,
    ) -> Vec<(Timestamp, u64)> {
        let list = self.drawn.get(&of).map_or(&[][..], Vec::as_slice);
        let counted = list.iter().filter(|drawn| drawn.counts(before, now));
        let mut counted: Vec<_> = counted
            .map(|drawn| (drawn.over(), drawn.units(before)))
            .collect();
        counted.sort_unstable();
        counted
    }

    /// Everything drawn on an entity, of any operation.
    fn of(&self, key: EntityKey) -> impl Iterator<Item = &Drawn> {
        let all = (key, OperationId(u32::MIN))..=(key, OperationId(u32::MAX));
        self.drawn.range(all).flat_map(|(_, list)| list)
    }

    /// Units on an entity, of any operation: those that count, and those that no erasure took.
    pub(super) fn on(&self, key: EntityKey, before: u64, now: Timestamp) -> (u64, u64) {
        let there = self.of(key).filter(|drawn| drawn.is_there(before));
        there.fold((0, 0), |(counted, all), drawn| {
            let units = drawn.units(before);
            let counts = u64::from(drawn.counts(before, now));
            (counted + counts * units, all + units)
        })
    }

    /// From when units count that are drawn now: no admission has the moment of one that an erasure
    /// took, or a settlement could be of either.
    fn moment(&self, key: EntityKey, before: u64, now: Timestamp) -> Timestamp {
        let gone = self.of(key).filter(|drawn| drawn.gone < before);
        let gone = gone.map(|drawn| drawn.at.plus_ms(1)).max();
        gone.map_or(now, |gone| gone.max(now))
    }

    /// Units that count.
    pub(super) fn used(&self, of: (EntityKey, OperationId), before: u64, now: Timestamp) -> u64 {
        let counted = self.counted(of, before, now);
        counted.iter().map(|(_, units)| units).sum()
    }
}

/// Draws units, or answers why not.
pub(super) fn draw(
    moment: &Moment<'_>,
    cap: &Cap,
    key: EntityKey,
    units: u32,
) -> Result<(Change, u32), (Reply, Noted)> {
    let operation = OperationId::of(cap.name);
    if units > cap.ceiling {
        let refusal = Refusal::OverCallCeiling;
        return Err((Reply::Refused(refusal), Noted::Refused(refusal)));
    }
    let counted = moment
        .books
        .spent
        .counted((key, operation), moment.record, moment.now);
    let used: u64 = counted.iter().map(|(_, units)| units).sum();
    let after = used + u64::from(units);
    let limit = u64::from(cap.limit);
    // A call that costs nothing lacks nothing, also where a cap was lowered below what is drawn.
    if units > 0 && after > limit {
        let mut over = after;
        let free = counted.iter().find(|(_, units)| {
            over -= units;
            over <= limit
        });
        let next_allowed_at = free.map_or(moment.now, |(at, _)| *at);
        let reply = Reply::Exhausted { next_allowed_at };
        return Err((reply, Noted::Refused(Refusal::BudgetExhausted)));
    }
    let spent = &moment.books.spent;
    let event = Event::UnitsReserved(UnitsReserved {
        operation,
        units,
        at: spent.moment(key, moment.record, moment.now),
        keep_hours: HOURS,
        limit: cap.limit,
    });
    let change = Change::Exactly {
        key,
        event: Box::new(event),
    };
    let left = u32::try_from(limit.saturating_sub(after)).unwrap_or(u32::MAX);
    Ok((change, left))
}

pub(super) fn admit(moment: &Moment<'_>, source: SourceId, body: &Admit) -> Due {
    let Some(cap) = moment.rules.cap(&body.operation) else {
        return Due::OneOf(Vec::new());
    };
    let operation = OperationId::of(cap.name);
    let measured = moment
        .books
        .spent
        .measured(moment.space, operation, moment.record);
    let units = body
        .units
        .unwrap_or_else(|| measured.unwrap_or(cap.ceiling));
    let key = body.target.key(moment.space);
    let (drawn, left) = match draw(moment, cap, key, units) {
        Ok(drawn) => drawn,
        Err((reply, noted)) => return Due::Plain(reply, noted, Vec::new()),
    };
    let spent = &moment.books.spent;
    let admission = Admission {
        operation: body.operation.clone(),
        at: spent.moment(key, moment.record, moment.now),
        expires_at: moment.now.plus_s(moment.rules.lease_s),
        reserved: units,
        state: AdmissionState::Reserved,
        source,
    };
    let reply = shown(body.new_id, &admission, Some(left));
    let row = DirectoryRow {
        target: body.target,
        until: admission.expires_at.plus_s(LATE_SETTLEMENT_S),
        terms: None,
        erased: None,
        admission: Some(Box::new(admission)),
    };
    let row = Change::Exactly {
        key: row_key(moment.space, body.new_id),
        event: Box::new(Event::RowWritten(Box::new(row))),
    };
    Due::Plain(reply, Noted::Accepted, vec![drawn, row])
}

fn shown(id: interlock_domain::ids::Id, admission: &Admission, remaining: Option<u32>) -> Reply {
    Reply::Admission(Box::new(AdmissionReply {
        admission_id: id,
        operation: admission.operation.clone(),
        state: admission.state,
        units: counts(admission.state, admission.reserved),
        expires_at: admission.expires_at,
        remaining,
    }))
}

const fn counts(state: AdmissionState, reserved: u32) -> u32 {
    match state {
        AdmissionState::Reserved | AdmissionState::Failed => reserved,
        AdmissionState::Done { cost } => cost,
        AdmissionState::Skipped => 0,
    }
}

pub(super) fn settle(moment: &Moment<'_>, source: SourceId, body: &SettleAdmission) -> Due {
    let row = row_key(moment.space, body.admission);
    let nothing = || Due::Plain(Reply::NotFound, Noted::NothingToChange, Vec::new());
    let (Some(admitted), AdmissionPlace::At { .. }) =
        (moment.books.spent.admission(row), body.place)
    else {
        return nothing();
    };
    let held = admitted.form(moment.record);
    let Some(held) = held.filter(|held| held.source == source) else {
        return nothing();
    };
    let to = match body.settlement {
        AdmissionSettlement::Done { cost } => AdmissionState::Done { cost },
        AdmissionSettlement::Failed => AdmissionState::Failed,
        AdmissionSettlement::Skipped => AdmissionState::Skipped,
    };
    let key = admitted.target.key(moment.space);
    if held.state == to {
        let left = remaining(moment, held, key, 0);
        let reply = shown(body.admission, held, left);
        return Due::Plain(reply, Noted::Accepted, Vec::new());
    }
    if held.state != AdmissionState::Reserved {
        let refusal = Refusal::InvalidTransition;
        return Due::Plain(Reply::Refused(refusal), Noted::Refused(refusal), Vec::new());
    }
    let settled = Admission {
        state: to,
        ..held.clone()
    };
    Due::OneOf(settlements(moment, body, settled, (row, admitted)))
}

/// The forms that a settlement may take: whether units that no longer count are corrected is open.
fn settlements(
    moment: &Moment<'_>,
    body: &SettleAdmission,
    settled: Admission,
    (row, admitted): (EntityKey, &Admitted),
) -> Vec<Outcome> {
    let (held, key) = (&settled, admitted.target.key(moment.space));
    let operation = OperationId::of(&held.operation);
    let exactly = |key, event| Change::Exactly {
        key,
        event: Box::new(event),
    };
    let state = settled.state;
    let at = moment.now;
    let mut changes = vec![exactly(
        row,
        Event::AdmissionSettled(AdmissionSettled { state, at }),
    )];
    if let AdmissionState::Done { cost } = state {
        let measured = moment
            .books
            .spent
            .measured(moment.space, operation, moment.record);
        if measured.is_none_or(|measured| cost > measured) {
            let key = space_budget_key(moment.space, operation);
            changes.push(exactly(key, Event::CostMeasured(CostMeasured { cost, at })));
        }
    }
    let (from, to) = (held.reserved, counts(state, held.reserved));
    let list = moment.books.spent.drawn.get(&(key, operation));
    let mut mine = list.into_iter().flatten();
    let mine = mine.find(|drawn| drawn.record == admitted.made() && drawn.gone >= moment.record);
    let still = mine.is_some_and(|drawn| moment.now < drawn.over());
    let more = if still {
        i64::from(to) - i64::from(from)
    } else {
        0
    };
    let reply = shown(body.admission, &settled, remaining(moment, held, key, more));
    let outcome = |changes| Outcome {
        reply: reply.clone(),
        noted: Noted::Accepted,
        changes,
    };
    let mut all = Vec::new();
    if from == to || !still {
        all.push(outcome(changes.clone()));
    }
    if from != to && mine.is_some() {
        changes.push(exactly(
            key,
            Event::UnitsCorrected(UnitsCorrected {
                operation,
                reserved_at: held.at,
                from,
                to,
            }),
        ));
        all.push(outcome(changes));
    }
    all
}

/// What the budget has left when so many units more are drawn.
fn remaining(moment: &Moment<'_>, held: &Admission, key: EntityKey, more: i64) -> Option<u32> {
    let cap = moment.rules.cap(&held.operation)?;
    let operation = OperationId::of(cap.name);
    let used = moment
        .books
        .spent
        .used((key, operation), moment.record, moment.now);
    let used = i64::try_from(used).unwrap_or(i64::MAX) + more;
    let left = (i64::from(cap.limit) - used).max(0);
    Some(u32::try_from(left).unwrap_or(u32::MAX))
}

/// The entity that the space's own cap is on.
pub(super) fn space_target(name: &str) -> Target {
    Target::Space(space_budget_hash(OperationId::of(name)))
}
