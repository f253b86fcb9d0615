//! Who decides, in which order: shards, loans, the committer, recovery.
//!
//! Generic over [`interlock_domain::machine::Machine`]: nothing here names a product. The logic of
//! a shard, the planner, the committer and the keeper are plain structs; `node` drives them with
//! threads and actors, the simulator without either.

mod commit_thread;
mod metrics;
mod recover_thread;

pub mod bus;
pub mod clock;
pub mod committer;
pub mod credits;
pub mod handle;
pub mod history;
pub mod keeper;
pub mod message;
pub mod meta_writer;
pub mod node;
pub mod partition;
pub mod placement;
pub mod plan;
pub mod readiness;
pub mod record;
pub mod recovery;
pub mod room;
pub mod scan;
pub mod shard;
pub mod shard_actor;
pub mod stats;
#[cfg(feature = "testing")]
pub mod testing;
pub mod verify;

pub use clock::NodeClock;
pub use handle::{Answer, NodeHandle, Refused, Submission};
pub use meta_writer::{MetaWriter, NotWritten};
pub use node::{Failure, Node, NodeOptions, RecoveryReport, StartError};
