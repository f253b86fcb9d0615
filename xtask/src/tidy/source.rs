//! A Rust file as the rules see it: the same text with comments, strings and characters blanked out, so
//! that a word in them is no code; where functions begin and end; which lines are tests.

use std::ops::Range;

/// One Rust file.
#[derive(Debug)]
pub(super) struct Source {
    /// Its path in the repository.
    pub(super) path: String,
    /// As it is.
    pub(super) text: String,
    /// The same length, with everything blank that is not code.
    pub(super) code: String,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// Its name.
    pub(super) name: String,
    /// The line of its `fn`.
    pub(super) line: usize,
    /// From `fn` to the closing brace.
    pub(super) lines: usize,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code: blank(text),
        }
    }

    /// Whole words or paths in the code, with their lines: `word` may hold `::` and end with `!`.
    pub(super) fn lines_with(&self, word: &str) -> Vec<usize> {
        let found = occurrences(&self.code, word);
        found.into_iter().map(|at| self.line_of(at)).collect()
    }

    fn line_of(&self, at: usize) -> usize {
        self.code
            .bytes()
            .take(at)
            .filter(|byte| *byte == b'\n')
            .count()
            + 1
    }

    /// Every function that has a body.
    pub(super) fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        for at in occurrences(&self.code, "fn") {
            let name: String = self.code.chars_from(at + 2).trim_start().word();
            if name.is_empty() {
                continue;
            }
            if let Some(body) = body_after(&self.code, at) {
                let (line, last) = (self.line_of(at), self.line_of(body.end - 1));
                functions.push(Function {
                    name,
                    line,
                    lines: last - line + 1,
                });
            }
        }
        functions
    }

    /// The names of functions that a test runner calls: marked `#[test]` or `#[….test]`, or made by
    /// a macro of properties, which needs the same mark.
    pub(super) fn test_names(&self) -> Vec<String> {
        let marks = self.code.match_indices("test]").map(|(at, _)| at);
        let marks = marks.filter(|at| {
            let before = self.code.get(..*at).unwrap_or_default();
            before.ends_with("#[") || before.ends_with("::")
        });
        let names = marks.filter_map(|at| {
            let after = self.code.chars_from(at);
            let start = occurrences(after, "fn").first().copied()?;
            Some(after.chars_from(start + 2).trim_start().word())
        });
        names.collect()
    }

    /// Whether a line belongs to a test: the whole file, or a `#[cfg(test)]` item.
    pub(super) fn is_test(&self, line: usize) -> bool {
        let whole = self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path.ends_with("_tests.rs")
            || self.path.ends_with("/tests.rs");
        whole || self.test_lines().iter().any(|lines| lines.contains(&line))
    }

    fn test_lines(&self) -> Vec<Range<usize>> {
        let mark = "#[cfg(test)]";
        let starts = self.code.match_indices(mark).map(|(at, _)| at);
        let bodies = starts.filter_map(|at| {
            let body = body_after(&self.code, at + mark.len())?;
            Some(self.line_of(at)..self.line_of(body.end - 1) + 1)
        });
        bodies.collect()
    }
}

/// Reading on from a place that is known to be a character's start.
trait From {
    fn chars_from(&self, at: usize) -> &str;
    fn word(&self) -> String;
}

impl From for str {
    fn chars_from(&self, at: usize) -> &str {
        self.get(at..).unwrap_or_default()
    }

    fn word(&self) -> String {
        self.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    }
}

/// Places where `word` stands on its own.
pub(super) fn occurrences(code: &str, word: &str) -> Vec<usize> {
    let part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let bytes = code.as_bytes();
    let alone = |at: &usize| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        !part(before) && !part(bytes.get(at + word.len()))
    };
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(alone)
        .collect()
}

