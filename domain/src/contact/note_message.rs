//! A message to a customer went (`docs/spec/contact.md` §18).
//!
//! Here: its note, which a shadow run reads. Nothing is held in memory for it but the receipt of its
//! idempotency key. Not here: what a run makes of it (`shadow`), and contacts that count
//! (`declare_contact_made`).

use crate::contact::Contact;
use crate::contact::command::{Command, Direction, NoteMessage};
use crate::contact::note::{Mark, MessageNoted, Note, Noted};
use crate::contact::reply::Reply;
use crate::machine::Decision;
use crate::time::Timestamp;

/// Decides the note.
pub(super) fn decide(command: &Command, noted: &NoteMessage, now: Timestamp) -> Decision<Contact> {
    let note = Note {
        purpose: noted.purpose,
        channel: noted.channel,
        direction: Some(Direction::Outbound),
        mark: Some(Mark::Message(Box::new(MessageNoted {
            customer: noted.customer,
            occurred_at: noted.occurred_at.min(now),
            agent: Some(noted.agent),
            name: noted.name.clone(),
            intent: noted.intent,
            jti: noted.jti,
            template: noted.template,
        }))),
        ..Note::new(command, Noted::Accepted)
    };
    Decision {
        note: Some(note),
        ..Decision::read(Reply::Observed)
    }
}
