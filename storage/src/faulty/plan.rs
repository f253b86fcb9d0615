//! What is to go wrong, and what has.
//!
//! Plain data; the faults themselves are in `faulty.rs`. Filled in by the simulator and by tests.

/// How often what goes wrong. Chances are parts of a million per operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// Names the run: the same plan and the same calls give the same faults.
    pub seed: u64,
    /// A commit is refused as `Full`; nothing was written.
    pub full: u32,
    /// A commit is `Unknown` and is found after the crash.
    pub landed: u32,
    /// A commit is `Unknown` and is not found after the crash.
    pub lost: u32,
    /// A commit is `Unknown` and is found torn, so recovery removes it.
    pub torn: u32,
    /// A read fails.
    pub read: u32,
    /// An acquisition or a truncation fails; the handle is of no use after it.
    pub write: u32,
    /// A history append fails after some of its rows.
    pub history: u32,
    /// A commit takes up to so many ticks.
    pub delay_ticks_max: u64,
}

impl FaultPlan {
    /// No faults.
    #[must_use]
    pub fn calm(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// Every kind of fault, a few in a thousand commits.
    #[must_use]
    pub fn stormy(seed: u64) -> Self {
        Self {
            seed,
            full: 2_000,
            landed: 1_000,
            lost: 1_000,
            torn: 1_000,
            read: 100,
            write: 500,
            history: 2_000,
            delay_ticks_max: 20,
        }
    }
}

/// What is to happen to a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing goes wrong.
    None,
    /// See [`FaultPlan::full`].
    Full,
    /// See [`FaultPlan::landed`].
    Landed,
    /// See [`FaultPlan::lost`].
    Lost,
    /// See [`FaultPlan::torn`].
    Torn,
}

/// What has happened so far, over all restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// Commits refused as full.
    pub full: u64,
    /// Commits with an unknown outcome.
    pub unknown: u64,
    /// Other operations that failed.
    pub errors: u64,
    /// Restarts, with and without a power cut.
    pub restarts: u64,
    /// Ticks that commits have taken.
    pub delay_ticks: u64,
}
