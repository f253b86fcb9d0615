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

/// A journal of so many bytes.
const fn journal(bytes: u64) -> JournalSize {
    JournalSize { commits: 1, bytes }
}

/// Begins a snapshot; its name and position.
fn begun(keeper: &mut Keeper, journal: JournalSize) -> (u64, Sequence) {
    match keeper.poll(Monotonic(0), journal) {
        Some(Order::Begin {
            snapshot, position, ..
        }) => (snapshot, position),
        other => panic!("no partition is to be covered: {other:?}"),
    }
}

#[test]
fn a_short_journal_is_snapshotted_at_the_pace() {
    let short = journal(200);
    let mut keeper = keeper();
    let (snapshot, position) = begun(&mut keeper, short);
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
    let long = journal(500);
    let mut keeper = keeper();
    assert!(matches!(
        keeper.poll(Monotonic(0), long),
        Some(Order::Begin { .. })
    ));
    let asked = std::iter::from_fn(|| keeper.poll(Monotonic(0), long)).count();
    assert_eq!(asked as u32 + 1, SLICES_MAX);
}

/// A commit of so many bytes of records.
fn records(bytes: usize) -> Commit {
    let mut commit = append(2, 3);
    commit.appends[0].records = vec![0; bytes];
    commit
}

/// The longer the journal, the fewer records pay for a slice, down to half of its bytes; what they paid for
/// too much stays.
#[test]
fn records_pay_for_slices_the_more_the_longer_the_journal_is() {
    let slice_bytes = usize::try_from(SLICE_BYTES).expect("a small number");
    for (bytes, pay) in [(275, 6), (375, 1), (450, 1)] {
        let journal = journal(bytes);
        let mut keeper = keeper();
        let (snapshot, _) = begun(&mut keeper, journal);
        keeper.committed(&slice(snapshot, 0), Monotonic(0));
        let early = keeper.poll(Monotonic(0), journal);
        assert_eq!(early, None, "{bytes} bytes, nothing paid");
        let next = Some(Order::Slice(Partition(3)));
        let asked = (1..20).find(|_| {
            keeper.committed(&records(slice_bytes), Monotonic(0));
            keeper.poll(Monotonic(0), journal) == next
        });
        assert_eq!(asked, Some(pay), "{bytes} bytes");
        let second = keeper.poll(Monotonic(0), journal);
        assert_eq!(second, None, "{bytes} bytes, one paid");
    }
}

/// However much is committed at once pays for a bounded number of slices.
#[test]
fn what_is_paid_in_advance_is_bounded() {
    let journal = journal(499);
    let mut keeper = keeper();
    assert!(keeper.poll(Monotonic(0), journal).is_some());
    keeper.committed(&records(100 << 20), Monotonic(0));
    let asked = std::iter::from_fn(|| keeper.poll(Monotonic(0), journal)).count();
    assert_eq!(asked as u32 + 1, SLICES_MAX);
}

/// Commits pay from half of the soft bound on, most at the bound; where more is live it is that.
#[test]
fn the_soft_bound_is_what_is_live() {
    let options = KeeperOptions {
        journal_bytes_soft: 200,
        journal_bytes_max: 100_000,
        ..OPTIONS
    };
    let mut keeper = Keeper::new(options, Coverage::default(), 1);
    keeper.committed(&append(1, 3), Monotonic(0));
    let rises = |keeper: &Keeper, (from, to): (u64, u64)| {
        let urgency = |bytes| keeper.urgency(journal(bytes));
        assert_eq!((urgency(from), urgency(to)), (0, URGENT));
        assert!((1..URGENT).contains(&urgency(u64::midpoint(from, to))));
    };
    rises(&keeper, (100, 200));
    let (snapshot, _) = begun(&mut keeper, journal(200));
    keeper.committed(&slice(snapshot, 0), Monotonic(0));
    let mut whole = slice(snapshot, 1);
    whole.seals.push(seal(3, snapshot, 2));
    keeper.committed(&whole, Monotonic(0));
    rises(&keeper, (500, 1_000));
    assert!(!keeper.is_pressed(journal(1_000)));
    assert!(keeper.is_pressed(journal(25_100)));
}

/// Also a round of many small partitions keeps the pace.
#[test]
fn the_next_partition_begins_when_the_last_is_paid_for() {
    let short = journal(200);
    let mut keeper = keeper();
    keeper.committed(&append(2, 4), Monotonic(0));
    let (snapshot, _) = begun(&mut keeper, short);
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
