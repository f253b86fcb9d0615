//! The pace of snapshots over plain numbers.

use interlock_storage::{Append, Epoch, Group, SnapshotSeal, SnapshotSlice};

use super::*;

const OPTIONS: KeeperOptions = KeeperOptions {
    snapshot_interval_ms: 1_000,
    snapshot_bytes_per_s: 1_000,
    journal_bytes_soft: 1_000,
    journal_bytes_max: 1_000,
};

fn keeper() -> Keeper {
    let mut keeper = Keeper::new(OPTIONS, Coverage::default(), 1);
    keeper.committed(&append(1, 3), Monotonic(0));
    keeper
}

/// The group's next frame, of one partition.
fn append(sequence: u64, partition: u16) -> Commit {
    let append = Append {
        group: Group(0),
        epoch: Epoch(1),
        sequence: Sequence(sequence),
        partitions: vec![Partition(partition)],
        records: vec![0],
    };
    Commit {
        appends: vec![append],
        ..Commit::default()
    }
}

fn seal(partition: u16, snapshot: u64, slices: u32) -> SnapshotSeal {
    SnapshotSeal {
        partition: Partition(partition),
        snapshot,
        position: Sequence(1),
        slices,
        header: Vec::new(),
    }
}

fn slice(snapshot: u64, index: u32) -> Commit {
    let slice = SnapshotSlice {
        partition: Partition(3),
        snapshot,
        index,
        bytes: vec![0; 500],
    };
    Commit {
        slices: vec![slice],
        ..Commit::default()
    }
}

#[test]
fn a_short_journal_is_snapshotted_at_the_pace() {
    let short = JournalSize {
        commits: 1,
        bytes: 200,
    };
    let mut keeper = keeper();
    let Some(Order::Begin {
        snapshot, position, ..
    }) = keeper.poll(Monotonic(0), short)
    else {
        panic!("a partition is not covered");
    };
    assert_eq!(position, Sequence(1));
    assert_eq!(
        keeper.poll(Monotonic(0), short),
        None,
        "its first slice is on its way"
    );
    keeper.committed(&slice(snapshot, 0), Monotonic(0));
    assert_eq!(
        keeper.poll(Monotonic(499_999_999), short),
        None,
        "500 bytes take 0.5 s"
    );
    let at = Monotonic(500_000_000);
    assert_eq!(keeper.wake_at(), Some(at));
    assert_eq!(keeper.poll(at, short), Some(Order::Slice(Partition(3))));
}

#[test]
fn a_long_journal_is_snapshotted_as_fast_as_it_goes() {
    let long = JournalSize {
        commits: 1,
        bytes: 500,
    };
    let mut keeper = keeper();
    assert!(matches!(
        keeper.poll(Monotonic(0), long),
        Some(Order::Begin { .. })
    ));
    let asked = std::iter::from_fn(|| keeper.poll(Monotonic(0), long)).count();
    assert_eq!(asked as u32 + 1, SLICES_PRESSED);
}

/// The longer the journal, the fewer commits go without a slice.
#[test]
fn more_commits_carry_a_slice_as_the_journal_grows() {
    for (bytes, between) in [(251, 249), (275, 9), (375, 1), (450, 1), (499, 1)] {
        let journal = JournalSize { commits: 1, bytes };
        let mut keeper = keeper();
        let begun = keeper.poll(Monotonic(0), journal);
        let Some(Order::Begin { snapshot, .. }) = begun else {
            panic!("a partition is not covered");
        };
        keeper.committed(&slice(snapshot, 0), Monotonic(0));
        for commit in 0..between {
            let early = keeper.poll(Monotonic(0), journal);
            assert_eq!(early, None, "{bytes} bytes, {commit} commits");
            keeper.committed(&Commit::default(), Monotonic(0));
        }
        let asked = keeper.poll(Monotonic(0), journal);
        assert_eq!(asked, Some(Order::Slice(Partition(3))), "{bytes} bytes");
        let second = keeper.poll(Monotonic(0), journal);
        assert_eq!(second, None, "one at a time");
    }
}

/// At the soft bound each commit carries a slice, and never more than one; where more is live, the
/// bound is twice that.
#[test]
fn the_soft_bound_is_twice_what_is_live() {
    let options = KeeperOptions {
        journal_bytes_soft: 200,
        journal_bytes_max: 100_000,
        ..OPTIONS
    };
    let journal = |bytes| JournalSize { commits: 1, bytes };
    let mut keeper = Keeper::new(options, Coverage::default(), 1);
    keeper.committed(&append(1, 3), Monotonic(0));
    let rises = |keeper: &Keeper, (from, to): (u64, u64)| {
        let urgency = |bytes| keeper.urgency(journal(bytes));
        assert_eq!((urgency(from), urgency(to)), (0, URGENT));
        assert!((1..URGENT).contains(&urgency(u64::midpoint(from, to))));
    };
    rises(&keeper, (100, 200));
    let begun = keeper.poll(Monotonic(0), journal(200));
    let Some(Order::Begin { snapshot, .. }) = begun else {
        panic!("a partition is not covered");
    };
    assert_eq!(
        keeper.poll(Monotonic(0), journal(200)),
        None,
        "one a commit"
    );
    keeper.committed(&slice(snapshot, 0), Monotonic(0));
    let next = keeper.poll(Monotonic(0), journal(200));
    assert_eq!(next, Some(Order::Slice(Partition(3))), "at once");
    let mut whole = slice(snapshot, 1);
    whole.seals.push(seal(3, snapshot, 2));
    keeper.committed(&whole, Monotonic(0));
    rises(&keeper, (1_000, 2_000));
    assert!(!keeper.is_pressed(journal(2_000)));
    assert!(keeper.is_pressed(journal(25_100)));
}

/// Also a round of many small partitions keeps the pace.
#[test]
fn the_next_partition_begins_when_the_last_is_paid_for() {
    let short = JournalSize {
        commits: 1,
        bytes: 200,
    };
    let mut keeper = keeper();
    keeper.committed(&append(2, 4), Monotonic(0));
    let begun = keeper.poll(Monotonic(0), short);
    let Some(Order::Begin { snapshot, .. }) = begun else {
        panic!("two partitions are not covered");
    };
    let mut whole = slice(snapshot, 0);
    whole.seals.push(seal(3, snapshot, 1));
    keeper.committed(&whole, Monotonic(0));
    assert_eq!(keeper.poll(Monotonic(499_999_999), short), None);
    let at = Monotonic(500_000_000);
    assert_eq!(keeper.wake_at(), Some(at));
    let next = keeper.poll(at, short);
    assert!(matches!(
        next,
        Some(Order::Begin {
            partition: Partition(4),
            ..
        })
    ));
}
