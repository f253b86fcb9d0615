//! Recovery: numbers, gaps, damage of every kind, what interrupted work left.

use super::{A, acquired, commit_one, laid_out};
use crate::log::{Commit, Group, Landed, Log, LogError, Positions, Sequence};
use crate::sled::testing::{SledFactory, damage_commit};
use crate::sled::{SledLog, keys, landmarks, store, values};
use crate::suite::support::{append, body, partition, places, snapshot, truncate_all};

fn factory() -> (tempfile::TempDir, SledFactory) {
    let root = tempfile::tempdir().expect("a directory");
    let factory = SledFactory::without_copies(root.path());
    (root, factory)
}

fn open(factory: &SledFactory) -> SledLog {
    factory.open_sled(false).expect("the log opens")
}

fn raw(factory: &SledFactory) -> sled::Db {
    sled::open(factory.dir()).expect("the log is closed")
}

fn numbers(log: &SledLog) -> Vec<u64> {
    log.book().entries().map(|entry| entry.number).collect()
}

fn refused(factory: &SledFactory) -> String {
    match factory.open_sled(false) {
        Err(LogError::Corrupt(text)) => text,
        other => panic!("it has to be refused as corrupt: {other:?}"),
    }
}

#[test]
fn numbers_of_torn_commits_are_never_used_again() {
    let (_root, factory) = factory();
    for kind in 0..6 {
        let log = open(&factory);
        let mut owned = acquired(&log);
        commit_one(&log, &mut owned, 10);
        commit_one(&log, &mut owned, 20_000);
        drop(log);
        let db = raw(&factory);
        let torn = 2 * (kind + 1);
        damage_commit(&db, torn, kind);
        drop(db);
        let log = open(&factory);
        let (number, why) = log.recovery().torn.clone().expect("it was torn");
        assert_eq!(number, torn, "{why}");
        let kept: Vec<u64> = (0..=kind).map(|round| 2 * round + 1).collect();
        assert_eq!(numbers(&log), kept);
        drop(log);
        let log = open(&factory);
        assert_eq!(log.recovery().torn, None, "it was removed for good");
        assert_eq!(numbers(&log), kept);
    }
}

#[test]
fn a_number_that_is_missing_is_found() {
    for (gone, torn) in [(2, false), (3, false)] {
        let (_root, factory) = factory();
        let log = open(&factory);
        let mut owned = acquired(&log);
        for _ in 0..4 {
            commit_one(&log, &mut owned, 9_000);
        }
        drop(log);
        let db = raw(&factory);
        for key in db.scan_prefix(keys::journal(gone)).keys() {
            db.remove(key.expect("it can be read"))
                .expect("it can be removed");
        }
        drop(db);
        let text = refused(&factory);
        assert!(text.contains(&format!("journal commit {gone} ")), "{text}");
        assert!(text.contains("it is missing"), "{text}");
        assert!(!torn);
        let log = factory.open_sled(true).expect("the operator accepted it");
        let given_up = log.recovery().given_up.as_ref();
        let given_up = given_up.map(|(first, last, _)| (*first, *last));
        assert_eq!(given_up, Some((gone, 4)));
        let kept: Vec<u64> = (1..gone).collect();
        assert_eq!(numbers(&log), kept);
        let mut owned = acquired(&log);
        assert!(owned.last >= Sequence(4));
        commit_one(&log, &mut owned, 10);
        drop(log);
        let log = open(&factory);
        assert_eq!(numbers(&log).last(), Some(&5));
    }
}

#[test]
fn a_last_commit_whose_values_are_there_is_not_taken_for_torn() {
    for with_seal in [false, true] {
        let (_root, factory) = factory();
        let log = open(&factory);
        let mut owned = acquired(&log);
        commit_one(&log, &mut owned, 10);
        let mut commit = Commit {
            meta: vec![(b"key".to_vec(), Some(vec![1]))],
            ..Commit::default()
        };
        if with_seal {
            commit = snapshot(partition(A, 0), 1, Sequence(1), &[vec![1]]);
        }
        log.commit(&commit).expect("the commit is in order");
        drop(log);
        for gone in [false, true] {
            let db = raw(&factory);
            match gone {
                false => damage_commit(&db, 2, 2),
                true => {
                    let key = keys::chunk(&keys::journal(2), 0);
                    db.remove(key).expect("it can be removed");
                }
            }
            drop(db);
            let text = refused(&factory);
            assert!(text.contains("journal commit 2 "), "{text}");
        }
        let log = factory.open_sled(true).expect("the operator accepted it");
        assert_eq!(numbers(&log), vec![1]);
        drop(log);
        open(&factory);
    }
}

