//! Deciding the commands of a transaction whose entities are all here.
//!
//! Here: views, the call of the machine, the record, applying. The order is: decide, encode,
//! apply; a panic before anything is applied leaves the entities as they were. What would leave a
//! record that the disk has no room for is not decided, and leaves them so too.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use interlock_domain::key::{Kind, SpaceId};
use interlock_domain::machine::{Context, Decision, Entities, Machine, Undecided, Versioned, View};
use interlock_domain::time::Timestamp;
use smallvec::SmallVec;

use super::Shard;
use crate::message::{Answer, Frame, Item, Transaction};
use crate::partition::{Found, Held, Partition};
use crate::placement::{Place, group_of};
use crate::record::{Change, Entry, RecordEncoder, RecordHead};

/// An entity as the transaction found it.
#[derive(Clone, Copy)]
struct Sighted {
    /// Index into the transaction's places.
    at: u16,
    version: u64,
    exists: bool,
}

/// One event's place and the version it makes.
#[derive(Clone, Copy)]
struct Step {
    /// Index into the transaction's places.
    at: u16,
    version: u64,
    created: bool,
}

/// The steps of a decision, one for each event.
type Steps = SmallVec<[Step; 4]>;

/// What a command is decided over.
struct Bench<'a, M: Machine> {
    places: &'a [Place],
    held: &'a mut [Held<M>],
    space: SpaceId,
    policy: &'a M::Policy,
    full: bool,
    part_full: bool,
}

