//! A record as the model keeps it, and what it gives a name to.

use std::sync::Arc;

use interlock_domain::contact::command::Command;
use interlock_domain::contact::erasure::Erased;
use interlock_domain::contact::event::Event;
use interlock_domain::contact::handoff::Handoff;
use interlock_domain::contact::note::Note;
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, SpaceId};
use interlock_domain::time::Timestamp;

use crate::conditions::Conditions;

/// A record with a note.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) space: SpaceId,
    pub(super) time: Timestamp,
    pub(super) policy: u32,
    /// `None` for a message that was seen.
    pub(super) note: Option<Note>,
    pub(super) events: Vec<(EntityKey, Event)>,
    pub(super) conditions: Arc<Conditions>,
    /// An answer was explained by it.
    pub(super) claimed: bool,
}

impl Line {
    /// The epoch its claim or lock got.
    pub(super) fn epoch(&self) -> Option<u64> {
        self.events.iter().find_map(|(_, event)| match event {
            Event::ClaimAccepted(claim) => Some(claim.epoch),
            Event::LockTaken(lock) => Some(lock.epoch),
            _ => None,
        })
    }

    /// The id its shadow run got.
    pub(super) fn run(&self) -> Option<Id> {
        self.events.iter().find_map(|(_, event)| match event {
            Event::RunRequested(asked) => Some(asked.id),
            _ => None,
        })
    }

    /// The handoff it made.
    pub(super) fn made(&self) -> Option<&Handoff> {
        self.events.iter().find_map(|(_, event)| match event {
            Event::HandoffCreated(made) => Some(&**made),
            _ => None,
        })
    }

    /// What its erasure took.
    pub(super) fn erased(&self) -> Option<Erased> {
        self.events.iter().find_map(|(_, event)| match event {
            Event::RowWritten(row) => row.erased.as_deref().copied(),
            _ => None,
        })
    }

    pub(super) fn decision_id(&self) -> Option<Id> {
        self.note.as_ref().and_then(|note| note.decision_id)
    }

    /// Same space, source and route, as far as the record tells?
    pub(super) fn may_be_of(&self, command: &Command) -> bool {
        let same = |note: &Note| (note.source, note.route) == (command.source, command.route);
        self.space == command.space && self.note.as_ref().is_none_or(same)
    }
}
