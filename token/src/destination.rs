//! Canonical destinations: one text for one place a contact goes to, however it is spelled.
//!
//! Here: the four handle types that have one (`docs/spec/contact.md` §14). The server, a gateway
//! and a reader of the suppression list must agree on every byte, so they all call this. Not here:
//! the hash of a destination ([`crate::keyed_hash`]).

use std::borrow::Cow;
use std::fmt::Display;

use unicode_normalization::UnicodeNormalization;

/// Why a handle has no canonical destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoDestination {
    /// Handles of this type never have one.
    UnsupportedType,
    /// The value is not one of its type.
    InvalidHandle,
}

impl NoDestination {
    /// The code of the vectors.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::UnsupportedType => "unsupported_type",
            Self::InvalidHandle => "invalid_handle",
        }
    }
}

impl Display for NoDestination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.slug())
    }
}

impl std::error::Error for NoDestination {}

/// The canonical destination of a handle: `phone:+<digits>` or `email:<address>`.
///
/// # Errors
/// The handle's type has none, or its value is not one of the type.
pub fn canonical(handle_type: &str, value: &str) -> Result<String, NoDestination> {
    let found = match handle_type {
        "phone_e164" => phone(value),
        "wa_id" => {
            let id = trimmed(value);
            phone(&format!("+{}", id.strip_prefix('+').unwrap_or(id)))
        }
        "wa_jid" => {
            let jid = trimmed(value).to_lowercase();
            let user = jid.split('@').next().unwrap_or_default();
            let account = user.split(':').next().unwrap_or_default();
            phone(&format!("+{account}"))
        }
        "email" => email(value),
        _ => return Err(NoDestination::UnsupportedType),
    };
    found.ok_or(NoDestination::InvalidHandle)
}

/// `phone:+<digits>`.
fn phone(value: &str) -> Option<String> {
    let digits = match plain(value) {
        Some(digits) => Cow::Borrowed(digits),
        None => Cow::Owned(dialled(value)?),
    };
    let is_number = (8..=15).contains(&digits.len()) && !digits.starts_with('0');
    is_number.then(|| ["phone:+", &as_called_today(&digits)].concat())
}

/// The digits of a number that is written as machines write it, `+` and nothing but digits: reading
/// it as people write one would leave it as it is.
fn plain(value: &str) -> Option<&str> {
    let digits = value.strip_prefix('+')?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then_some(digits)
}

/// The digits of a number as people write it, with its country.
fn dialled(value: &str) -> Option<String> {
    let folded = fold(value);
    let text = strip_tel(trimmed(&folded));
    let is_international = text.starts_with('+') || text.starts_with("00");
    let text = if is_international {
        Cow::Owned(text.replace("(0)", ""))
    } else {
        Cow::Borrowed(text)
    };
    let dialled: String = text.chars().filter(|c| !is_separator(*c)).collect();
    // A `+` behind a bracket goes as well, though the number is not taken for international.
    let digits = match dialled.strip_prefix('+') {
        Some(digits) => digits,
        None if is_international => dialled.strip_prefix("00")?,
        None => &dialled,
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if is_international {
        Some(digits.to_owned())
    } else {
        Some(with_country(digits))
    }
}

/// NFKC, without characters that only format. ASCII text has neither.
fn fold(value: &str) -> Cow<'_, str> {
    if value.is_ascii() {
        return Cow::Borrowed(value);
    }
    Cow::Owned(value.nfkc().filter(|c| !is_format(*c)).collect())
}

fn strip_tel(text: &str) -> &str {
    match text.get(..4) {
        Some(scheme) if scheme.eq_ignore_ascii_case("tel:") => text.get(4..).unwrap_or_default(),
        Some(_) | None => text,
    }
}

fn is_separator(c: char) -> bool {
    is_white(c) || matches!(c, '(' | ')' | '.' | '-' | '/')
}

/// White space as readers of the list know it: the four separators of ASCII are some too.
fn is_white(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(is_white)
}

/// Digits typed without a country: a Brazilian national number, also one dialled with a carrier
/// code, gains its country; anything else stays as typed.
fn with_country(digits: &str) -> String {
    let national = digits.trim_start_matches('0');
    if is_brazilian_national(national) {
        return format!("55{national}");
    }
    let began_with_zero = digits.len() > national.len();
    if began_with_zero && (national.len() == 12 || national.len() == 13) {
        let behind_carrier = national.get(2..).unwrap_or_default();
        if is_brazilian_national(behind_carrier) {
            return format!("55{behind_carrier}");
        }
    }
    digits.to_owned()
}

