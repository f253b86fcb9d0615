//! Tools for tests of the sled engine: storage that can be cut, and damage from outside.
//!
//! Here: what needs to know names of keys. Not here: cases (`suite.rs`). Called by tests only.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::keys;
use crate::log::{Log, LogError};
use crate::suite::power::PowerModel;
use crate::suite::{Damage, Factory};
use crate::{SledLog, SledOptions};

/// Storage of the sled engine below a directory of the test's.
#[derive(Debug)]
pub struct SledFactory {
    dir: PathBuf,
    model: Option<Arc<PowerModel>>,
}

impl SledFactory {
    /// Keeps what a power cut would leave, so that [`Factory::crash`] can put it in place.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        let dir = root.join("log");
        let model = Some(Arc::new(PowerModel::new(dir.clone(), root.join("kept"))));
        Self { dir, model }
    }

    /// Copies nothing, for long runs: [`Factory::crash`] then only closes the log.
    #[must_use]
    pub fn without_copies(root: &Path) -> Self {
        Self {
            dir: root.join("log"),
            model: None,
        }
    }

    /// The log's directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What watches the syncs.
    #[must_use]
    pub fn model(&self) -> Option<&PowerModel> {
        self.model.as_deref()
    }

    /// Opens the log as itself.
    ///
    /// # Errors
    /// See [`SledLog::open`].
    pub fn open_sled(&self, accept_truncation: bool) -> Result<SledLog, LogError> {
        let options = SledOptions {
            accept_truncation,
            observer: self.model.clone().map(|model| model as _),
            ..SledOptions::default()
        };
        SledLog::open(&self.dir, &options)
    }
}

impl Factory for SledFactory {
    fn open(&mut self, accept_truncation: bool) -> Result<Box<dyn Log>, LogError> {
        Ok(Box::new(self.open_sled(accept_truncation)?))
    }

    fn crash(&mut self, log: Box<dyn Log>) {
        drop(log);
        if let Some(model) = &self.model {
            model.cut();
        }
    }

    fn damage(&mut self, damage: Damage) {
        let db = sled::open(&self.dir).expect("the log is closed");
        let mut numbers: Vec<u64> = db
            .scan_prefix(keys::JOURNAL)
            .keys()
            .filter_map(|key| keys::parse_journal(&key.expect("the journal can be read")))
            .collect();
        numbers.dedup();
        let number = match damage {
            Damage::Last => numbers.last(),
            Damage::Middle => numbers.iter().rev().nth(1),
        };
        let number = *number.expect("the journal has such a commit");
        damage_commit(&db, number, number);
        drop(db);
        if let Some(model) = &self.model {
            crate::SyncObserver::synced(&**model, &self.dir.join("db"));
        }
    }

    fn check(&self) {
        let mut dirs = vec![self.dir.clone()];
        if let Ok(days) = std::fs::read_dir(self.dir.join("history")) {
            dirs.extend(days.map(|day| day.expect("the directory can be read").path()));
        }
        for dir in dirs {
            let mut blobs = std::fs::read_dir(dir.join("blobs")).expect("blobs/ is there");
            assert!(
                blobs.next().is_none(),
                "blobs/ in {} is empty",
                dir.display()
            );
        }
    }
}

/// Damages a commit in a way that depends on `kind`: its end is missing, its beginning is, or a
/// bit is flipped.
pub(super) fn damage_commit(db: &sled::Db, number: u64, kind: u64) {
    let mut chunks: Vec<_> = db
        .scan_prefix(keys::journal(number))
        .map(|pair| pair.expect("the journal can be read"))
        .collect();
    if chunks.len() > 1 && kind.is_multiple_of(3) {
        let (last, _) = chunks.pop().expect("it has chunks");
        db.remove(last).expect("it can be removed");
    } else if chunks.len() > 1 && kind % 3 == 1 {
        let (first, _) = chunks.remove(0);
        db.remove(first).expect("it can be removed");
    } else {
        let (key, chunk) = chunks.pop().expect("it has chunks");
        let mut chunk = chunk.to_vec();
        let last = chunk.len() - 1;
        chunk[last] ^= 0x40;
        db.insert(key, chunk).expect("it can be written");
    }
}
