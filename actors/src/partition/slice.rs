//! The entities in a slice of a snapshot, as bytes.

use interlock_domain::key::EntityKey;
use interlock_domain::machine::Machine;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct EncodedHead {
    key: EntityKey,
    version: u64,
}

/// Largest encoded entity; what may grow larger is split by the product.
pub const ENTITY_BYTES_MAX: usize = 1024 * 1024;

/// Appends an entity to a slice; answers how many bytes it takes there.
pub(crate) fn encode_entity<M: Machine>(
    out: &mut Vec<u8>,
    key: &EntityKey,
    version: u64,
    entity: &M::Entity,
) -> usize {
    let start = out.len();
    crate::record::put(out, &EncodedHead { key: *key, version })
        .and_then(|()| crate::record::put(out, entity))
        .expect("every entity of a machine can be encoded");
    let bytes = out.len() - start;
    assert!(
        bytes <= ENTITY_BYTES_MAX,
        "an entity is at most 1 MiB encoded"
    );
    bytes
}

/// Reads the entities of a slice.
///
/// # Errors
/// When the bytes are not a slice of this build's entities.
pub(crate) fn decode_slice<M: Machine>(
    mut bytes: &[u8],
    each: &mut dyn FnMut(EntityKey, u64, M::Entity),
) -> Result<(), postcard::Error> {
    while !bytes.is_empty() {
        let (head, rest): (EncodedHead, _) = postcard::take_from_bytes(bytes)?;
        let (entity, rest) = postcard::take_from_bytes(rest)?;
        each(head.key, head.version, entity);
        bytes = rest;
    }
    Ok(())
}
