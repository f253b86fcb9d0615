//! A process dies and another one starts from the log, with another number of shards.

use std::sync::Arc;

use interlock_actors::bus::Notices;
use interlock_actors::committer::Committer;
use interlock_actors::keeper::{Keeper, KeeperOptions};
use interlock_actors::message::ShardMessage;
use interlock_actors::placement::{group_of, shard_of};
use interlock_actors::recovery::{Rebuilt, rebuild};
use interlock_domain::key::SpaceId;
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::{Commit, FaultPlan, Group, Landed, Log, Partition};

use super::{SHARDS_MAX, World};
use crate::conditions::{Bounds, Framed};
use crate::journal::Journal;
use crate::machine::{Memory, REFUSED, SimMachine, Violation, violated};
use crate::node::Node;
use crate::random::Random;
use crate::replay::Replay;
use crate::swarm::{Habits, Weather};
use crate::tap::Tap;

/// Starts in a row that may fail.
const STARTS_MAX: u32 = 100;

/// What a process starts with.
pub(super) struct Start<'a, N> {
    pub(super) tap: &'a Arc<Tap>,
    pub(super) spaces: &'a [SpaceId],
    pub(super) notices: &'a Notices<N>,
    pub(super) habits: &'a Habits,
    pub(super) shards: u16,
}

/// Starts a process: acquires, rebuilds, adopts.
pub(super) fn start<M: SimMachine>(
    start: &Start<'_, M::Notice>,
    journal: &Journal<M>,
    random: &mut Random,
) -> Result<Node<M>, Violation> {
    let mut groups: Vec<Group> = start.spaces.iter().map(|&space| group_of(space)).collect();
    groups.sort_unstable();
    groups.dedup();
    let log: &dyn Log = &**start.tap;
    let owned = log.acquire(&groups)?;
    let epoch = owned.iter().map(|owned| owned.epoch.0).max().unwrap_or(1);
    let options = KeeperOptions {
        snapshot_interval_ms: start.habits.snapshot_interval_ms,
        snapshot_bytes_per_s: 10_000_000,
        journal_bytes_soft: 1_000_000,
        journal_bytes_max: 1_000_000,
    };
    let keeper = Keeper::new(options, log.coverage(), epoch);
    let tap = Arc::<Tap>::clone(start.tap);
    let committer = Committer::<M>::new(tap, &owned, keeper, start.notices.clone());
    let mut rebuilt = Vec::new();
    for shard in 0..start.shards {
        let owns = |partition: Partition| shard_of(partition, start.shards) == shard;
        rebuilt.push(rebuild::<M>(log, &owns)?);
    }
    let floor = compare(&rebuilt, journal)?;
    // A life is under its run's bounds, or under none.
    let mut bound = |most| {
        if random.chance(500) {
            most
        } else {
            Bounds::NONE
        }
    };
    let bounds = Bounds {
        entities: bound(start.habits.entities_max),
        part: bound(start.habits.part_max),
        spaces: start.spaces.to_vec(),
    };
    let habits = (start.habits, bounds);
    let mut node = Node::new(start.shards, committer, floor, habits, random);
    for (shard, rebuilt) in node.shards.iter_mut().zip(rebuilt) {
        for partition in rebuilt.partitions.into_values() {
            shard.receive(ShardMessage::Adopt(partition));
        }
    }
    Ok(node)
}

/// Is what was rebuilt what the log says? Answers the time a node starts at.
pub(super) fn compare<M: Machine>(
    rebuilt: &[Rebuilt<M>],
    journal: &Journal<M>,
) -> Result<Timestamp, Violation> {
    let mut memory = Memory::new();
    for partition in rebuilt
        .iter()
        .flat_map(|rebuilt| rebuilt.partitions.values())
    {
        partition.each_home(&mut |key, version, entity| {
            memory.insert(*key, (version, entity.clone()));
        });
        let floor = journal.floors().get(&partition.id()).copied().unwrap_or(0);
        if partition.floor() != floor {
            let (id, seen) = (partition.id(), partition.floor());
            return violated(
                "C6",
                format!("the floor of {id} is {floor}, rebuilt {seen}"),
            );
        }
    }
    same("the rebuilt memory", &memory, &journal.memory())?;
    let time = rebuilt.iter().map(|rebuilt| rebuilt.time).max();
    let time = time.unwrap_or(Timestamp(0));
    if time < journal.latest() {
        return violated("time", "the node would start before its last record");
    }
    Ok(time)
}

