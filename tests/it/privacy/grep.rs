//! Looking for what was sent in files and output, in every form that it may have there.
//!
//! Here: the forms of a value, and one walk over bytes that finds any of them. Not here: which
//! values, and where (`privacy`).

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The first bytes by which a form is found; shorter forms would be found by chance.
const HEAD: usize = 8;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A form of a value.
struct Form {
    bytes: Vec<u8>,
    value: String,
    name: &'static str,
}

/// Forms of many values, by their first bytes.
#[derive(Default)]
pub(super) struct Needles {
    by_head: HashMap<[u8; HEAD], Vec<Form>>,
}

impl Needles {
    /// All forms of these values.
    ///
    /// # Panics
    /// When a value is too short to be unmistakable.
    pub(super) fn of(values: impl IntoIterator<Item = String>) -> Self {
        let mut needles = Self::default();
        for value in values {
            assert!(value.len() >= HEAD, "{value} is too short to look for");
            for (name, bytes) in forms(&value) {
                needles.add(name, bytes, &value);
            }
        }
        needles
    }

    fn add(&mut self, name: &'static str, bytes: Vec<u8>, value: &str) {
        let head = *bytes.first_chunk().expect("a form is as long as its value");
        let form = Form {
            bytes,
            value: value.to_owned(),
            name,
        };
        self.by_head.entry(head).or_default().push(form);
    }

    /// What is found in `text`: values, each with its form.
    pub(super) fn found(&self, text: &[u8]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (at, head) in text.windows(HEAD).enumerate() {
            let Some(forms) = head.first_chunk().and_then(|head| self.by_head.get(head)) else {
                continue;
            };
            for form in forms {
                if text.get(at..).unwrap_or_default().starts_with(&form.bytes) {
                    found.insert(format!("{} as {}", form.value, form.name));
                }
            }
        }
        found
    }
}

/// A value as text, hexadecimal digits, UTF-16 and base64, which depends on where it begins.
fn forms(value: &str) -> Vec<(&'static str, Vec<u8>)> {
    let bytes = value.as_bytes();
    let hex = |upper: bool| {
        let digit = |byte: &u8| match upper {
            true => format!("{byte:02X}"),
            false => format!("{byte:02x}"),
        };
        bytes.iter().map(digit).collect::<String>().into_bytes()
    };
    let units = |order: fn(u16) -> [u8; 2]| value.encode_utf16().flat_map(order).collect();
    let mut forms = vec![
        ("text", bytes.to_vec()),
        ("hex", hex(false)),
        ("HEX", hex(true)),
        ("UTF-16LE", units(u16::to_le_bytes)),
        ("UTF-16BE", units(u16::to_be_bytes)),
    ];
    for skipped in 0..3 {
        // From the first byte that begins a group of three; short values have no such form.
        let whole = bytes.get(skipped..).unwrap_or_default();
        let whole = whole.get(..whole.len() / 3 * 3).unwrap_or_default();
        if whole.len() / 3 * 4 >= HEAD {
            let (standard, url_safe) = (base64(whole, STANDARD), base64(whole, URL_SAFE));
            if url_safe != standard {
                forms.push(("base64url", url_safe));
            }
            forms.push(("base64", standard));
        }
    }
    forms
}

/// Base64 of whole groups of three bytes.
fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> Vec<u8> {
    let group = |three: &[u8]| {
        let bits = three
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        [18, 12, 6, 0].map(|shift| alphabet[(bits >> shift & 63) as usize])
    };
    bytes.chunks_exact(3).flat_map(group).collect()
}

/// Every file below a directory.
pub(super) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut left = vec![dir.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(&dir).expect("a directory can be listed") {
            let entry = entry.expect("an entry can be read");
            let kind = entry.file_type().expect("an entry has a type");
            if kind.is_dir() {
                left.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files
}

#[test]
fn every_form_is_found_wherever_it_begins() {
    let needles = Needles::of(["Zélia zq+5511".to_owned()]);
    assert!(
        needles
            .found(b"nothing of it is here, Zelia zq+5511")
            .is_empty()
    );
    let encoded = |form: &str| {
        let found = needles.found(form.as_bytes());
        assert_eq!(found.len(), 1, "{form}: {found:?}");
    };
    encoded("a Zélia zq+5511 b");
    encoded("5ac3a96c6961207a712b35353131");
    encoded("5AC3A96C6961207A712B35353131");
    // printf 'Zélia zq+5511', 'aZélia zq+5511' and 'aaZélia zq+5511', each through base64.
    encoded("WsOpbGlhIHpxKzU1MTE=");
    encoded("YVrDqWxpYSB6cSs1NTEx");
    encoded("YWFaw6lsaWEgenErNTUxMQ==");
    let wide: Vec<u8> = "x Zélia zq+5511"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert!(needles.found(&wide).contains("Zélia zq+5511 as UTF-16LE"));
}
