//! A shadow run came to its end (`docs/spec/contact.md` §18).
//!
//! Here: a run ends once; what comes later about it changes nothing. Not here: what it found.

use smallvec::smallvec;

use crate::contact::Contact;
use crate::contact::command::{Command, EndReport};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{Event, RunEnded};
use crate::contact::note::{Note, Noted};
use crate::contact::reply::Reply;
use crate::contact::reports::{SUMMARY_BYTES_MAX, reports_key};
use crate::machine::{Decision, Entities};
use crate::time::Timestamp;

/// Decides the end.
///
/// # Panics
/// When the summary is above its bound: a bug of whoever wrote it.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    end: &EndReport,
    now: Timestamp,
) -> Decision<Contact> {
    let bytes = end.summary.as_ref().map_or(0, Vec::len);
    assert!(bytes <= SUMMARY_BYTES_MAX, "a summary keeps its bound");
    let entity = reports_key(command.space);
    let known = entities.get(&entity).and_then(ContactEntity::as_reports);
    let pending = known.and_then(|known| known.pending());
    if pending.is_none_or(|run| run.id != end.id) {
        return Decision::read(Reply::RunEnded);
    }
    let event = Event::RunEnded(Box::new(RunEnded {
        id: end.id,
        at: now,
        summary: end.summary.clone(),
    }));
    Decision {
        events: smallvec![(entity, event)],
        note: Some(Note::new(command, Noted::Accepted)),
        ..Decision::read(Reply::RunEnded)
    }
}
