//! Writing what a node knows beside its decisions: spaces, keys, rules.
//!
//! Here: values outside the groups on their way through the committer, in order with the frames. Not
//! here: what they mean, and who may change them (the root package).

use std::fmt;

use crossbeam_channel::Sender;
use interlock_domain::machine::Machine;

use crate::commit_thread::Handed;
use crate::message::Frame;
use crate::node::waiter;

/// Writes meta values of a running node. Cloneable.
pub struct MetaWriter<M: Machine> {
    committer: Sender<Handed<M>>,
}

impl<M: Machine> Clone for MetaWriter<M> {
    fn clone(&self) -> Self {
        Self {
            committer: self.committer.clone(),
        }
    }
}

impl<M: Machine> fmt::Debug for MetaWriter<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetaWriter")
    }
}

impl<M: Machine> MetaWriter<M> {
    pub(crate) const fn new(committer: Sender<Handed<M>>) -> Self {
        Self { committer }
    }

    /// Writes values, all or none; resolves when they are durable. False when the node is going
    /// down: then they may or may not be there at the next start.
    pub async fn write(&self, meta: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> bool {
        let (waiter, wait) = waiter();
        let frame = Frame {
            meta,
            waiters: vec![waiter],
            ..Frame::default()
        };
        let handed = Handed::Frame(Box::new(frame));
        if self.committer.try_send(handed).is_err() {
            return false;
        }
        wait.await.unwrap_or(false)
    }
}
