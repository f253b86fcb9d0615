//! Units of paid operations: what is reserved and spent of a cap in its window.
//!
//! Here: the meters of a customer, an object or the space, and the entity of a space-wide budget
//! (`docs/spec/contact.md` §7). Not here: who may spend (`admit`, `reserve_effect`) and what one
//! admission is (`admission`). Keeps C7.
//!
//! A meter is exact while it has few entries. Beyond [`SPANS_MAX`] the old ones are joined, each
//! counted from the newest moment of those it stands for: what is joined counts a little longer,
//! never shorter, so the cap holds.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::contact::event::{UnitsCorrected, UnitsReserved};
use crate::contact::key;
use crate::contact::name::OperationId;
use crate::contact::policy::PaidBudget;
use crate::contact::short_list;
use crate::key::{EntityKey, KeyHash, Kind, SpaceId};
use crate::machine::Broken;
use crate::time::Timestamp;

const HOUR_MS: i64 = 3_600_000;

/// Entries of one meter at most, before the old ones are joined.
pub const SPANS_MAX: usize = 512;

/// So many of the newest entries are never joined.
pub const SPANS_EXACT: usize = 128;

/// Into so many parts the window is cut where old entries are joined: the most that a joined unit
/// counts too long is one part.
pub const PARTS: i64 = 256;

/// The meters of one entity, one for each operation that was drawn on. At most as many as the
/// space's rules have operations, and those of dropped operations until their window is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meters(Vec<Meter>);

/// What was drawn on one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meter {
    /// Of which operation.
    pub operation: OperationId,
    /// The window of the last reservation, in hours.
    keep_hours: u16,
    /// The cap under which units were last reserved.
    limit: u32,
    /// Units that settlements charged above their reservation since then.
    charged: u64,
    /// What was reserved up to here has left the window, or was erased, and is gone.
    gone_until: Timestamp,
    /// Oldest first, no two of one moment. None where an erasure took them just now.
    spans: Vec<Span>,
}

/// Units that count from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Span {
    /// The moment; the newest one, where several are joined.
    at: Timestamp,
    units: u64,
}

/// A budget as one call sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Units that count in the window.
    pub used: u64,
    /// Units left.
    pub remaining: u32,
}

/// A budget of the whole space, one for each operation of any scope: what its calls cost so far, and
/// the units of a space-wide operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceBudget {
    /// The highest cost that was settled as done, in units. A fact that is never forgotten.
    pub measured: Option<u32>,
    /// The units, where the operation's scope is the space.
    pub meters: Meters,
}

/// The name of an operation's budget of the space.
#[must_use]
pub fn space_budget_hash(operation: OperationId) -> KeyHash {
    KeyHash(xxh3_128(&operation.0.to_be_bytes()).to_be_bytes())
}

/// The entity of an operation's budget of the space.
#[must_use]
pub fn space_budget_key(space: SpaceId, operation: OperationId) -> EntityKey {
    key(space, Kind::SpaceBudget, space_budget_hash(operation))
}

/// How a budget stands on `meters`.
#[must_use]
pub fn look(
    meters: Option<&Meters>,
    operation: OperationId,
    budget: &PaidBudget,
    now: Timestamp,
) -> Look {
    let meter = meters.and_then(|meters| meters.of(operation));
    let used = meter.map_or(0, |meter| meter.used(window_ms(budget), now));
    let left = u64::from(budget.limit_units).saturating_sub(used);
    Look {
        used,
        remaining: u32::try_from(left).unwrap_or(u32::MAX),
    }
}

/// The moment that units drawn now count from. It is now but for the rest of a millisecond in which an
/// erasure took units, and the next one then: a settlement finds its units by their moment, so those
/// of a life that is over must share it with no others. They count that much longer, never shorter.
#[must_use]
pub fn draws_at(meters: Option<&Meters>, now: Timestamp) -> Timestamp {
    let gone = meters.and_then(|meters| meters.0.iter().map(|meter| meter.gone_until).max());
    gone.map_or(now, |gone| now.max(gone.plus_ms(1)))
}

