//! Names of entities and spaces by chance, crowded into few partitions where a seed wants that.

use interlock_actors::placement::{group_of, partition_of};
use interlock_domain::key::{EntityKey, KeyHash, Kind, SpaceId};
use interlock_storage::PARTITIONS_PER_GROUP;

use crate::random::Random;

/// A fresh space.
pub(crate) fn space(random: &mut Random) -> SpaceId {
    SpaceId(half(random))
}

/// A fresh key in one of the first `partitions` of its group.
pub(crate) fn key_in(
    space: SpaceId,
    kind: Kind,
    partitions: u64,
    random: &mut Random,
) -> EntityKey {
    let base = group_of(space).0 * PARTITIONS_PER_GROUP;
    loop {
        let hash = KeyHash(half(random));
        let key = EntityKey { kind, space, hash };
        if u64::from(partition_of(&key).0 - base) < partitions {
            return key;
        }
    }
}

fn half(random: &mut Random) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&random.bytes()[..16]);
    half
}
