//! Sealing what is kept whole and in clear nowhere: the terms of an offer, a suppressed destination,
//! the texts of a handoff.
//!
//! Here: XChaCha20-Poly1305 under a key derived from the space's secret, bound to what the text is
//! of, so that a sealed text cannot be moved. Not here: secrets of the node (the root package).

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use crate::hashing::{Label, PreparedKey};

const NONCE_BYTES: usize = 24;

/// The nonce and the sealed text; `None` when the operating system has no random bytes.
pub(crate) fn seal(secret: &PreparedKey, of: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce).ok()?;
    let payload = Payload { msg: text, aad: of };
    let sealed = sealer(secret).encrypt(&XNonce::from(nonce), payload).ok()?;
    let mut stored = nonce.to_vec();
    stored.extend_from_slice(&sealed);
    Some(stored)
}

/// The text again; `None` when it was sealed for something else.
pub(crate) fn open(secret: &PreparedKey, of: &[u8], stored: &[u8]) -> Option<Vec<u8>> {
    let (nonce, sealed) = stored.split_first_chunk::<NONCE_BYTES>()?;
    let payload = Payload {
        msg: sealed,
        aad: of,
    };
    sealer(secret).decrypt(&XNonce::from(*nonce), payload).ok()
}

fn sealer(secret: &PreparedKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&secret.labelled(Label::Sealing, &[]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_text_opens_where_it_belongs_and_shows_nothing() {
        let secret = PreparedKey::new(&[7; 32]);
        let text = b"ten percent off for +5511987654321";
        let stored = seal(&secret, b"offer 1", text).expect("random bytes");
        assert_eq!(
            open(&secret, b"offer 1", &stored).as_deref(),
            Some(&text[..])
        );
        assert_eq!(open(&secret, b"offer 2", &stored), None);
        assert_eq!(open(&PreparedKey::new(&[8; 32]), b"offer 1", &stored), None);
        assert!(
            !stored
                .windows(5)
                .any(|part| text.windows(5).any(|known| known == part))
        );
        assert_ne!(seal(&secret, b"offer 1", text), Some(stored));
    }
}
