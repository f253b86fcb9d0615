//! A record in some system: who has it, and who has its tasks.
//!
//! Here: the object entity. Not here: how claims and locks are made.

use serde::{Deserialize, Serialize};

use crate::contact::claim::{self, Claim, TaskLock, check_epochs};
use crate::contact::event::{ClaimReleased, FactEnded, HoldMarked, KeyTied};
use crate::contact::paid::Meters;
use crate::contact::ties::Ties;
use crate::key::KeyHash;
use crate::machine::Broken;
use crate::time::Timestamp;

/// What is known of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// Claims on it, live or ended.
    pub claims: Vec<Claim>,
    /// Locks on its tasks, live or ended.
    pub locks: Vec<TaskLock>,
    /// Legal holds on it. While there is one nothing is dropped for its age.
    pub legal_holds: u32,
    /// Units of paid operations drawn on the object; few objects have any.
    pub paid: Option<Box<Meters>>,
    /// Effect keys that live as long as the object; few objects have any.
    pub ties: Option<Box<Ties>>,
}

impl Object {
    /// Whether a legal hold keeps it from losing what is old.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        self.legal_holds > 0
    }

    pub(super) fn claim(&mut self, claim: &Claim) {
        let held = self.is_held();
        claim::accept(&mut self.claims, claim, claim.accepted_at, held);
    }

    /// Takes a lock; another one of its task ends with it, also where the same holder goes on under
    /// a new name.
    pub(super) fn lock(&mut self, lock: &TaskLock) {
        let others = self.locks.iter_mut();
        for other in others.filter(|other| other.task == lock.task && other.id != lock.id) {
            other.until = other.until.min(lock.accepted_at);
        }
        let held = self.is_held();
        claim::accept(&mut self.locks, lock, lock.accepted_at, held);
    }

    pub(super) fn release(&mut self, event: &ClaimReleased) {
        claim::end(&mut self.claims, event);
        claim::end(&mut self.locks, event);
    }

    /// The hashes of the effect keys that live as long as it.
    #[must_use]
    pub fn tied(&self) -> &[KeyHash] {
        self.ties.as_deref().map_or(&[], |ties| &ties.effects)
    }

    pub(super) const fn mark(&mut self, event: &HoldMarked) {
        event.count(&mut self.legal_holds);
    }

    pub(super) fn tie(&mut self, event: &KeyTied) {
        let ties = self.ties.get_or_insert_default();
        ties.effects.push(event.effect);
    }

    pub(super) fn end_fact(&mut self, event: &FactEnded) {
        if let Some(ties) = &mut self.ties {
            ties.effects.retain(|known| !event.effects.contains(known));
        }
        if self.tied().is_empty() {
            self.ties = None;
        }
    }

    /// When nothing about it is left to remember: the last claim or lock is forgotten, and the last
    /// unit has left its window; `None` while a legal hold is on it, or while keys are tied to it:
    /// without its list nothing could free them.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        if self.is_held() || self.ties.is_some() {
            return None;
        }
        let claims = self.claims.iter().map(|claim| claim.until);
        let locks = self.locks.iter().map(|lock| lock.until);
        let last = claims.chain(locks).max();
        let last = last.map_or(Timestamp(i64::MIN), claim::forgotten_at);
        let paid = self.paid.as_deref().and_then(Meters::until);
        Some(last.max(paid.unwrap_or(last)))
    }

    /// C3, C4 and C7, as far as one state shows them.
    pub(super) fn check(&self) -> Result<(), Broken> {
        for (index, lock) in self.locks.iter().enumerate() {
            let overlaps = |other: &&TaskLock| {
                other.task == lock.task && other.since < lock.until && lock.since < other.until
            };
            if self
                .locks
                .iter()
                .skip(index + 1)
                .any(|other| overlaps(&other))
            {
                return Err(Broken {
                    invariant: "C3",
                    seen: "two locks of one task overlap".to_owned(),
                });
            }
        }
        self.paid.as_deref().map_or(Ok(()), Meters::check)?;
        self.ties.as_deref().map_or(Ok(()), Ties::check)?;
        let claims = self.claims.iter().map(|claim| claim.epoch);
        check_epochs(claims.chain(self.locks.iter().map(|lock| lock.epoch)))
    }
}
