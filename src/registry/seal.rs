//! Sealing at rest: what the log keeps of a secret value.
//!
//! Here: XChaCha20-Poly1305 under a key derived from the node's secret, bound to the row's own
//! name, so that a sealed value cannot be moved to another row. Called by
//! `registry`, and by `export` for the secret itself, under a key of the operator's.

use std::fmt;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

const NONCE_BYTES: usize = 24;

/// Seals and opens. Never printed.
#[derive(Clone)]
pub(crate) struct Sealer(XChaCha20Poly1305);

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer(…)")
    }
}

impl Sealer {
    /// With a derived key.
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(key.into()))
    }

    /// The nonce and the sealed value; `None` when the operating system gives no random bytes.
    pub(crate) fn seal(&self, row: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).ok()?;
        let payload = Payload {
            msg: value,
            aad: row,
        };
        let sealed = self.0.encrypt(&XNonce::from(nonce), payload).ok()?;
        let mut stored = nonce.to_vec();
        stored.extend_from_slice(&sealed);
        Some(stored)
    }

    /// The value; `None` when it was not sealed by this key for this row.
    pub(crate) fn open(&self, row: &[u8], stored: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = stored.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload {
            msg: sealed,
            aad: row,
        };
        self.0.decrypt(&XNonce::from(*nonce), payload).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_only_its_own_row_and_key() {
        let sealer = Sealer::new(&[1; 32]);
        let stored = sealer.seal(b"row", b"value").unwrap();
        assert_eq!(sealer.open(b"row", &stored).unwrap(), b"value");
        assert_eq!(sealer.open(b"other", &stored), None);
        assert_eq!(Sealer::new(&[2; 32]).open(b"row", &stored), None);
        assert_eq!(sealer.open(b"row", b"short"), None);
        assert!(!stored.windows(5).any(|part| part == b"value"));
    }

    #[test]
    fn a_flipped_bit_or_anothers_place_opens_nothing() {
        let sealer = Sealer::new(&[1; 32]);
        let names: [&[u8]; 3] = [
            b"sealed/s/vault/one",
            b"sealed/s/vault/two",
            b"sealed/t/vault/one",
        ];
        let stored = names.map(|name| sealer.seal(name, &[7; 32]).unwrap());
        for (place, name) in names.iter().enumerate() {
            for (from, value) in stored.iter().enumerate() {
                assert_eq!(sealer.open(name, value).is_some(), from == place);
            }
        }
        for bit in 0..stored[0].len() * 8 {
            let mut flipped = stored[0].clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(sealer.open(names[0], &flipped), None, "bit {bit}");
        }
        for length in 0..stored[0].len() {
            assert_eq!(sealer.open(names[0], &stored[0][..length]), None);
        }
    }

    #[test]
    fn two_seals_of_one_value_differ() {
        let sealer = Sealer::new(&[1; 32]);
        assert_ne!(sealer.seal(b"r", b"v"), sealer.seal(b"r", b"v"));
    }
}
