//! One suite for every engine: what the log promises, as tests.
//!
//! Here: [`run`], which takes an engine through all of it, and tools for tests of whole nodes
//! ([`walk`], [`power`], [`trace`]). Not here: what only one engine has (its own tests lie beside
//! it). Called by tests only; it panics where a promise is broken.

pub mod journal;
pub mod power;
pub mod snapshots;
pub mod support;
pub mod trace;
pub mod values;
pub mod walk;

use crate::log::{Log, LogError};
pub use crate::memory::Damage;

/// Makes logs of one engine, all on the same storage.
pub trait Factory {
    /// Opens the storage, as a start of the program does.
    ///
    /// # Errors
    /// What the engine says.
    fn open(&mut self, accept_truncation: bool) -> Result<Box<dyn Log>, LogError>;

    /// Ends the log as a power cut would: what was not synced is gone.
    fn crash(&mut self, log: Box<dyn Log>);

    /// Damages the storage; the log is closed.
    fn damage(&mut self, damage: Damage);

    /// What only this engine can check while a log is open.
    fn check(&self) {}
}

/// A part of the suite, on storage of its own.
pub type Case = fn(&mut dyn Factory);

/// Every part by name.
pub const CASES: &[(&str, Case)] = &[
    ("acknowledged_is_durable", journal::acknowledged_is_durable),
    ("refused_commits", journal::refused_commits),
    ("commits_land_whole", journal::commits_land_whole),
    ("torn_end_is_removed", journal::torn_end_is_removed),
    ("damage_in_the_middle", journal::damage_in_the_middle),
    ("resolve_answers", journal::resolve_answers),
    ("parallel_replay", journal::parallel_replay),
    ("sizes_at_bounds", journal::sizes_at_bounds),
    ("epochs_are_raised", journal::epochs_are_raised),
    ("snapshot_and_tail", snapshots::snapshot_and_tail),
    (
        "truncation_keeps_the_needed",
        snapshots::truncation_keeps_the_needed,
    ),
    (
        "truncation_goes_in_steps",
        snapshots::truncation_goes_in_steps,
    ),
    (
        "snapshots_replace_each_other",
        snapshots::snapshots_replace_each_other,
    ),
    ("refused_snapshots", snapshots::refused_snapshots),
    (
        "unsealed_names_are_free",
        snapshots::unsealed_names_are_free,
    ),
    ("meta_values", values::meta_values),
    ("history_rows", values::history_rows),
    ("history_holds_truncation", values::history_holds_truncation),
    ("random_walk", walk::random_walk),
];

/// Takes an engine through every case, each on storage that `make` gives.
pub fn run(make: &mut dyn FnMut(&str) -> Box<dyn Factory>) {
    for (name, case) in CASES {
        let mut factory = make(name);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            case(&mut *factory);
        }));
        if let Err(panic) = outcome {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            panic!("{name}: {}", text.unwrap_or_default());
        }
    }
}
