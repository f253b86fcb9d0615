//! What lasts: the fenced log every decision is written to, and its engines.
//!
//! Here: the [`Log`] trait, the plain data it speaks, and one file per engine. Not here: what the
//! bytes mean. Storage knows groups, partitions, sequences and opaque frames, never a product.
//! Called by the committer (writes), by recovery (reads) and by the offline verbs.

mod book;
pub mod coverage;
pub mod export;
pub mod faulty;
pub mod log;
pub mod memory;
pub mod pin;
pub mod rng;
pub mod run_mark;
pub mod sled;
#[cfg(any(test, feature = "suite"))]
pub mod suite;

pub use coverage::Coverage;
pub use faulty::{Fault, FaultCounts, FaultPlan, FaultyLog};
pub use log::*;
pub use memory::{MemoryLog, MemoryStore};
pub use pin::{Pin, Pinned};
pub use sled::{Recovery, SledLog, SledOptions, SyncObserver};
