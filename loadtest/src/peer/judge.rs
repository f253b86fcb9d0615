//! Is an answer of a peer right? Reads the text a peer answers a check with, and keeps for each
//! customer how many contacts were allowed, so that a budget is neither exceeded nor refused early.
//!
//! An answer reads `allow ATTEMPT REMAINING`, `deny REASON …` or `defer REASON …`.

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use super::keys::{Batches, Check};
use crate::template::Probe;

/// A decision with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The agent may go; the attempt of its effect.
    Allow(u32),
    /// The effect is done.
    EffectDone,
    /// An attempt holds the effect.
    EffectInFlight,
    /// Nobody knows how the effect ended.
    EffectUnknown,
    /// The customer is suppressed.
    Suppressed,
    /// Another agent has the customer or the object.
    OwnerActive,
    /// Another agent has the task.
    LockHeld,
    /// No contact is left in the window.
    BudgetExhausted,
}

impl Verdict {
    /// Reads an answer; nothing when it is none.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let mut words = text.split(|byte| *byte == b' ');
        match (words.next()?, words.next()?) {
            (b"allow", attempt) => {
                let attempt = std::str::from_utf8(attempt).ok()?.parse().ok()?;
                Some(Self::Allow(attempt))
            }
            (b"deny", b"effect_done") => Some(Self::EffectDone),
            (b"deny", b"effect_in_flight") => Some(Self::EffectInFlight),
            (b"deny", b"effect_unknown_outcome") => Some(Self::EffectUnknown),
            (b"deny", b"suppressed") => Some(Self::Suppressed),
            (b"deny", b"budget_exhausted") => Some(Self::BudgetExhausted),
            (b"defer", b"owner_active") => Some(Self::OwnerActive),
            (b"defer", b"lock_held") => Some(Self::LockHeld),
            _ => None,
        }
    }

    const fn allows(self) -> bool {
        matches!(self, Self::Allow(_))
    }
}

/// What the answers of some batches came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Checks answered.
    pub(crate) checks: u64,
    /// Allowed.
    pub(crate) allowed: u64,
    /// Refused because no contact was left.
    pub(crate) exhausted: u64,
    /// Pairs of one effect key of which the later was denied, as it had to be.
    pub(crate) ordered: u64,
}

impl Counts {
    /// Adds another count to this one.
    pub(crate) const fn add(&mut self, other: &Self) {
        self.checks += other.checks;
        self.allowed += other.allowed;
        self.exhausted += other.exhausted;
        self.ordered += other.ordered;
    }
}

/// What a peer has allowed since it was started.
#[derive(Debug)]
pub(crate) struct Ledger {
    limit: u16,
    allowed: Vec<AtomicU16>,
    refused: Vec<AtomicBool>,
}

