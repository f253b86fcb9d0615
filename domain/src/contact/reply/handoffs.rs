//! Answers about handoffs.

use crate::contact::command::EffectKind;
use crate::contact::handoff::{Handoff, HandoffStatus};
use crate::contact::reply::EffectState;
use crate::contact::text::Text;
use crate::ids::Id;
use crate::time::Timestamp;

/// A handoff as it is (Appendix A, Handoff).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoffReply {
    /// Its id.
    pub id: Id,
    /// Where it is.
    pub status: HandoffStatus,
    /// How it ended.
    pub outcome: Option<Text>,
    /// The handoff, for what never changes of it; `None` in a repeated answer, which is completed by
    /// a read.
    pub handoff: Option<Handoff>,
}

impl HandoffReply {
    /// Of a handoff at `now`.
    #[must_use]
    pub fn of(id: Id, handoff: &Handoff, now: Timestamp) -> Self {
        Self {
            id,
            status: handoff.status(now),
            outcome: handoff.outcome.clone(),
            handoff: Some(handoff.clone()),
        }
    }
}

/// An effect as a package shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectSight {
    /// What it is.
    pub kind: EffectKind,
    /// Its state; never [`EffectState::Failed`].
    pub state: EffectState,
}
