//! What the company owes a customer, as an operator's feed tells it (`docs/spec/contact.md` §11).
//!
//! Here: the open promises of a customer. One that was kept or withdrawn is forgotten at once. Not
//! here: who may tell (`api`), and offers (`commitment`).

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::contact::event::PromiseTurned;
use crate::contact::text::Text;
use crate::time::Timestamp;

/// How many open promises a customer has at most; one more is refused.
pub const OPEN_MAX: usize = 32;

/// A promise that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// Its id, as told; it names one promise of the customer.
    pub id: Text,
    /// Who owes it.
    pub owner: Text,
    /// When it is due; `None`: at no set time.
    pub due: Option<Timestamp>,
}

/// How a promise stands. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PromiseState {
    /// The company owes it.
    Open,
    /// It was kept.
    Kept,
    /// It was taken back.
    Withdrawn,
}

/// Takes a word about a promise into the open ones, which stay in the order they are due in: the
/// soonest first and those without a time last.
pub(super) fn turn(open: &mut Vec<Promise>, event: &PromiseTurned) {
    open.retain(|known| known.id != event.promise.id);
    match event.state {
        PromiseState::Open => open.push(event.promise.clone()),
        PromiseState::Kept | PromiseState::Withdrawn => {}
    }
    open.sort_by(soonest);
}

fn soonest(one: &Promise, other: &Promise) -> Ordering {
    let key = |promise: &Promise| promise.due.unwrap_or(Timestamp(i64::MAX));
    let by_due = key(one).cmp(&key(other));
    by_due.then_with(|| one.id.cmp(&other.id))
}