#[test]
fn damaged_values_and_snapshots_are_named() {
    let (_root, factory) = factory();
    let log = open(&factory);
    let mut owned = acquired(&log);
    commit_one(&log, &mut owned, 10);
    let mut commit = snapshot(partition(A, 0), 1, Sequence(1), &[vec![1; 9_000]]);
    commit.meta = vec![(b"key".to_vec(), Some(vec![1; 9_000]))];
    log.commit(&commit).expect("the commit is in order");
    drop(log);
    let break_at = |name: &[u8]| {
        let db = raw(&factory);
        let key = keys::chunk(name, 1);
        let old = db.get(&key).expect("it can be read").expect("it is there");
        let mut bad = old.to_vec();
        bad[100] ^= 1;
        db.insert(&key, bad).expect("it can be written");
        (key, old)
    };
    let (key, old) = break_at(&keys::row(keys::USER, b"key"));
    let text = refused(&factory);
    assert!(
        text.contains("mukey") && text.contains("copy of the data directory"),
        "{text}"
    );
    raw(&factory).insert(key, old).expect("it can be written");
    break_at(&keys::slice(partition(A, 0), 1, 0));
    let log = open(&factory);
    let info = &log.snapshots().expect("they can be listed")[0];
    let error = log.read_snapshot(info, &mut |_| panic!("it is damaged"));
    assert!(matches!(error, Err(LogError::Corrupt(_))), "{error:?}");
}

#[test]
fn a_newer_format_is_not_touched() {
    let (_root, factory) = factory();
    let log = open(&factory);
    let mut owned = acquired(&log);
    commit_one(&log, &mut owned, 10);
    drop(log);
    let db = raw(&factory);
    let key = keys::chunk(&keys::journal(1), 0);
    let old = db.get(&key).expect("it can be read").expect("it is there");
    let mut newer = old.to_vec();
    newer[0] += 1;
    db.insert(&key, newer).expect("it can be written");
    drop(db);
    for accept_truncation in [false, true] {
        let error = factory.open_sled(accept_truncation);
        assert!(matches!(error, Err(LogError::Format(_))), "{error:?}");
    }
    let db = raw(&factory);
    db.insert(&key, old).expect("it can be written");
    let mut batch = sled::Batch::default();
    values::insert(&mut batch, keys::FORMAT, &9_u32.to_be_bytes());
    db.apply_batch(batch).expect("it can be written");
    drop(db);
    let error = factory.open_sled(false);
    assert!(matches!(error, Err(LogError::Format(_))), "{error:?}");
}

#[test]
fn a_foreign_database_is_refused() {
    let (_root, factory) = factory();
    let db = sled::open(factory.dir()).expect("it can be created");
    db.insert(b"x", b"y").expect("it can be written");
    drop(db);
    let error = factory.open_sled(false);
    assert!(
        matches!(error, Err(LogError::Format(_) | LogError::Corrupt(_))),
        "{error:?}"
    );
}

#[test]
fn what_an_interrupted_truncation_left_is_removed() {
    let (_root, factory) = factory();
    let log = open(&factory);
    let mut owned = acquired(&log);
    for _ in 0..3 {
        commit_one(&log, &mut owned, 40_000);
    }
    log.commit(&snapshot(partition(A, 0), 1, Sequence(3), &[]))
        .expect("the snapshot is in order");
    let upto = log.coverage().positions();
    // One commit has more keys than this: the floor is written, most keys are still there.
    assert!(log.truncate(&upto, 4).expect("it is covered"));
    assert_eq!(places(&log).len(), 2);
    drop(log);
    let log = open(&factory);
    assert_eq!(places(&log), vec![(A, Sequence(2)), (A, Sequence(3))]);
    let first = log.store.page(keys::JOURNAL, keys::JOURNAL, 1);
    let (key, _) = &first.expect("it can be read")[0];
    assert_eq!(
        keys::parse_journal(key),
        Some(2),
        "nothing is left below the floor"
    );
    truncate_all(&log, &upto, 5);
    let rest = log.store.page(keys::JOURNAL, keys::JOURNAL, 9);
    assert!(rest.expect("it can be read").is_empty());
    assert_eq!(acquired(&log).last, Sequence(3));
}

#[test]
fn what_an_interrupted_repair_left_is_removed() {
    let (_root, factory) = factory();
    let log = open(&factory);
    let mut owned = acquired(&log);
    for _ in 0..4 {
        commit_one(&log, &mut owned, 10);
    }
    drop(log);
    // The gap was written, the commits it covers were not removed: they stay given up.
    let db = raw(&factory);
    let mut batch = sled::Batch::default();
    values::insert(&mut batch, &keys::gap(3), &4_u64.to_be_bytes());
    db.apply_batch(batch).expect("it can be written");
    drop(db);
    let log = open(&factory);
    assert_eq!(numbers(&log), vec![1, 2]);
    let mut owned = acquired(&log);
    commit_one(&log, &mut owned, 10);
    assert_eq!(numbers(&log), vec![1, 2, 5]);
}