/// An area code and a subscriber: eight digits from 2, or nine that begin with 9.
fn is_brazilian_national(digits: &str) -> bool {
    let Some((area, subscriber)) = digits.split_at_checked(2) else {
        return false;
    };
    let first = subscriber.bytes().next().unwrap_or_default();
    let is_subscriber = match subscriber.len() {
        8 => (b'2'..=b'9').contains(&first),
        9 => first == b'9',
        _ => false,
    };
    is_area_code(area) && is_subscriber
}

/// Area codes in use in Brazil.
fn is_area_code(area: &str) -> bool {
    let [tens, units] = *area.as_bytes() else {
        return false;
    };
    match tens {
        b'1' | b'4' | b'6' | b'8' | b'9' => (b'1'..=b'9').contains(&units),
        b'2' => matches!(units, b'1' | b'2' | b'4' | b'7' | b'8'),
        b'3' => matches!(units, b'1'..=b'5' | b'7' | b'8'),
        b'5' => matches!(units, b'1' | b'3' | b'4' | b'5'),
        b'7' => matches!(units, b'1' | b'3' | b'4' | b'5' | b'7' | b'9'),
        _ => false,
    }
}

/// One line, one number: an old Brazilian mobile gains its ninth digit, a Mexican or Argentine
/// mobile loses the digit that only WhatsApp still shows.
fn as_called_today(digits: &str) -> Cow<'_, str> {
    if let Some((area, subscriber)) = digits
        .strip_prefix("55")
        .and_then(|national| national.split_at_checked(2))
    {
        let is_mobile = subscriber.len() == 8 && subscriber.starts_with(['6', '7', '8', '9']);
        if is_mobile && is_area_code(area) {
            return Cow::Owned(format!("55{area}9{subscriber}"));
        }
    }
    if digits.len() == 13 && (digits.starts_with("521") || digits.starts_with("549")) {
        let (country, rest) = digits.split_at(2);
        return Cow::Owned([country, rest.get(1..).unwrap_or_default()].concat());
    }
    Cow::Borrowed(digits)
}

/// `email:<address>`.
fn email(value: &str) -> Option<String> {
    let address = trimmed(value).to_lowercase();
    let (local, domain) = address.split_once('@')?;
    let is_local = !local.is_empty() && local.bytes().all(is_local_byte);
    let (first, rest) = domain.split_once('.')?;
    let is_domain = is_first_label(first) && rest.split('.').all(is_label);
    (is_local && is_domain).then(|| format!("email:{address}"))
}

const fn is_local_byte(byte: u8) -> bool {
    matches!(
        byte,
        b'a'..=b'z' | b'0'..=b'9' | b'.' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+'
            | b'/' | b'=' | b'?' | b'^' | b'_' | b'`' | b'{' | b'|' | b'}' | b'~' | b'-'
    )
}

const fn is_alphanumeric(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9')
}

fn is_label(label: &str) -> bool {
    let is_label_byte = |byte| is_alphanumeric(byte) || byte == b'-';
    (1..=63).contains(&label.len()) && label.bytes().all(is_label_byte)
}

fn is_first_label(label: &str) -> bool {
    let ends = [label.bytes().next(), label.bytes().last()];
    is_label(label) && ends.into_iter().flatten().all(is_alphanumeric)
}

