//! A log that does not begin at the beginning.
//!
//! Here: making an empty log whose groups go on from where those of another one were. Not here: what
//! is then written into it. Called by import.

use std::collections::BTreeMap;
use std::path::Path;

use sled::Batch;

use super::store::Store;
use super::{SledLog, SledOptions, keys, landmarks, values};
use crate::log::{Epoch, Group, LogError, Positions};

/// Where a log's groups begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// The epochs that were used; acquiring goes on after them.
    pub(crate) epochs: BTreeMap<Group, Epoch>,
    /// The last sequences before the first append.
    pub(crate) lasts: Positions,
}

impl SledLog {
    /// Makes a log in a directory that holds none, and opens it.
    ///
    /// # Errors
    /// `Format` when there is one already; as [`SledLog::open`] otherwise.
    pub(crate) fn begin(
        dir: &Path,
        beginning: &Beginning,
        options: &SledOptions,
    ) -> Result<Self, LogError> {
        if dir.join("db").exists() {
            return Err(LogError::Format(format!(
                "{} holds a log already",
                dir.display()
            )));
        }
        let (store, _) = Store::open(dir, &Self::store_options(options))?;
        landmarks::create(&store)?;
        let mut batch = Batch::default();
        for (&group, epoch) in &beginning.epochs {
            values::insert(&mut batch, &keys::epoch(group), &epoch.0.to_be_bytes());
        }
        for (&group, last) in &beginning.lasts {
            values::insert(&mut batch, &keys::last(group), &last.0.to_be_bytes());
        }
        store.write(batch).map_err(LogError::Io)?;
        drop(store);
        Self::open(dir, options)
    }
}
