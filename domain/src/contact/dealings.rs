//! What few customers have: promises that are open, and handoffs.
//!
//! Here: both behind one pointer of the customer, for a customer lives in memory a million times.
//! Not here: what is decided of them (`turn_promise`, `handoff`). A customer knows its handoffs so
//! that an erasure finds them; the hold of an open one is a claim.

use serde::{Deserialize, Serialize};

use crate::contact::claim::Claim;
use crate::contact::event::PromiseTurned;
use crate::contact::handoff;
use crate::contact::promise::{self, Promise};
use crate::ids::Id;
use crate::time::Timestamp;

/// Promises and handoffs of a customer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dealings {
    /// What the company owes, the soonest due first.
    pub promises: Vec<Promise>,
    /// Handoffs that may still be found, in the order they were made.
    pub handoffs: Vec<KnownHandoff>,
}

/// A handoff of a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownHandoff {
    /// Which.
    pub id: Id,
    /// When it is forgotten at the latest.
    pub until: Timestamp,
}

impl Dealings {
    /// Takes a word about a promise.
    pub(super) fn promise(&mut self, event: &PromiseTurned) {
        promise::turn(&mut self.promises, event);
    }

    /// Takes in the hold of a new handoff, and drops the handoffs that are forgotten by then.
    pub(super) fn hand_over(&mut self, hold: &Claim) {
        self.handoffs.retain(|known| hold.accepted_at < known.until);
        self.handoffs.push(KnownHandoff {
            id: hold.id,
            until: hold.until.plus_s(handoff::ENDED_KEPT_S),
        });
    }

    /// Whether there is nothing.
    pub(super) const fn is_empty(&self) -> bool {
        self.promises.is_empty() && self.handoffs.is_empty()
    }

    /// When all of it is forgotten; `None`: not before something is told.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let mut handoffs = self.handoffs.iter().map(|known| known.until);
        let last = handoffs.by_ref().max().unwrap_or(Timestamp(i64::MIN));
        self.promises.is_empty().then_some(last)
    }
}
