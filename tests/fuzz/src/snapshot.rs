//! A slice of a snapshot, and what is kept beside the entities.
//!
//! What decodes encodes to what decodes to the same.

use interlock_actors::partition::SnapshotHead;
use interlock_actors::testing::{decode, encode};
use interlock_domain::contact::Contact;

use crate::Outcome;
use crate::input::Input;

/// By the first byte: a slice, or a snapshot's head.
///
/// # Panics
/// When a property is broken.
pub fn snapshot(input: &[u8]) -> Outcome {
    let mut input = Input(input);
    if input.u8().is_multiple_of(4) {
        head(input.0)
    } else {
        slice(input.0)
    }
}

fn slice(bytes: &[u8]) -> Outcome {
    let Ok(entities) = decode::<Contact>(bytes) else {
        return Outcome::Refused;
    };
    // A number may be written longer than it has to be, so the first writing may be a shorter one.
    let encoded = encode::<Contact>(&entities);
    assert!(encoded.len() <= bytes.len(), "it grew");
    let again = decode::<Contact>(&encoded);
    assert_eq!(again.as_ref(), Ok(&entities));
    assert_eq!(encode::<Contact>(&entities), encoded);
    if let Some(cut) = encoded.len().checked_sub(1) {
        let cut = decode::<Contact>(&encoded[..cut]);
        assert_ne!(cut.as_ref(), Ok(&entities), "the last byte says nothing");
    }
    Outcome::Accepted
}

fn head(bytes: &[u8]) -> Outcome {
    let Ok(head) = postcard::from_bytes::<SnapshotHead>(bytes) else {
        return Outcome::Refused;
    };
    let encoded = postcard::to_allocvec(&head).expect("it can be encoded");
    assert!(encoded.len() <= bytes.len(), "it grew");
    assert_eq!(postcard::from_bytes(&encoded), Ok(head));
    Outcome::Accepted
}
