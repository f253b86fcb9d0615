//! Cases about snapshots and truncation.

use super::Factory;
use super::support::{
    append, append_to, body, open, partition, places, read_snapshot, reopen, replay, snapshot,
    start, truncate_all,
};
use crate::log::{
    AppendError, CHUNK_BYTES_MAX, Commit, Group, HEADER_BYTES_MAX, Log, LogError, Positions,
    SLICE_BYTES_MAX, Sequence,
};

const A: Group = Group(1);
const B: Group = Group(2);

/// A snapshot and the tail behind it hold what the whole journal held.
pub fn snapshot_and_tail(factory: &mut dyn Factory) {
    let (log, mut owned) = start(factory, &[A]);
    for round in 0..20_u16 {
        append_to(&*log, &mut owned, &[round % 4], 700);
    }
    let full = replay(&*log, &Positions::new());
    for number in 0..4 {
        let position = Sequence(10 + u64::from(number));
        let mine = partition(A, number);
        let covered: Vec<Vec<u8>> = full
            .iter()
            .filter(|a| a.partitions.contains(&mine) && a.sequence <= position)
            .map(|a| a.records.clone())
            .collect();
        log.commit(&snapshot(mine, 1, position, &covered))
            .expect("the snapshot is in order");
    }
    let upto = log.coverage().positions();
    assert!(upto[&A] >= Sequence(10), "snapshots free the journal");
    truncate_all(&*log, &upto, 1_000);
    factory.crash(log);
    let log = open(factory);
    for number in 0..4 {
        let mine = partition(A, number);
        let infos = log.snapshots().expect("snapshots can be listed");
        let info = infos.iter().find(|info| info.partition == mine);
        let info = info.expect("every partition has one");
        assert_eq!(info.header, info.position.0.to_le_bytes());
        let mut read = read_snapshot(&*log, mine).expect("every partition has one");
        let after = Positions::from([(A, info.position)]);
        let tail = replay(&*log, &after).into_iter();
        read.extend(
            tail.filter(|a| a.partitions.contains(&mine))
                .map(|a| a.records),
        );
        let all: Vec<Vec<u8>> = full
            .iter()
            .filter(|a| a.partitions.contains(&mine))
            .map(|a| a.records.clone())
            .collect();
        assert_eq!(read, all, "partition {number}");
    }
}

/// Nothing goes that a snapshot does not have, also when asked to.
pub fn truncation_keeps_the_needed(factory: &mut dyn Factory) {
    let (log, mut owned) = start(factory, &[A, B]);
    append_to(&*log, &mut owned, &[0], 100);
    append_to(&*log, &mut owned[..1], &[0, 1], 100);
    append_to(&*log, &mut owned, &[0], 100);
    let refuse = |log: &dyn Log, upto: &Positions| {
        let before = places(log);
        let error = log.truncate(upto, 100).expect_err("it is not covered");
        assert!(matches!(error, LogError::Corrupt(_)), "{error}");
        assert_eq!(places(log), before, "nothing was removed");
    };
    let one = Positions::from([(A, Sequence(1))]);
    refuse(&*log, &one);
    log.commit(&snapshot(partition(A, 0), 1, Sequence(2), &[vec![1]]))
        .expect("the snapshot is in order");
    // Partition 1 was touched by sequence 2 and has no snapshot; group B has none at all.
    refuse(&*log, &Positions::from([(A, Sequence(2))]));
    truncate_all(&*log, &one, 100);
    assert_eq!(places(&*log).len(), 5, "the commit is also group B's");
    log.commit(&snapshot(partition(B, 0), 1, Sequence(1), &[]))
        .expect("the snapshot is in order");
    refuse(&*log, &Positions::from([(B, Sequence(2))]));
    let both = Positions::from([(A, Sequence(1)), (B, Sequence(1))]);
    truncate_all(&*log, &both, 100);
    let left = vec![(A, Sequence(2)), (A, Sequence(3)), (B, Sequence(2))];
    assert_eq!(places(&*log), left);
    let log = reopen(factory, log);
    assert_eq!(places(&*log), left);
    refuse(&*log, &Positions::from([(A, Sequence(2))]));
    let error = log.resolve(A, owned[0].epoch, Sequence(1), &[]);
    assert!(error.is_err(), "what was truncated cannot be resolved");
    let owned = log.acquire(&[A, B]).expect("they can be acquired");
    assert_eq!((owned[0].last, owned[1].last), (Sequence(3), Sequence(2)));
}

