//! Which partitions are rebuilt.
//!
//! Here: a bit for each partition, set once, and a way to wait for more of them. The entrance reads
//! it, so that nothing waits inside a shard for a partition that is not there yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use interlock_storage::{GROUPS, PARTITIONS_PER_GROUP, Partition};
use tokio::sync::watch;

/// The state of a node's recovery; clones share it.
#[derive(Clone, Debug)]
pub struct Readiness {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    all: AtomicBool,
    partitions: Vec<AtomicBool>,
    changed: watch::Sender<u64>,
}

impl Default for Readiness {
    fn default() -> Self {
        let partitions = usize::from(GROUPS) * usize::from(PARTITIONS_PER_GROUP);
        let inner = Inner {
            all: AtomicBool::new(false),
            partitions: (0..partitions).map(|_| AtomicBool::new(false)).collect(),
            changed: watch::Sender::new(0),
        };
        Self {
            inner: Arc::new(inner),
        }
    }
}

impl Readiness {
    /// Is every partition rebuilt?
    #[must_use]
    pub fn all(&self) -> bool {
        self.inner.all.load(Ordering::Acquire)
    }

    /// Is this one?
    #[must_use]
    pub fn is(&self, partition: Partition) -> bool {
        self.inner.partitions[usize::from(partition.0)].load(Ordering::Acquire)
    }

    /// Notes that partitions are rebuilt.
    pub fn set(&self, partitions: impl IntoIterator<Item = Partition>) {
        for partition in partitions {
            self.inner.partitions[usize::from(partition.0)].store(true, Ordering::Release);
        }
        if self
            .inner
            .partitions
            .iter()
            .all(|ready| ready.load(Ordering::Acquire))
        {
            self.inner.all.store(true, Ordering::Release);
        }
        self.inner.changed.send_modify(|times| *times += 1);
    }

    /// A receiver that sees every later change.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.inner.changed.subscribe()
    }
}
