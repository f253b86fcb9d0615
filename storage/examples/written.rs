//! What reaches the disk for a journal whose snapshots follow it, once everything goes round.
//!
//! `cargo run --release -p interlock-storage --example written -- DIRECTORY [commit bytes] [MB]`
//! Sixteen partitions take their turn: a sixteenth of so many MB is committed, then one of them gets
//! a snapshot of half of that in slices of 64 KiB, then the journal is cut behind the oldest. The
//! directory must be on the disk to be measured and is left behind. Linux only.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it measures and reports to a terminal"
)]

use std::path::Path;
use std::time::Instant;

use interlock_storage::{
    Append, Commit, Group, Log, Owned, Partition, SledLog, SledOptions, SnapshotSeal, SnapshotSlice,
};

const PARTITIONS: u16 = 16;
const SLICE_BYTES: usize = 64 << 10;
const ROUNDS: usize = 6;

type Failure = Box<dyn std::error::Error>;

/// Bytes that this process has handed to files.
fn written() -> Result<u64, Failure> {
    let text = std::fs::read_to_string("/proc/self/io")?;
    let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    Ok(line.ok_or("no wchar in /proc/self/io")?.parse()?)
}

/// A commit of so many bytes that touches these partitions.
fn next_commit(owned: &mut Owned, partitions: Vec<Partition>, bytes: usize) -> Commit {
    owned.last = owned.last.next();
    Commit {
        appends: vec![Append {
            group: owned.group,
            epoch: owned.epoch,
            sequence: owned.last,
            partitions,
            records: (0..bytes).map(|i| ((i * 31) >> 3) as u8).collect(),
        }],
        ..Commit::default()
    }
}

/// Snapshots one partition in slices, each in a small commit, and seals it.
fn snapshot(
    log: &SledLog,
    owned: &mut Owned,
    partition: Partition,
    snapshot: u64,
    bytes: usize,
) -> Result<(), Failure> {
    let slices = u32::try_from(bytes / SLICE_BYTES)?;
    for index in 0..slices {
        let mut commit = next_commit(owned, vec![partition], 64);
        commit.slices.push(SnapshotSlice {
            partition,
            snapshot,
            index,
            bytes: (0..SLICE_BYTES).map(|i| ((i * 37) >> 3) as u8).collect(),
        });
        log.commit(&commit)?;
    }
    let mut commit = next_commit(owned, vec![partition], 64);
    commit.seals.push(SnapshotSeal {
        partition,
        snapshot,
        position: owned.last,
        slices,
        header: Vec::new(),
    });
    log.commit(&commit)?;
    Ok(())
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let place = arguments.next().ok_or("name a directory")?;
    let commit_bytes: usize = arguments.next().map_or(Ok(200_000), |text| text.parse())?;
    let megabytes: usize = arguments.next().map_or(Ok(200), |text| text.parse())?;
    let log = SledLog::open(Path::new(&place), &SledOptions::default())?;
    let mut owned = log.acquire(&[Group(0)])?[0];
    let part = megabytes * 1_000_000 / usize::from(PARTITIONS);
    let mut number = 0;
    for round in 1..=ROUNDS {
        let begun = Instant::now();
        let mut kinds = [0; 3];
        for partition in 0..PARTITIONS {
            number += 1;
            let before = written()?;
            for _ in 0..part / commit_bytes {
                let all = (0..PARTITIONS).map(Partition).collect();
                log.commit(&next_commit(&mut owned, all, commit_bytes))?;
            }
            let journal = written()?;
            snapshot(&log, &mut owned, Partition(partition), number, part / 2)?;
            let snapshots = written()?;
            let upto = log.coverage().positions();
            while log.truncate(&upto, 1_000)? {}
            let removals = written()?;
            kinds[0] += journal - before;
            kinds[1] += snapshots - journal;
            kinds[2] += removals - snapshots;
        }
        let each = |bytes: u64| bytes as f64 / (megabytes * 1_000_000) as f64;
        println!(
            "round {round}: bytes written a byte of journal {:.2}, for its snapshots {:.2}, for \
             removals {:.2}; {:.1} s, {} MB on disk",
            each(kinds[0]),
            each(kinds[1]),
            each(kinds[2]),
            begun.elapsed().as_secs_f64(),
            log.size_on_disk()? >> 20,
        );
    }
    Ok(())
}