#[test]
fn what_a_snapshot_without_a_seal_left_is_removed() {
    let (_root, factory) = factory();
    let log = open(&factory);
    let mut owned = acquired(&log);
    commit_one(&log, &mut owned, 10);
    let slices = vec![vec![1; 30_000]; 3];
    log.commit(&snapshot(partition(A, 0), 4, Sequence(1), &slices))
        .expect("the snapshot is in order");
    let count = |log: &SledLog| {
        let page = log.store.page(keys::SNAPSHOTS, keys::SNAPSHOTS, 1_000);
        page.expect("it can be read").len()
    };
    let sealed = count(&log);
    for (name, partition) in [(5, partition(A, 0)), (1, partition(A, 1))] {
        let mut unsealed = snapshot(partition, name, Sequence(1), &slices);
        unsealed.seals.clear();
        log.commit(&unsealed).expect("the slices are in order");
    }
    assert_eq!(count(&log), 3 * sealed);
    drop(log);
    assert_eq!(count(&open(&factory)), sealed);
}

#[test]
fn coverage_is_known_again_as_exactly() {
    let (_root, factory) = factory();
    let log = open(&factory);
    let mut owned = acquired(&log);
    for _ in 0..3 {
        commit_one(&log, &mut owned, 10);
    }
    let seal = |log: &SledLog, snapshot_name, position| {
        log.commit(&snapshot(partition(A, 0), snapshot_name, position, &[]))
            .expect("the snapshot is in order");
    };
    seal(&log, 1, Sequence(2));
    commit_one(&log, &mut owned, 10);
    let before = log.coverage();
    assert_eq!(before.truncatable(A), Sequence(2));
    drop(log);
    let log = open(&factory);
    assert_eq!(log.coverage(), before);
    // Idle for a while after a snapshot, then touched again.
    let mut owned = acquired(&log);
    seal(&log, 2, Sequence(4));
    for _ in 0..3 {
        let commit = Commit {
            appends: vec![crate::suite::support::append(&owned, &[], 10)],
            ..Commit::default()
        };
        log.commit(&commit).expect("the commit is in order");
        owned.last = owned.last.next();
    }
    commit_one(&log, &mut owned, 10);
    let before = log.coverage();
    assert_eq!(before.truncatable(A), Sequence(7));
    drop(log);
    assert_eq!(open(&factory).coverage(), before);
}

#[test]
fn an_unsound_store_refuses_everything_after() {
    let root = tempfile::tempdir().expect("a directory");
    let factory = SledFactory::new(root.path());
    let log = open(&factory);
    let mut owned = acquired(&log);
    commit_one(&log, &mut owned, 10);
    let model = factory.model().expect("it has one");
    model.fail_syncs(true);
    let next = Commit {
        appends: vec![crate::suite::support::append(&owned, &[0], 10)],
        ..Commit::default()
    };
    for failing in [true, false] {
        model.fail_syncs(failing);
        let error = log.commit(&next).expect_err("the sync has failed");
        assert!(matches!(error, crate::AppendError::Unknown(_)), "{error}");
    }
    assert!(log.has_failed());
    assert!(log.acquire(&[A]).is_err());
    assert!(
        log.truncate(&Positions::from([(A, Sequence(0))]), 1)
            .is_ok()
    );
    assert_eq!(places(&log).len(), 1, "what was read before stays readable");
    drop(log);
    // The process ends; the machine goes on, so the write is found.
    let log = open(&factory);
    let append = &next.appends[0];
    let landed = log.resolve(A, append.epoch, append.sequence, &append.records);
    assert_eq!(landed.expect("it can be resolved"), Landed::Yes);
}

/// A disk that does not answer until it is told to.
struct Stuck(std::sync::Mutex<Option<std::sync::mpsc::Receiver<()>>>);

impl crate::SyncObserver for Stuck {
    fn syncing(&self, _db: &std::path::Path) -> std::io::Result<()> {
        let held = self.0.lock().expect("it is used once").take();
        if let Some(held) = held {
            let _released = held.recv();
        }
        Ok(())
    }
}

