//! What a space holds now, in counts (`docs/spec/contact.md` §18, overview).
//!
//! Here: entities in, counts out; parts of several shards are put together. Bounded whatever there
//! is. Not here: who walks over the entities (`actors`), and what was decided in the last days
//! (`tally`). Nothing of it names anybody.

use std::collections::{BTreeMap, BTreeSet};

use crate::contact::claim::{Claim, ClaimKind, ClaimVia};
use crate::contact::command::EffectKind;
use crate::contact::commitment::CommitmentState;
use crate::contact::customer::Customer;
use crate::contact::effect::Effect;
use crate::contact::entity::ContactEntity;
use crate::contact::name::{AgentId, PurposeId};
use crate::contact::policy::{HolderKind, Policy};
use crate::contact::reply::EffectState;
use crate::contact::text::Text;
use crate::time::Timestamp;

/// Rows of ownership there are at most; a document has few levels, and what does not fit is left out.
pub const ROWS_MAX: usize = 1_024;

/// Holders that are told apart at most; beyond it the number of holders is a lower bound.
pub const HOLDERS_MAX: usize = 1 << 18;

/// What a row of ownership is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnershipRow {
    /// What is held.
    pub kind: ClaimKind,
    /// How strictly.
    pub level: Text,
    /// How it came in.
    pub via: ClaimVia,
    /// By what kind of holder.
    pub holder_kind: HolderKind,
}

/// How much of one row is held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Live claims.
    pub claims: u64,
    /// Who holds them.
    pub holders: BTreeSet<AgentId>,
}

/// How a budget is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetUse {
    /// Customers with a contact in the budget's window.
    pub subjects: u64,
    /// Contacts in it.
    pub spent: u64,
    /// Customers with nothing left.
    pub at_limit: u64,
}

/// What is held now, and what came to stand as it does since a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Live claims and locks.
    pub ownership: BTreeMap<OwnershipRow, Held>,
    /// Holders in all rows together.
    holders: usize,
    /// Effects that came to their state since then.
    pub effects: BTreeMap<(EffectKind, EffectState), u64>,
    /// Effects of unknown outcome, of any age.
    pub awaiting_decision: u64,
    /// Budgets, by purpose.
    pub budgets: BTreeMap<PurposeId, BudgetUse>,
    /// Offers that another one came to hold off since then.
    pub commitments_superseded: u64,
    /// Handoffs that expired since then.
    pub handoffs_expired: u64,
}

impl Holdings {
    /// Takes in one entity of the space.
    pub fn see(
        &mut self,
        entity: &ContactEntity,
        policy: &Policy,
        since: Timestamp,
        now: Timestamp,
    ) {
        match entity {
            ContactEntity::Effect(effect) => self.effect(effect, since, now),
            ContactEntity::Customer(customer) => self.customer(customer, policy, since, now),
            ContactEntity::Object(object) => self.locks(object, policy, now),
            ContactEntity::Handoff(handoff) => {
                let expired = handoff.is_expired(now) && since <= handoff.expected_by;
                self.handoffs_expired += u64::from(expired);
            }
            ContactEntity::Receipt(_)
            | ContactEntity::Directory(_)
            | ContactEntity::Holds(_)
            | ContactEntity::Feed(_)
            | ContactEntity::Reports(_)
            | ContactEntity::SpaceBudget(_) => {}
        }
    }

    fn locks(&mut self, object: &crate::contact::object::Object, policy: &Policy, now: Timestamp) {
        self.claims(&object.claims, policy, now);
        for lock in object.locks.iter().filter(|lock| lock.is_live(now)) {
            let row = OwnershipRow {
                kind: ClaimKind::TaskLock,
                level: lock.level.clone(),
                via: ClaimVia::Declaration,
                holder_kind: HolderKind::Agent,
            };
            self.hold(row, 1, std::iter::once(AgentId::of(&lock.holder)));
        }
    }

