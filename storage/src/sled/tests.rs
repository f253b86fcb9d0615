//! Tests of the sled engine: the suite, and what needs to look inside.

mod days;
mod killed;
mod opening;
mod power;
mod recovery;
mod sync_proof;
mod written;

use std::path::Path;

use super::stages::Stage;
use super::testing::SledFactory;
use crate::log::{Commit, Group, Log, Owned};
use crate::suite;
use crate::suite::support::append;

const A: Group = Group(0);

#[test]
fn conformance() {
    let root = tempfile::tempdir().expect("a directory");
    suite::run(&mut |name| Box::new(SledFactory::new(&root.path().join(name))));
}

pub(super) fn acquired(log: &dyn Log) -> Owned {
    log.acquire(&[A]).expect("it can be acquired")[0]
}

pub(super) fn commit_one(log: &dyn Log, owned: &mut Owned, length: usize) {
    let commit = Commit {
        appends: vec![append(owned, &[0], length)],
        ..Commit::default()
    };
    log.commit(&commit).expect("the commit is in order");
    owned.last = owned.last.next();
}

/// The first step of a stage alone.
fn laid_out(stage: Stage) -> Stage {
    let mut first = Stage::default();
    first.new = stage.new;
    first
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the disk works");
    for entry in std::fs::read_dir(from).expect("the disk works") {
        let entry = entry.expect("the disk works");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("the disk works");
        }
    }
}
