//! Recovery on its own threads, beside a server that already listens.
//!
//! Here: threads read the log, each for its share of the partitions, then the clock is judged, then
//! partitions are adopted and announced. Not here: reading (`recovery`). File calls are allowed here
//! and nowhere else outside the committer: these are plain threads, not Arbiters.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::Addr;
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::{GROUPS, Log, LogError, PARTITIONS_PER_GROUP, Partition as PartitionId};
use tokio::sync::watch;

use crate::clock::NodeClock;
use crate::message::{Monotonic, ShardMessage};
use crate::node::{Failure, RecoveryReport};
use crate::placement::shard_of;
use crate::readiness::Readiness;
use crate::recovery::{Rebuilt, rebuild};
use crate::shard::Pressure;
use crate::shard_actor::{Deliver, ShardActor};

/// Most threads that read the log: each reads all of it, which more of them would wait for.
const THREADS_MAX: u16 = 8;

/// What recovery needs and whom it tells.
pub(crate) struct Recovery<M: Machine> {
    pub(crate) log: Arc<dyn Log>,
    pub(crate) shards: Vec<Addr<ShardActor<M>>>,
    pub(crate) clock: NodeClock,
    pub(crate) readiness: Readiness,
    pub(crate) pressure: Arc<Pressure>,
    pub(crate) accept_clock: bool,
    pub(crate) hold: Option<Duration>,
    pub(crate) started: Monotonic,
    pub(crate) failure: watch::Sender<Option<Failure>>,
    pub(crate) report: watch::Sender<Option<RecoveryReport>>,
}

/// Rebuilds everything, or says why not.
pub(crate) fn run<M: Machine>(recovery: Recovery<M>) {
    let rebuilt = match read::<M>(&recovery) {
        Ok(rebuilt) => rebuilt,
        Err(error) => {
            recovery
                .failure
                .send_replace(Some(Failure::Recovery(error.to_string())));
            return;
        }
    };
    let last = rebuilt
        .iter()
        .map(|one| one.time)
        .max()
        .unwrap_or(Timestamp(0));
    if let Err(refused) = recovery.clock.begin(last, recovery.accept_clock) {
        recovery
            .failure
            .send_replace(Some(Failure::Clock(refused.to_string())));
        return;
    }
    let report = adopt(&recovery, rebuilt);
    crate::metrics::recovered(report);
    recovery.report.send_replace(Some(report));
}

/// As many threads as there are processors, whatever the shards: nothing else is done meanwhile, and
/// what takes the time is changing entities. Each reads its own partitions out of the whole log.
fn read<M: Machine>(recovery: &Recovery<M>) -> Result<Vec<Rebuilt<M>>, LogError> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = u16::try_from(processors).map_or(THREADS_MAX, |it| it.min(THREADS_MAX));
    let log = &recovery.log;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|index| {
                scope.spawn(move || {
                    rebuild::<M>(&**log, &|partition| partition.0 % threads == index)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| match thread.join() {
                Ok(rebuilt) => rebuilt,
                Err(_) => Err(LogError::Corrupt(
                    "the log cannot be read: a recovery thread panicked on it".to_owned(),
                )),
            })
            .collect()
    })
}

/// Hands the partitions to their shards and announces them; the last one after the hold.
fn adopt<M: Machine>(recovery: &Recovery<M>, rebuilt: Vec<Rebuilt<M>>) -> RecoveryReport {
    let mut report = RecoveryReport::default();
    let shards = u16::try_from(recovery.shards.len()).expect("a node has few shards");
    for one in rebuilt {
        report.records = report.records.max(one.records);
        report.snapshots += one.snapshots;
        for (id, partition) in one.partitions {
            report.entities += partition.len() as u64;
            partition.each_home(&mut |key, _, entity| {
                if M::KEEPS_HISTORY == Some(key.kind) && M::keeps_history(entity) {
                    let keepers = &recovery.pressure.history_keepers;
                    keepers.fetch_add(1, Ordering::Relaxed);
                }
            });
            report.partitions += 1;
            let shard = &recovery.shards[usize::from(shard_of(id, shards))];
            shard.do_send(Deliver(ShardMessage::Adopt(partition)));
        }
    }
    let all = (0..GROUPS * PARTITIONS_PER_GROUP).map(PartitionId);
    if let Some(hold) = recovery.hold {
        // Every group's last partition: a test finds one whatever its space.
        let last = |partition: &PartitionId| {
            partition.0 % PARTITIONS_PER_GROUP == PARTITIONS_PER_GROUP - 1
        };
        recovery
            .readiness
            .set(all.clone().filter(|partition| !last(partition)));
        #[expect(
            clippy::disallowed_methods,
            reason = "a hold asked for on the command line"
        )]
        std::thread::sleep(hold);
    }
    recovery.readiness.set(all);
    let nanos = recovery.clock.mono().0.saturating_sub(recovery.started.0);
    report.millis = nanos / 1_000_000;
    report
}
