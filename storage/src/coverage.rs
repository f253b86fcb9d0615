//! Which parts of the journal snapshots do not cover yet.
//!
//! Here: bookkeeping over (group, partition, sequence) alone, shared by the engines (which refuse
//! to truncate what is not covered) and by the committer (which picks the partition to snapshot
//! next and the position to truncate to). No IO.

use std::collections::BTreeMap;

use crate::log::{Group, Partition, Positions, Sequence};

/// One partition's part of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tail {
    /// Oldest sequence that may hold something no snapshot has.
    first: Sequence,
    /// Newest sequence that touched the partition.
    last: Sequence,
}

/// The uncovered tails by partition, and the last sequence of each group.
///
/// A partition that was not touched since its snapshot has no tail, so idle partitions never hold
/// back truncation and need not be written again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    tails: BTreeMap<Partition, Tail>,
    last: BTreeMap<Group, Sequence>,
}

impl Coverage {
    /// Notes that an append of this sequence touched these partitions.
    pub fn appended(&mut self, group: Group, sequence: Sequence, partitions: &[Partition]) {
        self.last.insert(group, sequence);
        for &partition in partitions {
            debug_assert_eq!(
                partition.group(),
                group,
                "an append names its own partitions"
            );
            self.tails
                .entry(partition)
                .and_modify(|tail| tail.last = sequence)
                .or_insert(Tail {
                    first: sequence,
                    last: sequence,
                });
        }
    }

    /// Notes that a snapshot covers everything of the partition up to `position`.
    pub fn sealed(&mut self, partition: Partition, position: Sequence) {
        if let Some(tail) = self.tails.get_mut(&partition) {
            if tail.last <= position {
                self.tails.remove(&partition);
            } else if tail.first <= position {
                tail.first = position.next();
            }
        }
    }

    /// The highest sequence of a group that truncation may remove: everything at or before it is
    /// in a snapshot. 0 when nothing may go.
    #[must_use]
    pub fn truncatable(&self, group: Group) -> Sequence {
        let from = Partition(group.0 * crate::log::PARTITIONS_PER_GROUP);
        let to = Partition(from.0 + (crate::log::PARTITIONS_PER_GROUP - 1));
        let first = self
            .tails
            .range(from..=to)
            .map(|(_, tail)| tail.first)
            .min();
        match first {
            Some(first) => Sequence(first.0 - 1),
            None => self.last.get(&group).copied().unwrap_or_default(),
        }
    }

    /// [`Self::truncatable`] of every group that has anything.
    #[must_use]
    pub fn positions(&self) -> Positions {
        self.last
            .keys()
            .map(|&group| (group, self.truncatable(group)))
            .collect()
    }

    /// Partitions with an uncovered tail and the oldest sequence in it, by partition.
    pub fn uncovered(&self) -> impl Iterator<Item = (Partition, Sequence)> + '_ {
        self.tails
            .iter()
            .map(|(&partition, tail)| (partition, tail.first))
    }

    /// The last sequence noted for a group.
    #[must_use]
    pub fn last(&self, group: Group) -> Sequence {
        self.last.get(&group).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_partitions_do_not_hold_truncation_back() {
        let mut coverage = Coverage::default();
        let group = Group(0);
        coverage.appended(group, Sequence(1), &[Partition(0)]);
        coverage.appended(group, Sequence(2), &[Partition(1)]);
        assert_eq!(coverage.truncatable(group), Sequence(0));
        coverage.sealed(Partition(0), Sequence(1));
        assert_eq!(coverage.truncatable(group), Sequence(1));
        coverage.sealed(Partition(1), Sequence(2));
        assert_eq!(coverage.truncatable(group), Sequence(2));
        coverage.appended(group, Sequence(3), &[Partition(1)]);
        assert_eq!(coverage.truncatable(group), Sequence(2));
    }

    #[test]
    fn a_tail_that_grew_during_its_snapshot_stays_uncovered() {
        let mut coverage = Coverage::default();
        coverage.appended(Group(0), Sequence(1), &[Partition(7)]);
        coverage.appended(Group(0), Sequence(5), &[Partition(7)]);
        coverage.sealed(Partition(7), Sequence(3));
        assert_eq!(coverage.truncatable(Group(0)), Sequence(3));
    }
}