/// When `units` are free again, on meters that have too few now. `None` when they are free now, or
/// never are because the cap is below them.
#[must_use]
pub fn next_allowed_at(
    meters: Option<&Meters>,
    operation: OperationId,
    budget: &PaidBudget,
    units: u32,
    now: Timestamp,
) -> Option<Timestamp> {
    let room = u64::from(budget.limit_units.checked_sub(units)?);
    let window = window_ms(budget);
    let meter = meters?.of(operation)?;
    let mut used = meter.used(window, now);
    for span in meter.counted(window, now) {
        if used <= room {
            return None;
        }
        used = used.saturating_sub(span.units);
        if used <= room {
            return Some(span.at.plus_ms(window));
        }
    }
    None
}

fn window_ms(budget: &PaidBudget) -> i64 {
    i64::from(budget.per_hours) * HOUR_MS
}

impl Meters {
    /// The meter of an operation.
    #[must_use]
    pub fn of(&self, operation: OperationId) -> Option<&Meter> {
        self.0.iter().find(|meter| meter.operation == operation)
    }

    /// Whether units that were reserved at `at` are still there to be corrected.
    #[must_use]
    pub fn holds(&self, operation: OperationId, at: Timestamp) -> bool {
        self.of(operation)
            .is_some_and(|meter| meter.place(at).is_some())
    }

    pub(super) fn reserve(&mut self, event: &UnitsReserved) {
        let own = event.operation;
        self.0
            .retain(|meter| meter.operation == own || event.at < meter.until());
        let place = self.0.iter().position(|meter| meter.operation == own);
        let place = place.unwrap_or_else(|| {
            self.0.reserve_exact(1);
            self.0.push(Meter::new(own, event.at));
            self.0.len() - 1
        });
        self.0[place].reserve(event);
    }

    pub(super) fn correct(&mut self, event: &UnitsCorrected) {
        let mut meters = self.0.iter_mut();
        if let Some(meter) = meters.find(|meter| meter.operation == event.operation) {
            meter.correct(event);
        }
    }

    /// What an erasure leaves: the moment of the last unit, where it was drawn in this very
    /// millisecond, so that what is drawn in the rest of it gets another ([`draws_at`]); else nothing.
    pub(super) fn erased(&self, at: Timestamp) -> Option<Box<Self>> {
        let last = self.0.iter().max_by_key(|meter| meter.last())?;
        let next = last.last().plus_ms(1);
        (at < next).then(|| Box::new(Self(vec![Meter::new(last.operation, next)])))
    }

    /// Units that stand in all meters, in or out of their windows.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.0.iter().map(Meter::units).sum()
    }

    /// When the last unit has left its window; `None` when there is none.
    #[must_use]
    pub fn until(&self) -> Option<Timestamp> {
        self.0.iter().map(Meter::until).max()
    }

    /// C7, as far as one state shows it.
    pub(super) fn check(&self) -> Result<(), Broken> {
        self.0.iter().try_for_each(Meter::check)
    }
}

impl Meter {
    /// A meter that nothing was drawn on before `at`. What a purge or an erasure took earlier is not
    /// looked for in what comes now.
    const fn new(operation: OperationId, at: Timestamp) -> Self {
        Self {
            operation,
            keep_hours: 0,
            limit: 0,
            charged: 0,
            gone_until: Timestamp(at.0.saturating_sub(1)),
            spans: Vec::new(),
        }
    }

    /// Units that stand in it.
    fn units(&self) -> u64 {
        self.spans.iter().map(|span| span.units).sum()
    }

    fn keep_ms(&self) -> i64 {
        i64::from(self.keep_hours) * HOUR_MS
    }

    /// The last moment of any unit that was drawn, gone or not.
    fn last(&self) -> Timestamp {
        self.spans.last().map_or(self.gone_until, |last| last.at)
    }

