//! Where a page of the list starts, as a client carries it.
//!
//! Here: the opaque text and what it is bound to. A cursor is of one space and one source, and a
//! text that this server did not give to that source is none. Not here: what a page holds (`index`).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use interlock_domain::contact::name::SourceId;
use interlock_domain::time::Timestamp;

use super::Position;
use crate::hashing::{Label, PreparedKey};

const FORMAT: u8 = 1;
const PAYLOAD_BYTES: usize = 1 + 4 + 8 + 8 + 8;
const MAC_BYTES: usize = 16;

/// How far a reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The generation of the salt that the reader's copy is keyed with.
    pub(crate) generation: u32,
    /// Where it goes on.
    pub(crate) position: Position,
    /// When the reader last knew every change there was, or began.
    pub(crate) current_at: Timestamp,
}

impl Cursor {
    /// The text of a source's cursor: 60 characters.
    pub(crate) fn text(&self, secret: &PreparedKey, source: SourceId) -> String {
        let mut bytes = Vec::with_capacity(PAYLOAD_BYTES + MAC_BYTES);
        bytes.push(FORMAT);
        bytes.extend(self.generation.to_be_bytes());
        bytes.extend(self.position.after.to_be_bytes());
        bytes.extend(self.position.began.to_be_bytes());
        bytes.extend(self.current_at.0.to_be_bytes());
        let mac = mac(secret, source, &bytes);
        bytes.extend(mac);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The cursor again; `None` when it was not given to this source of this space.
    pub(crate) fn read(secret: &PreparedKey, source: SourceId, text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (payload, sent) = bytes.split_last_chunk::<MAC_BYTES>()?;
        if mac(secret, source, payload) != *sent {
            return None;
        }
        let (format, rest) = payload.split_first()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (after, rest) = rest.split_first_chunk()?;
        let (began, rest) = rest.split_first_chunk()?;
        let current_at = <[u8; 8]>::try_from(rest).ok()?;
        (*format == FORMAT).then_some(Self {
            generation: u32::from_be_bytes(*generation),
            position: Position {
                after: u64::from_be_bytes(*after),
                began: u64::from_be_bytes(*began),
            },
            current_at: Timestamp(i64::from_be_bytes(current_at)),
        })
    }
}

/// What shows that the text is ours. It guards nothing secret: a forged cursor would only read
/// another part of the same list, so a comparison that tells its time harms nobody.
fn mac(secret: &PreparedKey, source: SourceId, payload: &[u8]) -> [u8; MAC_BYTES] {
    let whole = secret.labelled(Label::Cursor, &[&source.0.to_be_bytes(), payload]);
    let mut short = [0; MAC_BYTES];
    short.copy_from_slice(&whole[..MAC_BYTES]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_for_its_source_alone() {
        let secret = PreparedKey::new(&[7; 32]);
        let cursor = Cursor {
            generation: 3,
            position: Position {
                after: u64::MAX,
                began: 5,
            },
            current_at: Timestamp(-1),
        };
        let text = cursor.text(&secret, SourceId(1));
        let cut = text.get(4..).expect("it is longer");
        assert!(text.len() <= 200, "{}", text.len());
        let read =
            |secret: &PreparedKey, source, text: &str| Cursor::read(secret, SourceId(source), text);
        assert_eq!(read(&secret, 1, &text), Some(cursor));
        assert_eq!(read(&secret, 2, &text), None);
        assert_eq!(read(&PreparedKey::new(&[8; 32]), 1, &text), None);
        for wrong in ["", "A", "AAAA", cut, &format!("{text}AAAA"), "%%%%"] {
            assert_eq!(read(&secret, 1, wrong), None, "{wrong}");
        }
    }
}
