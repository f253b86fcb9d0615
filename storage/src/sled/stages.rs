//! A commit as the steps that write it.
//!
//! Here: cutting a large commit into stages of a bounded size. Not here: writing them. Called
//! within the sled engine only.
//!
//! sled's background threads can only take so much at once (see `worker.rs`), so a commit over
//! [`STAGE_BYTES`] is written in several stages, each one batch and synced. Until the last chunk of
//! the journal part is there, the commit is torn, and recovery removes it; slices count only once a
//! seal names them. What replaces something (a pointer, a meta value) goes with the last chunk, so
//! that all of it counts or none.

use sled::{Batch, IVec};

use super::{STAGE_BYTES, chunk};

/// What is written before one sync, in this order.
#[derive(Debug, Default)]
pub(super) struct Stage {
    /// Keys of what follows that are not there yet, ascending.
    pub(super) new: Vec<IVec>,
    /// Values of one chunk that each count by themselves: a stop may leave any of them out.
    pub(super) alone: Vec<(IVec, IVec)>,
    /// What takes effect as a whole.
    batch: Option<Batch>,
}

impl Stage {
    /// A stage of one batch.
    pub(super) fn of(batch: Batch) -> Self {
        Self {
            batch: Some(batch),
            ..Self::default()
        }
    }

    /// What takes effect as a whole, to add to.
    pub(super) fn batch(&mut self) -> &mut Batch {
        self.batch.get_or_insert_default()
    }

    /// What takes effect as a whole; `None` when nothing does.
    pub(super) fn take_batch(&mut self) -> Option<Batch> {
        self.batch.take()
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Stages {
    done: Vec<Stage>,
    last: Stage,
    /// Bytes of `last`.
    bytes: usize,
    /// The chunk that makes the commit whole.
    closing: Option<(IVec, IVec)>,
}

impl Stages {
    /// Adds a value that counts only once something in the last batch names it.
    pub(super) fn add(&mut self, name: &[u8], value: &[u8]) {
        chunk::cut(name, &[value], &mut |key, chunk| {
            self.put((IVec::from(key), IVec::from(chunk)));
        });
    }

    /// Adds the journal part. Its last chunk stays in the last stage; nothing may be added to
    /// earlier ones after this.
    pub(super) fn add_last(&mut self, name: &[u8], parts: &[&[u8]]) {
        chunk::cut(name, parts, &mut |key, chunk| {
            let next = (IVec::from(key), IVec::from(chunk));
            if let Some(before) = self.closing.replace(next) {
                self.put(before);
            }
        });
    }

    /// The batch that makes the commit whole.
    pub(super) fn last(&mut self) -> &mut Batch {
        self.last.batch()
    }

    /// All stages, in the order they have to be written in.
    pub(super) fn into_stages(mut self) -> Vec<Stage> {
        if let Some((key, chunk)) = self.closing {
            self.last.new.push(key.clone());
            self.last.batch().insert(key, chunk);
        }
        self.done.push(self.last);
        self.done
    }

    fn put(&mut self, (key, chunk): (IVec, IVec)) {
        if self.bytes + chunk.len() > STAGE_BYTES {
            self.done.push(std::mem::take(&mut self.last));
            self.bytes = 0;
        }
        self.bytes += chunk.len();
        self.last.new.push(key.clone());
        self.last.batch().insert(key, chunk);
    }
}
