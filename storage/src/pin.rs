//! Keeping truncation away while somebody reads a whole log.
//!
//! Here: one pin for each log, with a bound: when the journal has grown past it, the pin is lost
//! and its owner learns so. Not here: reading. Called by export (takes it) and by the engines (ask
//! before they remove anything).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nobody pins the log.
const FREE: u64 = 0;
/// Somebody pins it who does not know yet that the pin was lost.
const LOST: u64 = u64::MAX;

/// A log's pin, taken or not.
#[derive(Clone, Debug, Default)]
pub struct Pin(Arc<AtomicU64>);

/// The pin of a log, until it is dropped.
#[derive(Debug)]
pub struct Pinned(Arc<AtomicU64>);

impl Pin {
    /// Takes the pin until the journal has more than so many bytes; `None` when somebody has it.
    #[must_use]
    pub fn take(&self, journal_bytes_max: u64) -> Option<Pinned> {
        let most = journal_bytes_max.clamp(1, LOST - 1);
        let taken = self
            .0
            .compare_exchange(FREE, most, Ordering::AcqRel, Ordering::Acquire);
        taken.is_ok().then(|| Pinned(Arc::clone(&self.0)))
    }

    /// May nothing be removed from a journal of this size? Past the bound the pin is lost.
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

impl Pinned {
    /// Has nothing been removed since the pin was taken?
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.0.load(Ordering::Acquire) != LOST
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.0.store(FREE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pins_until_its_bound() {
        let pin = Pin::default();
        assert!(!pin.keeps(0), "nobody pins it");
        let pinned = pin.take(100).expect("it is free");
        assert!(pin.take(100).is_none(), "one at a time");
        assert!(pin.keeps(100) && pinned.is_whole());
        assert!(!pin.keeps(101), "past the bound");
        assert!(!pinned.is_whole(), "and the owner learns so");
        assert!(!pin.keeps(1), "for good");
        assert!(pin.take(100).is_none(), "until it is given back");
        drop(pinned);
        assert!(pin.take(100).is_some_and(|pinned| pinned.is_whole()));
    }
}