/// Unicode general category Cf.
const fn is_format(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}'
            | '\u{e0020}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn phone_of(value: &str) -> Result<String, NoDestination> {
        canonical("phone_e164", value)
    }

    #[test]
    fn s11_b12_one_customer_by_phone_wa_id_and_jid() {
        let wanted = Ok("phone:+5511987654321".to_owned());
        assert_eq!(canonical("phone_e164", "+5511987654321"), wanted);
        assert_eq!(canonical("wa_id", "5511987654321"), wanted);
        assert_eq!(canonical("wa_id", " +5511987654321 "), wanted);
        assert_eq!(canonical("wa_jid", "5511987654321@s.whatsapp.net"), wanted);
        assert_eq!(canonical("wa_jid", "551187654321:3@S.WhatsApp.Net"), wanted);
    }

    #[test]
    fn s16_other_types_have_no_destination() {
        for handle_type in ["system_id", "wa_lid", "email_domain", "PHONE_E164", ""] {
            let found = canonical(handle_type, "+5511987654321");
            assert_eq!(found, Err(NoDestination::UnsupportedType), "{handle_type}");
        }
    }

    #[test]
    fn pitfall_20_spellings_of_one_phone_are_one() {
        let spellings = [
            "+55 (11) 98765-4321",
            "TEL:+55-11-98765-4321",
            "0055 11 98765 4321",
            "(11) 98765-4321",
            "011 98765.4321",
            "11 8765-4321",
            "0 15 11 98765-4321",
            "\u{202a}+55\u{a0}11\u{a0}98765\u{ad}-4321\u{202c}",
            "+55 (0) 11 98765/4321",
            "+55 (0)11 98765(0)4321",
            "(+55) 11 98765-4321",
            "(+55 11) 98765-4321",
            "tel: +5511987654321",
            "TEL: +55 11 98765-4321",
            "tel:(+55)11987654321",
            "-+5511987654321",
            ".+55 11 98765-4321",
            "(+11) 98765-4321",
            "\u{1c}+5511\u{1f}98765 4321\u{1d}",
        ];
        for spelling in spellings {
            let wanted = Ok("phone:+5511987654321".to_owned());
            assert_eq!(phone_of(spelling), wanted, "{spelling:?}");
        }
    }

    #[test]
    fn pitfall_20_spellings_of_one_address_are_one() {
        let spellings = [
            "ana.silva@example.com",
            "Ana.Silva@Example.COM",
            "  ANA.SILVA@EXAMPLE.COM ",
            "\tana.silva@example.com\r\n",
            "\u{a0}ana.silva@example.com\u{3000}",
            "\u{1e}ana.silva@example.com\u{1f}",
        ];
        for spelling in spellings {
            let wanted = Ok("email:ana.silva@example.com".to_owned());
            assert_eq!(canonical("email", spelling), wanted, "{spelling:?}");
        }
        // What a provider may or may not deliver to the same box is another address.
        let others = [
            "anasilva@example.com",
            "ana.silva+x@example.com",
            "ana.silva@example.org",
        ];
        for other in others {
            assert_eq!(canonical("email", other), Ok(format!("email:{other}")));
        }
        // What cannot be seen, or looks like another letter, makes it none (§14), not a second one.
        let hidden = [
            "\u{202a}ana.silva@example.com\u{202c}",
            "ana.silva@\u{ad}example.com",
            "ana.silv\u{430}@example.com",
        ];
        for hidden in hidden {
            let refused = Err(NoDestination::InvalidHandle);
            assert_eq!(canonical("email", hidden), refused, "{hidden:?}");
        }
    }

    #[test]
    fn a_carrier_code_needs_the_zero_and_a_national_number_behind_it() {
        assert_eq!(
            phone_of("1511987654321"),
            Ok("phone:+1511987654321".to_owned())
        );
        assert_eq!(
            phone_of("0 15 20 98765-4321"),
            Err(NoDestination::InvalidHandle)
        );
    }

    #[test]
    fn area_codes_that_are_not_in_use_make_no_number_brazilian() {
        assert_eq!(phone_of("20987654321"), Ok("phone:+20987654321".to_owned()));
        assert_eq!(
            phone_of("+552087654321"),
            Ok("phone:+552087654321".to_owned())
        );
    }

    #[test]
    fn lengths_are_eight_to_fifteen() {
        assert_eq!(phone_of("+1234567"), Err(NoDestination::InvalidHandle));
        assert_eq!(phone_of("+12345678"), Ok("phone:+12345678".to_owned()));
        assert!(phone_of("+123456789012345").is_ok());
        assert_eq!(
            phone_of("+1234567890123456"),
            Err(NoDestination::InvalidHandle)
        );
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        let values = [
            "",
            "+",
            "00",
            "tel:",
            "+55 11 9876-ABCD",
            "++5511987654321",
            "1+2",
            "+0011",
        ];
        for value in values {
            assert_eq!(
                phone_of(value),
                Err(NoDestination::InvalidHandle),
                "{value:?}"
            );
        }
    }

    #[test]
    fn addresses_need_a_local_part_and_two_labels() {
        let email = |value| canonical("email", value);
        assert_eq!(
            email(" A.b+C@Ex-1.Com "),
            Ok("email:a.b+c@ex-1.com".to_owned())
        );
        assert_eq!(email("a@b.-c"), Ok("email:a@b.-c".to_owned()));
        let bad = [
            "a@b", "@b.co", "a@-b.co", "a@b-.co", "a@b..co", "a b@c.co", "a@b@c.co", "á@b.co",
        ];
        for value in bad {
            assert_eq!(email(value), Err(NoDestination::InvalidHandle), "{value:?}");
        }
        let long = format!("a@b.{}", "c".repeat(64));
        assert_eq!(email(&long), Err(NoDestination::InvalidHandle));
    }

    proptest! {
        #[test]
        fn a_canonical_form_is_its_own_canonical_form(digits in "[1-9][0-9]{7,14}") {
            if let Ok(first) = phone_of(&format!("+{digits}")) {
                let again = first.strip_prefix("phone:").map(phone_of);
                prop_assert_eq!(again, Some(Ok(first)));
            }
        }

        #[test]
        fn any_text_is_answered(value in "\\PC{0,60}") {
            for handle_type in ["phone_e164", "wa_id", "wa_jid", "email"] {
                if let Ok(found) = canonical(handle_type, &value) {
                    prop_assert!(found.is_ascii());
                }
            }
        }
    }
}