/// Are two memories the same?
pub(super) fn same<E: PartialEq + std::fmt::Debug>(
    what: &str,
    memory: &Memory<E>,
    journal: &Memory<E>,
) -> Result<(), Violation> {
    if memory == journal {
        return Ok(());
    }
    let keys = memory.keys().chain(journal.keys());
    let mut different = keys.filter(|key| memory.get(key) != journal.get(key));
    let key = different.next().expect("two memories differ in an entity");
    let (seen, logged) = (memory.get(key), journal.get(key));
    violated(
        "C6",
        format!("{what} has {key:?} as {seen:?}, the log as {logged:?}"),
    )
}

impl<M: SimMachine> World<M> {
    /// The process dies, maybe in the middle of a commit, and another one starts.
    pub(super) fn crash(
        &mut self,
        uncertain: Option<(Commit, Vec<Framed>)>,
    ) -> Result<(), Violation> {
        self.report.crashes += 1;
        self.report.finish(&mut self.node);
        // The next process counts what it adopts.
        self.report.entities = Default::default();
        self.restart_log()?;
        if let Some((commit, framed)) = uncertain
            && self.survived(&commit)?
        {
            self.report.landed_unknown += 1;
            self.landed(&commit, &framed)?;
        }
        self.tracker.crashed();
        self.looking.clear();
        self.told.clear();
        self.ending = None;
        self.start_again()
    }

    /// Starts a process; one that cannot read its log or acquire its groups dies and is followed by
    /// another.
    fn start_again(&mut self) -> Result<(), Violation> {
        for tries in 0..STARTS_MAX {
            // The disk gets better with time: a long log takes so many reads that one of them
            // would always fail. On a calm disk a start must work.
            let faults = self.habits.start_faults >> (tries / 8);
            let plan = FaultPlan {
                read: faults,
                write: faults,
                ..FaultPlan::calm(0)
            };
            let shards = self.schedule.range(1..=u64::from(SHARDS_MAX));
            let options = Start {
                tap: &self.tap,
                spaces: &self.spaces,
                notices: &self.notices,
                habits: &self.habits,
                shards: u16::try_from(shards).expect("a few shards"),
            };
            self.disk.set_plan(plan);
            if self.options.faults.has(Weather::Clock) && self.schedule.chance(100) {
                self.clocks.jump(&mut self.schedule);
            }
            let started = start(&options, &self.journal, &mut self.schedule);
            self.disk.set_plan(FaultPlan::calm(0));
            match started {
                Ok(node) => {
                    self.clocks.begin(node.floor);
                    self.node = node;
                    self.replay = Replay::of(&self.disk)?;
                    return Ok(());
                }
                Err(violation) if violation.invariant == REFUSED => {
                    self.report.failed_starts += 1;
                    self.restart_log()?;
                }
                Err(violation) => return Err(violation),
            }
        }
        violated("stuck", "no process could start")
    }

    /// The log as the next start finds it: after a power cut, or after the process alone ended.
    fn restart_log(&mut self) -> Result<(), Violation> {
        let next = if self.schedule.chance(700) {
            self.disk.crash()
        } else {
            self.disk.restart(false)
        };
        self.disk = next?;
        self.tap = Arc::new(Tap::new(Arc::new(self.disk.clone()), self.answers.clone()));
        Ok(())
    }

    /// Is a commit of unknown outcome in the log? Whole, or not at all.
    fn survived(&self, commit: &Commit) -> Result<bool, Violation> {
        let mut landed = Vec::new();
        for append in &commit.appends {
            let Ok(outcome) =
                self.tap
                    .resolve(append.group, append.epoch, append.sequence, &append.records)
            else {
                return violated("C6", "the log cannot say whether a commit landed");
            };
            landed.push(outcome == Landed::Yes);
        }
        if landed.iter().any(|&one| one != landed[0]) {
            return violated("C6", "a commit is in the log in parts");
        }
        Ok(landed.first().copied().unwrap_or(false))
    }
}
