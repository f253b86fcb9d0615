//! Cursors of the suppression list.
//!
//! A text that reads as a place is the very text of that place. A place comes back from its text for
//! its own source and space alone, and from no other text.

use std::sync::LazyLock;

use interlock_api::hashing::PreparedKey;
use interlock_api::testing::{Place, cursor as read, cursor_text};
use interlock_domain::contact::name::SourceId;
use interlock_domain::time::Timestamp;

use crate::Outcome;
use crate::input::Input;

static SECRET: LazyLock<PreparedKey> = LazyLock::new(|| PreparedKey::new(&[7; 32]));
static OTHER: LazyLock<PreparedKey> = LazyLock::new(|| PreparedKey::new(&[8; 32]));
const SOURCE: SourceId = SourceId(1);

/// By the first byte: the text of a cursor, or a place and what becomes of its text.
///
/// # Panics
/// When a property is broken.
pub fn cursor(input: &[u8]) -> Outcome {
    let mut input = Input(input);
    if input.u8().is_multiple_of(2) {
        match std::str::from_utf8(input.0) {
            Ok(text) => sent(text),
            Err(_) => Outcome::Refused,
        }
    } else {
        given(&mut input)
    }
}

/// What a client sends.
fn sent(text: &str) -> Outcome {
    match read(&SECRET, SOURCE, text) {
        Some(place) => {
            assert_eq!(cursor_text(&SECRET, SOURCE, place), text);
            Outcome::Accepted
        }
        None => Outcome::Refused,
    }
}

/// What the server gave, and how it comes back.
fn given(input: &mut Input<'_>) -> Outcome {
    let place = Place {
        generation: input.u32(),
        after: input.u64(),
        began: input.u64(),
        current_at: Timestamp(input.u64().cast_signed()),
    };
    let text = cursor_text(&SECRET, SOURCE, place);
    assert_eq!(read(&SECRET, SOURCE, &text), Some(place));
    assert_eq!(read(&SECRET, SourceId(2), &text), None, "another source");
    assert_eq!(read(&OTHER, SOURCE, &text), None, "another space");
    let mut changed = text.into_bytes();
    match input.u8() % 3 {
        0 => {
            let at = input.place(changed.len());
            changed[at] ^= input.flip();
        }
        1 => changed.truncate(input.place(changed.len())),
        _ => changed.push(input.u8()),
    }
    if let Ok(changed) = String::from_utf8(changed) {
        assert_eq!(read(&SECRET, SOURCE, &changed), None, "{changed}");
    }
    Outcome::Accepted
}
