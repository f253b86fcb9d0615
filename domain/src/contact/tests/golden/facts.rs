//! The bytes of keys that live as long as an object.

use crate::contact::event::{Event, FactEnded, KeyTied, KeyUntied};
use crate::contact::name::SourceId;
use crate::contact::receipt::{Receipt, Stored};
use crate::contact::ties::Untied;
use crate::key::KeyHash;
use crate::time::Timestamp;

/// Ties, their end, and its receipt.
pub(super) fn events() -> Vec<Event> {
    let (effect, at) = (KeyHash([0xcd; 16]), Timestamp(1));
    vec![
        Event::KeyTied(KeyTied { effect, at }),
        Event::KeyUntied(KeyUntied { at }),
        Event::FactEnded(FactEnded {
            effects: vec![effect],
            at,
        }),
        Event::ReceiptKept(Box::new(Receipt {
            fingerprint: [0xcd; 16],
            until: at,
            source: SourceId(3),
            stored: Stored::FactEnded(Untied { freed: 3, kept: 5 }),
        })),
    ]
}