impl<M: Machine> Shard<M> {
    /// Decides every command of the transaction in order and holds the answers in the frame.
    pub(super) fn decide(&mut self, transaction: &mut Transaction<M>) {
        let waited = self.mono.0.saturating_sub(transaction.submitted.0);
        self.stats.slowest_ns = self.stats.slowest_ns.max(waited);
        let policy = self.rules(transaction);
        let stale = policy.version() > transaction.policy.version();
        let Transaction {
            items,
            reply_to,
            places,
            held,
            space,
            ..
        } = transaction;
        for mut item in items.drain(..) {
            if reply_to.0.gone() {
                self.stats.gone += 1;
                continue;
            }
            if stale && let Err(reply) = M::rebind(&mut item.command, &policy) {
                self.stats.outcome(M::outcome(&reply));
                let answer = Answer::Decided(reply);
                self.frame.answer(reply_to, item.index, answer);
                continue;
            }
            let full = self.is_full(space);
            let part_full = self.is_part_full(space, &item.command);
            let bench = Bench {
                places,
                held,
                space: *space,
                policy: &policy,
                full,
                part_full,
            };
            let answer = self.decide_item(bench, &item);
            self.frame.answer(reply_to, item.index, answer);
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

    /// Decides one command and writes its record; applies it when both went well. A panic in the
    /// machine or the encoder leaves everything as it was.
    fn decide_item(&mut self, bench: Bench<'_, M>, item: &Item<M>) -> Answer<M::Reply> {
        let clock_suspect = self.pressure.clock_suspect.load(Ordering::Relaxed);
        let Self {
            partitions,
            ids,
            now,
            record,
            frame,
            pressure,
            ..
        } = self;
        let (now, policy) = (*now, bench.policy);
        let decided = catch_unwind(AssertUnwindSafe(|| {
            let (entities, sighted) = look(partitions, &bench, item);
            let mut context = Context {
                now,
                ids,
                policy,
                // Where no record can be written, that is what is said: whoever is told that only what
                // is new is refused would settle in vain.
                full: bench.full && !pressure.room.is_out(),
                part_full: bench.part_full,
                clock_suspect,
            };
            let decision = M::decide(&entities, &item.command, &mut context);
            if leaves_record(&decision) && pressure.room.is_out() {
                let why = Undecided::NoRoom;
                let reply = M::undecided(&item.command, policy, why, now, ids);
                return Err(reply.map_or(Answer::NotDecided(why), Answer::Instead));
            }
            let steps = steps(bench.places, &sighted, &decision);
            let written = write(record, frame, &bench, now, (&decision, &steps));
            pressure.room.take(written.map_err(|_| Answer::Broken)?);
            Ok((decision, steps))
        }));
        match decided.unwrap_or(Err(Answer::Broken)) {
            Ok((decision, steps)) => self.apply(bench, decision, &steps),
            Err(answer) => {
                let is_bug = matches!(answer, Answer::Broken);
                self.stats.broken += u64::from(is_bug);
                self.stats.no_room += u64::from(!is_bug);
                answer
            }
        }
    }

    /// Does an entity, held or at home here, keep history from going? Asked of few.
    fn keeps_history(&self, place: &Place, held: Option<&Held<M>>) -> bool {
        if M::KEEPS_HISTORY != Some(place.key.kind) {
            return false;
        }
        let entity = match held {
            Some(held) => held.entity.as_ref(),
            None => match self.find(place) {
                Found::Home(entity, _) => Some(entity),
                Found::Absent(_) | Found::Lent => None,
            },
        };
        entity.is_some_and(M::keeps_history)
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

    /// Has the part that the command adds to as much as it may have?
    fn is_part_full(&self, space: &SpaceId, command: &M::Command) -> bool {
        let Some(part) = M::adds_to(command) else {
            return false;
        };
        let count = self.parts.get(&(*space, part));
        count.is_some_and(|&count| count >= self.options.entities_per_part_max)
    }

    /// Applies a decision whose record is in the frame. From here on a panic stops the process.
    fn apply(
        &mut self,
        bench: Bench<'_, M>,
        decision: Decision<M>,
        steps: &[Step],
    ) -> Answer<M::Reply> {
        for ((key, event), step) in decision.events.iter().zip(steps) {
            let at = usize::from(step.at);
            let place = &bench.places[at];
            let before = self.keeps_history(place, bench.held.get(at));
            match bench.held.get_mut(at) {
                Some(held) => apply_held(held, *step, event, key.kind),
                None => {
                    let partition = self.partition(place.partition);
                    if partition.apply(key, step.version, event) {
                        self.count_new(place);
                    }
                }
            }
            let after = self.keeps_history(place, bench.held.get(at));
            if before != after {
                let change = i64::from(after) - i64::from(before);
                let keepers = &self.pressure.history_keepers;
                keepers.fetch_add(change, Ordering::Relaxed);
            }
        }
        if !decision.notices.is_empty() {
            let group = group_of(bench.space);
            let notices = decision.notices.into_iter().map(|notice| (group, notice));
            self.frame.notices.extend(notices);
        }
        self.stats.outcome(M::outcome(&decision.reply));
        Answer::Decided(decision.reply)
    }
}

/// Does a decision leave a record? With neither events nor a note there is none.
fn leaves_record<M: Machine>(decision: &Decision<M>) -> bool {
    !decision.events.is_empty() || decision.note.is_some()
}

/// Writes the record of a decision into the frame, if it leaves one; answers its bytes.
fn write<M: Machine>(
    record: &mut RecordEncoder,
    frame: &mut Frame<M>,
    bench: &Bench<'_, M>,
    now: Timestamp,
    (decision, steps): (&Decision<M>, &[Step]),
) -> Result<usize, postcard::Error> {
    if !leaves_record(decision) {
        return Ok(0);
    }
    let entries = entries(decision, steps);
    let head = RecordHead {
        format: M::FORMAT,
        product: M::PRODUCT,
        space: bench.space,
        time: now,
        policy: bench.policy.version(),
        entries: u32::try_from(entries.len()).expect("a decision has few events"),
    };
    let bytes = record.encode::<M>(head, &entries, decision.note.as_ref())?;
    let records = frame.group(group_of(bench.space));
    records.bytes.extend_from_slice(bytes);
    for step in steps {
        records.touch(bench.places[usize::from(step.at)].partition);
    }
    Ok(bytes.len())
}

fn apply_held<M: Machine>(held: &mut Held<M>, step: Step, event: &M::Event, kind: Kind) {
    let entity = held.entity.get_or_insert_with(|| M::empty(kind));
    M::apply(entity, event);
    held.version = step.version;
}

/// The command's entities, held or at home here, and how they were found.
fn look<'a, M: Machine>(
    partitions: &'a [Option<Box<Partition<M>>>],
    bench: &'a Bench<'_, M>,
    item: &Item<M>,
) -> (Entities<'a, M::Entity>, SmallVec<[Sighted; 4]>) {
    let mut sighted = SmallVec::new();
    let mut views = SmallVec::new();
    for &at in &item.places {
        let place = &bench.places[usize::from(at)];
        let (entity, version) = match bench.held.get(usize::from(at)) {
            Some(held) => (held.entity.as_ref(), held.version),
            None => match super::acquire::find(partitions, place) {
                Found::Home(entity, version) => (Some(entity), version),
                Found::Absent(floor) => (None, floor),
                Found::Lent => unreachable!("a transaction decides with entities that are free"),
            },
        };
        sighted.push(Sighted {
            at,
            version,
            exists: entity.is_some(),
        });
        views.push(View {
            key: place.key,
            entity,
            next_version: version + 1,
        });
    }
    (Entities::new(views), sighted)
}

/// Numbers the decision's events by entity.
fn steps<M: Machine>(places: &[Place], sighted: &[Sighted], decision: &Decision<M>) -> Steps {
    let mut steps = Steps::new();
    for (key, _) in &decision.events {
        let found = sighted
            .iter()
            .find(|found| places[usize::from(found.at)].key == *key)
            .expect("events are of entities that `keys` named");
        let before = steps.iter().rev().find(|step| step.at == found.at);
        let (version, created) = match before {
            Some(step) => (step.version + 1, false),
            None => (found.version + 1, !found.exists),
        };
        steps.push(Step {
            at: found.at,
            version,
            created,
        });
    }
    steps
}

/// The record's entries of a decision.
fn entries<'a, M: Machine>(
    decision: &'a Decision<M>,
    steps: &[Step],
) -> SmallVec<[Entry<&'a M::Event>; 4]> {
    let entry = |((key, event), step): (&'a (_, M::Event), &Step)| Entry {
        key: *key,
        version: step.version,
        change: if step.created {
            Change::Created
        } else {
            Change::Event
        },
        event: Some(event),
    };
    decision.events.iter().zip(steps).map(entry).collect()
}
