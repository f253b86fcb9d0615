//! What the operator reads of a database that is damaged.
//!
//! Here: the way out, one for the log and one for a day of history, said by whatever finds damage. Not
//! here: finding it. Called within the sled engine only.

use crate::log::LogError;

/// What a database holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// What decides.
    Log,
    /// A day of history.
    Day,
}

impl Whose {
    /// What is damaged, in words that name the file, with what to do about it.
    pub(super) fn damaged(self, what: &str) -> LogError {
        let remedy = match self {
            Self::Log => {
                "how much is lost cannot be said; put a copy of the data directory from before in \
                 its place, or `interlock import` an export into an empty one"
            }
            Self::Day => {
                "only reports of that day and `explain` need it, and no decision does; put a copy of \
                 that folder from before in its place, or start once with `--accept-truncation` to go \
                 on without what it lacks: a folder that cannot be read is put aside, beside it"
            }
        };
        LogError::Corrupt(format!("{what}; {remedy}"))
    }
}
