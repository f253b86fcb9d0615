//! Looking at entities that may be due, a bounded number in each turn.
//!
//! Here: the walk over the shard's partitions and the records of what a sweep changes. Not here:
//! what is due or done then (the machine). Entities that are away, purges in a partition whose
//! snapshot is being written, and everything while the disk has no room wait for the next round.
//! Where much is due the next step follows with the next turn, so that purges keep up with what
//! comes; commands are decided in every turn. Nobody takes a credit for a purge, so a sweep that is
//! too far ahead of the disk stops until it has caught up.

use std::sync::Arc;

use interlock_domain::key::EntityKey;
use interlock_domain::machine::{Machine, Sweep};

use super::Shard;
use crate::message::{Done, Waiter};
use crate::partition::Found;
use crate::placement::{Place, group_of};
use crate::record::{Change, Entry, RecordHead};

/// Where a shard's sweep stands.
#[derive(Default)]
pub(super) struct Sweeper {
    /// Keys of the partition that is being looked at.
    keys: Vec<EntityKey>,
    /// The partition after it.
    next: usize,
    /// Turns asked for and not taken.
    requested: bool,
    /// A whole round was asked for: partitions left in it.
    round: Option<usize>,
    /// Who waits for the round; several may.
    waiting: Vec<Waiter>,
    /// The longest that something was kept beyond its last use, in milliseconds: in this round over
    /// the partitions, and in the last.
    late_ms: [i64; 2],
    /// This step recorded something.
    recorded: bool,
    /// Held by each frame that has something of a sweep and is not durable yet.
    ahead: Arc<Ahead>,
}

/// Nobody waits for it: it is dropped with its frame.
#[derive(Default)]
struct Ahead;

impl Done for Ahead {
    fn done(&self, _: bool) {}
}

/// Frames with something of a sweep that may wait for the disk, for each shard.
pub(crate) const SWEEPS_AHEAD_MAX: usize = 256;
/// Entities that those frames may hold, unless one step has more.
const ENTITIES_AHEAD_MAX: usize = 65_536;

/// A step that purges at least this part of what it may look at is followed by another at once.
const MUCH: usize = 4;

impl Sweeper {
    pub(super) const fn request(&mut self) {
        self.requested = true;
    }

    pub(super) fn request_all(&mut self, waiter: Waiter) {
        self.waiting.push(waiter);
        self.keys.clear();
        self.next = 0;
        self.round = Some(super::PARTITIONS);
    }

    /// Is there something to look at, and room for it before the disk? Without room the next request
    /// to sweep, or the next turn for something else, goes on.
    pub(super) fn has_work(&self, step_entities_max: usize) -> bool {
        (self.requested || self.round.is_some()) && self.has_room(step_entities_max)
    }

    fn has_room(&self, step_entities_max: usize) -> bool {
        let frames_max = (ENTITIES_AHEAD_MAX / step_entities_max.max(1)).clamp(1, SWEEPS_AHEAD_MAX);
        // One is the sweeper's own.
        Arc::strong_count(&self.ahead) <= frames_max
    }
}

impl<M: Machine> Shard<M> {
    /// Looks at the next entities when a sweep was asked for.
    pub(super) fn sweep_some(&mut self) {
        let mut budget = self.options.sweep_entities_max;
        if !self.sweep.has_work(budget) {
            return;
        }
        self.sweep.requested = false;
        let (mut visited, mut purged) = (0, 0);
        self.sweep.recorded = false;
        while budget > 0 && visited < super::PARTITIONS {
            let Some(key) = self.sweep.keys.pop() else {
                if self.sweep.round == Some(0) {
                    break;
                }
                self.sweep_next_partition();
                visited += 1;
                continue;
            };
            budget -= 1;
            purged += usize::from(self.sweep_one(key));
        }
        self.sweep.requested = purged > 0 && purged >= self.options.sweep_entities_max / MUCH;
        if self.sweep.recorded {
            let ahead = Arc::clone(&self.sweep.ahead);
            self.frame.waiters.push(Waiter(ahead));
        }
        self.stats.purge_late_ms = self.sweep.late_ms.into_iter().max();
        if self.sweep.round == Some(0) && self.sweep.keys.is_empty() {
            self.sweep.round = None;
            self.frame.waiters.append(&mut self.sweep.waiting);
        }
    }

    fn sweep_next_partition(&mut self) {
        let at = self.sweep.next;
        self.sweep.next = (at + 1) % super::PARTITIONS;
        if at == 0 {
            self.sweep.late_ms = [0, self.sweep.late_ms[0]];
        }
        if let Some(left) = &mut self.sweep.round {
            *left -= 1;
        }
        if let Some(partition) = &self.partitions[at] {
            self.sweep.keys = partition.keys();
        }
    }

    /// Looks at one entity; was it purged?
    fn sweep_one(&mut self, key: EntityKey) -> bool {
        let place = Place::of(key, self.options.shards);
        let Found::Home(entity, version) = self.find(&place) else {
            return false;
        };
        let Some(due) = M::due(entity).filter(|due| *due <= self.now) else {
            return false;
        };
        if self.pressure.room.is_out() {
            return false;
        }
        let part = M::part(entity);
        match M::sweep(entity, self.now) {
            Sweep::Keep => false,
            Sweep::Event(event) => {
                self.sweep_record(&place, version + 1, Change::Event, Some(&event));
                self.partition(place.partition)
                    .apply(&key, version + 1, &event);
                false
            }
            Sweep::Purge => {
                let late = &mut self.sweep.late_ms[0];
                // What never had a use is due since for ever, and not late.
                *late = (*late).max(self.now.0.checked_sub(due.0).unwrap_or(0));
                if self.partition(place.partition).in_snapshot() {
                    return false;
                }
                self.sweep_record(&place, version + 1, Change::Purged, None);
                self.partition(place.partition).purge(&key, version + 1);
                self.stats.purged[key.kind as usize] += 1;
                self.count(&key, part, -1);
                true
            }
        }
    }

    fn sweep_record(
        &mut self,
        place: &Place,
        version: u64,
        change: Change,
        event: Option<&M::Event>,
    ) {
        let head = RecordHead {
            format: M::FORMAT,
            product: M::PRODUCT,
            space: place.key.space,
            time: self.now,
            policy: 0,
            entries: 1,
        };
        let entries = [Entry {
            key: place.key,
            version,
            change,
            event,
        }];
        let record = self
            .record
            .encode::<M>(head, &entries, None)
            .expect("a sweep's event can be encoded");
        self.pressure.room.take(record.len());
        let records = self.frame.group(group_of(place.key.space));
        records.bytes.extend_from_slice(record);
        records.touch(place.partition);
        self.sweep.recorded = true;
    }
}
