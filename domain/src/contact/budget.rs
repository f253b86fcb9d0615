//! How many contacts a customer still gets, and when.
//!
//! Here: counting in a rolling window, slices, spread (`docs/spec/contact.md` §6). Not here: the
//! contacts themselves (`customer`) and what a check makes of the count (`check`). Keeps C1.

use crate::contact::customer::{Contact, UNSLICED};
use crate::contact::name::{IntentId, PurposeId};
use crate::contact::policy::{Budget, Purpose, Slice};
use crate::contact::reply::BudgetView;
use crate::time::Timestamp;

const HOUR_MS: i64 = 3_600_000;

/// How many contacts of a purpose and of a share are kept at least.
const KEPT_NEWEST: u32 = 32;

/// For how many hours a contact of a purpose without a budget may be cited.
const UNBUDGETED_HOURS: u16 = 24;

/// A budget as one intent sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Units left.
    pub remaining: u32,
    /// The next moment a unit is free, when none is now; `None` at zero when none ever is.
    pub next_allowed_at: Option<Timestamp>,
    /// No unit is free because the last one of a spread slice is too near.
    pub paced: bool,
}

impl Look {
    /// No unit is left in the window.
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        self.remaining == 0
    }

    /// As an answer shows it.
    #[must_use]
    pub const fn view(&self, purpose: PurposeId) -> BudgetView {
        BudgetView {
            purpose,
            remaining: self.remaining,
            next_allowed_at: self.next_allowed_at,
        }
    }
}

/// The share an intent draws from: its slice's, or the unsliced one.
#[must_use]
pub fn share(budget: &Budget, intent: IntentId) -> u64 {
    slice(budget, intent.0).map_or(UNSLICED, |slice| slice.intent.0)
}

fn slice(budget: &Budget, share: u64) -> Option<&Slice> {
    budget.slices.iter().find(|slice| slice.intent.0 == share)
}

/// The whole budget, whatever the intent.
#[must_use]
pub fn whole(
    budget: &Budget,
    times: impl Iterator<Item = Timestamp> + Clone,
    now: Timestamp,
) -> Look {
    Count::of(budget.limit, window_ms(budget), times, now).look()
}

/// The budget as `share` sees it: its own units, and never more than the whole has left.
///
/// `contacts` are the purpose's, oldest first.
#[must_use]
pub fn of_share(
    budget: &Budget,
    share: u64,
    contacts: impl Iterator<Item = (Timestamp, u64)> + Clone,
    now: Timestamp,
) -> Look {
    let all = contacts.clone().map(|(at, _)| at);
    let whole = Count::of(budget.limit, window_ms(budget), all, now);
    if budget.slices.is_empty() {
        return whole.look();
    }
    let own = contacts
        .filter(|(_, drawn_from)| *drawn_from == share)
        .map(|(at, _)| at);
    let slice = slice(budget, share);
    let limit = slice.map_or_else(|| unsliced_limit(budget), |slice| slice.limit);
    let look = Count::of(limit, window_ms(budget), own.clone(), now).and(whole);
    if look.is_exhausted() {
        return look;
    }
    let free_at = slice
        .and_then(|slice| slice.spread_ms)
        .and_then(|interval| own.last().map(|last| last.plus_ms(interval)));
    match free_at {
        Some(free_at) if now < free_at => Look {
            next_allowed_at: Some(free_at),
            paced: true,
            ..look
        },
        Some(_) | None => look,
    }
}

/// What intents without a slice share.
fn unsliced_limit(budget: &Budget) -> u32 {
    let sliced: u32 = budget.slices.iter().map(|slice| slice.limit).sum();
    budget.limit.saturating_sub(sliced)
}

fn window_ms(budget: &Budget) -> i64 {
    i64::from(budget.per_hours) * HOUR_MS
}

/// What is counted in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    remaining: u32,
    /// At zero: when the count falls below the limit.
    free_at: Option<Timestamp>,
}

impl Count {
    fn of(
        limit: u32,
        window_ms: i64,
        times: impl Iterator<Item = Timestamp> + Clone,
        now: Timestamp,
    ) -> Self {
        let mut counted = times.filter(|at| now < at.plus_ms(window_ms));
        let used = counted.clone().count();
        let limit_usize = usize::try_from(limit).unwrap_or(usize::MAX);
        let used_u32 = u32::try_from(used).unwrap_or(u32::MAX);
        let free_at = used
            .checked_sub(limit_usize)
            .and_then(|over| counted.nth(over))
            .map(|at| at.plus_ms(window_ms));
        Self {
            remaining: limit.saturating_sub(used_u32),
            free_at,
        }
    }

    /// Both must have a unit.
    fn and(self, other: Self) -> Look {
        let free_at = match (self.remaining, other.remaining) {
            (0, 0) => self
                .free_at
                .zip(other.free_at)
                .map(|(own, whole)| own.max(whole)),
            (0, _) => self.free_at,
            (_, 0) => other.free_at,
            (_, _) => None,
        };
        Look {
            remaining: self.remaining.min(other.remaining),
            next_allowed_at: free_at,
            paced: false,
        }
    }

    const fn look(self) -> Look {
        Look {
            remaining: self.remaining,
            next_allowed_at: self.free_at,
            paced: false,
        }
    }
}

/// For how long, and how many, contacts of a purpose are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keep {
    pub(super) hours: u16,
    pub(super) newest: u16,
}

/// What a new contact of `purpose` needs: the window, or the spread where that is longer.
#[must_use]
pub(super) fn keep(purpose: &Purpose) -> Keep {
    let Some(budget) = &purpose.budget else {
        return Keep {
            hours: UNBUDGETED_HOURS,
            newest: u16::try_from(KEPT_NEWEST).unwrap_or(u16::MAX),
        };
    };
    let spread = budget.slices.iter().filter_map(|slice| slice.spread_ms);
    let spread_hours = spread.max().unwrap_or(0).saturating_add(HOUR_MS - 1) / HOUR_MS;
    let hours = u16::try_from(spread_hours).unwrap_or(u16::MAX);
    Keep {
        hours: hours.max(budget.per_hours),
        newest: u16::try_from(budget.limit.max(KEPT_NEWEST)).unwrap_or(u16::MAX),
    }
}

/// How many contacts of one customer a purpose keeps at most: the newest of each share, among which
/// are the newest of the whole.
#[must_use]
pub(super) fn kept_at_most(purpose: &Purpose) -> u32 {
    let shares = purpose
        .budget
        .as_ref()
        .map_or(0, |budget| budget.slices.len());
    let shares = u32::try_from(shares).unwrap_or(u32::MAX).saturating_add(1);
    u32::from(keep(purpose).newest).saturating_mul(shares)
}

/// The contacts of one purpose, as [`of_share`] reads them.
pub(super) fn contacts_of(
    contacts: &[Contact],
    purpose: PurposeId,
) -> impl Iterator<Item = (Timestamp, u64)> + Clone {
    contacts
        .iter()
        .filter(move |contact| contact.purpose == purpose)
        .map(|contact| (contact.at, contact.share))
}
