//! Who decides, in which order: shards, loans, the committer, recovery.
//!
//! Generic over [`interlock_domain::machine::Machine`]: nothing here names a product. The logic of
//! a shard, the router and the committer are plain structs; `node` drives them with threads and
//! actors, the simulator without either.

pub mod committer;
pub mod keeper;
pub mod message;
pub mod partition;
pub mod placement;
pub mod plan;
pub mod record;
pub mod recovery;
pub mod shard;
pub mod stats;