    /// When it may be forgotten: no unit counts, and none is drawn at a moment of those that did.
    fn until(&self) -> Timestamp {
        let kept_ms = match self.spans.is_empty() {
            true => 1,
            false => self.keep_ms(),
        };
        self.last().plus_ms(kept_ms)
    }

    /// What counts in a window, oldest first.
    fn counted(&self, window_ms: i64, now: Timestamp) -> impl Iterator<Item = &Span> {
        self.spans
            .iter()
            .filter(move |span| now < span.at.plus_ms(window_ms))
    }

    /// Units that count in a window.
    fn used(&self, window_ms: i64, now: Timestamp) -> u64 {
        self.counted(window_ms, now).map(|span| span.units).sum()
    }

    /// Where the units of a moment are: in the first entry that is not older.
    fn place(&self, at: Timestamp) -> Option<usize> {
        let place = self.spans.partition_point(|span| span.at < at);
        (self.gone_until < at && place < self.spans.len()).then_some(place)
    }

    fn reserve(&mut self, event: &UnitsReserved) {
        self.keep_hours = event.keep_hours;
        let keep_ms = self.keep_ms();
        let gone = self
            .spans
            .partition_point(|span| span.at.plus_ms(keep_ms) <= event.at);
        if let Some(last) = gone.checked_sub(1).map(|last| self.spans[last]) {
            self.gone_until = last.at;
            self.spans.drain(..gone);
        }
        // Only records of builds whose erasures left no moment draw at one that is gone.
        self.gone_until = self.gone_until.min(event.at.plus_ms(-1));
        let units = u64::from(event.units);
        match self.spans.last_mut() {
            Some(last) if event.at <= last.at => last.units += units,
            Some(_) | None => {
                let span = Span {
                    at: event.at,
                    units,
                };
                short_list::push(&mut self.spans, span);
            }
        }
        if event.units > 0 {
            (self.limit, self.charged) = (event.limit, 0);
        }
        if self.spans.len() > SPANS_MAX {
            self.join(keep_ms);
        }
    }

    /// Joins old entries that lie in one part of the window.
    fn join(&mut self, keep_ms: i64) {
        let part_ms = (keep_ms / PARTS).max(1);
        let part = |at: Timestamp| at.0.div_euclid(part_ms);
        let recent = self.spans.split_off(self.spans.len() - SPANS_EXACT);
        self.spans.dedup_by(|newer, older| {
            let is_same = part(newer.at) == part(older.at);
            if is_same {
                (older.at, older.units) = (newer.at, older.units + newer.units);
            }
            is_same
        });
        self.spans.extend(recent);
    }

    fn correct(&mut self, event: &UnitsCorrected) {
        let Some(place) = self.place(event.reserved_at) else {
            return;
        };
        let span = &mut self.spans[place];
        let (from, to) = (u64::from(event.from), u64::from(event.to));
        span.units = span.units.saturating_sub(from).saturating_add(to);
        self.charged += to.saturating_sub(from);
    }

    fn check(&self) -> Result<(), Broken> {
        let broken = |seen: String| {
            Err(Broken {
                invariant: "C7",
                seen,
            })
        };
        let first = self.spans.first();
        let is_back = self.spans.windows(2).any(|pair| pair[1].at <= pair[0].at)
            || first.is_some_and(|first| first.at <= self.gone_until);
        if is_back || self.spans.len() > SPANS_MAX {
            return broken("units are out of order, or too many".to_owned());
        }
        let total = self.units();
        let bound = u64::from(self.limit).saturating_add(self.charged);
        if total > bound {
            return broken(format!("{total} units where {bound} may count"));
        }
        Ok(())
    }
}

impl SpaceBudget {
    /// When it may be forgotten: never, once a cost was measured.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        match self.measured {
            Some(_) => None,
            None => Some(self.meters.until().unwrap_or(Timestamp(i64::MIN))),
        }
    }
}
