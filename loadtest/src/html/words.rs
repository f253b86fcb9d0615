//! Numbers, dates and words as the page writes them.

/// A text that may stand anywhere in the page.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Neither HTML nor a reader has a use for these.
            control if control.is_control() && control != '\n' => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

/// A whole number with its digits in groups of three.
pub(crate) fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value <= -0.5 {
        format!("-{text}")
    } else {
        text
    }
}

/// A figure to about three digits.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "?".to_owned(),
        size if size >= 1000.0 => whole(value),
        size if size >= 100.0 || size == size.trunc() => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// A number in as few characters as an axis has room for.
pub(crate) fn short(value: f64) -> String {
    let scaled = |scale: f64, unit: &str| {
        let text = format!("{:.2}", value / scale);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        format!("{text}{unit}")
    };
    match value.abs() {
        size if size >= 1e9 => scaled(1e9, "G"),
        size if size >= 1e6 => scaled(1e6, "M"),
        size if size >= 1e3 => scaled(1e3, "k"),
        size if size >= 0.01 || size == 0.0 => scaled(1.0, ""),
        _ => format!("{value}"),
    }
}

/// A size in the unit that suits it.
pub(crate) fn bytes(size: f64) -> String {
    match size {
        size if size >= 1e9 => format!("{:.2} GB", size / 1e9),
        size if size >= 1e6 => format!("{:.1} MB", size / 1e6),
        size if size >= 1e3 => format!("{:.1} kB", size / 1e3),
        _ => format!("{size:.0} B"),
    }
}

/// A moment in milliseconds since 1970, in UTC; nothing for 0, which is no moment.
pub(crate) fn date(ms: u64) -> String {
    if ms == 0 {
        return String::new();
    }
    let (days, seconds) = (ms / 86_400_000, ms / 1000 % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute) = (seconds / 3600, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Year, month and day of a number of days since 1970.
pub(crate) const fn civil(days: u64) -> (u64, u64, u64) {
    let mut left = days;
    let mut year = 1970;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while left >= lengths[month] {
        left -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, left + 1)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_grouped() {
        assert_eq!(whole(1_234_567.4), "1,234,567");
        assert_eq!(whole(-12.0), "-12");
        assert_eq!(whole(0.0), "0");
        let figures = [1234.5, 123.4, 12.34, 1.234, 0.001, 7.0, f64::NAN].map(figure);
        assert_eq!(
            figures,
            ["1,234", "123", "12.3", "1.23", "0.0010", "7", "?"]
        );
        let shorts = [0.0, 0.5, 50.0, 1500.0, 400_000.0, 2_500_000.0].map(short);
        assert_eq!(shorts, ["0", "0.5", "50", "1.5k", "400k", "2.5M"]);
        assert_eq!(
            [999.0, 1e6, 3.5e9].map(bytes),
            ["999 B", "1.0 MB", "3.50 GB"]
        );
    }

    #[test]
    fn moments_have_their_day() {
        assert_eq!(date(0), "");
        assert_eq!(date(1), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400_000), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_796_083_199_000), "2026-11-30 23:59 UTC");
    }

    #[test]
    fn nothing_of_a_text_is_markup() {
        assert_eq!(
            escaped("<a href=\"x\">&'\u{1}"),
            "&lt;a href=&quot;x&quot;&gt;&amp;&#39; "
        );
    }
}
