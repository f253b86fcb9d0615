//! Cases about commits: durable, whole, refused when they should be, found again.

use std::ops::ControlFlow;

use super::support::{
    Rng, append, append_to, open, partition, places, raised, reopen, replay, start,
};
use super::{Damage, Factory};
use crate::log::{
    Append, AppendError, CHUNK_BYTES_MAX, COMMIT_BYTES_MAX, Commit, Epoch, Group, KEY_BYTES_MAX,
    Landed, Log, LogError, Positions, Sequence, VALUE_BYTES_MAX,
};

const A: Group = Group(0);
const B: Group = Group(63);

fn of(appends: Vec<Append>) -> Commit {
    Commit {
        appends,
        ..Commit::default()
    }
}

/// What was acknowledged is read again after a power cut, byte for byte and in order.
pub fn acknowledged_is_durable(factory: &mut dyn Factory) {
    let mut rng = Rng::new(1);
    let (mut log, mut owned) = start(factory, &[A, B]);
    let mut written = Vec::new();
    for round in 0..60_u16 {
        let length = rng.index(3 * CHUNK_BYTES_MAX);
        let one = usize::from(round % 2);
        let commit = match round % 3 {
            0 => of(owned
                .iter()
                .map(|o| append(o, &[1, 2 + round], length))
                .collect()),
            _ => of(vec![append(&owned[one], &[7], length)]),
        };
        log.commit(&commit).expect("the commit is in order");
        for append in &commit.appends {
            for owned in &mut owned {
                if owned.group == append.group {
                    owned.last = append.sequence;
                }
            }
        }
        written.extend(commit.appends);
        if round % 7 == 6 {
            factory.crash(log);
            let (again, owned_again) = start(factory, &[A, B]);
            for (before, after) in owned.iter().zip(&owned_again) {
                assert_eq!(before.last, after.last, "the last sequence is known");
                assert!(before.epoch < after.epoch, "epochs grow");
            }
            (log, owned) = (again, owned_again);
            expect_replay(&*log, &written);
        }
    }
    let log = reopen(factory, log);
    expect_replay(&*log, &written);
    assert_eq!(log.journal_size().commits, 60);
}

fn expect_replay(log: &dyn Log, written: &[Append]) {
    let read = replay(log, &Positions::new());
    assert_eq!(read.len(), written.len(), "as many appends as acknowledged");
    for (read, written) in read.iter().zip(written) {
        assert_eq!(read.group, written.group);
        assert_eq!(read.epoch, written.epoch);
        assert_eq!(read.sequence, written.sequence);
        assert_eq!(read.partitions, written.partitions);
        assert_eq!(read.records, written.records);
    }
}

/// Stale epochs, gaps, duplicates and shapes out of bounds are refused, and leave nothing.
pub fn refused_commits(factory: &mut dyn Factory) {
    let (log, mut owned) = start(factory, &[A, B]);
    append_to(&*log, &mut owned, &[0], 10);
    let before = places(&*log);
    let good = append(&owned[0], &[1], 10);
    let other = append(&owned[1], &[1], 10);
    let with = |change: &dyn Fn(&mut Append)| {
        let mut bad = good.clone();
        change(&mut bad);
        // A good append beside the bad one must not land either.
        log.commit(&of(vec![other.clone(), bad]))
            .expect_err("it is refused")
    };
    for sequence in [0, 1, 3, 90] {
        let error = with(&|bad| bad.sequence = Sequence(sequence));
        let expected_two = |expected: Sequence| expected == Sequence(2);
        assert!(
            matches!(error, AppendError::Conflict { group: A, expected } if expected_two(expected)),
            "sequence {sequence}: {error}"
        );
    }
    let error = with(&|bad| bad.epoch = Epoch(0));
    assert!(
        matches!(error, AppendError::Fenced { group: A, .. }),
        "{error}"
    );
    let invalid = [
        with(&|bad| bad.epoch = raised(bad.epoch)),
        with(&|bad| bad.group = B),
        with(&|bad| bad.group = Group(64)),
        with(&|bad| bad.partitions = vec![partition(B, 0)]),
        with(&|bad| bad.partitions = vec![partition(A, 2), partition(A, 1)]),
        with(&|bad| bad.partitions = vec![partition(A, 2), partition(A, 2)]),
        with(&|bad| bad.records = vec![0; COMMIT_BYTES_MAX]),
        log.commit(&Commit::default()).expect_err("it is empty"),
        meta_error(&*log, vec![(vec![1; KEY_BYTES_MAX + 1], None)]),
        meta_error(&*log, vec![(vec![1], Some(vec![0; VALUE_BYTES_MAX + 1]))]),
        meta_error(&*log, vec![(vec![1], None), (vec![1], Some(vec![]))]),
    ];
    for error in invalid {
        assert!(matches!(error, AppendError::Invalid(_)), "{error}");
    }
    assert_eq!(
        places(&*log),
        before,
        "nothing of a refused commit is there"
    );
    let log = reopen(factory, log);
    assert_eq!(places(&*log), before);
    log.commit(&of(vec![other, good]))
        .expect("after a refusal the log goes on");
}

