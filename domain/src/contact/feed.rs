//! A space's feed of its suppression list: the number of the newest change.
//!
//! Here: the one entity a space that gives every change of the list its number, in the decision that
//! makes the change, so that numbers have no gaps and survive a restart (`docs/spec/contact.md` §15).
//! It is never purged: a number that came back would hide a change from readers. Not here: the
//! entries (`suppression`, kept with their customers) and the pages (the edge).

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::key;
use crate::contact::notice::{ListChanged, Notice};
use crate::contact::suppression::Suppression;
use crate::key::{EntityKey, KeyHash, Kind, SpaceId};
use crate::machine::{Entities, Events};

/// The number of a space's newest change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feed {
    /// The newest change's number; 0 before the first.
    pub last: u64,
}

/// What a space's feed is called. A command that changes the list names it among its keys.
#[must_use]
pub const fn feed_key(space: SpaceId) -> EntityKey {
    key(space, Kind::Feed, KeyHash([0; 16]))
}

/// The number of the newest change.
pub(super) fn last(entities: &Entities<'_, ContactEntity>, space: SpaceId) -> u64 {
    let feed = entities.get(&feed_key(space));
    feed.and_then(ContactEntity::as_feed)
        .map_or(0, |feed| feed.last)
}

/// Changes of the list that one decision makes: the events of the customer, that of the feed, and
/// what readers are told. Every decision that adds, renews or lifts entries makes them here.
#[derive(Debug)]
pub(super) struct Changes {
    /// What the record says.
    pub(super) events: Events<Event>,
    /// What readers are told once it is durable.
    pub(super) notices: Vec<Notice>,
    space: SpaceId,
    customer: KeyHash,
    last: u64,
}

impl Changes {
    /// No change yet. The command's keys name the customer and the feed.
    pub(super) fn new(
        entities: &Entities<'_, ContactEntity>,
        space: SpaceId,
        customer: KeyHash,
    ) -> Self {
        Self {
            events: SmallVec::new(),
            notices: Vec::new(),
            space,
            customer,
            last: last(entities, space),
        }
    }

    /// An entry as it is from now on, with the next number.
    pub(super) fn push(
        &mut self,
        mut entry: Suppression,
        event: impl FnOnce(&Suppression) -> Event,
    ) {
        self.last += 1;
        entry.number = self.last;
        let customer = key(self.space, Kind::Customer, self.customer);
        self.events.push((customer, event(&entry)));
        self.notices.push(Notice::ListChanged(ListChanged {
            space: self.space,
            customer: self.customer,
            entry,
        }));
    }

    /// Ends the decision's changes: the feed moves once, past all of them.
    pub(super) fn end(mut self) -> (Events<Event>, Vec<Notice>) {
        if !self.notices.is_empty() {
            let moved = Event::FeedMoved(Feed { last: self.last });
            self.events.push((feed_key(self.space), moved));
        }
        (self.events, self.notices)
    }
}
