//! Writing JSON straight into one buffer.
//!
//! Here: the few forms answers are made of. Not here: what an answer holds. Used instead of a
//! serialiser where an answer is written hundreds of thousands of times a second, and for all other
//! answers so that there is one way.

use crate::time;

/// Writes the members of one object; commas come by themselves.
#[derive(Debug)]
pub struct Object<'o> {
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> Object<'o> {
    /// Opens an object.
    pub fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// Closes it.
    pub fn close(self) {
        self.out.push(b'}');
    }

    /// Starts a member; its value has to be written next. `name` needs no escaping.
    pub fn member(&mut self, name: &'static str) -> &mut Vec<u8> {
        let before: &[u8] = if self.empty { b"\"" } else { b",\"" };
        self.empty = false;
        self.out.extend_from_slice(before);
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// A member whose name is data.
    pub fn entry(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        text(self.out, name);
        self.out.push(b':');
        self.out
    }

    /// A text.
    pub fn text(&mut self, name: &'static str, value: &str) {
        text(self.member(name), value);
    }

    /// A word of ours, which needs no escaping.
    pub fn word(&mut self, name: &'static str, value: &'static str) {
        word(self.member(name), value);
    }

    /// A whole number.
    pub fn number(&mut self, name: &'static str, value: u64) {
        number(self.member(name), value);
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, name: &'static str, value: bool) {
        let word: &[u8] = if value { b"true" } else { b"false" };
        self.member(name).extend_from_slice(word);
    }

    /// An instant in milliseconds since 1970.
    pub fn instant(&mut self, name: &'static str, milliseconds: i64) {
        let out = self.member(name);
        out.push(b'"');
        time::push(out, milliseconds);
        out.push(b'"');
    }

    /// A UUID.
    pub fn uuid(&mut self, name: &'static str, value: &[u8; 16]) {
        let out = self.member(name);
        out.push(b'"');
        uuid(out, value);
        out.push(b'"');
    }

    /// 32 bytes in base64url without padding.
    pub fn hash(&mut self, name: &'static str, value: &[u8; 32]) {
        let out = self.member(name);
        out.push(b'"');
        hash(out, value);
        out.push(b'"');
    }

    /// A list of what `items` gives, each written by `write`.
    pub fn list<T>(
        &mut self,
        name: &'static str,
        items: impl IntoIterator<Item = T>,
        write: impl FnMut(&mut Vec<u8>, T),
    ) {
        list(self.member(name), items, write);
    }
}

/// Writes a list.
pub fn list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

/// Writes a text with the escapes JSON needs.
pub fn text(out: &mut Vec<u8>, value: &str) {
    out.push(b'"');
    let bytes = value.as_bytes();
    let mut plain_from = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte >= 0x20 && *byte != b'"' && *byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[plain_from..at]);
        plain_from = at + 1;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            control => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[hex(control >> 4), hex(control & 0x0f)]);
            }
        }
    }
    out.extend_from_slice(&bytes[plain_from..]);
    out.push(b'"');
}

/// Writes a word of ours, which needs no escaping.
pub fn word(out: &mut Vec<u8>, value: &'static str) {
    out.push(b'"');
    out.extend_from_slice(value.as_bytes());
    out.push(b'"');
}

/// Writes a whole number.
pub fn number(out: &mut Vec<u8>, mut value: u64) {
    // 20 digits hold the largest u64.
    let mut digits = [0_u8; 20];
    let mut from = digits.len();
    loop {
        from -= 1;
        digits[from] = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[from..]);
}

/// Writes a UUID in lower case, without quotes.
pub fn uuid(out: &mut Vec<u8>, value: &[u8; 16]) {
    let mut text = [b'-'; 36];
    let mut at = 0;
    for byte in value {
        if matches!(at, 8 | 13 | 18 | 23) {
            at += 1;
        }
        text[at] = hex(byte >> 4);
        text[at + 1] = hex(byte & 0x0f);
        at += 2;
    }
    out.extend_from_slice(&text);
}

/// Writes bytes as base64url without padding and without quotes: 43 characters for 32 bytes.
pub fn hash(out: &mut Vec<u8>, value: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digit = |value: u32| DIGITS[(value & 63) as usize];
    for group in value.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = (at(0) << 16) | (at(1) << 8) | at(2);
        out.push(digit(bits >> 18));
        out.push(digit(bits >> 12));
        if group.len() > 1 {
            out.push(digit(bits >> 6));
        }
        if group.len() == 3 {
            out.push(digit(bits));
        }
    }
}

/// A hexadecimal digit; only the low four bits count.
const fn hex(digit: u8) -> u8 {
    b"0123456789abcdef"[(digit & 0x0f) as usize]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::value::{Hash32, Uuid};

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    proptest! {
        #[test]
        fn a_text_reads_back(value in any::<String>()) {
            let json = written(|out| text(out, &value));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), value);
        }

        #[test]
        fn a_number_reads_back(value in any::<u64>()) {
            prop_assert_eq!(written(|out| number(out, value)), value.to_string());
        }

        #[test]
        fn a_hash_reads_back(value in any::<[u8; 32]>()) {
            let text = written(|out| hash(out, &value));
            prop_assert_eq!(text.len(), 43);
            prop_assert_eq!(Hash32::parse(&text), Some(Hash32(value)));
        }

        #[test]
        fn a_uuid_reads_back(value in any::<[u8; 16]>()) {
            let text = written(|out| uuid(out, &value));
            prop_assert_eq!(Uuid::parse(&text), Some(Uuid(value)));
            prop_assert_eq!(Uuid::parse(&text.to_uppercase()), Some(Uuid(value)));
        }
    }

    #[test]
    fn an_object_has_commas_between_its_members() {
        let json = written(|out| {
            let mut object = Object::open(out);
            object.number("a", 1);
            object.list("b", [true, false], |out, item| {
                out.extend_from_slice(item.to_string().as_bytes());
            });
            number(object.entry("c\""), 2);
            object.close();
        });
        assert_eq!(json, r#"{"a":1,"b":[true,false],"c\"":2}"#);
    }
}
