//! How a claim or a lock is named, and the events that go with the name.
//!
//! Here: which id an accepted one gets, and the directory row of a new one. Not here: whether it is
//! accepted (`claim_target`, `observe_owner`, `lock_task`).

use smallvec::smallvec;

use crate::contact::command::Command;
use crate::contact::directory::{self, DirectoryRow, Target, row_key};
use crate::contact::event::{ClaimReleased, Event};
use crate::ids::Id;
use crate::machine::Events;
use crate::time::Timestamp;

/// A name and when it was handed out.
pub(in crate::contact) type Named = (Id, Timestamp);

/// The name of an accepted one: that of the one whose place it takes while that may be kept, else
/// the new one.
pub(in crate::contact) fn name(before: Option<Named>, new: Id, now: Timestamp) -> Named {
    before
        .filter(|(_, named_at)| now < named_at.plus_s(directory::RENEWED_S))
        .unwrap_or((new, now))
}

/// The events of an accepted one. `accepted` comes first, so that the epoch is the version it gives
/// its target; then the end of the one before, when that goes on under another name; then the row
/// of a new name.
pub(in crate::contact) fn events(
    command: &Command,
    (target, accepted): (Target, Event),
    before: Option<Named>,
    (id, named_at): Named,
    now: Timestamp,
) -> Events<Event> {
    let entity = target.key(command.space);
    let mut events: Events<Event> = smallvec![(entity, accepted)];
    if let Some((before, _)) = before.filter(|(before, _)| *before != id) {
        let ended = ClaimReleased {
            id: before,
            at: now,
        };
        events.push((entity, Event::ClaimReleased(ended)));
    }
    if before.is_none_or(|(before, _)| before != id) {
        let row = DirectoryRow {
            target,
            until: named_at.plus_s(directory::KEPT_S),
            terms: None,
            erased: None,
            admission: None,
        };
        events.push((row_key(command.space, id), Event::RowWritten(Box::new(row))));
    }
    events
}
