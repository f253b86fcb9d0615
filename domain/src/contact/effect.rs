//! An external act that must happen once.
//!
//! Here: the effect entity and its transitions (`docs/spec/contact.md` §8), which a check, a
//! reservation and a settlement share. Not here: the key, which only the edge sees in clear.
//! Keeps C2: one attempt at a time, and a new one only after `failed`.

use serde::{Deserialize, Serialize};

use crate::contact::command::EffectKind;
use crate::contact::name::SourceId;
use crate::contact::reply::EffectState;
use crate::time::Timestamp;

/// One effect, 32 bytes: a space keeps one for each act of the last months.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// When the current attempt was reserved.
    pub reserved_at: Timestamp,
    /// Reserved: when the lease ends. Else: when the attempt was settled.
    pub turned_at: Timestamp,
    /// The current attempt; 0 before the first.
    pub attempt: u32,
    /// The source that holds the attempt.
    pub source: SourceId,
    /// Done or failed: for how many days it is remembered.
    pub keep_days: u16,
    /// What it is; fixed by the first reservation.
    pub kind: EffectKind,
    /// How it stands, a lapsed lease not yet taken into account.
    pub state: EffectState,
}
