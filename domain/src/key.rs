//! Names of entities.
//!
//! Here: what an entity is called inside the core. Not here: how a handle becomes a hash (the edge
//! does that with the space's secret) and where an entity lives (`actors::placement`).

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A tenant's identity: the 128 bits of its UUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SpaceId(pub [u8; 16]);

/// A keyed hash of what an entity is about. Never the handle, key or id in clear.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeyHash(pub [u8; 16]);

/// What an entity is; the number is its place in the global order of acquisition and is stored, so
/// it never changes. Unique keys come first, shared (hot) ones last, because the entity of the last
/// key is decided at home and never travels (`ARCHITECTURE.md`, loans).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Kind {
    /// The stored outcome of an Idempotency-Key.
    Receipt = 0,
    /// From an id we handed out to the entity it belongs to.
    Directory = 1,
    /// A handoff.
    Handoff = 2,
    /// An external act that must happen once.
    Effect = 3,
    /// A customer.
    Customer = 4,
    /// A record in some system.
    Object = 5,
    /// A space-wide budget.
    SpaceBudget = 6,
    /// A space's suppression feed.
    Feed = 7,
    /// A space's runs of reports.
    Reports = 8,
    /// A space's legal holds.
    Holds = 9,
}

impl Kind {
    /// All kinds, in the global order.
    pub const ALL: [Self; 10] = [
        Self::Receipt,
        Self::Directory,
        Self::Handoff,
        Self::Effect,
        Self::Customer,
        Self::Object,
        Self::SpaceBudget,
        Self::Feed,
        Self::Reports,
        Self::Holds,
    ];

    /// A word for metrics and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receipt => "receipt",
            Self::Directory => "directory",
            Self::Handoff => "handoff",
            Self::Effect => "effect",
            Self::Customer => "customer",
            Self::Object => "object",
            Self::SpaceBudget => "space_budget",
            Self::Feed => "feed",
            Self::Reports => "reports",
            Self::Holds => "holds",
        }
    }
}

/// The name of one entity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntityKey {
    /// What it is. First, so that the derived order is the global order within a space.
    pub kind: Kind,
    /// Whose it is.
    pub space: SpaceId,
    /// Which one.
    pub hash: KeyHash,
}

/// The entities a command touches: all of one space, without repeats.
pub type KeyList = SmallVec<[EntityKey; 4]>;

impl std::fmt::Debug for SpaceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "space-{:032x}", u128::from_be_bytes(self.0))
    }
}

impl std::fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The first bytes are enough to tell entities apart in a failing test; a full hash in a
        // log would let a reader join logs.
        write!(
            f,
            "{:02x}{:02x}{:02x}{:02x}…",
            self.0[0], self.0[1], self.0[2], self.0[3]
        )
    }
}

impl std::fmt::Debug for EntityKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{:?}", self.kind.name(), self.hash)
    }
}
