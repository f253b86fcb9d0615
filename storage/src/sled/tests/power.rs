//! Power cuts: the database file as of our last sync, everything else lost.

use std::path::Path;

use super::{A, acquired, commit_one, laid_out};
use crate::SledLog;
use crate::log::{Commit, Landed, Log, LogError, Owned, Sequence};
use crate::sled::testing::SledFactory;
use crate::suite::support::{Rng, append, body, partition, places, snapshot, truncate_all};
use crate::suite::walk::walk;

#[test]
fn nothing_acknowledged_is_lost_in_a_power_cut() {
    for seed in [1, 2, 3] {
        let root = tempfile::tempdir().expect("a directory");
        let mut factory = SledFactory::new(root.path());
        walk(&mut factory, seed, 400);
        let syncs = factory.model().expect("it has one").syncs();
        assert!(syncs > 250, "the model saw {syncs} syncs");
    }
}

const BLOCK: usize = 4_096;

/// A disk with a volatile cache may write what was not synced in any order and in part. Here every
/// block that changed since the last sync is as before or as after, by chance, and so is the file's
/// length. In flight is one batch, as always. That is more than sled can bear in every
/// case, but it must never go unnoticed: either everything acknowledged is there, or the log does
/// not open and says so.
#[test]
fn nothing_acknowledged_is_lost_unnoticed_when_blocks_land_by_chance() {
    const ROUNDS: u64 = 24;
    let mut rng = Rng::new(9);
    let (mut mixed, mut landed, mut refused) = (0, 0, 0);
    for round in 0..ROUNDS {
        let root = tempfile::tempdir().expect("a directory");
        let factory = SledFactory::new(root.path());
        let log = factory.open_sled(false).expect("it opens");
        let mut owned = acquired(&log);
        for number in 0..30 + rng.below(90) {
            let length = rng.index(60_000);
            commit_one(&log, &mut owned, length);
            if number % 8 == 7 {
                let slices = vec![body(number, 100_000); 2];
                let whole = snapshot(partition(A, 0), number, owned.last, &slices);
                log.commit(&whole).expect("the snapshot is in order");
                if rng.chance(1, 2) {
                    truncate_all(&log, &log.coverage().positions(), 100);
                }
            }
        }
        truncate_all(&log, &log.coverage().positions(), 100);
        let covered = log.coverage().truncatable(A);
        let length = rng.index(900_000);
        let in_flight = in_flight(&log, &owned, length, &mut rng);
        let live = std::fs::read(factory.dir().join("db")).expect("the disk works");
        drop(log);
        factory.model().expect("it has one").cut();
        mixed += mix(&factory.dir().join("db"), &live, &mut rng);
        match factory.open_sled(false) {
            Ok(log) => landed += expect_all(&log, covered, owned.last, &in_flight),
            Err(LogError::Corrupt(_)) => refused += 1,
            Err(error) => panic!("round {round}: {error}"),
        }
    }
    assert!(mixed > 1_000, "{mixed} blocks were not synced");
    assert!(
        landed + refused < ROUNDS,
        "some commits in flight were lost"
    );
    assert!(refused <= ROUNDS / 4, "{refused} logs did not open");
}

/// Writes a commit up to some batch, and that one without the sync.
fn in_flight(log: &SledLog, owned: &Owned, length: usize, rng: &mut Rng) -> Commit {
    let commit = Commit {
        appends: vec![append(owned, &[0], length)],
        meta: vec![(b"in flight".to_vec(), Some(vec![1; 9_000]))],
        ..Commit::default()
    };
    let number = log.book().last_number + 1;
    let (stages, _) = log.stages_of(number, &commit).expect("it can be built");
    let stages = stages.into_stages();
    let synced = rng.index(stages.len());
    for (number, stage) in stages.into_iter().enumerate().take(synced + 1) {
        if number < synced {
            log.write_stage(stage).expect("the disk works");
        } else {
            let stage = match rng.chance(3, 4) {
                true => stage,
                false => laid_out(stage),
            };
            log.store.write_unsynced(stage).expect("the disk works");
        }
    }
    commit
}

/// Puts some of the blocks of `live` in the file; answers how many there were to choose from.
fn mix(path: &Path, live: &[u8], rng: &mut Rng) -> usize {
    let mut disk = std::fs::read(path).expect("the disk works");
    if live.len() > disk.len() && rng.chance(1, 2) {
        disk.resize(live.len(), 0);
    }
    let part = 1 + rng.below(15);
    let mut changed = 0;
    for (old, new) in disk.chunks_mut(BLOCK).zip(live.chunks(BLOCK)) {
        let length = old.len().min(new.len());
        if old[..length] != new[..length] {
            changed += 1;
            if rng.chance(part, 16) {
                old[..length].copy_from_slice(&new[..length]);
            }
        }
    }
    std::fs::write(path, disk).expect("the disk works");
    changed
}

/// Everything acknowledged is there, and the commit in flight whole or not at all; 1 if it is.
fn expect_all(log: &SledLog, covered: Sequence, last: Sequence, in_flight: &Commit) -> u64 {
    let found = acquired(log).last;
    let value = log.meta(b"in flight").expect("it can be read");
    let landed = found == last.next();
    assert!(landed || found == last, "{found:?} instead of {last:?}");
    assert_eq!(value.is_some(), landed, "whole or not at all");
    let places = places(log);
    let first = places.first().map_or(found.next(), |place| place.1);
    assert!(first <= covered.next(), "only what is covered may be gone");
    assert_eq!(places.len() as u64, found.0 + 1 - first.0, "without a gap");
    if landed {
        let append = &in_flight.appends[0];
        let answer = log.resolve(A, append.epoch, append.sequence, &append.records);
        assert_eq!(answer.expect("it can be resolved"), Landed::Yes);
    }
    for info in log.snapshots().expect("they can be listed") {
        log.read_snapshot(&info, &mut |_| std::ops::ControlFlow::Continue(()))
            .expect("it can be read");
    }
    u64::from(landed)
}
