//! Numbers for names, so that a decision compares integers and a stored entity outlives a policy.
//!
//! Here: how a declared or a free name becomes a number. A number is a hash of the name and of
//! nothing else: it never changes with a document, so entities and events may keep it for ever.
//! Not here: which names are declared (`policy`). Who may call: the edge and the machine.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// The 64 bits of a free name.
fn hash_64(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}

/// The 32 bits of a declared name; never 0, which has other uses. Two names of one document with
/// the same number are refused on load.
fn hash_32(name: &str) -> u32 {
    let [_, _, _, _, a, b, c, d] = hash_64(name).to_be_bytes();
    u32::from_be_bytes([a, b, c, d]).max(1)
}

macro_rules! declared {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $name(pub u32);

        impl $name {
            /// The number of a name, declared or not.
            #[must_use]
            pub fn of(name: &str) -> Self {
                Self(hash_32(name))
            }
        }
    };
}

macro_rules! free {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $name(pub u64);

        impl $name {
            /// The number of a name.
            #[must_use]
            pub fn of(name: &str) -> Self {
                Self(hash_64(name))
            }
        }
    };
}

declared! {
    /// A declared purpose (`docs/spec/contact.md` §1).
    PurposeId
}
declared! {
    /// A declared channel (`docs/spec/contact.md` §12).
    ChannelId
}
declared! {
    /// A declared gateway (`docs/spec/contact.md` §13).
    GatewayId
}
declared! {
    /// A declared paid operation (`docs/spec/contact.md` §7).
    OperationId
}
declared! {
    /// A declared reason of a suppression (`docs/spec/contact.md` §15).
    ReasonId
}
free! {
    /// An intent: the step an agent is about to take. Free, so any name has a number.
    IntentId
}
free! {
    /// A task on an object. Free.
    TaskId
}
free! {
    /// An agent or holder: only for comparing; the name itself is kept where it is shown.
    AgentId
}

impl PurposeId {
    /// Every purpose: what `any` means in a suppression. No declared name has this number.
    pub const ANY: Self = Self(0);
}

/// An integration of the space, by its number in the space; the edge numbers sources and never
/// gives a number twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceId(pub u32);

impl SourceId {
    /// People of the space, whatever key they come with: what they add to the suppression list is no
    /// source's to lift. The edge numbers sources from 1.
    pub const PEOPLE: Self = Self(0);
}
