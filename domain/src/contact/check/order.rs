//! The order of a check: the first step that decides ends it.
//!
//! Here: the steps of `docs/spec/contact.md` §4.2 and §5, one function each, and the lists that
//! order them. Not here: what an answer shows beside its decision (`show`).

use crate::contact::check::show::Sight;
use crate::contact::effect::Standing;
use crate::contact::reason::{Reason, Verdict};
use crate::contact::reply::EffectState;
use crate::contact::suppression::Suppression;
use crate::contact::window::Cover;
use crate::time::Timestamp;

/// Why a check is not an `allow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) verdict: Verdict,
    pub(super) reason: Reason,
    /// When the window ends, for a stop by one.
    pub(super) contact_window_until: Option<Timestamp>,
}

impl Stop {
    const fn new(verdict: Verdict, reason: Reason) -> Self {
        Self {
            verdict,
            reason,
            contact_window_until: None,
        }
    }

    /// Nothing was looked at, so nothing may be relied on.
    pub(super) fn is_blind(self) -> bool {
        self.reason == Reason::Unavailable
    }
}

type Step = fn(&Sight<'_>) -> Option<Stop>;

/// Step 0, `rebuilding`, is answered before a machine is asked; what stands in its place here is
/// its sibling, a clock that cannot be trusted.
const OUTBOUND: [Step; 9] = [
    clock_suspect,
    effect_held,
    suppressed,
    contact_window,
    owner_active,
    lock_held,
    budget_exhausted,
    budget_paced,
    quiet_hours,
];

/// What stops an outbound check; `None`: nothing does.
pub(super) fn outbound(sight: &Sight<'_>) -> Option<Stop> {
    OUTBOUND.iter().find_map(|step| step(sight))
}

/// What stops an inbound check: only somebody else who has the customer.
pub(super) fn inbound(sight: &Sight<'_>) -> Option<Stop> {
    owner_active(sight).map(|_| Stop::new(Verdict::HandoffTo, Reason::OwnerActive))
}

fn clock_suspect(sight: &Sight<'_>) -> Option<Stop> {
    (sight.clock_suspect && sight.purpose.fails_closed)
        .then_some(Stop::new(Verdict::Defer, Reason::Unavailable))
}

fn effect_held(sight: &Sight<'_>) -> Option<Stop> {
    effect_reason(sight).map(|reason| Stop::new(Verdict::Deny, reason))
}

/// The code of a key that is held.
pub(super) fn effect_reason(sight: &Sight<'_>) -> Option<Reason> {
    match sight.standing? {
        Standing::Free { .. } => None,
        Standing::Held { state, .. } => Some(match state {
            EffectState::Done => Reason::EffectDone,
            EffectState::Reserved => Reason::EffectInFlight,
            EffectState::UnknownOutcome | EffectState::Failed => Reason::EffectUnknownOutcome,
        }),
    }
}

/// Entries in force that are about this contact.
fn entries<'a>(sight: &'a Sight<'_>) -> impl Iterator<Item = &'a Suppression> {
    let entries = sight
        .customer
        .map(|customer| customer.rare.suppressions.iter());
    entries
        .into_iter()
        .flatten()
        .filter(|entry| entry.in_force(sight.now))
        .filter(|entry| entry.stops(sight.check.purpose, sight.check.channel))
}

fn suppressed(sight: &Sight<'_>) -> Option<Stop> {
    entries(sight)
        .any(|entry| entry.window.is_none())
        .then_some(Stop::new(Verdict::Deny, Reason::Suppressed))
}

/// Of several windows that cover now the one that ends last counts, and no window outlasts its
/// entry.
fn contact_window(sight: &Sight<'_>) -> Option<Stop> {
    let mut covered = false;
    let mut until: Option<Timestamp> = None;
    for entry in entries(sight) {
        let Some(window) = &entry.window else {
            continue;
        };
        let Cover::Inside(end) = window.cover(sight.now) else {
            continue;
        };
        covered = true;
        let end = match (end, entry.until) {
            (Some(end), Some(entry_end)) => Some(end.min(entry_end)),
            (end, entry_end) => end.or(entry_end),
        };
        until = until.max(end);
    }
    covered.then_some(Stop {
        contact_window_until: until,
        ..Stop::new(Verdict::Defer, Reason::ContactWindow)
    })
}

fn owner_active(sight: &Sight<'_>) -> Option<Stop> {
    sight
        .owner
        .filter(|claim| claim.stops(sight.check.agent, sight.check.intent))
        .map(|_| Stop::new(Verdict::Defer, Reason::OwnerActive))
}

fn lock_held(sight: &Sight<'_>) -> Option<Stop> {
    is_locked(sight).then_some(Stop::new(Verdict::Defer, Reason::LockHeld))
}

/// Whether another holder has the task that was asked about.
pub(super) fn is_locked(sight: &Sight<'_>) -> bool {
    let Some((object, task)) = sight.object.zip(sight.check.task) else {
        return false;
    };
    object
        .locks
        .iter()
        .any(|lock| lock.is_live(sight.now) && lock.stops(sight.check.agent, task))
}

fn budget_exhausted(sight: &Sight<'_>) -> Option<Stop> {
    sight
        .budget
        .filter(|look| look.is_exhausted())
        .map(|_| Stop::new(Verdict::Deny, Reason::BudgetExhausted))
}

fn budget_paced(sight: &Sight<'_>) -> Option<Stop> {
    sight
        .budget
        .filter(|look| look.paced)
        .map(|_| Stop::new(Verdict::Defer, Reason::BudgetPaced))
}

fn quiet_hours(sight: &Sight<'_>) -> Option<Stop> {
    sight
        .channel
        .filter(|channel| channel.is_quiet)
        .map(|_| Stop::new(Verdict::Defer, Reason::QuietHours))
}