/// The braces that follow a place, unless a semicolon outside brackets comes first.
fn body_after(code: &str, at: usize) -> Option<Range<usize>> {
    let mut nested = 0_usize;
    let mut start = None;
    for (index, byte) in code.bytes().enumerate().skip(at) {
        match (byte, start) {
            (b'(' | b'[', None) => nested += 1,
            (b')' | b']', None) => nested = nested.saturating_sub(1),
            (b';', None) if nested == 0 => return None,
            (b'{', None) if nested == 0 => (start, nested) = (Some(index), 1),
            (b'{', Some(_)) => nested += 1,
            (b'}', Some(from)) => {
                nested -= 1;
                if nested == 0 {
                    return Some(from..index + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Replaces comments, strings and characters by blanks; line breaks stay.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match token_end(bytes, at) {
            Some(end) => end.min(bytes.len()),
            None => {
                at += 1;
                continue;
            }
        };
        for byte in &mut code[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    // Only whole tokens were blanked, so what is left is text as before.
    String::from_utf8_lossy(&code).into_owned()
}

/// Where the comment, string or character that starts at `at` ends; `None` when none starts there.
fn token_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        return Some(at + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()));
    }
    if rest.starts_with(b"/*") {
        return Some(at + comment_length(rest));
    }
    let inside_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match rest[0] {
        b'"' => Some(at + quoted_length(rest)),
        b'r' | b'b' | b'c' if !inside_word => prefixed_length(rest).map(|length| at + length),
        b'\'' => character_length(rest).map(|length| at + length),
        _ => None,
    }
}

fn comment_length(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// A string with escapes, from its opening quote.
fn quoted_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#`, `b"…"`, `br#"…"#`, `c"…"`; `None` for a plain word.
fn prefixed_length(rest: &[u8]) -> Option<usize> {
    let letters = rest
        .iter()
        .take(2)
        .take_while(|b| b"rbc".contains(b))
        .count();
    let hashes = rest[letters..].iter().take_while(|b| **b == b'#').count();
    let quote = letters + hashes;
    if rest.get(quote) != Some(&b'"') {
        return None;
    }
    if !rest[..letters].contains(&b'r') {
        return (hashes == 0).then(|| quote + quoted_length(&rest[quote..]));
    }
    let close: Vec<u8> = [b'"']
        .into_iter()
        .chain(std::iter::repeat_n(b'#', hashes))
        .collect();
    let found = rest[quote + 1..]
        .windows(close.len())
        .position(|window| window == close);
    Some(found.map_or(rest.len(), |at| quote + 1 + at + close.len()))
}

/// A character in quotes; `None` for a lifetime.
fn character_length(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        let close = rest.iter().skip(3).position(|b| *b == b'\'')?;
        return Some(3 + close + 1);
    }
    let close = rest.iter().skip(2).take(4).position(|b| *b == b'\'')?;
    let inner = std::str::from_utf8(&rest[1..2 + close]).ok()?;
    (inner.chars().count() == 1).then_some(close + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_are_no_code() {
        let text = r####"
            // todo in a comment
            let a = "x \" todo"; /* todo /* nested */ todo */
            let b = r#"todo " todo"#; let c = b"todo"; let d = '"'; let e = '\''; let f: &'a str;
            let todo = 'é';
        "####;
        let source = Source::new("a.rs", text);
        assert_eq!(source.lines_with("todo"), [5]);
        assert_eq!(source.code.len(), text.len());
        assert!(source.code.contains("&'a str"));
    }

    #[test]
    fn words_stand_on_their_own() {
        let source = Source::new(
            "a.rs",
            "MutexGuard Mutex my_Mutex std::sync::Mutex<u8> x.Mutex()",
        );
        assert_eq!(source.lines_with("Mutex").len(), 3);
    }

    #[test]
    fn functions_are_measured_with_their_signatures() {
        let text = "fn one() -> [u8; 2] {\n  if x { y }\n}\ntrait T { fn two(); fn three(a: fn(u8)) \
                    {\n\n} }\nlet f: fn(u8) = g;";
        let found: Vec<_> = Source::new("a.rs", text)
            .functions()
            .into_iter()
            .map(|function| (function.name, function.line, function.lines))
            .collect();
        assert_eq!(
            found,
            [("one".to_owned(), 1, 3), ("three".to_owned(), 4, 3)]
        );
    }

    #[test]
    fn test_items_and_test_files_are_known() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\nfn c() {}\n";
        let source = Source::new("a.rs", text);
        let tests: Vec<_> = (1..7).filter(|line| source.is_test(*line)).collect();
        assert_eq!(tests, [2, 3, 4, 5]);
        assert!(Source::new("x/src/y_tests.rs", "").is_test(1));
        assert!(!Source::new("a.rs", "#[cfg(test)]\nmod tests;\nfn a() {}").is_test(3));
    }
}
