//! The seam to whoever decides.
//!
//! Here: what a handler hands over and gets back. Not here: any queue or actor; in production the
//! node's handle fulfils [`Decider`], in tests a map that decides one command after the other.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use interlock_domain::machine::{Machine, Undecided};

/// Decides commands of one product.
pub trait Decider<M: Machine>: Clone + Send + Sync + 'static {
    /// Decides the commands, in order where they share an entity, and answers each, in order.
    ///
    /// Dropping the future drops the commands that are not decided yet.
    fn submit(
        &self,
        submission: Submission<M>,
    ) -> impl Future<Output = Result<Vec<Answer<M::Reply>>, Refused>> + Send;
}

/// Commands that came in one request.
#[derive(Debug)]
pub struct Submission<M: Machine> {
    /// The commands, all of one space.
    pub commands: Vec<M::Command>,
    /// The rules they were parsed with.
    pub policy: Arc<M::Policy>,
    /// How long the caller waits, from now.
    pub deadline: Duration,
    /// What they take of the bound on bytes in flight.
    pub bytes: usize,
}

/// What became of one command.
#[derive(Debug)]
pub enum Answer<R> {
    /// It is decided, and durable.
    Decided(R),
    /// It is not decided and never will be.
    NotDecided(Undecided),
    /// Deciding it failed; nothing was applied. Our bug.
    Broken,
    /// The durable record could not be written, or nobody knows whether it was.
    Unavailable,
    /// The queue of an entity it needs is full.
    Busy,
}

/// Why a whole submission was turned away; none of its commands was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The space has too much in flight.
    Busy {
        /// When to come back, in seconds.
        retry_after_s: u32,
    },
    /// The node has too much in flight.
    Overloaded {
        /// When to come back, in seconds.
        retry_after_s: u32,
    },
    /// The node is stopping.
    Stopping,
}
