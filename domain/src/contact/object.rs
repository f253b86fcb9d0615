//! A record in some system: who has it, and who has its tasks.
//!
//! Here: the object entity. Not here: how claims and locks are made.

use serde::{Deserialize, Serialize};

use crate::contact::claim::{Claim, TaskLock};

/// What is known of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// Claims on it, live or ended.
    pub claims: Vec<Claim>,
    /// Locks on its tasks, live or ended.
    pub locks: Vec<TaskLock>,
}
