//! The shadow runs of a space (`docs/spec/contact.md` §18).
//!
//! Here: the entity, one a space, with its newest runs and what they found. Not here: the rules a
//! run applies (`shadow`), who walks through history (the edge), and what a summary looks like: it is
//! opaque here and holds nothing about anybody.

use serde::{Deserialize, Serialize};

use crate::contact::event::{RunEnded, RunRequested};
use crate::contact::key;
use crate::ids::Id;
use crate::key::{EntityKey, KeyHash, Kind, SpaceId};
use crate::machine::Broken;
use crate::time::Timestamp;

/// How many runs are kept; the newest stay. With the largest summaries they are below the 1 MiB of
/// an entity.
pub const RUNS_KEPT: usize = 100;

/// Most bytes of one summary.
pub const SUMMARY_BYTES_MAX: usize = 8 * 1024;

/// How long the runs of a space are kept after the newest one, in seconds.
pub const KEPT_S: i64 = 400 * 86_400;

/// The shadow runs of a space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reports {
    /// How many were ever asked for: the number of the newest.
    pub asked: u32,
    /// In the order they were asked for. Only the last one may be under way.
    pub runs: Vec<Run>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its place among all of the space, from 1.
    pub number: u32,
    /// Its id.
    pub id: Id,
    /// How many days it looks at.
    pub days: u8,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// How it stands.
    pub state: RunState,
}

/// How a run stands. Stored: append only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    /// Under way, or to be taken up again.
    Pending,
    /// It found this.
    Done {
        /// When it ended.
        at: Timestamp,
        /// What it found.
        summary: Vec<u8>,
    },
    /// It broke off.
    Failed {
        /// When it ended.
        at: Timestamp,
    },
}

impl Reports {
    /// The run under way.
    #[must_use]
    pub fn pending(&self) -> Option<&Run> {
        self.runs
            .last()
            .filter(|run| run.state == RunState::Pending)
    }

    pub(super) fn request(&mut self, event: &RunRequested) {
        self.asked = self.asked.saturating_add(1);
        if self.runs.len() >= RUNS_KEPT {
            self.runs.remove(0);
        }
        self.runs.push(Run {
            number: self.asked,
            id: event.id,
            days: event.days,
            requested_at: event.at,
            state: RunState::Pending,
        });
    }

    pub(super) fn end(&mut self, event: &RunEnded) {
        let at = event.at;
        if let Some(run) = self.runs.iter_mut().find(|run| run.id == event.id) {
            run.state = match &event.summary {
                Some(summary) => RunState::Done {
                    at,
                    summary: summary.clone(),
                },
                None => RunState::Failed { at },
            };
        }
    }

    /// When all of them may be forgotten.
    pub(super) fn due(&self) -> Option<Timestamp> {
        if self.pending().is_some() {
            return None;
        }
        let newest = self.runs.last().map(|run| run.requested_at);
        Some(newest.unwrap_or_default().plus_s(KEPT_S))
    }

    /// At most one run is under way, and bounds hold.
    pub(super) fn check(&self) -> Result<(), Broken> {
        let pending = |run: &&Run| run.state == RunState::Pending;
        let older = self.runs.split_last().map_or(&[][..], |(_, older)| older);
        let large = self.runs.iter().any(|run| match &run.state {
            RunState::Done { summary, .. } => summary.len() > SUMMARY_BYTES_MAX,
            RunState::Pending | RunState::Failed { .. } => false,
        });
        if older.iter().any(|run| pending(&run)) || large || self.runs.len() > RUNS_KEPT {
            return Err(Broken {
                invariant: "reports",
                seen: "two runs are under way, or a bound does not hold".to_owned(),
            });
        }
        Ok(())
    }
}

/// The name of a space's runs.
#[must_use]
pub const fn reports_key(space: SpaceId) -> EntityKey {
    key(space, Kind::Reports, KeyHash([0; 16]))
}
