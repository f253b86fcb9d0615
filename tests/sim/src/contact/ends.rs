//! When what the log holds ends: moments that a run is set to exactly.
//!
//! Here: the ends of what came last. Not here: what ends then, which is for the books and rules to
//! say. A moment that is none does no harm.

use interlock_domain::contact::event::Event;
use interlock_domain::time::Timestamp;

use super::rules::Rules;
use crate::random::Random;

/// So many of the newest are kept.
const KNOWN_MAX: usize = 200;
/// One of so many that come next is taken, so that a run does not leap over all the others.
const NEXT: usize = 8;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Ends(Vec<Timestamp>);

impl Ends {
    /// Learns when it ends, under these rules.
    pub(super) fn learn(&mut self, event: &Event, rules: &Rules) {
        let hours = |at: Timestamp, hours: i64| at.plus_s(hours * 3_600);
        match event {
            Event::EffectReserved(it) => self.0.push(it.lease_until),
            Event::EffectSettled(it) => self.0.push(hours(it.at, i64::from(it.keep_days) * 24)),
            Event::ContactCounted(it) => {
                let budget = rules.purpose(it.purpose);
                let budget = budget.and_then(|purpose| purpose.budget.as_ref());
                for slice in budget.iter().flat_map(|budget| &budget.slices) {
                    let limit = i64::try_from(slice.limit).unwrap_or(1);
                    let days = slice.spread_days;
                    self.0
                        .extend(days.map(|days| it.at.plus_ms(days * 86_400_000 / limit)));
                }
                self.0
                    .extend(budget.map(|budget| hours(it.at, budget.hours)));
            }
            Event::SuppressionAdded(it) => self.0.extend(it.until),
            Event::MessageSeen(it) => self.0.push(hours(it.occurred_at, i64::from(it.keep_hours))),
            Event::ReceiptKept(it) => self.0.push(it.until),
            Event::ClaimAccepted(it) => self.0.push(it.until),
            Event::LockTaken(it) => self.0.push(it.until),
            Event::RowWritten(it) => {
                let admission = it.admission.as_ref();
                self.0
                    .extend(admission.map(|admission| admission.expires_at));
            }
            Event::CommitmentMade(it) => self.0.extend(it.until),
            Event::UnitsReserved(it) => self.0.push(hours(it.at, i64::from(it.keep_hours))),
            Event::HandoffCreated(it) => self.0.push(it.expected_by),
            _ => {}
        }
        let surplus = self.0.len().saturating_sub(KNOWN_MAX);
        self.0.drain(..surplus);
    }

    /// One of those that come next.
    pub(super) fn next(&mut self, now: Timestamp, random: &mut Random) -> Option<Timestamp> {
        self.0.retain(|end| now < *end);
        let mut next = self.0.clone();
        next.sort_unstable();
        next.truncate(NEXT);
        (!next.is_empty()).then(|| random.pick(&next))
    }
}
