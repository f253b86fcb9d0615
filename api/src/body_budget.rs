//! The bound on all request bodies held at once, over all workers.
//!
//! Here: counting bytes from the moment they arrive until their request is answered. Not here: the
//! bound on one body (`limits`) and on commands in flight (`actors`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of bodies held now, and their bound.
#[derive(Debug)]
pub struct BodyBudget {
    held: AtomicUsize,
    bytes_max: usize,
}

impl BodyBudget {
    /// A budget of this many bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            held: AtomicUsize::new(0),
            bytes_max,
        })
    }

    /// A share of nothing, to be grown.
    #[must_use]
    pub fn share(self: &Arc<Self>) -> Share {
        Share {
            budget: Arc::clone(self),
            bytes: 0,
        }
    }
}

/// What one request holds of the budget; given back when dropped.
#[derive(Debug)]
pub struct Share {
    budget: Arc<BodyBudget>,
    bytes: usize,
}

impl Share {
    /// Holds this many bytes more.
    ///
    /// Returns whether there was room; without room nothing changes.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        let bytes_max = self.budget.bytes_max;
        let grown = |held: usize| held.checked_add(bytes).filter(|held| *held <= bytes_max);
        // The counter guards no other memory, so its order to other memory does not matter.
        let held = &self.budget.held;
        let taken = held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
        if taken.is_ok() {
            self.bytes += bytes;
        }
        taken.is_ok()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_together_stay_within_the_budget() {
        let budget = BodyBudget::new(10);
        let (mut one, mut other) = (budget.share(), budget.share());
        assert!(one.grow(6));
        assert!(!other.grow(5));
        assert!(other.grow(4));
        assert!(!one.grow(1));
        assert!(!one.grow(usize::MAX));
        drop(one);
        assert!(other.grow(6));
    }
}