/// Truncation removes at most what it was told to at once, says when it is done, and an empty
/// journal remembers where it was.
pub fn truncation_goes_in_steps(factory: &mut dyn Factory) {
    let (log, mut owned) = start(factory, &[A]);
    for round in 0..50 {
        append_to(&*log, &mut owned, &[0], 300 * round);
    }
    log.commit(&snapshot(
        partition(A, 0),
        1,
        Sequence(50),
        &[vec![9; 20_000]],
    ))
    .expect("the snapshot is in order");
    let upto = log.coverage().positions();
    assert_eq!(upto, Positions::from([(A, Sequence(50))]));
    let mut steps = 0;
    let mut commits = log.journal_size().commits;
    while log.truncate(&upto, 7).expect("it is covered") {
        let now = log.journal_size().commits;
        assert!(now <= commits && commits - now <= 7, "{commits} to {now}");
        commits = now;
        steps += 1;
        assert!(steps < 1_000, "it comes to an end");
    }
    assert!(steps > 3, "it took several steps");
    assert_eq!(places(&*log), vec![]);
    assert_eq!(log.journal_size().bytes, 0);
    assert!(
        !log.truncate(&upto, 7).expect("it is covered"),
        "nothing is left"
    );
    append_to(&*log, &mut owned, &[1], 10);
    factory.crash(log);
    let (log, again) = start(factory, &[A]);
    assert_eq!(again[0].last, Sequence(51));
    assert_eq!(places(&*log), vec![(A, Sequence(51))]);
    assert_eq!(log.coverage().truncatable(A), Sequence(50));
    let slices = read_snapshot(&*log, partition(A, 0));
    assert_eq!(slices, Some(vec![vec![9; 20_000]]));
}

/// A newer snapshot replaces the older; slices may come over many commits, and be of any size.
pub fn snapshots_replace_each_other(factory: &mut dyn Factory) {
    let (mut log, mut owned) = start(factory, &[A]);
    let mine = partition(A, 5);
    append_to(&*log, &mut owned, &[5], 10);
    for round in 1..=6_u64 {
        let bytes = |index: u64| {
            let length = [0, 1, CHUNK_BYTES_MAX, 100_000][(index % 4) as usize];
            body(round * 100 + index, length + (round * index) as usize)
        };
        let count = 9 - round;
        let slices: Vec<Vec<u8>> = (0..count).map(bytes).collect();
        let whole = snapshot(mine, round * 10, Sequence(1), &slices);
        for slice in whole.slices {
            let part = Commit {
                slices: vec![slice],
                appends: vec![append(&owned[0], &[], 3)],
                ..Commit::default()
            };
            log.commit(&part).expect("the slice is in order");
            owned[0].last = owned[0].last.next();
            if round > 1 {
                let old = read_snapshot(&*log, mine).expect("the older one is still current");
                assert_eq!(old.len() as u64, count + 1);
            }
        }
        let seal = Commit {
            seals: whole.seals,
            ..Commit::default()
        };
        log.commit(&seal).expect("the seal is in order");
        assert_eq!(read_snapshot(&*log, mine), Some(slices.clone()));
        if round % 2 == 0 {
            let upto = log.coverage().positions();
            truncate_all(&*log, &upto, 13);
        }
        factory.check();
        factory.crash(log);
        (log, owned) = start(factory, &[A]);
        assert_eq!(read_snapshot(&*log, mine), Some(slices));
    }
}

