//! Answers about claims and locks.

use serde::{Deserialize, Serialize};

use crate::contact::claim::ClaimKind;
use crate::contact::reason::Refusal;
use crate::contact::text::Text;
use crate::ids::Id;
use crate::time::Timestamp;

/// A claim's name and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedRef {
    /// Its id.
    pub id: Id,
    /// Its epoch.
    pub epoch: u64,
}

/// A claim or a lock as it is now (Appendix A, OwnershipClaim).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimReply {
    /// Its id.
    pub claim_id: Id,
    /// Its epoch.
    pub epoch: u64,
    /// Its holder.
    pub holder: Text,
    /// What it is.
    pub kind: ClaimKind,
    /// Its level's name.
    pub level: Text,
    /// Until when; not later than now when it has ended.
    pub valid_until: Timestamp,
}

/// Who has what was asked for (§9, §10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldReply {
    /// `lease_held` or `task_locked`.
    pub refusal: Refusal,
    /// Its holder.
    pub holder: Text,
    /// Until when.
    pub until: Timestamp,
}
