//! What must hold of any bytes: one function for each place where bytes from outside are read.
//!
//! Here: the properties. Each function judges one input and panics where a property is broken. Not
//! here: who makes up inputs (`tests/fuzz/fuzz/`, run by `cargo xtask fuzz`) and the inputs that are
//! kept (`tests/fuzz/corpus/`, which a test of this crate replays). Called by those two only.

mod bodies;
mod configuration;
mod cursor;
mod destination;
mod input;
mod journal;
mod respell;
mod snapshot;
mod space;
mod token;

pub use bodies::{batch, check, declare};
pub use configuration::configuration;
pub use cursor::cursor;
pub use destination::destination;
pub use journal::journal;
pub use snapshot::snapshot;
pub use token::token;

/// What became of an input. A corpus has to reach both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was taken for what it should be.
    Accepted,
    /// It was refused.
    Refused,
}

/// A place where bytes are read.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is also that of its corpus and its program.
    pub name: &'static str,
    /// Judges one input.
    pub judge: fn(&[u8]) -> Outcome,
}

/// All of them.
pub const TARGETS: [Target; 9] = [
    target("check", check),
    target("batch", batch),
    target("declare", declare),
    target("configuration", configuration),
    target("journal", journal),
    target("snapshot", snapshot),
    target("token", token),
    target("destination", destination),
    target("cursor", cursor),
];

const fn target(name: &'static str, judge: fn(&[u8]) -> Outcome) -> Target {
    Target { name, judge }
}