/// Snapshots that are not whole or not newer are refused.
pub fn refused_snapshots(factory: &mut dyn Factory) {
    let (log, mut owned) = start(factory, &[A]);
    append_to(&*log, &mut owned, &[0], 10);
    append_to(&*log, &mut owned, &[0], 10);
    let mine = partition(A, 0);
    let whole = |name, position| snapshot(mine, name, Sequence(position), &[vec![1], vec![2]]);
    log.commit(&whole(5, 1)).expect("the snapshot is in order");
    let refused = |what: &str, commit: &Commit| {
        let error = log.commit(commit).expect_err(what);
        assert!(matches!(error, AppendError::Invalid(_)), "{what}: {error}");
    };
    refused("the same name again", &whole(5, 1));
    refused("an older name", &whole(4, 1));
    refused("a position that is not there yet", &whole(6, 3));
    refused("a position that goes back", &whole(6, 0));
    let mut bad = whole(6, 2);
    bad.slices.pop();
    refused("a missing slice", &bad);
    let mut bad = whole(6, 2);
    bad.slices.swap(0, 1);
    refused("slices out of order", &bad);
    let mut bad = whole(6, 2);
    bad.seals.push(bad.seals[0].clone());
    refused("two seals", &bad);
    let mut bad = whole(6, 2);
    bad.seals[0].header = vec![0; HEADER_BYTES_MAX + 1];
    refused("a large header", &bad);
    let mut bad = whole(6, 2);
    bad.slices[0].bytes = vec![0; SLICE_BYTES_MAX + 1];
    refused("a large slice", &bad);
    let mut bad = whole(6, 2);
    bad.slices.clear();
    refused("no slices", &bad);
    assert_eq!(read_snapshot(&*log, mine), Some(vec![vec![1], vec![2]]));
    // An idle partition moves its position without being written again.
    let mut again = whole(5, 2);
    again.slices.clear();
    again.seals[0].header = vec![7; HEADER_BYTES_MAX];
    log.commit(&again).expect("the seal moves the position");
    let log = reopen(factory, log);
    let infos = log.snapshots().expect("snapshots can be listed");
    assert_eq!(infos[0].position, Sequence(2));
    assert_eq!(infos[0].header, vec![7; HEADER_BYTES_MAX]);
    assert_eq!(read_snapshot(&*log, mine), Some(vec![vec![1], vec![2]]));
}

/// The name of a snapshot that was never sealed may be used again after a restart, and one that is
/// given up for a newer leaves nothing.
pub fn unsealed_names_are_free(factory: &mut dyn Factory) {
    let (log, mut owned) = start(factory, &[A]);
    append_to(&*log, &mut owned, &[0], 10);
    let mine = partition(A, 0);
    let long: Vec<Vec<u8>> = (0..5).map(|seed| body(seed, 30_000)).collect();
    let mut unsealed = snapshot(mine, 3, Sequence(1), &long);
    unsealed.seals.clear();
    log.commit(&unsealed).expect("the slices are in order");
    factory.crash(log);
    let (log, mut owned) = start(factory, &[A]);
    assert_eq!(read_snapshot(&*log, mine), None);
    let short = vec![body(9, 10)];
    log.commit(&snapshot(mine, 3, Sequence(1), &short))
        .expect("the name is free");
    let log = reopen(factory, log);
    assert_eq!(read_snapshot(&*log, mine), Some(short));
    append_to(&*log, &mut owned_again(&*log, &mut owned), &[0], 10);
    let mut given_up = snapshot(mine, 4, Sequence(2), &long);
    given_up.seals.clear();
    log.commit(&given_up).expect("the slices are in order");
    let newer = vec![body(10, 9_000)];
    log.commit(&snapshot(mine, 5, Sequence(2), &newer))
        .expect("the newer one is in order");
    let upto = log.coverage().positions();
    truncate_all(&*log, &upto, 3);
    let log = reopen(factory, log);
    assert_eq!(read_snapshot(&*log, mine), Some(newer));
}

fn owned_again(log: &dyn Log, owned: &mut [crate::Owned]) -> Vec<crate::Owned> {
    let groups: Vec<Group> = owned.iter().map(|owned| owned.group).collect();
    log.acquire(&groups).expect("they can be acquired")
}
