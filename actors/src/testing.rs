//! How a slice of a snapshot is written, for tests of other crates.
//!
//! Here: the codec as functions of bytes. Not here: when a slice is written (`partition`). Only under
//! the feature `testing`; the codec of records is public as it is.

use interlock_domain::key::EntityKey;
use interlock_domain::machine::Machine;

use crate::partition::{decode_slice, encode_entity};

/// An entity with its name and version.
pub type Kept<M> = (EntityKey, u64, <M as Machine>::Entity);

/// The bytes of a slice with these entities.
///
/// # Panics
/// When one is larger than an entity may be.
#[must_use]
pub fn encode<M: Machine>(entities: &[Kept<M>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, version, entity) in entities {
        encode_entity::<M>(&mut out, key, *version, entity);
    }
    out
}

/// The entities of a slice.
///
/// # Errors
/// When the bytes are not a slice of this build's entities.
pub fn decode<M: Machine>(bytes: &[u8]) -> Result<Vec<Kept<M>>, postcard::Error> {
    let mut entities = Vec::new();
    decode_slice::<M>(bytes, &mut |key, version, entity| {
        entities.push((key, version, entity));
    })?;
    Ok(entities)
}
