//! Legal holds: what must not be purged or erased while a matter is open.
//!
//! Here: the entity of a space's holds and one hold. What is held is named by keyed hash; why is not
//! kept. Not here: what a hold does to a customer or an object (they carry a mark of their own), and
//! how holds are placed and released (`place_hold`, `release_hold`).

use serde::{Deserialize, Serialize};

use crate::contact::event::HoldReleased;
use crate::contact::key;
use crate::ids::Id;
use crate::key::{EntityKey, KeyHash, Kind, SpaceId};
use crate::machine::Broken;
use crate::time::Timestamp;

/// How many live holds a space has at most.
pub const LIVE_MAX: usize = 1_000;

/// How many released holds a space remembers; the newest stay.
pub const RELEASED_KEPT_MAX: usize = 1_000;

/// How long a space whose last hold was released remembers its released ones, in seconds.
pub const RELEASED_KEPT_S: i64 = 90 * 86_400;

/// The one name of a space's holds.
const HASH: KeyHash = KeyHash(*b"the legal holds.");

/// The holds of one space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holds {
    /// Live holds, oldest first.
    pub live: Vec<LegalHold>,
    /// Released holds, in the order of their release.
    pub released: Vec<LegalHold>,
}

/// One hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegalHold {
    /// Its id.
    pub id: Id,
    /// What is held.
    pub target: HoldTarget,
    /// Since when.
    pub since: Timestamp,
    /// When it was released.
    pub released_at: Option<Timestamp>,
}

/// What is held. Stored: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HoldTarget {
    /// A customer.
    Customer(KeyHash),
    /// A record in some system.
    Object(KeyHash),
    /// What belongs to a conversation.
    Conversation(KeyHash),
}

impl HoldTarget {
    /// The entity that carries the mark; a conversation has none of its own.
    #[must_use]
    pub const fn key(self, space: SpaceId) -> Option<EntityKey> {
        match self {
            Self::Customer(hash) => Some(key(space, Kind::Customer, hash)),
            Self::Object(hash) => Some(key(space, Kind::Object, hash)),
            Self::Conversation(_) => None,
        }
    }

    /// The word on the wire.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Customer(_) => "handle",
            Self::Object(_) => "object",
            Self::Conversation(_) => "conversation",
        }
    }
}

/// The name of a space's holds.
#[must_use]
pub const fn holds_key(space: SpaceId) -> EntityKey {
    key(space, Kind::Holds, HASH)
}

impl Holds {
    /// The hold of this id, live or released.
    #[must_use]
    pub fn find(&self, id: Id) -> Option<&LegalHold> {
        let mut all = self.live.iter().chain(&self.released);
        all.find(|hold| hold.id == id)
    }

    pub(super) fn place(&mut self, hold: &LegalHold) {
        self.live.push(*hold);
    }

    pub(super) fn release(&mut self, event: &HoldReleased) {
        let Some(place) = self.live.iter().position(|hold| hold.id == event.id) else {
            return;
        };
        let hold = self.live.remove(place);
        self.released.push(LegalHold {
            released_at: Some(event.at),
            ..hold
        });
        let surplus = self.released.len().saturating_sub(RELEASED_KEPT_MAX);
        self.released.drain(..surplus);
    }

    /// When the whole may be forgotten; `None` while one is live.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        if !self.live.is_empty() {
            return None;
        }
        let last = self.released.iter().filter_map(|hold| hold.released_at);
        Some(
            last.max()
                .map_or(Timestamp(i64::MIN), |last| last.plus_s(RELEASED_KEPT_S)),
        )
    }

    /// The bounds, and that no hold is both live and released.
    pub(super) fn check(&self) -> Result<(), Broken> {
        let broken = |seen: &str| {
            Err(Broken {
                invariant: "holds",
                seen: seen.to_owned(),
            })
        };
        if self.live.len() > LIVE_MAX || self.released.len() > RELEASED_KEPT_MAX {
            return broken("more holds than a space may have");
        }
        let ended = |hold: &LegalHold| hold.released_at.is_some();
        if self.live.iter().any(ended) || !self.released.iter().all(ended) {
            return broken("a hold is live and released");
        }
        Ok(())
    }
}
