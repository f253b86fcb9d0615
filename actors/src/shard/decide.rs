//! Deciding the commands of a transaction whose entities are all here.
//!
//! Here: views, the call of the machine, the record, applying. The order is: decide, encode,
//! apply; a panic before anything is applied leaves the entities as they were.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use interlock_domain::key::SpaceId;
use interlock_domain::machine::{Context, Decision, Entities, Machine, Versioned, View};
use smallvec::SmallVec;

use super::Shard;
use crate::message::{Answer, Item, Transaction};
use crate::partition::{Found, Held, Partition};
use crate::placement::{Place, group_of};
use crate::record::{Change, Entry, RecordHead};

/// What deciding one command came to before anything is applied.
type Decided<M> = (Decision<M>, SmallVec<[Step; 4]>);

/// One event's place and the version it makes.
#[derive(Clone, Copy)]
struct Step {
    /// Index into the transaction's places.
    at: usize,
    version: u64,
    created: bool,
}

impl<M: Machine> Shard<M> {
    /// Decides every command of the transaction in order and holds the answers in the frame.
    pub(super) fn decide(&mut self, transaction: &mut Transaction<M>) {
        let policy = self.rules(transaction);
        let stale = policy.version() > transaction.policy.version();
        let mut items = std::mem::take(&mut transaction.items);
        for mut item in items.drain(..) {
            if item.reply_to.sink.gone() {
                self.stats.gone += 1;
                continue;
            }
            if stale && let Err(reply) = M::rebind(&mut item.command, &policy) {
                self.stats.outcome(M::outcome(&reply));
                self.frame.answer(item.reply_to, Answer::Decided(reply));
                continue;
            }
            let answer = match self.decide_item(transaction, &item, &policy) {
                Some((decision, steps)) => self.apply(transaction, decision, &steps),
                None => {
                    self.stats.broken += 1;
                    Answer::Broken
                }
            };
            self.frame.answer(item.reply_to, answer);
        }
    }

    /// The newest rules of the space: the shard's, or the command's when the shard has older ones.
    fn rules(&self, transaction: &Transaction<M>) -> Arc<M::Policy> {
        match self.spaces.get(&transaction.space) {
            Some(space) if space.policy.version() > transaction.policy.version() => {
                Arc::clone(&space.policy)
            }
            Some(_) | None => Arc::clone(&transaction.policy),
        }
    }

    fn decide_item(
        &mut self,
        transaction: &Transaction<M>,
        item: &Item<M>,
        policy: &M::Policy,
    ) -> Option<Decided<M>> {
        let full = self.is_full(&transaction.space);
        let clock_suspect = self.pressure.clock_suspect.load(Ordering::Relaxed);
        let Self {
            partitions,
            ids,
            now,
            ..
        } = self;
        let decided = catch_unwind(AssertUnwindSafe(|| {
            let entities = views(partitions, transaction, item);
            let mut context = Context {
                now: *now,
                ids,
                policy,
                full,
                clock_suspect,
            };
            M::decide(&entities, &item.command, &mut context)
        }));
        let decision = decided.ok()?;
        let written = catch_unwind(AssertUnwindSafe(|| {
            let steps = self.steps(transaction, item, &decision);
            self.write_record(transaction, policy.version(), &decision, &steps)?;
            Ok::<_, postcard::Error>(steps)
        }));
        let steps = written.ok()?.ok()?;
        Some((decision, steps))
    }

    /// May nothing new be reserved? Memory or disk are at their bound, or the space is.
    fn is_full(&self, space: &SpaceId) -> bool {
        self.pressure.full.load(Ordering::Relaxed)
            || self.pressure.disk_low.load(Ordering::Relaxed)
            || self
                .entities
                .get(space)
                .is_some_and(|&count| count >= self.options.entities_per_space_max)
    }

