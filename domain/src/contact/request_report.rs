//! A shadow run is asked for (`docs/spec/contact.md` §18).
//!
//! Here: one run of a space is under way at a time; who asks meanwhile is told of that one. Not
//! here: the run itself (the edge) and its end (`end_report`).

use smallvec::smallvec;

use crate::contact::Contact;
use crate::contact::command::{Command, RequestReport};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{Event, RunRequested};
use crate::contact::note::{Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reply::{Reply, RunAsked};
use crate::contact::reports::reports_key;
use crate::machine::{Context, Decision, Entities};

/// Decides the request.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    request: RequestReport,
    context: &mut Context<'_, Policy>,
) -> Decision<Contact> {
    let entity = reports_key(command.space);
    let known = entities.get(&entity).and_then(ContactEntity::as_reports);
    if let Some(run) = known.and_then(|known| known.pending()) {
        return Decision::read(Reply::RunAsked(RunAsked {
            id: run.id,
            days: run.days,
            requested_at: run.requested_at,
            is_new: false,
        }));
    }
    if context.full {
        return Decision::read(Reply::Capacity);
    }
    let at = context.now;
    let id = context.ids.next(at);
    let days = request.days;
    let event = Event::RunRequested(RunRequested { id, days, at });
    Decision {
        events: smallvec![(entity, event)],
        note: Some(Note::new(command, Noted::Accepted)),
        ..Decision::read(Reply::RunAsked(RunAsked {
            id,
            days,
            requested_at: at,
            is_new: true,
        }))
    }
}
