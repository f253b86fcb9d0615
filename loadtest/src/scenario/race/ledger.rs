//! What racing callers were granted, and whether all of it could be granted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::report::Race;

/// Violations that a report quotes.
const QUOTED_MAX: usize = 20;

/// One claim on a customer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grant {
    /// The customer's number.
    target: u64,
    /// The claim's epoch.
    pub(super) epoch: u64,
    /// From when on it was certainly held: its answer was there.
    from: Instant,
    /// Until when: its release was not sent yet. `None`: it was never given back.
    until: Option<Instant>,
}

impl Grant {
    /// A claim whose answer has just come.
    pub(super) fn now(target: u64, epoch: u64) -> Self {
        Self {
            target,
            epoch,
            from: Instant::now(),
            until: None,
        }
    }

    /// The same, about to be given back.
    pub(super) fn until_now(self) -> Self {
        Self {
            until: Some(Instant::now()),
            ..self
        }
    }
}

/// Attempts at one effect key or one budget.
#[derive(Debug, Clone, Copy, Default)]
struct Attempts {
    asked: u32,
    won: u32,
    /// Attempts of which nobody knows what became of them.
    unsure: u32,
}

#[derive(Debug, Default)]
struct Target {
    asked: u32,
    unsure: bool,
    grants: Vec<Grant>,
}

/// Everything that was asked for and granted in a run.
#[derive(Debug)]
pub(super) struct Ledger {
    /// Requests in a row that race for the same thing.
    together: u64,
    next: [AtomicU64; 3],
    effects: Mutex<BTreeMap<u64, Attempts>>,
    budgets: Mutex<BTreeMap<u64, Attempts>>,
    targets: Mutex<BTreeMap<u64, Target>>,
}

impl Ledger {
    /// For so many requests for each thing.
    pub(super) fn new(together: u64) -> Self {
        Self {
            together,
            next: [const { AtomicU64::new(0) }; 3],
            effects: Mutex::default(),
            budgets: Mutex::default(),
            targets: Mutex::default(),
        }
    }

    /// What the next request of a kind races for.
    pub(super) fn next(&self, step: usize) -> u64 {
        self.next[step].fetch_add(1, Ordering::Relaxed) / self.together
    }

    /// One attempt at an effect key.
    pub(super) fn effect(&self, key: u64, won: bool, decided: bool) {
        note(&self.effects, key, won, decided);
    }

    /// One attempt at a customer's budget.
    pub(super) fn budget(&self, customer: u64, won: bool, decided: bool) {
        note(&self.budgets, customer, won, decided);
    }

    /// One attempt at a claim that was answered.
    pub(super) fn claim_asked(&self, target: u64) {
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        targets.entry(target).or_default().asked += 1;
    }

    /// Nobody knows whether a claim was granted or given back.
    pub(super) fn unsure(&self, target: u64) {
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        targets.entry(target).or_default().unsure = true;
    }

    /// A claim that was granted and is over now, or held to the end of the run.
    pub(super) fn granted(&self, grant: Option<Grant>) {
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grant) = grant {
            targets.entry(grant.target).or_default().grants.push(grant);
        }
    }

    /// Judges all of it.
    pub(super) fn judge(self, limit: u64) -> Race {
        let effects = self
            .effects
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let budgets = self
            .budgets
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut targets = self
            .targets
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut violations = Vec::new();
        violations.extend(wrong_winners("effect key", &effects, 1));
        violations.extend(wrong_winners("budget of customer", &budgets, limit));
        for (number, target) in &mut targets {
            violations.extend(wrong_claims(*number, target));
        }
        violations.truncate(QUOTED_MAX);
        let asked =
            |all: &BTreeMap<u64, Attempts>| all.values().map(|it| u64::from(it.asked)).sum();
        Race {
            effects: effects.len() as u64,
            effect_attempts: asked(&effects),
            budgets: budgets.len() as u64,
            budget_limit: limit,
            budget_attempts: asked(&budgets),
            targets: targets.len() as u64,
            claim_attempts: targets.values().map(|it| u64::from(it.asked)).sum(),
            claims: targets.values().map(|it| it.grants.len() as u64).sum(),
            violations,
        }
    }
}

