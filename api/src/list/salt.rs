//! The salt that a source's copy of the list is keyed with.
//!
//! Here: the salt of a generation and its public id. Two sources have different salts, so their
//! copies cannot be joined. Not here: which generation a source is at (`directory`, changed by the
//! root package).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::directory::SourceEntry;
use crate::hashing::{Label, PreparedKey};

/// How much of the hash is the id: two salts of a space share one by chance once in 2^96.
const ID_BYTES: usize = 12;

/// A source's salt.
pub(crate) struct Salt {
    /// The 32 bytes.
    pub(crate) bytes: [u8; 32],
    /// Their id; it tells nothing of them.
    pub(crate) id: String,
}

impl Salt {
    /// The salt of a source's present generation.
    pub(crate) fn of(secret: &PreparedKey, source: &SourceEntry) -> Self {
        let number = source.id.0.to_be_bytes();
        let generation = source.salt.generation.to_be_bytes();
        let bytes = secret.labelled(Label::Salt, &[&number, &generation]);
        let id = secret.labelled(Label::SaltId, &[&number, &generation]);
        Self {
            bytes,
            id: URL_SAFE_NO_PAD.encode(&id[..ID_BYTES]),
        }
    }
}
