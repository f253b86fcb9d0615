//! How much reaches the disk for what is committed.
//!
//! Counted in blocks of the database file that differ from one sync to the next.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::{acquired, commit_one};
use crate::{SledLog, SledOptions, SyncObserver};

const BLOCK: usize = 4_096;

#[derive(Default)]
struct Written {
    last: Mutex<Vec<u8>>,
    blocks: AtomicUsize,
}

impl SyncObserver for Written {
    fn synced(&self, db: &Path) {
        let now = fs::read(db).expect("the disk works");
        let mut last = self.last.lock().expect("nobody panicked");
        let differs = |(number, block): (usize, &[u8])| {
            let from = number * BLOCK;
            last.get(from..from + block.len()) != Some(block)
        };
        let blocks = now.chunks(BLOCK).enumerate();
        let changed = blocks.filter(|block| differs(*block)).count();
        self.blocks.fetch_add(changed, Ordering::Relaxed);
        *last = now;
    }
}

/// Without laying out keys first, sled writes more than three times what is committed.
#[test]
fn a_large_commit_is_written_little_more_than_once() {
    const COMMIT_BYTES: usize = 220_000;
    const COMMITS: usize = 20;
    let root = tempfile::tempdir().expect("a directory");
    let written = Arc::new(Written::default());
    let options = SledOptions {
        observer: Some(Arc::clone(&written) as _),
        ..SledOptions::default()
    };
    let log = SledLog::open(root.path(), &options).expect("it opens");
    let mut owned = acquired(&log);
    let before = written.blocks.load(Ordering::Relaxed);
    for _ in 0..COMMITS {
        commit_one(&log, &mut owned, COMMIT_BYTES);
    }
    let blocks = written.blocks.load(Ordering::Relaxed) - before;
    let bytes = blocks * BLOCK;
    let committed = COMMITS * COMMIT_BYTES;
    assert!(bytes < committed * 2, "{bytes} bytes for {committed}");
}
