//! Keeping truncation away while somebody reads a whole log.
//!
//! Here: one hold for each log, with a bound: when the journal has grown past it, the hold is lost
//! and its owner learns so. Not here: reading. Called by export (takes it) and by the engines (ask
//! before they remove anything).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nobody holds the log.
const FREE: u64 = 0;
/// Somebody holds it who does not know yet that the hold was lost.
const LOST: u64 = u64::MAX;

/// A log's hold, taken or not.
#[derive(Clone, Debug, Default)]
pub struct Hold(Arc<AtomicU64>);

/// The hold of a log, until it is dropped.
#[derive(Debug)]
pub struct Held(Arc<AtomicU64>);

impl Hold {
    /// Takes the hold until the journal has more than so many bytes; `None` when somebody has it.
    #[must_use]
    pub fn take(&self, journal_bytes_max: u64) -> Option<Held> {
        let most = journal_bytes_max.clamp(1, LOST - 1);
        let taken = self
            .0
            .compare_exchange(FREE, most, Ordering::AcqRel, Ordering::Acquire);
        taken.is_ok().then(|| Held(Arc::clone(&self.0)))
    }

    /// May nothing be removed from a journal of this size? Past the bound the hold is lost.
    pub(crate) fn keeps(&self, journal_bytes: u64) -> bool {
        let most = self.0.load(Ordering::Acquire);
        if most == FREE || most == LOST {
            return false;
        }
        if journal_bytes <= most {
            return true;
        }
        // Somebody else may have given it back meanwhile; then there is nothing to lose.
        self.0
            .compare_exchange(most, LOST, Ordering::AcqRel, Ordering::Acquire)
            .ok();
        false
    }
}

impl Held {
    /// Has nothing been removed since the hold was taken?
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.0.load(Ordering::Acquire) != LOST
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.store(FREE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_until_its_bound() {
        let hold = Hold::default();
        assert!(!hold.keeps(0), "nobody holds it");
        let held = hold.take(100).expect("it is free");
        assert!(hold.take(100).is_none(), "one at a time");
        assert!(hold.keeps(100) && held.is_whole());
        assert!(!hold.keeps(101), "past the bound");
        assert!(!held.is_whole(), "and the owner learns so");
        assert!(!hold.keeps(1), "for good");
        assert!(hold.take(100).is_none(), "until it is given back");
        drop(held);
        assert!(hold.take(100).is_some_and(|held| held.is_whole()));
    }
}
