//! Writing what a node knows beside its decisions: spaces, keys, rules.
//!
//! Here: values outside the groups on their way through the committer, in order with the frames, and
//! their refusal while the disk has no room. Not here: what they mean, and who may change them (the
//! root package).

use std::fmt;
use std::sync::Arc;

use crossbeam_channel::Sender;
use interlock_domain::machine::Machine;

use crate::commit_thread::Handed;
use crate::message::Frame;
use crate::node::waiter;
use crate::shard::Pressure;

/// Writes meta values of a running node. Cloneable.
pub struct MetaWriter<M: Machine> {
    committer: Sender<Handed<M>>,
    pressure: Arc<Pressure>,
}

/// Why values are not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotWritten {
    /// The disk has no room for records; nothing was written.
    NoRoom,
    /// The node is going down: they may or may not be there at the next start.
    GoingDown,
}

impl<M: Machine> Clone for MetaWriter<M> {
    fn clone(&self) -> Self {
        Self {
            committer: self.committer.clone(),
            pressure: Arc::clone(&self.pressure),
        }
    }
}

impl<M: Machine> fmt::Debug for MetaWriter<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetaWriter")
    }
}

impl<M: Machine> MetaWriter<M> {
    pub(crate) const fn new(committer: Sender<Handed<M>>, pressure: Arc<Pressure>) -> Self {
        Self {
            committer,
            pressure,
        }
    }

    /// Writes values, all or none; resolves when they are durable.
    ///
    /// # Errors
    /// The disk has no room, or the node is going down.
    pub async fn write(&self, meta: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> Result<(), NotWritten> {
        if self.pressure.room.is_out() {
            return Err(NotWritten::NoRoom);
        }
        self.write_always(meta).await
    }

    /// The same also while the disk has no room: for the few bytes that take somebody's rights away.
    ///
    /// # Errors
    /// The node is going down.
    pub async fn write_always(
        &self,
        meta: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    ) -> Result<(), NotWritten> {
        let (waiter, wait) = waiter();
        let frame = Frame {
            meta,
            waiters: vec![waiter],
            ..Frame::default()
        };
        let handed = Handed::Frame(Box::new(frame));
        let is_durable = self.committer.try_send(handed).is_ok() && wait.await.unwrap_or(false);
        is_durable.then_some(()).ok_or(NotWritten::GoingDown)
    }
}
