//! The seeded simulator: shards, committer and recovery without threads, against an independent
//! model.
//!
//! One seed is one run: the order of every message, turn, commit, clock and crash is drawn from it.
//! [`machine`] is what a product brings, [`world`] what is done and checked; the replay of a
//! failing seed is the command the binary prints.

pub mod audit;
pub mod clock;
pub mod contact;
pub mod counters;
pub mod journal;
mod keys;
pub mod machine;
pub mod node;
pub mod random;
pub mod report;
pub mod sink;
pub mod swarm;
pub mod tap;
pub mod timeline;
pub mod tracker;
pub mod world;