fn meta_error(log: &dyn Log, meta: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> AppendError {
    let commit = Commit {
        meta,
        ..Commit::default()
    };
    log.commit(&commit).expect_err("it is out of bounds")
}

/// A commit of several groups is there for all of them or for none.
pub fn commits_land_whole(factory: &mut dyn Factory) {
    let groups: Vec<Group> = (0..64).map(Group).collect();
    let (log, mut owned) = start(factory, &groups);
    append_to(&*log, &mut owned, &[3], 100);
    append_to(&*log, &mut owned, &[3], CHUNK_BYTES_MAX);
    drop(log);
    factory.damage(Damage::Last);
    let (log, again) = start(factory, &groups);
    assert_eq!(places(&*log).len(), 64);
    for owned in again {
        assert_eq!(owned.last, Sequence(1), "no group has the torn commit");
    }
}

/// A torn end is removed, its sequence is free, and the log goes on behind it, again and again.
pub fn torn_end_is_removed(factory: &mut dyn Factory) {
    let (mut log, mut owned) = start(factory, &[A]);
    let mut kept: u64 = 0;
    for round in 0..6_u64 {
        append_to(&*log, &mut owned, &[0], 10);
        kept += 1;
        let torn = append(&owned[0], &[0], 3 * CHUNK_BYTES_MAX);
        log.commit(&of(vec![torn.clone()])).expect("it is in order");
        drop(log);
        factory.damage(Damage::Last);
        (log, owned) = start(factory, &[A]);
        assert_eq!(owned[0].last, Sequence(kept), "round {round}");
        let landed = log.resolve(A, torn.epoch, torn.sequence, &torn.records);
        assert_eq!(landed.expect("it can be resolved"), Landed::No);
        let expected: Vec<_> = (1..=kept).map(|s| (A, Sequence(s))).collect();
        assert_eq!(places(&*log), expected);
        if round % 2 == 1 {
            factory.crash(log);
            (log, owned) = start(factory, &[A]);
            assert_eq!(places(&*log), expected, "the removal is durable");
        }
    }
}

/// Damage in the middle is an error that names the place and the way out; taking that way gives up
/// what follows, and nothing else.
pub fn damage_in_the_middle(factory: &mut dyn Factory) {
    let (log, mut owned) = start(factory, &[A, B]);
    for _ in 0..5 {
        append_to(&*log, &mut owned[..1], &[0], 50);
    }
    append_to(&*log, &mut owned, &[0], 50);
    append_to(&*log, &mut owned[..1], &[0], 50);
    drop(log);
    factory.damage(Damage::Middle);
    for _ in 0..2 {
        let Err(error) = factory.open(false) else {
            panic!("a log with a damaged middle was opened");
        };
        let text = error.to_string();
        assert!(matches!(error, LogError::Corrupt(_)), "{text}");
        assert!(text.contains("journal commit 6"), "names the place: {text}");
        assert!(
            text.contains("--accept-truncation"),
            "names the verb: {text}"
        );
    }
    let log = factory.open(true).expect("the operator accepted it");
    let before: Vec<_> = (1..=5).map(|s| (A, Sequence(s))).collect();
    assert_eq!(places(&*log), before);
    let owned_again = log.acquire(&[A, B]).expect("the groups can be acquired");
    assert!(
        owned_again[0].last >= Sequence(7),
        "sequences are not used again"
    );
    assert!(
        owned_again[1].last >= Sequence(1),
        "not even where they cannot be read"
    );
    let mut owned = owned_again;
    append_to(&*log, &mut owned, &[0], 50);
    append_to(&*log, &mut owned, &[0], 50);
    factory.crash(log);
    let log = open(factory);
    let mut after = before;
    for back in [1, 0] {
        for owned in &owned {
            after.push((owned.group, Sequence(owned.last.0 - back)));
        }
    }
    assert_eq!(places(&*log), after);
}

/// After an unknown outcome both answers are right, also after a restart.
pub fn resolve_answers(factory: &mut dyn Factory) {
    let (log, mut owned) = start(factory, &[A]);
    append_to(&*log, &mut owned, &[0], 5_000);
    let landed = append(&owned[0], &[0], 9_000);
    log.commit(&of(vec![landed.clone()]))
        .expect("it is in order");
    factory.crash(log);
    let log = open(factory);
    let ask = |epoch, sequence, records: &[u8]| {
        log.resolve(A, epoch, sequence, records)
            .expect("it can be resolved")
    };
    let (epoch, sequence) = (landed.epoch, landed.sequence);
    assert_eq!(ask(epoch, sequence, &landed.records), Landed::Yes);
    assert_eq!(ask(raised(epoch), sequence, &landed.records), Landed::No);
    assert_eq!(ask(epoch, sequence, &landed.records[1..]), Landed::No);
    assert_eq!(ask(epoch, sequence.next(), &landed.records), Landed::No);
    let nowhere = log.resolve(B, epoch, Sequence(1), &[]);
    assert_eq!(nowhere.expect("it can be resolved"), Landed::No);
}

/// Several readers, each for its groups, see what one reader sees.
pub fn parallel_replay(factory: &mut dyn Factory) {
    let groups: Vec<Group> = (0..8).map(Group).collect();
    let (log, mut owned) = start(factory, &groups);
    for round in 0..40 {
        append_to(&*log, &mut owned[round % 8..], &[0], 600 * round);
    }
    let log = reopen(factory, log);
    let log = &*log;
    let all = replay(log, &Positions::new());
    std::thread::scope(|scope| {
        for mine in groups.chunks(2) {
            let (all, groups) = (&all, &groups);
            scope.spawn(move || {
                let others = groups.iter().filter(|group| !mine.contains(group));
                let after = others.map(|&group| (group, Sequence(u64::MAX))).collect();
                let mut expected = all.iter().filter(|a| mine.contains(&a.group));
                for read in replay(log, &after) {
                    assert_eq!(Some(&read), expected.next());
                }
                assert_eq!(expected.next(), None);
            });
        }
    });
    let mut seen = 0;
    log.replay(&Positions::new(), &mut |_| {
        seen += 1;
        if seen == 3 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
    .expect("the log can be replayed");
    assert_eq!(seen, 3, "a reader can stop");
}

/// Sizes around every bound of a chunk come back.
pub fn sizes_at_bounds(factory: &mut dyn Factory) {
    let (log, mut owned) = start(factory, &[A]);
    let mut lengths = vec![0, 1, 2];
    // Engines add a few dozen bytes of their own, so the exact bound lies in this range.
    for bound in [CHUNK_BYTES_MAX, 2 * CHUNK_BYTES_MAX] {
        lengths.extend(bound - 120..bound + 2);
    }
    for &length in &lengths {
        append_to(&*log, &mut owned, &[0], length);
    }
    factory.crash(log);
    let log = open(factory);
    let read: Vec<usize> = replay(&*log, &Positions::new())
        .iter()
        .map(|append| append.records.len())
        .collect();
    assert_eq!(read, lengths);
    factory.check();
}

/// Each acquisition raises the epoch for good, and the old owner is refused.
pub fn epochs_are_raised(factory: &mut dyn Factory) {
    let (mut log, mut owned) = start(factory, &[A, B]);
    let mut newest = owned[0].epoch;
    assert!(newest > Epoch(0));
    for _ in 0..4 {
        append_to(&*log, &mut owned, &[0], 1);
        let old = owned.clone();
        factory.crash(log);
        log = open(factory);
        owned = log.acquire(&[A]).expect("it can be acquired");
        assert!(owned[0].epoch > newest, "epochs grow over restarts");
        newest = owned[0].epoch;
        let stale = append(&old[0], &[0], 1);
        let error = log.commit(&of(vec![stale])).expect_err("it is fenced");
        assert!(
            matches!(error, AppendError::Fenced { group: A, current } if current == newest),
            "{error}"
        );
        owned = log.acquire(&[A, B]).expect("they can be acquired");
        newest = owned[0].epoch;
    }
    assert!(log.acquire(&[Group(64)]).is_err());
    assert!(log.acquire(&[A, A]).is_err());
}
