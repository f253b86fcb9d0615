//! What an erasure took, as counts.
//!
//! Here: counting a customer before it is erased. Not here: the erasure (`forget_customer`). Nothing
//! here says whose it was.

use serde::{Deserialize, Serialize};

use crate::contact::customer::Customer;
use crate::time::Timestamp;

/// How long the answer of an erasure is found under its id, in seconds.
pub const KEPT_S: i64 = 400 * 86_400;

/// What one erasure took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erased {
    /// When.
    pub at: Timestamp,
    /// Contacts, with what they counted for in budgets.
    pub contacts: u32,
    /// Claims on the customer, live or ended.
    pub claims: u32,
    /// Offers.
    pub commitments: u32,
    /// Last messages, one a channel.
    pub messages: u32,
    /// Tokens that declarations named.
    pub tokens: u32,
    /// Sealed terms of offers.
    pub terms: u32,
    /// Suppressions in force, which stay.
    pub suppressions_kept: u32,
    /// Handoffs, with their sealed texts.
    pub handoffs: u32,
    /// Open promises.
    pub promises: u32,
    /// Units of paid operations.
    pub paid_units: u32,
    /// Effects that checks reserved for the customer, by their ids.
    pub effects: u32,
}

fn count<T>(all: &[T]) -> u32 {
    u32::try_from(all.len()).unwrap_or(u32::MAX)
}

impl Erased {
    /// What there is to take of a customer, and of sealed terms and handoffs beside it.
    #[must_use]
    pub fn of(customer: Option<&Customer>, (terms, handoffs): (u32, u32), at: Timestamp) -> Self {
        let nothing = Customer::default();
        let known = customer.unwrap_or(&nothing);
        let in_force = known.rare.suppressions.iter();
        let in_force = in_force.filter(|entry| entry.in_force(at));
        Self {
            at,
            contacts: count(&known.contacts),
            claims: count(&known.rare.claims),
            commitments: count(&known.rare.commitments),
            messages: count(&known.rare.messages),
            tokens: count(&known.rare.tokens),
            terms,
            suppressions_kept: u32::try_from(in_force.count()).unwrap_or(u32::MAX),
            handoffs,
            promises: count(known.promises()),
            paid_units: known
                .rare
                .paid
                .as_deref()
                .map_or(0, |paid| u32::try_from(paid.units()).unwrap_or(u32::MAX)),
            effects: count(&known.effects),
        }
    }

    /// What was taken, by name.
    #[must_use]
    pub const fn taken(&self) -> [(&'static str, u32); 10] {
        [
            ("claims", self.claims),
            ("commitment_terms", self.terms),
            ("commitments", self.commitments),
            ("contacts", self.contacts),
            ("effects", self.effects),
            ("handoffs", self.handoffs),
            ("messages", self.messages),
            ("paid_units", self.paid_units),
            ("promises", self.promises),
            ("tokens", self.tokens),
        ]
    }
}
