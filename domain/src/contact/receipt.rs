//! The stored outcome of an `Idempotency-Key`.
//!
//! Here: the receipt entity and what of a reply it keeps (`docs/spec/contact.md` §2, §20). Not
//! here: the key itself, which only the edge sees; and when it is consulted (`contact`).

use serde::{Deserialize, Serialize};

use crate::contact::command::{Command, ReceiptRef};
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::name::PurposeId;
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{CheckReply, DeclareReply, EffectReply, Reply};
use crate::contact::text::Text;
use crate::contact::{Contact, key};
use crate::key::{EntityKey, Kind};
use crate::machine::{Decision, Entities};
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

impl Receipt {
    /// The receipt before its first event: over since ever.
    pub(super) const EMPTY: Self = Self {
        fingerprint: [0; 16],
        until: Timestamp(i64::MIN),
        stored: Stored::Observed,
    };
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

/// The answer of a request that was answered before; `None`: it is new, or long ago.
///
/// The fingerprint is compared before anything of the state is, so that a key used for another
/// request is a conflict whatever that request would have come to.
pub(super) fn repeated(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    now: Timestamp,
) -> Option<Reply> {
    let receipt = command.receipt?;
    let known = entities.get(&entity(command, receipt))?.as_receipt()?;
    if known.until <= now {
        return None;
    }
    if known.fingerprint != receipt.fingerprint {
        return Some(Reply::Conflict);
    }
    Some(known.stored.reply())
}

/// Keeps the outcome of a keyed request in the record of its decision: what is decided and what is
/// answered again can never part.
pub(super) fn keep(
    decision: &mut Decision<Contact>,
    command: &Command,
    policy: &Policy,
    now: Timestamp,
) {
    let Some(receipt) = command.receipt else {
        return;
    };
    let Some((stored, kept_s)) = stored(&decision.reply, policy) else {
        return;
    };
    let event = Event::ReceiptKept(Box::new(Receipt {
        fingerprint: receipt.fingerprint,
        until: now.plus_s(kept_s),
        stored,
    }));
    decision.events.push((entity(command, receipt), event));
}

fn entity(command: &Command, receipt: ReceiptRef) -> EntityKey {
    key(command.space, Kind::Receipt, receipt.hash)
}

/// What is kept of a reply, and for how many seconds; `None` for what a client may mend and send
/// again under the same key: validation, 404 and every 5xx.
fn stored(reply: &Reply, policy: &Policy) -> Option<(Stored, i64)> {
    match reply {
        Reply::Check(check) => {
            let mut kept = check.clone();
            kept.names = names(check, policy);
            Some((Stored::Check(kept), CHECK_KEPT_S))
        }
        Reply::Effect(effect) => Some((Stored::Effect(*effect), KEPT_S)),
        Reply::Declared(declared) => Some((Stored::Declared(*declared), KEPT_S)),
        Reply::Observed => Some((Stored::Observed, KEPT_S)),
        Reply::Refused(refusal) => Some((Stored::Refused(*refusal), KEPT_S)),
        Reply::Conflict | Reply::NotFound | Reply::Capacity | Reply::Undeclared(_) => None,
    }
}

/// The texts an answer needs, so that it reads the same under a policy without them.
fn names(check: &CheckReply, policy: &Policy) -> Vec<(PurposeId, Text)> {
    let budgets = check.budgets.iter().map(|budget| budget.purpose);
    let mut named: Vec<PurposeId> = budgets.chain(check.suppressions.iter().copied()).collect();
    named.sort_unstable();
    named.dedup();
    named
        .into_iter()
        .filter_map(|id| Some((id, policy.purpose_rules(id)?.name.clone())))
        .collect()
}

impl Stored {
    /// The reply again.
    fn reply(&self) -> Reply {
        match self {
            Self::Check(check) => Reply::Check(check.clone()),
            Self::Effect(effect) => Reply::Effect(*effect),
            Self::Declared(declared) => Reply::Declared(*declared),
            Self::Observed => Reply::Observed,
            Self::Refused(refusal) => Reply::Refused(*refusal),
        }
    }
}
