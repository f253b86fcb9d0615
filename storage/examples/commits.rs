//! How fast an engine commits: commits and megabytes a second by size of commit.
//!
//! `cargo run --release -p interlock-storage --example commits -- [memory|DIRECTORY] [seconds]`
//! The directory must be on the disk to be measured and is left behind.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it measures time and reports to a terminal"
)]

use std::path::Path;
use std::time::Instant;

use interlock_storage::{
    Append, Commit, Group, Log, MemoryLog, Partition, SledLog, SledOptions, SnapshotSeal,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let place = arguments.next().unwrap_or_else(|| "memory".to_owned());
    let seconds: f64 = arguments.next().map_or(Ok(3.0), |text| text.parse())?;
    for bytes in [256, 4 << 10, 64 << 10, 1 << 20, 4 << 20] {
        if place == "memory" {
            measure(&MemoryLog::new(), bytes, seconds)?;
        } else {
            let dir = Path::new(&place).join(bytes.to_string());
            measure(
                &SledLog::open(&dir, &SledOptions::default())?,
                bytes,
                seconds,
            )?;
            let begun = Instant::now();
            let log = SledLog::open(&dir, &SledOptions::default())?;
            let opened = begun.elapsed();
            println!(
                "          opened in {:.0} ms, {} MB on disk",
                opened.as_secs_f64() * 1e3,
                log.size_on_disk()? >> 20
            );
        }
    }
    Ok(())
}

/// Commits for a while; a snapshot of nothing and a truncation keep the journal's tail short.
fn measure(log: &dyn Log, bytes: usize, seconds: f64) -> Result<(), Box<dyn std::error::Error>> {
    let mut owned = log.acquire(&[Group(0)])?[0];
    let records: Vec<u8> = (0..bytes).map(|i| ((i * 31) >> 3) as u8).collect();
    let keep = (32 << 20) / bytes as u64 + 1;
    let begun = Instant::now();
    let mut times = Vec::new();
    while begun.elapsed().as_secs_f64() < seconds {
        owned.last = owned.last.next();
        let mut commit = Commit {
            appends: vec![Append {
                group: owned.group,
                epoch: owned.epoch,
                sequence: owned.last,
                partitions: vec![Partition(0)],
                records: records.clone(),
            }],
            ..Commit::default()
        };
        let seals = owned.last.0 % keep == 0;
        if seals {
            commit.seals.push(SnapshotSeal {
                partition: Partition(0),
                snapshot: owned.last.0,
                position: owned.last,
                slices: 0,
                header: Vec::new(),
            });
        }
        let one = Instant::now();
        log.commit(&commit)?;
        times.push(one.elapsed().as_secs_f64() * 1e3);
        if seals {
            let upto = log.coverage().positions();
            while log.truncate(&upto, 1_000)? {}
        }
    }
    let all = begun.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    println!(
        "{bytes:>8} B: {:>7.0} commits/s, {:>6.1} MB/s; p50 {:.2} ms, p99 {:.2} ms, most {:.1} ms",
        times.len() as f64 / all,
        (times.len() * bytes) as f64 / 1e6 / all,
        at(50),
        at(99),
        at(100),
    );
    Ok(())
}