#[test]
fn a_disk_that_does_not_answer_leaves_the_outcome_unknown() {
    let root = tempfile::tempdir().expect("a directory");
    let (release, held) = std::sync::mpsc::sync_channel(0);
    let stuck = std::sync::Arc::new(Stuck(std::sync::Mutex::new(None)));
    let options = crate::SledOptions {
        observer: Some(stuck.clone()),
        wait_max: Some(std::time::Duration::from_millis(200)),
        ..crate::SledOptions::default()
    };
    // Opening and the first commit are as fast as the machine is, which is not what is tested.
    let patient = crate::SledOptions::default();
    let log = SledLog::open(root.path(), &patient).expect("it opens");
    let mut owned = acquired(&log);
    commit_one(&log, &mut owned, 10);
    drop(log);
    let log = SledLog::open(root.path(), &options).expect("it opens");
    *stuck.0.lock().expect("it is used once") = Some(held);
    let next = Commit {
        appends: vec![crate::suite::support::append(&owned, &[0], 10)],
        ..Commit::default()
    };
    for _ in 0..2 {
        let error = log.commit(&next).expect_err("nothing answers");
        assert!(matches!(error, crate::AppendError::Unknown(_)), "{error}");
    }
    assert_eq!(places(&log).len(), 1, "what was read before stays readable");
    drop(log);
    drop(release);
}

#[test]
fn a_failed_sync_of_history_is_final_for_history_only() {
    let root = tempfile::tempdir().expect("a directory");
    let factory = SledFactory::new(root.path());
    let log = open(&factory);
    let mut owned = acquired(&log);
    let append = |day: i32| {
        let row = (vec![1], vec![2]);
        log.history_append(crate::HistoryDay(day), &[row], &Positions::new())
    };
    append(1).expect("rows can be written");
    let model = factory.model().expect("it has one");
    model.fail_syncs(true);
    append(1).expect_err("the sync has failed");
    model.fail_syncs(false);
    for day in 0..6 {
        append(day).expect_err("the failure is final");
    }
    commit_one(&log, &mut owned, 10);
    assert!(!log.has_failed());
}

#[test]
fn landmarks_are_what_was_written() {
    let (_root, factory) = factory();
    let log = open(&factory);
    let groups: Vec<Group> = (0..64).map(Group).collect();
    for _ in 0..3 {
        log.acquire(&groups).expect("they can be acquired");
    }
    drop(log);
    let options = store::StoreOptions {
        cache_bytes: 1 << 20,
        accept_blobs: false,
        observer: None,
        wait_max: std::time::Duration::from_secs(600),
        unordered: false,
        whose: crate::sled::told::Whose::Log,
    };
    let (store, _) = store::Store::open(factory.dir(), &options).expect("it opens");
    let marks = landmarks::read(&store).expect("they can be read");
    assert_eq!(marks.format, Some(1));
    assert_eq!(marks.epochs.len(), 64);
    assert!(marks.epochs.values().all(|epoch| epoch.0 == 3));
}

/// A stop between the two steps of a large write leaves keys without chunks: nothing of it counts,
/// and everything can be written anew.
#[test]
fn keys_that_were_only_laid_out_are_as_if_they_were_not() {
    let (_root, factory) = factory();
    let log = open(&factory);
    let mut owned = acquired(&log);
    commit_one(&log, &mut owned, 300_000);
    let number = log.book().last_number + 1;
    for commit in [
        Commit {
            appends: vec![append(&owned, &[0], 200_000)],
            ..Commit::default()
        },
        snapshot(partition(A, 0), 1, owned.last, &[body(1, 200_000)]),
    ] {
        let (stages, _) = log.stages_of(number, &commit).expect("it can be built");
        for stage in stages.into_stages() {
            assert!(stage.new.len() >= store::LAY_OUT_MIN);
            log.store
                .write_unsynced(laid_out(stage))
                .expect("the disk works");
        }
    }
    drop(log);
    let log = open(&factory);
    let (torn, why) = log.recovery().torn.clone().expect("it was torn");
    assert_eq!((torn, why.as_str()), (number, "a chunk is empty"));
    assert_eq!(numbers(&log), [number - 1]);
    let mut again = acquired(&log);
    assert_eq!(again.last, owned.last);
    commit_one(&log, &mut again, 200_000);
    let whole = snapshot(partition(A, 0), 1, again.last, &[body(2, 200_000)]);
    log.commit(&whole).expect("its name is free");
    drop(log);
    let log = open(&factory);
    assert_eq!(log.recovery().torn, None);
    assert_eq!(places(&log).len(), 2);
    let info = log.snapshots().expect("they can be listed").remove(0);
    log.read_snapshot(&info, &mut |slice| {
        assert_eq!(slice, body(2, 200_000));
        std::ops::ControlFlow::Continue(())
    })
    .expect("it can be read");
}
