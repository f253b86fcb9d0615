//! The text of an API key: `nia_sk_<live or test>_<region>_<space label>_<key id>_<secret>`.
//!
//! Here: reading one and making a new one. The text is shown once and then known only by its keyed
//! hash. Not here: the hash (`interlock_api::directory`) and what a key may do.

use std::fmt;

use crate::exit::Stop;
use crate::secret::random_bytes;

/// Letters of a made secret and key id: 32 of them, so that five random bits choose one, without
/// the ones that read like another.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
/// Letters of a made secret: 160 random bits.
const SECRET_LETTERS: usize = 32;
/// Letters of a made key id.
const KEY_ID_LETTERS: usize = 8;
/// A shorter secret can be guessed.
const SECRET_LETTERS_MIN: usize = 16;
/// The longest part of a key.
const PART_LETTERS_MAX: usize = 128;
/// The longest label made of a space's name.
const LABEL_LETTERS_MAX: usize = 24;

/// A key's text and what it says. Never printed but once, by whoever shows it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct KeyText {
    text: String,
    /// `nia_sk_test_…`
    pub(crate) test: bool,
    /// The region.
    pub(crate) region: String,
    /// The key's public id, one of its space.
    pub(crate) key_id: String,
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyText({}, …)", self.key_id)
    }
}

impl KeyText {
    /// Reads a key.
    ///
    /// # Errors
    /// What is wrong with it, without any part of it.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        const FORM: &str =
            "must read nia_sk_<live or test>_<region>_<space label>_<key id>_<secret>";
        let parts: Vec<&str> = text.split('_').collect();
        let ["nia", "sk", kind, region, label, key_id, secret] = parts[..] else {
            return Err(FORM);
        };
        let test = match kind {
            "live" => false,
            "test" => true,
            _ => return Err(FORM),
        };
        if ![region, label, key_id, secret].into_iter().all(is_part) {
            return Err(FORM);
        }
        if secret.len() < SECRET_LETTERS_MIN {
            return Err("has a secret of less than 16 letters");
        }
        Ok(Self {
            text: text.to_owned(),
            test,
            region: region.to_owned(),
            key_id: key_id.to_owned(),
        })
    }

    /// Makes a new key for a space of this name.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub(crate) fn mint(space_name: &str, test: bool) -> Result<Self, Stop> {
        let kind = if test { "test" } else { "live" };
        let region = "local";
        let label = label(space_name);
        let key_id = letters(KEY_ID_LETTERS)?;
        let secret = letters(SECRET_LETTERS)?;
        Ok(Self {
            text: format!("nia_sk_{kind}_{region}_{label}_{key_id}_{secret}"),
            test,
            region: region.to_owned(),
            key_id,
        })
    }

    /// The text itself: to hash it, or to show it once.
    pub(crate) fn reveal(&self) -> &str {
        &self.text
    }
}

fn is_part(part: &str) -> bool {
    let letters = part
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    letters && (1..=PART_LETTERS_MAX).contains(&part.len())
}

/// What a key says of its space's name.
fn label(space_name: &str) -> String {
    let label: String = space_name
        .to_ascii_lowercase()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(LABEL_LETTERS_MAX)
        .collect();
    if label.is_empty() {
        "space".to_owned()
    } else {
        label
    }
}

/// Random letters, each of five random bits.
fn letters(count: usize) -> Result<String, Stop> {
    let bytes = random_bytes()?;
    debug_assert!(count <= bytes.len(), "one random byte for each letter");
    Ok(bytes
        .iter()
        .take(count)
        .map(|byte| char::from(LETTERS[usize::from(byte % 32)]))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_made() {
        let made = KeyText::mint("Über Space 1", false).unwrap();
        let read = KeyText::parse(made.reveal()).unwrap();
        assert_eq!(made, read);
        assert!(made.reveal().starts_with("nia_sk_live_local_berspace1_"));
        assert!(!format!("{made:?}").contains(made.reveal()));
    }

    #[test]
    fn two_keys_differ() {
        assert_ne!(
            KeyText::mint("a", true).unwrap().reveal(),
            KeyText::mint("a", true).unwrap().reveal()
        );
    }

    #[test]
    fn refuses_other_forms_without_repeating_them() {
        for text in [
            "",
            "nia_sk_test_br1_a_b",
            "nia_sk_prod_br1_a_b_0123456789abcdef",
            "nia_sk_test_br1__b_0123456789abcdef",
            "nia_sk_test_br1_a_b_0123456789abcd f",
        ] {
            assert!(KeyText::parse(text).is_err(), "{text}");
        }
        let short = KeyText::parse("nia_sk_test_br1_a_b_0123456789abcde").unwrap_err();
        assert_eq!(short, "has a secret of less than 16 letters");
    }
}