impl Ledger {
    /// For so many customers with so many contacts in a window that outlasts the run.
    pub(crate) fn new(customers: u64, limit: u16) -> Self {
        Self {
            limit,
            allowed: (0..customers).map(|_| AtomicU16::new(0)).collect(),
            refused: (0..customers).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Judges the answers of a batch whose effect keys are all fresh, and notes them.
    pub(crate) fn judge(
        &self,
        checks: &[Check],
        probes: &[Probe],
        verdicts: &[Verdict],
    ) -> Result<Counts, String> {
        if checks.len() != verdicts.len() {
            return Err(format!(
                "{} answers for {} checks",
                verdicts.len(),
                checks.len()
            ));
        }
        let mut counts = Counts {
            checks: checks.len() as u64,
            ..Counts::default()
        };
        for (place, (check, verdict)) in checks.iter().zip(verdicts).enumerate() {
            let customer = Batches::place(check.customer);
            match verdict {
                Verdict::Allow(1) => {
                    self.allowed[customer].fetch_add(1, Ordering::Relaxed);
                    counts.allowed += 1;
                }
                Verdict::BudgetExhausted => {
                    self.refused[customer].store(true, Ordering::Relaxed);
                    counts.exhausted += 1;
                }
                Verdict::EffectInFlight if second_of(probes, place, verdicts) => {
                    counts.ordered += 1;
                }
                Verdict::Allow(_)
                | Verdict::EffectDone
                | Verdict::EffectInFlight
                | Verdict::EffectUnknown
                | Verdict::Suppressed
                | Verdict::OwnerActive
                | Verdict::LockHeld => {
                    return Err(format!("place {place}: {verdict:?} for a fresh effect key"));
                }
            }
        }
        for probe in probes {
            if verdicts[probe.first].allows() && verdicts[probe.second].allows() {
                let place = probe.second;
                return Err(format!("place {place}: an effect key was allowed twice"));
            }
        }
        Ok(counts)
    }

    /// Judges the answers to a batch that was asked, and answered with `before`, already.
    pub(crate) fn judge_again(
        &self,
        probes: &[Probe],
        before: &[Verdict],
        verdicts: &[Verdict],
    ) -> Result<(), String> {
        for (place, (was, is)) in before.iter().zip(verdicts).enumerate() {
            let held = was.allows()
                || second_of(probes, place, before)
                || probes
                    .iter()
                    .any(|it| it.first == place && before[it.second].allows());
            let wanted = if held {
                Verdict::EffectInFlight
            } else {
                Verdict::BudgetExhausted
            };
            if *is != wanted {
                return Err(format!(
                    "place {place}, asked again: {is:?} and not {wanted:?}"
                ));
            }
        }
        Ok(())
    }

    /// Once nothing is under way: no budget was exceeded, and none refused before it was used up.
    pub(crate) fn balance(&self) -> Result<(), String> {
        let rows = self.allowed.iter().zip(&self.refused).enumerate();
        for (customer, (allowed, refused)) in rows {
            let allowed = allowed.load(Ordering::Relaxed);
            let limit = self.limit;
            if allowed > limit {
                return Err(format!(
                    "customer {customer}: {allowed} contacts allowed of {limit}"
                ));
            }
            if refused.load(Ordering::Relaxed) && allowed < limit {
                return Err(format!(
                    "customer {customer}: refused, though only {allowed} contacts of {limit} were allowed"
                ));
            }
        }
        Ok(())
    }
}

/// Whether this place is the later one of a pair whose earlier one was allowed.
fn second_of(probes: &[Probe], place: usize, verdicts: &[Verdict]) -> bool {
    probes
        .iter()
        .any(|probe| probe.second == place && verdicts[probe.first].allows())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: Probe = Probe {
        first: 0,
        second: 2,
    };

    fn checks() -> Vec<Check> {
        let check = |customer: u64| Check {
            customer: 60_000_000 + customer,
            ..Check::default()
        };
        vec![check(0), check(1), check(2)]
    }

    #[test]
    fn answers_are_read_and_others_are_not() {
        assert_eq!(Verdict::read(b"allow 12 3"), Some(Verdict::Allow(12)));
        assert_eq!(Verdict::read(b"deny suppressed"), Some(Verdict::Suppressed));
        assert_eq!(
            Verdict::read(b"defer owner_active a 1"),
            Some(Verdict::OwnerActive)
        );
        for text in [
            "",
            "allow",
            "allow x",
            "deny owner_active",
            "defer suppressed",
            "deny",
        ] {
            assert_eq!(Verdict::read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn right_answers_are_counted() {
        use Verdict::{Allow, BudgetExhausted, EffectInFlight};
        let ledger = Ledger::new(3, 1);
        let before = [Allow(1), Allow(1), EffectInFlight];
        let counts = ledger.judge(&checks(), &[PROBE], &before).expect("right");
        assert_eq!((counts.checks, counts.allowed, counts.ordered), (3, 2, 1));
        assert_eq!(
            ledger.judge_again(&[PROBE], &before, &[EffectInFlight; 3]),
            Ok(())
        );
        let after = [BudgetExhausted, BudgetExhausted, Allow(1)];
        let counts = ledger.judge(&checks(), &[PROBE], &after).expect("right");
        assert_eq!((counts.allowed, counts.exhausted), (1, 2));
        let again = [EffectInFlight, BudgetExhausted, EffectInFlight];
        assert_eq!(ledger.judge_again(&[PROBE], &after, &again), Ok(()));
        assert_eq!(ledger.balance(), Ok(()));
    }

    #[test]
    fn wrong_answers_are_told() {
        use Verdict::{Allow, BudgetExhausted, EffectInFlight, Suppressed};
        let wrong = [
            &[Allow(1), Allow(1), Allow(1)][..],
            &[Allow(1), EffectInFlight, EffectInFlight],
            &[EffectInFlight, Allow(1), Allow(1)],
            &[Allow(2), Allow(1), EffectInFlight],
            &[Allow(1), Suppressed, EffectInFlight],
            &[Allow(1), Allow(1)],
        ];
        for verdicts in wrong {
            let ledger = Ledger::new(3, 3);
            assert!(
                ledger.judge(&checks(), &[PROBE], verdicts).is_err(),
                "{verdicts:?}"
            );
        }
        let ledger = Ledger::new(3, 3);
        let before = [Allow(1), Allow(1), EffectInFlight];
        let again = [EffectInFlight, Allow(1), EffectInFlight];
        assert!(ledger.judge_again(&[PROBE], &before, &again).is_err());
        ledger
            .judge(&checks(), &[], &[BudgetExhausted; 3])
            .expect("noted");
        assert!(
            ledger
                .balance()
                .expect_err("too early")
                .contains("only 0 contacts")
        );
        let ledger = Ledger::new(3, 1);
        ledger.judge(&checks(), &[], &[Allow(1); 3]).expect("noted");
        ledger.judge(&checks(), &[], &[Allow(1); 3]).expect("noted");
        assert!(
            ledger
                .balance()
                .expect_err("too many")
                .contains("2 contacts allowed of 1")
        );
    }
}
