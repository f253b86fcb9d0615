//! The suppression lists as readers follow them: every entry by the number of its last change.
//!
//! Here: one list a space, what feeds it, and waiting for a change that was answered to somebody
//! before (`docs/spec/contact.md` §15). In `list/`: the rows of a space (`index`), where a page
//! starts (`cursor`), a source's salt (`salt`), and how a node's list is rebuilt and kept
//! (`follow`). Not here: the authority. Entries belong to their customers, checks ask those, and a
//! list that is lost is read from them again. Called by the routes (`contact::suppressions`) and fed
//! by the root package through [`follow`](follow::follow).
//!
//! A list holds what the customers hold: an entry in force, or one that is lifted or over for 31
//! days. It has no bound of its own; a row takes about half a KiB beside the customer's.

pub(crate) mod cursor;
pub mod follow;
mod index;
#[cfg(test)]
mod model;
pub(crate) mod salt;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dashmap::DashMap;
use interlock_domain::contact::notice::{ListChanged, Notice};
use interlock_domain::key::SpaceId;
use interlock_domain::time::Timestamp;
use tokio::sync::watch;

use self::index::Index;
pub(crate) use self::index::{Page, Position};

/// The lists of all spaces. Shared by all workers.
#[derive(Debug, Default)]
pub struct SuppressionList {
    spaces: DashMap<SpaceId, Index>,
    complete: AtomicBool,
    moved: watch::Sender<()>,
}

impl SuppressionList {
    /// Empty lists that are not complete: nobody is answered from them yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a change. Changes may come twice and out of order; the larger number counts.
    pub fn told(&self, notice: &Notice) {
        let Notice::ListChanged(changed) = notice;
        self.put(Arc::new(changed.clone()));
    }

    /// Says whether the lists hold every change up to the newest number of each space.
    pub fn set_complete(&self, complete: bool) {
        self.complete.store(complete, Ordering::Release);
        self.moved.send_replace(());
    }

    fn put(&self, row: Arc<ListChanged>) {
        self.spaces.entry(row.space).or_default().put(row);
        self.moved.send_replace(());
    }

    /// A space's list goes to this number, whether or not the row of it is kept.
    fn reached(&self, space: SpaceId, number: u64) {
        self.spaces.entry(space).or_default().reached(number);
        self.moved.send_replace(());
    }

    /// Resolves when a space's list holds every change up to `number`.
    pub(crate) async fn wait_for(&self, space: SpaceId, number: u64) {
        let mut moved = self.moved.subscribe();
        while !self.holds(space, number) {
            // The sender lives as long as the list.
            moved.changed().await.ok();
        }
    }

    fn holds(&self, space: SpaceId, number: u64) -> bool {
        let last = || self.spaces.get(&space).map_or(0, |index| index.last());
        self.complete.load(Ordering::Acquire) && number <= last()
    }

    /// The rows from a position on, at most `limit`.
    pub(crate) fn page(
        &self,
        space: SpaceId,
        from: Position,
        limit: usize,
        now: Timestamp,
    ) -> Page {
        match self.spaces.get(&space) {
            Some(index) => index.page(from, limit, now),
            None => Index::default().page(from, limit, now),
        }
    }
}
