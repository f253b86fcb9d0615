//! The entrance while partitions are rebuilt.
//!
//! Here: which commands of a submission can go at once, which get the product's own answer, which
//! wait. Not here: rebuilding (`recovery`). Nothing is decided on a partition that is not rebuilt, and
//! nothing waits for one that it does not touch, unless something earlier of its request does.

use std::collections::HashSet;
use std::time::Duration;

use interlock_domain::ids::IdStream;
use interlock_domain::key::EntityKey;
use interlock_domain::machine::{Machine, Undecided};

use super::{Asked, NodeHandle, random_seed};
use crate::message::Answer;
use crate::placement::partition_of;
use crate::plan::Numbered;

/// Commands that go at once, and those that wait.
type Sorted<C> = (Vec<Numbered<C>>, Vec<Numbered<C>>);

impl<M: Machine> NodeHandle<M> {
    /// Decides what can be decided, and more with each partition that is rebuilt, until nothing is
    /// left or the deadline has come.
    pub(super) async fn complete_as_rebuilt(
        &self,
        commands: Vec<Numbered<M::Command>>,
        request: Asked<M>,
        answers: &mut [Option<Answer<M::Reply>>],
    ) {
        let mut changes = self.entrance.readiness.watch();
        let mut waiting = commands;
        loop {
            let (rebuilt, rest) = self.sort_out(waiting, &request.policy, answers);
            self.complete(rebuilt, request.clone(), answers).await;
            waiting = rest;
            if waiting.is_empty() {
                return;
            }
            let now = self.entrance.clock.mono().0;
            let wait = Duration::from_nanos(request.deadline.0.saturating_sub(now));
            let changed = tokio::time::timeout(wait, changes.changed()).await;
            if wait.is_zero() || changed.is_err() {
                break;
            }
        }
        for one in waiting {
            answers[one.index as usize] = Some(Answer::NotDecided(Undecided::Rebuilding));
        }
    }

    /// Sorts a submission: what the product answers by itself is answered. A command that shares an
    /// entity with an earlier one that waits waits too, because they are decided in request order.
    fn sort_out(
        &self,
        commands: Vec<Numbered<M::Command>>,
        policy: &M::Policy,
        answers: &mut [Option<Answer<M::Reply>>],
    ) -> Sorted<M::Command> {
        let mut ids = IdStream::new(random_seed());
        let (mut go, mut wait) = (Vec::new(), Vec::new());
        let mut awaited: HashSet<EntityKey> = HashSet::new();
        for one in commands {
            let keys = M::keys(&one.command);
            if !self.rebuilt(&one.command) {
                let now = self.entrance.clock.now();
                let why = Undecided::Rebuilding;
                if let Some(reply) = M::undecided(&one.command, policy, why, now, &mut ids) {
                    answers[one.index as usize] = Some(Answer::Instead(reply));
                    continue;
                }
            } else if !keys.iter().any(|key| awaited.contains(key)) {
                go.push(one);
                continue;
            }
            awaited.extend(keys);
            wait.push(one);
        }
        (go, wait)
    }

    fn rebuilt(&self, command: &M::Command) -> bool {
        let readiness = &self.entrance.readiness;
        if readiness.all() {
            return true;
        }
        // Where its look-up leads is not known yet, so it waits for everything.
        if M::look_up(command).is_some() {
            return false;
        }
        let keys = M::keys(command);
        keys.iter().all(|key| readiness.is(partition_of(key)))
    }
}
