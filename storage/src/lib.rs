//! What lasts: the fenced log every decision is written to, and its engines.
//!
//! Here: the [`Log`] trait, the plain data it speaks, and one file per engine. Not here: what the
//! bytes mean. Storage knows groups, partitions, sequences and opaque frames, never a product.
//! Called by the committer (writes), by recovery (reads) and by the offline verbs.

pub mod coverage;
pub mod log;
pub mod run_mark;

pub use coverage::Coverage;
pub use log::*;
