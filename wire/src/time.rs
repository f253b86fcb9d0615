//! Instants as text: RFC 3339 in, UTC with `Z` out.
//!
//! Here: the calendar arithmetic of the Gregorian calendar for years 0000 to 9999. Not here: any
//! clock and any time zone but a fixed offset.

const MS_PER_DAY: i64 = 86_400_000;
/// 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z: what four digits of a year can say.
const FIRST_MS: i64 = -62_167_219_200_000;
const LAST_MS: i64 = 253_402_300_799_999;

/// Appends an instant as `2026-03-01T12:00:00.250Z`; the fraction is left out when it is zero.
/// Instants outside the years 0000 to 9999 are shown as the nearest one inside.
pub fn push(out: &mut Vec<u8>, milliseconds: i64) {
    let milliseconds = milliseconds.clamp(FIRST_MS, LAST_MS);
    let (year, month, day) = civil(milliseconds.div_euclid(MS_PER_DAY));
    let of_day = milliseconds.rem_euclid(MS_PER_DAY);
    let ([y1, y2], [y3, y4]) = (pair(year / 100), pair(year % 100));
    let ([mo1, mo2], [d1, d2]) = (pair(month), pair(day));
    let ([h1, h2], [mi1, mi2]) = (pair(of_day / 3_600_000), pair(of_day / 60_000 % 60));
    let [s1, s2] = pair(of_day / 1_000 % 60);
    out.extend_from_slice(&[
        y1, y2, y3, y4, b'-', mo1, mo2, b'-', d1, d2, b'T', h1, h2, b':', mi1, mi2, b':', s1, s2,
    ]);
    let fraction = of_day % 1_000;
    if fraction != 0 {
        let ([_, f1], [f2, f3]) = (pair(fraction / 100), pair(fraction % 100));
        out.extend_from_slice(&[b'.', f1, f2, f3]);
    }
    out.push(b'Z');
}

/// Writes an instant in milliseconds since 1970 as RFC 3339 in UTC.
#[must_use]
pub fn text(milliseconds: i64) -> String {
    let mut out = Vec::new();
    push(&mut out, milliseconds);
    String::from_utf8(out).unwrap_or_default()
}

/// Reads RFC 3339. Fractions below a millisecond are cut off; a leap second reads as the second
/// after it.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if bytes.len() < 20 || !matches!(bytes[10], b'T' | b't') {
        return None;
    }
    let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if separators.iter().any(|(at, byte)| bytes[*at] != *byte) {
        return None;
    }
    let year = number(&bytes[0..4])?;
    let month = number(&bytes[5..7])?;
    let day = number(&bytes[8..10])?;
    let hour = number(&bytes[11..13])?;
    let minute = number(&bytes[14..16])?;
    let second = number(&bytes[17..19])?;
    let calendar = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    if !calendar || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (fraction_ms, rest) = fraction(&bytes[19..])?;
    let of_day = ((hour * 60 + minute) * 60 + second) * 1_000 + fraction_ms;
    let local = days_since_1970(year, month, day) * MS_PER_DAY + of_day;
    Some(local - offset_ms(rest)?)
}

/// Whether a text is a time of day: `HH:MM`, 00:00 to 23:59.
#[must_use]
pub fn is_time_of_day(text: &str) -> bool {
    let [h1, h2, b':', m1, m2] = *text.as_bytes() else {
        return false;
    };
    let below = |digits: [u8; 2], bound| number(&digits).is_some_and(|number| number < bound);
    below([h1, h2], 24) && below([m1, m2], 60)
}

/// The milliseconds of an optional fraction, and what follows it.
fn fraction(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let Some(rest) = bytes.strip_prefix(b".") else {
        return Some((0, bytes));
    };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 {
        return None;
    }
    let (digits, rest) = rest.split_at(length);
    let digit = |at: usize| digits.get(at).map_or(0, |byte| i64::from(byte - b'0'));
    Some((digit(0) * 100 + digit(1) * 10 + digit(2), rest))
}

/// The offset from UTC, which must be all that is left.
fn offset_ms(bytes: &[u8]) -> Option<i64> {
    match bytes {
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let hours = number(&[*h1, *h2])?;
            let minutes = number(&[*m1, *m2])?;
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = (hours * 60 + minutes) * 60_000;
            Some(if *sign == b'-' { -offset } else { offset })
        }
        _ => None,
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + i64::from(digit - b'0'))
    })
}

/// Two digits of a number below 100.
const fn pair(number: i64) -> [u8; 2] {
    // The callers divide down to two digits; the last byte of the number is all of it.
    let [number, ..] = number.to_le_bytes();
    [b'0' + number / 10, b'0' + number % 10]
}

const fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01. Years are counted from March, so that the leap day is the last of its
/// year and months have a regular length.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a number of days from 1970-01-01.
const fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = (shifted + 2) % 12 + 1;
    let year = era * 400 + year_of_era + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(milliseconds: i64) -> String {
        let mut out = Vec::new();
        push(&mut out, milliseconds);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn instants_are_written_in_utc() {
        assert_eq!(shown(0), "1970-01-01T00:00:00Z");
        assert_eq!(shown(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(shown(951_782_400_000), "2000-02-29T00:00:00Z");
        assert_eq!(shown(1_795_979_400_250), "2026-11-29T19:10:00.250Z");
        assert_eq!(shown(i64::MAX), "9999-12-31T23:59:59.999Z");
        assert_eq!(shown(i64::MIN), "0000-01-01T00:00:00Z");
    }

    #[test]
    fn instants_are_read_with_their_offset() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse("1970-01-01T02:00:00.5+02:00"), Some(500));
        assert_eq!(parse("1969-12-31T21:00:00.123456789-03:00"), Some(123));
        assert_eq!(parse("2016-12-31T23:59:60Z"), parse("2017-01-01T00:00:00Z"));
        for wrong in [
            "",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-13-01T00:00:00Z",
            "1970-02-29T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00+0200",
            "1970-01-01T00:00:00Zulu",
            "1970-01-01T00:00:00é",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(milliseconds in FIRST_MS..=LAST_MS) {
            prop_assert_eq!(parse(&shown(milliseconds)), Some(milliseconds));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,40}") {
            let _read = parse(&text);
            let _read = is_time_of_day(&text);
        }
    }
}
