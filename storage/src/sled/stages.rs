//! A commit as the batches that write it.
//!
//! Here: cutting a large commit into batches of a bounded size. Not here: writing them. Called
//! within the sled engine only.
//!
//! sled's background threads can only take so much at once (see `worker.rs`), so a commit over
//! [`STAGE_BYTES`] is written in several batches, each synced. Atomic is the last: it holds
//! the last chunk of the journal part and everything that replaces something. Until it is there,
//! the commit is torn, and recovery removes it; slices count only once a seal names them.

use sled::{Batch, IVec};

use super::{STAGE_BYTES, chunk};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Stages {
    done: Vec<Batch>,
    last: Batch,
    bytes: usize,
}

impl Stages {
    /// Adds a value that counts only once something in the last batch names it.
    pub(super) fn add(&mut self, name: &[u8], value: &[u8]) {
        chunk::cut(name, value, &mut |key, chunk| self.put(key, chunk));
    }

    /// Adds the journal part. Its last chunk stays in the last batch; nothing may be added to
    /// earlier ones after this.
    pub(super) fn add_last(&mut self, name: &[u8], value: &[u8]) {
        let mut last: Option<(Vec<u8>, Vec<u8>)> = None;
        chunk::cut(name, value, &mut |key, chunk| {
            if let Some((key, chunk)) = last.replace((key, chunk.to_vec())) {
                self.put(key, &chunk);
            }
        });
        if let Some((key, chunk)) = last {
            self.last.insert(key, IVec::from(chunk));
        }
    }

    /// The batch that makes the commit whole.
    pub(super) fn last(&mut self) -> &mut Batch {
        &mut self.last
    }

    /// All batches, in the order they have to be written in.
    pub(super) fn into_batches(mut self) -> Vec<Batch> {
        self.done.push(self.last);
        self.done
    }

    fn put(&mut self, key: Vec<u8>, chunk: &[u8]) {
        if self.bytes + chunk.len() > STAGE_BYTES {
            self.done.push(std::mem::take(&mut self.last));
            self.bytes = 0;
        }
        self.bytes += chunk.len();
        self.last.insert(key, IVec::from(chunk));
    }
}
