//! Where an entity lives: partition, group and shard of a key.
//!
//! Here: the persisted contract between keys and partitions, and the order in which a command
//! acquires its entities. Not here: moving entities (`shard`). Frozen by the vectors below; a
//! change would orphan every snapshot on disk.

use std::hash::{BuildHasherDefault, Hash, Hasher};

use interlock_domain::key::{EntityKey, Kind, SpaceId};
use interlock_storage::{GROUPS, Group, PARTITIONS_PER_GROUP, Partition};
use xxhash_rust::xxh3::xxh3_64;

/// The group of a space: a space lies in exactly one.
#[must_use]
pub fn group_of(space: SpaceId) -> Group {
    let number = xxh3_64(&space.0) % u64::from(GROUPS);
    Group(u16::try_from(number).expect("a number below 64 fits"))
}

/// The partition of an entity: its group in the upper part, the hash of space and key in the lower.
#[must_use]
pub fn partition_of(key: &EntityKey) -> Partition {
    partition_in(group_of(key.space), key)
}

/// The partition of an entity whose space lies in this group.
fn partition_in(group: Group, key: &EntityKey) -> Partition {
    let mut bytes = [0_u8; 32];
    bytes[..16].copy_from_slice(&key.space.0);
    bytes[16..].copy_from_slice(&key.hash.0);
    let lower = xxh3_64(&bytes) % u64::from(PARTITIONS_PER_GROUP);
    let lower = u16::try_from(lower).expect("a number below 256 fits");
    Partition(group.0 * PARTITIONS_PER_GROUP + lower)
}

/// The shard that owns a partition when there are `shards` of them.
#[must_use]
pub const fn shard_of(partition: Partition, shards: u16) -> u16 {
    partition.0 % shards
}

/// One key of a transaction with where it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The entity.
    pub key: EntityKey,
    /// Its partition.
    pub partition: Partition,
    /// Its home shard in this run.
    pub shard: u16,
    /// When its turn is among entities of its kind.
    rank: u16,
}

/// Rounds over the shards that a transaction makes for one kind. With one round the highest shard
/// would decide nearly every transaction over several entities of the last kind; each round starts
/// at another shard, so that all decide their share.
const ROUNDS: u16 = 6;

impl Place {
    /// Where a key lives when there are `shards` shards.
    #[must_use]
    pub fn of(key: EntityKey, shards: u16) -> Self {
        Placing::new(key.space, shards).of(key)
    }

    /// The total order of acquisition: kind first (hot kinds last), then few rounds over the home
    /// shards so that one visit takes many, then the key. The same for every transaction of a run,
    /// so there is no cycle to wait in.
    #[must_use]
    pub fn order(&self) -> (Kind, u16, EntityKey) {
        (self.key.kind, self.rank, self.key)
    }
}

/// Places many keys of one space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placing {
    group: Group,
    shards: u16,
}

impl Placing {
    /// For keys of this space, on a node of so many shards.
    pub(crate) fn new(space: SpaceId, shards: u16) -> Self {
        let group = group_of(space);
        Self { group, shards }
    }

    /// Where a key of the space lives.
    pub(crate) fn of(self, key: EntityKey) -> Place {
        let Self { group, shards } = self;
        let partition = partition_in(group, &key);
        let shard = shard_of(partition, shards);
        let round = u16::from(key.hash.0[15]) % ROUNDS;
        let rank = round * shards + (shard + round) % shards;
        Place {
            key,
            partition,
            shard,
            rank,
        }
    }
}

/// Hashes an entity key by bits of its own keyed hash: other bits than the partition's, which come
/// from xxh3, or every map of a partition would degenerate.
pub(crate) type KeyHasher = BuildHasherDefault<TakeBits>;

/// An entity key as a map key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MapKey(pub(crate) EntityKey);

impl Hash for MapKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(key_bits(&self.0));
    }
}

/// Bits of a key's own keyed hash, others for each kind.
const fn key_bits(key: &EntityKey) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = key.hash.0;
    let bits = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    bits ^ (key.kind as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The bits that a partition finds an entity by.
pub(crate) const fn index_bits(key: &EntityKey) -> u32 {
    (key_bits(key) >> 32) as u32
}

/// A hasher that passes 64 bits through: they are a keyed hash already.
#[derive(Default, Debug, Clone, Copy)]
pub(crate) struct TakeBits(u64);

impl Hasher for TakeBits {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, bits: u64) {
        self.0 = bits;
    }
}

#[cfg(test)]
mod tests {
    use interlock_domain::key::KeyHash;

    use super::*;

    /// Frozen: these numbers are on disk.
    #[test]
    fn partitions_are_frozen() {
        let spaces = [[0_u8; 16], [1; 16], [0xab; 16]];
        let seen: Vec<(u16, Vec<u16>)> = spaces
            .iter()
            .map(|&space| {
                let space = SpaceId(space);
                let partitions = [0_u8, 1, 2, 255]
                    .iter()
                    .map(|&byte| {
                        let hash = KeyHash([byte; 16]);
                        partition_of(&EntityKey {
                            kind: Kind::Effect,
                            space,
                            hash,
                        })
                        .0
                    })
                    .collect();
                (group_of(space).0, partitions)
            })
            .collect();
        let frozen: Vec<(u16, Vec<u16>)> = vec![
            (40, vec![10397, 10468, 10316, 10347]),
            (14, vec![3669, 3705, 3723, 3593]),
            (49, vec![12672, 12672, 12706, 12580]),
        ];
        assert_eq!(seen, frozen);
    }

    /// Whatever the count of shards, the last of a few entities of one kind lives anywhere.
    #[test]
    fn every_shard_decides_its_share_of_groups() {
        for shards in [2_u16, 3, 5, 8] {
            let mut last = vec![0_u32; usize::from(shards)];
            for group in 0..8_000_u32 {
                let places = (0..4_u32).map(|n| {
                    let seed = (group * 4 + n).to_le_bytes();
                    let bits = xxh3_64(&seed).to_le_bytes();
                    let mut hash = [0; 16];
                    hash[..8].copy_from_slice(&bits);
                    hash[8..].copy_from_slice(&xxh3_64(&bits).to_le_bytes());
                    let key = EntityKey {
                        kind: Kind::Customer,
                        space: SpaceId([7; 16]),
                        hash: KeyHash(hash),
                    };
                    Place::of(key, shards)
                });
                let decides = places.max_by_key(Place::order).expect("four places");
                last[usize::from(decides.shard)] += 1;
            }
            let fair = 8_000 / u32::from(shards);
            let within = |&count: &u32| count * 10 >= fair * 7 && count * 10 <= fair * 13;
            assert!(last.iter().all(within), "{shards} shards: {last:?}");
        }
    }

    #[test]
    fn a_partition_lies_in_its_spaces_group() {
        for n in 0..=255_u8 {
            let space = SpaceId([n; 16]);
            let key = EntityKey {
                kind: Kind::Object,
                space,
                hash: KeyHash([n ^ 0x5a; 16]),
            };
            assert_eq!(partition_of(&key).group(), group_of(space));
        }
    }
}
