//! A commit as the steps that write it.
//!
//! Here: cutting a large commit into stages of a bounded size. Not here: writing them. Called
//! within the sled engine only.
//!
//! sled's background threads can only take so much at once (see `worker.rs`), so a commit over
//! [`STAGE_BYTES`] is written in several stages, each synced. Chunks go in one by one and need no
//! batch: until the last chunk of the journal part is there, the commit is torn, and recovery
//! removes it; slices count only once a seal names them. A commit that also replaces something
//! (a pointer, a meta value) does that in one batch with its last chunk, so that all of it counts or
//! none. A batch costs a write of its own, which most commits thus do without.

use sled::{Batch, IVec};

use super::{STAGE_BYTES, chunk};

/// What is written before one sync, in this order.
#[derive(Debug, Default)]
pub(super) struct Stage {
    /// Keys that are not there yet, ascending, of the chunks and of the batch.
    pub(super) new: Vec<IVec>,
    pub(super) chunks: Vec<(IVec, IVec)>,
    /// What takes effect as a whole.
    pub(super) batch: Option<Batch>,
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
        self.last.batch.get_or_insert_default()
    }

    /// All stages, in the order they have to be written in.
    pub(super) fn into_stages(mut self) -> Vec<Stage> {
        if let Some((key, chunk)) = self.closing {
            self.last.new.push(key.clone());
            match &mut self.last.batch {
                Some(batch) => batch.insert(key, chunk),
                None => self.last.chunks.push((key, chunk)),
            }
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
        self.last.chunks.push((key, chunk));
    }
}
