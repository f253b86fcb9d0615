//! What is left of a budget, from the list of all contacts (§6 of the specification).

use interlock_domain::contact::name::{IntentId, PurposeId};
use interlock_domain::key::EntityKey;
use interlock_domain::time::Timestamp;

use super::books::Contact;
use super::judge::Moment;
use super::rules::{Budget, Slice};

/// A budget at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) remaining: usize,
    /// The next moment a unit is free, when none is now; `None` also when none ever is.
    pub(super) next_at: Option<Timestamp>,
    /// The next unit of a spread slice is not free yet.
    pub(super) paced: bool,
}

/// The contacts of a customer that are remembered.
pub(super) fn remembered<'a>(
    moment: &Moment<'a>,
    customer: EntityKey,
    before: u64,
) -> impl Iterator<Item = &'a Contact> + use<'a> {
    let forgotten = moment.forgotten;
    let contacts = moment.books.contacts(customer, before);
    contacts.filter(move |contact| forgotten < contact.kept_until)
}

/// How far contacts may be forgotten: one is kept for the window of its time, and newer rules may look
/// further back. What of it they find then is left open; the older goes first.
pub(super) fn forgettings(moment: &Moment<'_>, customer: Option<EntityKey>) -> Vec<Timestamp> {
    let (rules, now) = (moment.rules, moment.now);
    let mut until = vec![Timestamp(0)];
    for contact in customer
        .into_iter()
        .flat_map(|key| moment.books.contacts(key, moment.record))
    {
        let purpose = rules.purpose(contact.purpose);
        let budget = purpose.and_then(|purpose| purpose.budget.as_ref());
        let counts = |budget: &Budget| now < contact.at.plus_ms(budget.reach_ms());
        if contact.kept_until <= now && budget.is_some_and(counts) {
            until.push(contact.kept_until);
        }
    }
    until.sort_unstable();
    until.dedup();
    until
}

/// What is left for a purpose; of an intent's share when one is named and the budget has slices.
pub(super) fn left<'a>(
    budget: &Budget,
    purpose: PurposeId,
    intent: Option<IntentId>,
    contacts: impl Iterator<Item = &'a Contact>,
    now: Timestamp,
) -> Left {
    let window = budget.hours * 3_600_000;
    let of_purpose: Vec<&Contact> = contacts
        .filter(|contact| contact.purpose == purpose)
        .collect();
    let counts = |contact: &&Contact| now < contact.at.plus_ms(window);
    let counted: Vec<&Contact> = of_purpose.iter().copied().filter(counts).collect();
    let all: Vec<Timestamp> = counted.iter().map(|contact| contact.at).collect();
    let whole = one(&all, budget.limit, window);
    let intent = match intent {
        Some(intent) if !budget.slices.is_empty() => intent,
        Some(_) | None => return whole,
    };
    let slice = budget.slice(intent);
    let of_slices: usize = budget.slices.iter().map(|slice| slice.limit).sum();
    let limit = slice.map_or(budget.limit - of_slices, |slice| slice.limit);
    let share = slice.map_or(0, |_| intent.0);
    let mine: Vec<Timestamp> = counted
        .iter()
        .filter(|contact| contact.share == share)
        .map(|contact| contact.at)
        .collect();
    let mut left = one(&mine, limit, window);
    let never = limit == 0;
    left.remaining = left.remaining.min(whole.remaining);
    left.next_at = left.next_at.max(whole.next_at);
    let own = of_purpose.iter().filter(|contact| contact.share == share);
    let last = own.map(|contact| contact.at).max();
    if let (Some(pause), Some(last)) = (slice.and_then(Slice::pause_ms), last) {
        let free_at = last.plus_ms(pause);
        if now < free_at {
            left.paced = true;
            // Exhaustion comes before pacing, and tells when the count falls below the limit.
            if left.remaining > 0 {
                left.next_at = Some(free_at);
            }
        }
    }
    if never {
        left.next_at = None;
    }
    left
}

fn one(times: &[Timestamp], limit: usize, window: i64) -> Left {
    let mut times = times.to_vec();
    times.sort_unstable();
    let remaining = limit.saturating_sub(times.len());
    let next_at = match times.len().checked_sub(limit) {
        Some(at) if limit > 0 => Some(times[at].plus_ms(window)),
        Some(_) | None => None,
    };
    Left {
        remaining,
        next_at,
        paced: false,
    }
}