    /// Numbers the decision's events by entity.
    fn steps(
        &self,
        transaction: &Transaction<M>,
        item: &Item<M>,
        decision: &Decision<M>,
    ) -> SmallVec<[Step; 4]> {
        let mut steps: SmallVec<[Step; 4]> = SmallVec::new();
        for (key, _) in &decision.events {
            let at = item
                .places
                .iter()
                .map(|&at| usize::from(at))
                .find(|&at| transaction.places[at].key == *key)
                .expect("events are of entities that `keys` named");
            let before = steps.iter().rev().find(|step| step.at == at);
            let step = match before {
                Some(step) => Step {
                    at,
                    version: step.version + 1,
                    created: false,
                },
                None => {
                    let (entity, version) = look(&self.partitions, transaction, at);
                    Step {
                        at,
                        version: version + 1,
                        created: entity.is_none(),
                    }
                }
            };
            steps.push(step);
        }
        steps
    }

    fn write_record(
        &mut self,
        transaction: &Transaction<M>,
        policy: u32,
        decision: &Decision<M>,
        steps: &[Step],
    ) -> Result<(), postcard::Error> {
        if decision.events.is_empty() && decision.note.is_none() {
            return Ok(());
        }
        let entries: SmallVec<[Entry<&M::Event>; 4]> = decision
            .events
            .iter()
            .zip(steps)
            .map(|((key, event), step)| Entry {
                key: *key,
                version: step.version,
                change: if step.created {
                    Change::Created
                } else {
                    Change::Event
                },
                event: Some(event),
            })
            .collect();
        let head = RecordHead {
            format: M::FORMAT,
            product: M::PRODUCT,
            space: transaction.space,
            time: self.now,
            policy,
            entries: u32::try_from(entries.len()).expect("a decision has few events"),
        };
        let record = self
            .record
            .encode::<M>(head, &entries, decision.note.as_ref())?;
        let records = self.frame.group(group_of(transaction.space));
        records.bytes.extend_from_slice(record);
        for step in steps {
            records.touch(transaction.places[step.at].partition);
        }
        Ok(())
    }

    /// Applies a decision whose record is in the frame. From here on a panic stops the process.
    fn apply(
        &mut self,
        transaction: &mut Transaction<M>,
        decision: Decision<M>,
        steps: &[Step],
    ) -> Answer<M::Reply> {
        for ((key, event), step) in decision.events.iter().zip(steps) {
            match transaction.held.get_mut(step.at) {
                Some(held) => apply_held(held, *step, event, key.kind),
                None => {
                    let partition = transaction.places[step.at].partition;
                    if self.partition(partition).apply(key, step.version, event) {
                        self.count(key, 1);
                    }
                }
            }
        }
        let group = group_of(transaction.space);
        self.frame
            .notices
            .extend(decision.notices.into_iter().map(|notice| (group, notice)));
        self.stats.outcome(M::outcome(&decision.reply));
        Answer::Decided(decision.reply)
    }
}

fn apply_held<M: Machine>(
    held: &mut Held<M>,
    step: Step,
    event: &M::Event,
    kind: interlock_domain::key::Kind,
) {
    let entity = held.entity.get_or_insert_with(|| M::empty(kind));
    M::apply(entity, event);
    held.version = step.version;
}

fn views<'a, M: Machine>(
    partitions: &'a [Option<Box<Partition<M>>>],
    transaction: &'a Transaction<M>,
    item: &Item<M>,
) -> Entities<'a, M::Entity> {
    let view = |&at: &u16| {
        let at = usize::from(at);
        let (entity, version) = look(partitions, transaction, at);
        View {
            key: transaction.places[at].key,
            entity,
            next_version: version + 1,
        }
    };
    Entities::new(item.places.iter().map(view).collect())
}

/// An entity of the transaction, held or at home here.
fn look<'a, M: Machine>(
    partitions: &'a [Option<Box<Partition<M>>>],
    transaction: &'a Transaction<M>,
    at: usize,
) -> (Option<&'a M::Entity>, u64) {
    if let Some(held) = transaction.held.get(at) {
        return (held.entity.as_ref(), held.version);
    }
    let place: &Place = &transaction.places[at];
    match super::acquire::find(partitions, place) {
        Found::Home(entity, version) => (Some(entity), version),
        Found::Absent(floor) => (None, floor),
        Found::Lent => unreachable!("a transaction decides with entities that are free"),
    }
}
