//! Showing every entity to a scan, a bounded number in each turn.
//!
//! Here: the walk over the shard's partitions. Not here: what is asked of an entity (`crate::scan`).
//! An entity that is away is looked at again when the shard has other work, until it is home or
//! patience ends: it comes home in a message, so nobody turns in circles for it.

use std::collections::VecDeque;

use interlock_domain::key::EntityKey;
use interlock_domain::machine::Machine;
use interlock_storage::PARTITIONS_PER_GROUP;

use super::Shard;
use crate::message::Monotonic;
use crate::partition::Found;
use crate::placement::Place;
use crate::scan::Scan;

/// Scans that wait; a further one is given up.
const SCANS_MAX: usize = 4;
/// Entities shown in one turn.
const ENTITIES_MAX: usize = 2_048;
/// Partitions walked over in one turn.
const PARTITIONS_MAX: usize = 4_096;
/// Entities that were away and are remembered.
const LATER_MAX: usize = 4_096;
/// How long after the walk they are looked for again, in nanoseconds.
const PATIENCE_NS: u64 = 2_000_000_000;

/// Where a shard's scans stand.
pub(super) struct Scanner<M: Machine> {
    /// The first one is under way.
    scans: VecDeque<Box<dyn Scan<M>>>,
    walk: Walk,
}

/// The walk of the scan under way.
#[derive(Default)]
struct Walk {
    /// Keys of the partition that is being looked at.
    keys: Vec<EntityKey>,
    /// The partition after it.
    next: usize,
    /// Who was away.
    later: Vec<EntityKey>,
    /// When the walk came to its end.
    walked: Option<Monotonic>,
    /// Who was away and is not remembered.
    left_out: u64,
}

impl<M: Machine> Default for Scanner<M> {
    fn default() -> Self {
        Self {
            scans: VecDeque::new(),
            walk: Walk::default(),
        }
    }
}

impl<M: Machine> Scanner<M> {
    /// Takes a scan; one too many is dropped, which its caller hears.
    pub(super) fn request(&mut self, scan: Box<dyn Scan<M>>) {
        if self.scans.len() < SCANS_MAX {
            self.scans.push_back(scan);
        }
    }

    /// Is there something to show? What is away comes home in a message, which is a turn's work.
    pub(super) fn has_work(&self) -> bool {
        !self.scans.is_empty() && self.walk.walked.is_none()
    }
}

impl<M: Machine> Shard<M> {
    /// Goes on with the scan under way.
    pub(super) fn scan_some(&mut self) {
        let Some(mut scan) = self.scanner.scans.pop_front() else {
            return;
        };
        let mut walk = std::mem::take(&mut self.scanner.walk);
        let mut partitions = PARTITIONS_MAX;
        let (first, end) = match scan.group() {
            Some(group) => {
                let first = usize::from(group.0) * usize::from(PARTITIONS_PER_GROUP);
                (first, first + usize::from(PARTITIONS_PER_GROUP))
            }
            None => (0, super::PARTITIONS),
        };
        walk.next = walk.next.max(first);
        for _ in 0..ENTITIES_MAX {
            while walk.keys.is_empty() && walk.next < end && partitions > 0 {
                partitions -= 1;
                if let Some(partition) = &self.partitions[walk.next] {
                    walk.keys = partition.keys();
                }
                walk.next += 1;
            }
            let Some(key) = walk.keys.pop() else { break };
            if !self.show(&mut *scan, &key) {
                if walk.later.len() < LATER_MAX {
                    walk.later.push(key);
                } else {
                    walk.left_out += 1;
                }
            }
        }
        if walk.next == end && walk.keys.is_empty() {
            // The one that is still away is asked for first, so a turn costs little meanwhile.
            while let Some(key) = walk.later.last()
                && self.show(&mut *scan, key)
            {
                walk.later.pop();
            }
            let walked = *walk.walked.get_or_insert(self.mono);
            let is_late = self.mono.0.saturating_sub(walked.0) >= PATIENCE_NS;
            if walk.later.is_empty() || is_late {
                let left_out = walk.left_out + walk.later.len() as u64;
                self.frame.waiters.push(scan.end(left_out));
                return;
            }
        }
        self.scanner.scans.push_front(scan);
        self.scanner.walk = walk;
    }

    /// Shows an entity; false when it is away.
    fn show(&self, scan: &mut dyn Scan<M>, key: &EntityKey) -> bool {
        let place = Place::of(*key, self.options.shards);
        match self.find(&place) {
            Found::Home(entity, _) => scan.entity(key, entity, self.now),
            Found::Absent(_) => {}
            Found::Lent => return false,
        }
        true
    }
}
