//! The stored outcome of an `Idempotency-Key`.
//!
//! Here: the receipt entity and what of a reply it keeps (`docs/spec/contact.md` §2, §20). Not
//! here: the key itself, which only the edge sees; and when it is consulted (`contact`).

use serde::{Deserialize, Serialize};

use crate::contact::reason::Refusal;
use crate::contact::reply::{CheckReply, DeclareReply, EffectReply};
use crate::time::Timestamp;

/// How long an outcome is kept, in seconds.
pub const KEPT_S: i64 = 24 * 3_600;

/// How long a check's outcome is kept, in seconds.
pub const CHECK_KEPT_S: i64 = 600;

/// The outcome of one keyed request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Hash of the request it answered.
    pub fingerprint: [u8; 16],
    /// Until when it is kept.
    pub until: Timestamp,
    /// The outcome.
    pub stored: Stored,
}

/// What is kept of a reply: enough to give it again. Stored: append only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Stored {
    /// A check's decision.
    Check(Box<CheckReply>),
    /// An effect as it was.
    Effect(EffectReply),
    /// A declaration's result.
    Declared(DeclareReply),
    /// A message was noted.
    Observed,
    /// A refusal.
    Refused(Refusal),
}
