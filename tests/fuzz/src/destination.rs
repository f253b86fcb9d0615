//! Canonical destinations.
//!
//! A canonical form is its own canonical form under every type it has, and is of its alphabet. Spaces
//! around, separators inside and the case of an address make no other place of it.

use interlock_token::{NoDestination, canonical};

use crate::Outcome;

const TYPES: [&str; 4] = ["phone_e164", "wa_id", "wa_jid", "email"];

/// A handle: its type by the first byte, then its value.
///
/// # Panics
/// When a property is broken.
pub fn destination(input: &[u8]) -> Outcome {
    let Some((which, value)) = input.split_first() else {
        return Outcome::Refused;
    };
    let Ok(value) = std::str::from_utf8(value) else {
        return Outcome::Refused;
    };
    let of = TYPES[usize::from(which % 4)];
    let unsupported = canonical("system_id", value);
    assert_eq!(unsupported, Err(NoDestination::UnsupportedType));
    let found = canonical(of, value);
    assert_eq!(
        found,
        canonical(of, &format!(" {value}\t")),
        "spaces around"
    );
    match found {
        Err(why) => {
            assert_eq!(why, NoDestination::InvalidHandle);
            Outcome::Refused
        }
        Ok(found) => {
            match found.split_once(':') {
                Some(("phone", number)) if of != "email" => is_number(number),
                Some(("email", address)) if of == "email" => is_address(address),
                _ => panic!("{found} of a {of}"),
            }
            Outcome::Accepted
        }
    }
}

fn is_number(number: &str) {
    let whole = format!("phone:{number}");
    let digits = number.strip_prefix('+').expect("it is international");
    assert!((8..=15).contains(&digits.len()), "{number}");
    assert!(digits.bytes().all(|byte| byte.is_ascii_digit()), "{number}");
    assert!(!digits.starts_with('0'), "{number}");
    let (area, rest) = digits.split_at(2);
    let spellings = [
        ("phone_e164", number.to_owned()),
        ("phone_e164", format!("tel:+({area}) {rest}")),
        ("phone_e164", format!("00{area}.{rest}")),
        ("wa_id", digits.to_owned()),
        ("wa_jid", format!("{digits}:4@s.whatsapp.net")),
    ];
    for (of, spelled) in spellings {
        assert_eq!(canonical(of, &spelled).as_ref(), Ok(&whole), "{spelled}");
    }
}

fn is_address(address: &str) {
    let whole = format!("email:{address}");
    assert!(address.is_ascii(), "{address}");
    assert!(!address.contains(char::is_whitespace), "{address}");
    assert_eq!(address.matches('@').count(), 1, "{address}");
    for spelled in [address.to_owned(), address.to_ascii_uppercase()] {
        assert_eq!(canonical("email", &spelled).as_ref(), Ok(&whole));
    }
}
