//! The seeded simulator: shards, committer and recovery without threads, against an independent
//! model.
//!
//! One seed is one run: the order of every message, turn, commit, clock and crash is drawn from it.
//! [`machine`] is what a product brings, [`world`] what is done and checked. A run is also a list of
//! steps ([`trace`]), which [`shrink`] makes short when it fails; [`seeds`] are those that once did,
//! and [`planted`] is a machine with a fault, to see that all this finds it.

pub mod audit;
pub mod by_hand;
pub mod clock;
pub mod conditions;
pub mod contact;
pub mod counters;
pub mod journal;
mod keys;
pub mod machine;
pub mod node;
pub mod planted;
pub mod random;
pub mod replay;
pub mod report;
pub mod seeds;
pub mod shrink;
pub mod sink;
pub mod swarm;
pub mod tap;
pub mod timeline;
pub mod trace;
pub mod tracker;
pub mod world;
