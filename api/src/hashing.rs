//! From what a client names to what the core knows: keyed hashes.
//!
//! Here: HMAC-SHA256 under a space's secret, with one label for each kind of thing. Not here: the
//! secret's origin (the root package) and what a hash leads to (`domain`). Handles, effect keys and
//! object ids leave this file only as hashes.
//!
//! An effect key is hashed as it is, because its full hash is the public `effect_id`. Everything
//! else starts with a byte that no UTF-8 text contains, so no effect key can be chosen whose
//! `effect_id` would reveal the hash of a customer, an object or a receipt.

use std::fmt;

use hmac::{Hmac, Mac};
use interlock_domain::key::KeyHash;
use sha2::Sha256;
use smallvec::SmallVec;

/// What a labelled hash is of. The numbers are part of every stored key and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Label {
    /// A customer, by canonical destination.
    Destination = 1,
    /// A customer, by handle, when the handle has no canonical destination.
    Handle = 2,
    /// A record in some system.
    Object = 3,
    /// An Idempotency-Key of a source and route.
    Receipt = 4,
    /// A request, to tell a repeat from another request under the same Idempotency-Key.
    Request = 5,
    /// The id of a commitment.
    Commitment = 6,
    /// The key under which texts are sealed. Its one hash never names anything.
    Sealing = 7,
    /// The seed of a key that signs contact tokens, by its number. Never an entity's name.
    Signing = 8,
    /// The public id of such a key.
    SigningId = 9,
    /// The salt of a source's copy of the suppression list, by the source and its generation.
    Salt = 10,
    /// The public id of such a salt.
    SaltId = 11,
    /// What shows that a cursor of the suppression list is ours.
    Cursor = 12,
    /// The id of a conversation.
    Conversation = 16,
}

/// Bytes that a labelled message usually has at most; a longer one is hashed from the heap.
const MESSAGE_USUAL: usize = 256;

/// First byte of every labelled message: never part of UTF-8 text.
const LABELLED: u8 = 0xff;

/// An HMAC-SHA256 key whose padded blocks are already compressed: cloning it costs less than
/// keying anew.
#[derive(Clone)]
pub struct PreparedKey(Hmac<Sha256>);

impl PreparedKey {
    /// Prepares a key of 32 bytes.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Self {
        let keyed = <Hmac<Sha256> as Mac>::new_from_slice(secret);
        Self(keyed.expect("HMAC takes keys of any length"))
    }

    /// The HMAC of a text as it is.
    #[must_use]
    pub fn text(&self, text: &str) -> [u8; 32] {
        let mut mac = self.0.clone();
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// The HMAC of labelled parts. Each part is preceded by its length, so that no two lists of
    /// parts read the same.
    #[must_use]
    pub fn labelled(&self, label: Label, parts: &[&[u8]]) -> [u8; 32] {
        // One message for one update: feeding the hash a few bytes at a time costs as much as they do.
        let mut message: SmallVec<[u8; MESSAGE_USUAL]> = SmallVec::new();
        message.extend_from_slice(&[LABELLED, label as u8]);
        for part in parts {
            message.extend_from_slice(&length(part));
            message.extend_from_slice(part);
        }
        let mut mac = self.0.clone();
        mac.update(&message);
        mac.finalize().into_bytes().into()
    }

    /// A labelled HMAC to be fed piece by piece.
    #[must_use]
    pub fn start(&self, label: Label) -> Running {
        let mut mac = self.0.clone();
        mac.update(&[LABELLED, label as u8]);
        Running(mac)
    }
}

impl fmt::Debug for PreparedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PreparedKey(…)")
    }
}

/// An HMAC in the making; bytes are written to it.
pub struct Running(Hmac<Sha256>);

impl Running {
    /// Adds a part, preceded by its length.
    pub fn part(&mut self, part: &[u8]) {
        self.0.update(&length(part));
        self.0.update(part);
    }

    /// The HMAC of what was written.
    #[must_use]
    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into_bytes().into()
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Running(…)")
    }
}

impl std::io::Write for Running {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The length of a part as it is hashed. A part is a field of a request, bounded far below 4 GiB by
/// the body's bound.
fn length(part: &[u8]) -> [u8; 4] {
    u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes()
}

/// The name of an entity: the first 16 bytes of its hash.
#[must_use]
pub fn key_hash(hash: &[u8; 32]) -> KeyHash {
    let mut short = [0; 16];
    short.copy_from_slice(&hash[..16]);
    KeyHash(short)
}