fn note(all: &Mutex<BTreeMap<u64, Attempts>>, number: u64, won: bool, decided: bool) {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    let attempts = all.entry(number).or_default();
    attempts.asked += 1;
    attempts.won += u32::from(won);
    attempts.unsure += u32::from(!decided);
}

/// Things that more callers won than `limit`, or fewer although enough asked.
fn wrong_winners<'a>(
    what: &'a str,
    all: &'a BTreeMap<u64, Attempts>,
    limit: u64,
) -> impl Iterator<Item = String> + 'a {
    all.iter().filter_map(move |(number, attempts)| {
        let (won, asked) = (u64::from(attempts.won), u64::from(attempts.asked));
        let due = limit.min(asked);
        let few = attempts.unsure == 0 && won < due;
        (won > limit || few)
            .then(|| format!("{what} {number}: {won} of {asked} callers won it, {due} may"))
    })
}

/// Claims on a target that were held at once, or whose epochs do not rise.
fn wrong_claims(number: u64, target: &mut Target) -> Vec<String> {
    target.grants.sort_by_key(|grant| grant.from);
    let mut violations = Vec::new();
    for pair in target.grants.windows(2) {
        let (earlier, later) = (pair[0], pair[1]);
        // Held until its release was sent; for ever when it never was.
        let over = earlier.until.is_some_and(|until| until <= later.from);
        if !over && !target.unsure {
            violations.push(format!(
                "customer {number}: epochs {} and {} were held at once",
                earlier.epoch, later.epoch
            ));
        }
        if later.epoch <= earlier.epoch {
            violations.push(format!(
                "customer {number}: epoch {} came after {}",
                later.epoch, earlier.epoch
            ));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn grant(epoch: u64, from_ms: u64, until_ms: Option<u64>) -> Grant {
        let start = Instant::now();
        Grant {
            target: 1,
            epoch,
            from: start + Duration::from_millis(from_ms),
            until: until_ms.map(|ms| start + Duration::from_millis(ms)),
        }
    }

    #[test]
    fn right_winners_are_no_violation() {
        let ledger = Ledger::new(2);
        assert_eq!([0, 0, 1, 1].map(|_| ledger.next(0)), [0, 0, 1, 1]);
        ledger.effect(1, true, true);
        ledger.effect(1, false, true);
        ledger.effect(2, false, false);
        for won in [true, true, false] {
            ledger.budget(1, won, true);
        }
        ledger.budget(2, true, true);
        ledger.claim_asked(1);
        ledger.granted(Some(grant(1, 0, Some(10_000))));
        ledger.granted(Some(grant(2, 20_000, None)));
        let race = ledger.judge(2);
        assert_eq!(race.violations, Vec::<String>::new());
        let counts = (
            race.effects,
            race.effect_attempts,
            race.budgets,
            race.claims,
        );
        assert_eq!(counts, (2, 3, 2, 2));
    }

    #[test]
    fn each_violation_is_said() {
        let ledger = Ledger::new(2);
        ledger.effect(1, true, true);
        ledger.effect(1, true, true);
        ledger.effect(2, false, true);
        for won in [true, true, true] {
            ledger.budget(1, won, true);
        }
        ledger.budget(2, true, true);
        ledger.budget(2, false, true);
        ledger.granted(Some(grant(5, 0, Some(10_000))));
        ledger.granted(Some(grant(6, 5_000, Some(6_000))));
        ledger.granted(Some(grant(6, 20_000, None)));
        let violations = ledger.judge(2).violations;
        let wanted = [
            "effect key 1: 2 of 2 callers won it, 1 may",
            "effect key 2: 0 of 1 callers won it, 1 may",
            "budget of customer 1: 3 of 3 callers won it, 2 may",
            "budget of customer 2: 1 of 2 callers won it, 2 may",
            "customer 1: epochs 5 and 6 were held at once",
            "customer 1: epoch 6 came after 6",
        ];
        assert_eq!(violations, wanted);
    }
}
