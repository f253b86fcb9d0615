//! Moments of rest: everything arrives, everything is decided and written; then memory, log and
//! model must be one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use interlock_actors::recovery::rebuild;
use interlock_actors::shard::Shard;
use interlock_domain::key::Kind;
use interlock_domain::machine::Sweep;
use interlock_domain::time::Timestamp;
use interlock_storage::Log;

use super::{World, life};
use crate::audit::{Reach, audit};
use crate::machine::{Memory, Model, SimMachine, Violation, violated};
use crate::tap::Tap;

/// Rounds after which a node that is not idle never will be.
const ROUNDS_MAX: u32 = 200_000;

impl<M: SimMachine> World<M> {
    /// Comes to rest and checks all there is.
    pub(super) fn rest(&mut self) -> Result<(), Violation> {
        self.settle()?;
        if self.schedule.chance(500) {
            self.finish_snapshot()?;
        }
        if self.schedule.chance(300) {
            self.sweep_whole()?;
        }
        if self.habits.truncates() && self.schedule.chance(300) {
            self.truncate_all()?;
        }
        self.report.rests += 1;
        let audited = audit(&self.node, &self.replay, Reach::All)?;
        if audited.away > 0 || audited.waiting > 0 {
            return violated("L1", format!("at rest {audited:?}"));
        }
        // An actor takes a turn after every message; here some shards may not have had theirs.
        for shard in 0..self.node.shards.len() {
            self.turn(shard)?;
        }
        let on_loan = self.node.pressure.on_loan.load(Ordering::Relaxed);
        if on_loan != 0 {
            return violated("counts", format!("{on_loan} entities on loan at rest"));
        }
        self.tracker.rest()?;
        self.looking.clear();
        self.waiters_told()?;
        self.report.finish(&mut self.node);
        let memory = self.live_memory()?;
        life::same("the live memory", &memory, &self.journal.memory())?;
        self.counts_agree(&memory)?;
        self.model.quiet(&memory, self.clocks.latest())?;
        self.rebuilt_agrees(&self.disk)?;
        if !self.habits.truncates() {
            let whole = Tap::without_snapshots(Arc::new(self.disk.clone()));
            self.rebuilt_agrees(&whole)?;
        }
        Ok(())
    }

    /// Lets everything under way come to its end.
    pub(super) fn settle(&mut self) -> Result<(), Violation> {
        for _ in 0..ROUNDS_MAX {
            if self.node.is_idle() {
                return Ok(());
            }
            for _ in 0..8 {
                self.node.deliver(&mut self.schedule);
            }
            let shard = self.node.busy_shard(&mut self.schedule);
            self.turn(shard)?;
            if self.schedule.chance(300) || !self.node.shards[shard].has_work() {
                self.commit()?;
            }
        }
        let audited = audit(&self.node, &self.replay, Reach::All)?;
        violated("stuck", format!("never at rest; {audited:?}"))
    }

    /// Lets the snapshot in progress come to its end, if there is one.
    fn finish_snapshot(&mut self) -> Result<(), Violation> {
        for _ in 0..ROUNDS_MAX {
            if !self.node.committer.keeper().in_snapshot() {
                return Ok(());
            }
            self.clocks.pass(&mut self.schedule);
            self.keep();
            self.settle()?;
        }
        violated("stuck", "a snapshot is never complete")
    }

    /// A sweep of everything leaves nothing that was due when it was asked for, except where a
    /// snapshot in progress forbids it.
    fn sweep_whole(&mut self) -> Result<(), Violation> {
        if self.node.committer.keeper().in_snapshot() {
            return Ok(());
        }
        for to in 0..self.node.shards.len() {
            self.sweep_all(to);
        }
        let since: Vec<Timestamp> = self.node.shards.iter().map(Shard::now).collect();
        let crashes = self.report.crashes;
        self.settle()?;
        if self.report.crashes > crashes {
            // Nobody was told that it was done.
            return Ok(());
        }
        let mut left = None;
        for (shard, since) in self.node.shards.iter().zip(since) {
            shard.each_partition(&mut |partition| {
                partition.each_home(&mut |key, _, entity| {
                    let due = M::due(entity).is_some_and(|due| due <= since);
                    if due && M::sweep(entity, since) != Sweep::Keep {
                        left = Some(*key);
                    }
                });
            });
        }
        left.map_or(Ok(()), |key| {
            violated("sweep", format!("{key:?} was due and is still there"))
        })
    }

    /// Lets everything go that snapshots cover.
    fn truncate_all(&mut self) -> Result<(), Violation> {
        for _ in 0..ROUNDS_MAX {
            if !self.node.committer.keeper().truncation_due() {
                return Ok(());
            }
            self.truncate()?;
        }
        violated("stuck", "a truncation never ends")
    }

    fn live_memory(&self) -> Result<Memory<M::Entity>, Violation> {
        let mut memory = Memory::new();
        let mut wrong = None;
        for shard in &self.node.shards {
            shard.each_partition(&mut |partition| {
                partition.each_home(&mut |key, version, entity| {
                    memory.insert(*key, (version, entity.clone()));
                });
                let floor = self.journal.floors().get(&partition.id());
                if partition.floor() != floor.copied().unwrap_or(0) {
                    wrong = Some((partition.id(), partition.floor(), floor));
                }
            });
        }
        match wrong {
            None => Ok(memory),
            Some((id, live, logged)) => violated(
                "C6",
                format!("the floor of {id} is {live}, by the log {logged:?}"),
            ),
        }
    }

    /// Do the shards count as many entities as there are?
    fn counts_agree(&self, memory: &Memory<M::Entity>) -> Result<(), Violation> {
        let mut entities = [0_i64; Kind::ALL.len()];
        for key in memory.keys() {
            entities[key.kind as usize] += 1;
        }
        if entities == self.report.entities {
            return Ok(());
        }
        let counted = self.report.entities;
        violated(
            "counts",
            format!("{entities:?} entities, counted {counted:?}"),
        )
    }

    fn rebuilt_agrees(&self, log: &dyn Log) -> Result<(), Violation> {
        let rebuilt = rebuild::<M>(log, &|_| true)?;
        life::compare(&[rebuilt], &self.journal)?;
        Ok(())
    }
}