    fn claims(&mut self, claims: &[Claim], policy: &Policy, now: Timestamp) {
        for claim in claims.iter().filter(|claim| claim.is_live(now)) {
            let row = OwnershipRow {
                kind: claim.kind,
                level: claim.level.clone(),
                via: told(claim.via),
                holder_kind: holder_kind(claim, policy),
            };
            self.hold(row, 1, std::iter::once(AgentId::of(&claim.holder)));
        }
    }

    fn hold(&mut self, row: OwnershipRow, claims: u64, holders: impl Iterator<Item = AgentId>) {
        if self.ownership.len() >= ROWS_MAX && !self.ownership.contains_key(&row) {
            return;
        }
        let held = self.ownership.entry(row).or_default();
        held.claims += claims;
        for holder in holders {
            if self.holders < HOLDERS_MAX && held.holders.insert(holder) {
                self.holders += 1;
            }
        }
    }

    fn effect(&mut self, effect: &Effect, since: Timestamp, now: Timestamp) {
        let state = effect.state_at(now);
        let turned_at = match state {
            EffectState::Reserved => effect.reserved_at,
            EffectState::Done | EffectState::Failed | EffectState::UnknownOutcome => {
                effect.turned_at
            }
        };
        if state == EffectState::UnknownOutcome {
            self.awaiting_decision += 1;
        }
        if since <= turned_at {
            *self.effects.entry((effect.kind, state)).or_default() += 1;
        }
    }

    fn customer(&mut self, customer: &Customer, policy: &Policy, since: Timestamp, now: Timestamp) {
        self.claims(&customer.rare.claims, policy, now);
        let superseded =
            customer.rare.commitments.iter().filter(|known| {
                known.state == CommitmentState::Superseded && since <= known.turned_at
            });
        self.commitments_superseded += superseded.count() as u64;
        for purpose in policy.purposes() {
            let Some(budget) = &purpose.budget else {
                continue;
            };
            let window_s = i64::from(budget.per_hours) * 3_600;
            let counts = customer.contacts.iter().filter(|contact| {
                contact.purpose == purpose.id && now < contact.at.plus_s(window_s)
            });
            let spent = counts.count() as u64;
            if spent > 0 {
                let used = self.budgets.entry(purpose.id).or_default();
                used.subjects += 1;
                used.spent += spent;
                used.at_limit += u64::from(spent >= u64::from(budget.limit));
            }
        }
    }

    /// Takes in what was counted elsewhere.
    pub fn merge(&mut self, other: Self) {
        for (row, held) in other.ownership {
            self.hold(row, held.claims, held.holders.into_iter());
        }
        for (key, count) in other.effects {
            *self.effects.entry(key).or_default() += count;
        }
        self.awaiting_decision += other.awaiting_decision;
        for (purpose, more) in other.budgets {
            let used = self.budgets.entry(purpose).or_default();
            used.subjects += more.subjects;
            used.spent += more.spent;
            used.at_limit += more.at_limit;
        }
        self.commitments_superseded += other.commitments_superseded;
        self.handoffs_expired += other.handoffs_expired;
    }
}

/// The way as a client reads it: the hold of a handoff is a declaration like others.
const fn told(via: ClaimVia) -> ClaimVia {
    match via {
        ClaimVia::Declaration | ClaimVia::Handoff => ClaimVia::Declaration,
        ClaimVia::Mapping => ClaimVia::Mapping,
        ClaimVia::Worker => ClaimVia::Worker,
    }
}

/// What a claim's holder is: what its ownership source says of holders, else an agent.
fn holder_kind(claim: &Claim, policy: &Policy) -> HolderKind {
    match claim.via {
        ClaimVia::Declaration | ClaimVia::Handoff => HolderKind::Agent,
        ClaimVia::Mapping | ClaimVia::Worker => policy
            .ownership_source(&claim.source)
            .map_or(HolderKind::System, |source| source.holder_kind),
    }
}
