//! Keyed hashes of destinations, as both sides of a shared key make them.
//!
//! Here: the key of a reader's suppression list and the recipient of a token are one function of
//! 32 bytes and a canonical destination (`docs/spec/contact.md` §13, §14). Not here: the
//! destination ([`crate::canonical`]).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The 43 characters that stand for a destination under a reader's salt or a gateway's key.
///
/// # Panics
/// Never: HMAC takes keys of any length.
#[must_use]
pub fn keyed_hash(key: &[u8; 32], destination: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(destination.as_bytes());
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}

/// The 32 bytes of a salt, key or hash in strict base64url without padding; `None` when the text
/// is anything else.
#[must_use]
pub fn decode_32(text: &str) -> Option<[u8; 32]> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use serde_json::Value;

    use super::*;
    use crate::canonical;

    /// Vectors are data of others and not part of this repository.
    fn vectors() -> Value {
        let folder = std::env::var_os("INTERLOCK_VECTORS").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/vectors"),
            PathBuf::from,
        );
        let text = std::fs::read_to_string(folder.join("suppression-key.v0.json"))
            .expect("the vectors are missing; run `cargo xtask test`, which fetches them");
        serde_json::from_str(&text).expect("the vectors are JSON")
    }

    #[test]
    fn s12_every_vector_of_the_suppression_key() {
        let vectors = vectors();
        let cases = vectors["cases"].as_array().expect("cases");
        assert!(cases.len() >= 20, "{} cases", cases.len());
        for case in cases {
            let text = |member: &str| case[member].as_str().expect("a text");
            let salt = decode_32(text("salt")).expect("a salt of 32 bytes");
            let found = canonical(text("type"), text("value"));
            let expect = &case["expect"];
            if let Some(code) = expect["error"].as_str() {
                assert_eq!(found.map_err(|why| why.slug()), Err(code), "{}", text("id"));
                continue;
            }
            let key = found.as_deref().map(|found| keyed_hash(&salt, found));
            assert_eq!(found.as_deref().ok(), expect["canonical"].as_str());
            assert_eq!(
                key.as_deref().ok(),
                expect["key"].as_str(),
                "{}",
                text("id")
            );
        }
    }

    #[test]
    fn decoding_is_strict() {
        let text = "mqMjL0W933lDL4N4FVz5CScExzzbnXQPNTYPwp_Oybg";
        assert!(decode_32(text).is_some());
        assert!(decode_32(&format!("{text}=")).is_none(), "padding");
        assert!(
            decode_32(&text.replace('_', "/")).is_none(),
            "another alphabet"
        );
        assert!(
            decode_32(&text.replace("Oybg", "Oybh")).is_none(),
            "bits behind the end"
        );
        assert!(decode_32("mqMj").is_none(), "too short");
    }
}
