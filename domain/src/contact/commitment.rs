//! What was offered to a customer, and which of it holds.
//!
//! Here: one commitment and how those of a customer agree (`docs/spec/contact.md` §11). Not here:
//! the declarations (`make_commitment`, `end_commitment`), and the terms, which stay in the record
//! that declared them.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::contact::policy::{Compatibility, Policy};
use crate::contact::text::Text;
use crate::time::Timestamp;

/// How many commitments that hold no more a customer remembers; the newest ends stay.
pub const ENDED_KEPT_MAX: usize = 64;

/// How many commitments that hold a customer has at most. A document has at most 64 types, and most
/// rules let one of a type hold; only changed documents come near it.
pub const HELD_MAX: usize = 128;

/// How long a commitment that holds no more is remembered, in seconds: a word about it that comes
/// late finds it.
pub const ENDED_KEPT_S: i64 = 90 * 86_400;

/// The rank of an offer: a whole number in the order of the scores that were declared, which only
/// the edge sees as numbers with a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Score(pub i64);

/// Something offered to a customer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commitment {
    /// Its id, as declared.
    pub id: Text,
    /// Its type's name; empty while only an end was declared of it.
    pub kind: Text,
    /// Its rank among those of a type where the best one holds.
    pub score: Option<Score>,
    /// Until when; `None`: no end.
    pub until: Option<Timestamp>,
    /// How it stands.
    pub state: CommitmentState,
    /// When it came to stand so.
    pub turned_at: Timestamp,
}

/// How a commitment stands. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommitmentState {
    /// Offered.
    Made,
    /// The customer took it.
    Accepted,
    /// Another one holds in its place.
    Superseded,
    /// Taken back.
    Withdrawn,
    /// The customer did not take it.
    Declined,
}

impl Commitment {
    /// Whether it holds at `now`.
    #[must_use]
    pub fn holds(&self, now: Timestamp) -> bool {
        let stands = match self.state {
            CommitmentState::Made | CommitmentState::Accepted => true,
            CommitmentState::Superseded
            | CommitmentState::Withdrawn
            | CommitmentState::Declined => false,
        };
        stands && self.is_offered() && self.until.is_none_or(|until| now < until)
    }

    /// Whether it was offered; else only an end was declared of it, and it waits for the offer.
    #[must_use]
    pub fn is_offered(&self) -> bool {
        !self.kind.is_empty()
    }

    /// When it may be forgotten; `None`: it holds without an end.
    #[must_use]
    pub fn forgotten_at(&self) -> Option<Timestamp> {
        let ended = match self.state {
            CommitmentState::Made | CommitmentState::Accepted if self.is_offered() => self.until?,
            CommitmentState::Made
            | CommitmentState::Accepted
            | CommitmentState::Superseded
            | CommitmentState::Withdrawn
            | CommitmentState::Declined => self.turned_at,
        };
        Some(ended.plus_s(ENDED_KEPT_S))
    }
}

/// What a new commitment comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It holds, in place of those with these ids.
    Holds(Vec<Text>),
    /// Another one holds on.
    Superseded,
}

/// How a new commitment stands among those that hold for the same customer.
///
/// Rules of types that the space no longer declares are those of `first_holds`: they take nothing
/// from anybody.
#[must_use]
pub fn standing(
    known: &[Commitment],
    (kind, rule, score): (&Text, Compatibility, Option<Score>),
    policy: &Policy,
    now: Timestamp,
) -> Standing {
    let holding = || known.iter().filter(|known| known.holds(now));
    let rule_of = |of: &Commitment| policy.compatibility(&of.kind);
    let is_alone = |of: &&Commitment| rule_of(of) == Some(Compatibility::Exclusive);
    if holding().any(|of| is_alone(&of) && of.kind != *kind) {
        return Standing::Superseded;
    }
    let all = || holding().map(|of| of.id.clone()).collect();
    let mut of_kind = holding().filter(|of| of.kind == *kind);
    match rule {
        Compatibility::Exclusive => Standing::Holds(all()),
        Compatibility::FirstHolds => match of_kind.next() {
            None => Standing::Holds(Vec::new()),
            Some(_) => Standing::Superseded,
        },
        Compatibility::BestWins => {
            let beaten = |of: &Commitment| better(score, of.score) == Ordering::Greater;
            let of_kind: Vec<&Commitment> = of_kind.collect();
            if of_kind.iter().all(|of| beaten(of)) {
                Standing::Holds(of_kind.iter().map(|of| of.id.clone()).collect())
            } else {
                Standing::Superseded
            }
        }
    }
}

/// Compares scores; a missing one is the lowest, and equal ones leave the first.
fn better(new: Option<Score>, old: Option<Score>) -> Ordering {
    match (new, old) {
        (Some(new), Some(old)) => new.cmp(&old),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => Ordering::Equal,
    }
}
