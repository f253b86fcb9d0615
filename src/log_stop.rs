//! What the operator reads when the log refuses.
//!
//! Here: one exit code for each kind of refusal. Called wherever the root package touches the log.

use interlock_storage::{AppendError, LogError};

use crate::exit::{Exit, Stop};

/// For an open or a read.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a mapping for `map_err`, which hands the error over"
)]
pub(crate) fn read(error: LogError) -> Stop {
    let exit = match &error {
        LogError::Locked(_) => Exit::Locked,
        LogError::Corrupt(_) => Exit::Corrupt,
        LogError::Format(_) => Exit::Format,
        LogError::Io(_) => Exit::Data,
    };
    Stop::new(exit, error.to_string())
}

/// For a write before the node serves.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a mapping for `map_err`, which hands the error over"
)]
pub(crate) fn write(error: AppendError) -> Stop {
    let exit = match &error {
        AppendError::Fenced { .. } => Exit::Locked,
        AppendError::Unknown(_) => Exit::Storage,
        AppendError::Full(_) => Exit::Data,
        AppendError::Conflict { .. } | AppendError::Invalid(_) => Exit::Bug,
    };
    Stop::new(exit, error.to_string())
}
