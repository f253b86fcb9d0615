//! What a shard has to do, shared out between spaces.
//!
//! Here: which transaction goes next. Spaces take turns of a slice of commands each (a deficit round
//! robin), so what one space has queued is never waited for by another beyond its slice. Within a space
//! the order is that of arrival, but those that were handed the entity they waited for go first. Not
//! here: the bound on what is queued (`credits`), and what is done with a transaction (`acquire`).
//! Only the shard calls it.

use std::collections::{HashMap, VecDeque};

use interlock_domain::key::SpaceId;
use interlock_domain::machine::Machine;

use crate::message::Transaction;
use crate::placement::KeyHasher;

/// Commands of one space that go before another space's turn comes. A transaction is never cut: what
/// goes beyond is taken off the space's next slices.
pub const SLICE_COMMANDS: usize = 32;

/// What one space has queued.
struct Lane<M: Machine> {
    space: SpaceId,
    /// They were handed the entity they waited for.
    ready: VecDeque<Box<Transaction<M>>>,
    /// They were not looked at yet.
    inbox: VecDeque<Box<Transaction<M>>>,
    /// Commands that went beyond its slices.
    debt: usize,
}

/// The transactions of all spaces; bounded by the credits, and so are the lanes.
pub(super) struct FairQueue<M: Machine> {
    /// The lane whose turn it is. With one space there is no other, and nothing is looked up.
    front: Lane<M>,
    /// Commands it may still do in this slice.
    left: usize,
    /// Those of all other spaces with something queued.
    others: HashMap<SpaceId, Lane<M>, KeyHasher>,
    /// Whose turn is next; each of `others` once.
    order: VecDeque<SpaceId>,
}

impl<M: Machine> Lane<M> {
    const fn new(space: SpaceId) -> Self {
        Self {
            space,
            ready: VecDeque::new(),
            inbox: VecDeque::new(),
            debt: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.inbox.is_empty()
    }
}

impl<M: Machine> FairQueue<M> {
    pub(super) fn new() -> Self {
        Self {
            front: Lane::new(SpaceId([0; 16])),
            left: SLICE_COMMANDS,
            others: HashMap::default(),
            order: VecDeque::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.front.is_empty() && self.others.is_empty()
    }

    /// How many are queued.
    pub(super) fn len(&self) -> usize {
        self.lanes()
            .map(|lane| lane.ready.len() + lane.inbox.len())
            .sum()
    }

    /// All that are queued, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Transaction<M>> {
        self.lanes()
            .flat_map(|lane| lane.ready.iter().chain(&lane.inbox))
            .map(|transaction| &**transaction)
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane<M>> {
        std::iter::once(&self.front).chain(self.others.values())
    }

    /// Adds one that arrived.
    pub(super) fn arrived(&mut self, transaction: Box<Transaction<M>>) {
        let lane = self.lane(transaction.space);
        lane.inbox.push_back(transaction);
    }

    /// Adds one that was handed the entity it waited for.
    pub(super) fn ready(&mut self, transaction: Box<Transaction<M>>) {
        let lane = self.lane(transaction.space);
        lane.ready.push_back(transaction);
    }

    fn lane(&mut self, space: SpaceId) -> &mut Lane<M> {
        if self.is_empty() && self.front.space != space {
            self.front.space = space;
            self.front.debt = 0;
            self.left = SLICE_COMMANDS;
        }
        if self.front.space == space {
            return &mut self.front;
        }
        let order = &mut self.order;
        self.others.entry(space).or_insert_with(|| {
            order.push_back(space);
            Lane::new(space)
        })
    }

    /// The first of those that are next while the space's slice lasts: so many commands.
    pub(super) fn ahead(&self, most: usize) -> impl Iterator<Item = &Transaction<M>> + Clone {
        let lane = &self.front;
        let mut left = most;
        let ahead = lane.ready.iter().chain(&lane.inbox);
        let ahead = ahead.take_while(move |transaction| {
            let begins = left > 0;
            left = left.saturating_sub(transaction.items.len().max(1));
            begins
        });
        ahead.map(|transaction| &**transaction)
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Option<Box<Transaction<M>>> {
        while self.front.is_empty() || self.left == 0 {
            if !self.turn() {
                break;
            }
        }
        let lane = &mut self.front;
        let next = lane.ready.pop_front().or_else(|| lane.inbox.pop_front())?;
        let commands = next.items.len().max(1);
        lane.debt += commands.saturating_sub(self.left);
        self.left = self.left.saturating_sub(commands);
        Some(next)
    }

    /// Gives the turn to the next space; false when there is no other. Whoever has nothing queued
    /// leaves the round and owes nothing when it comes again.
    fn turn(&mut self) -> bool {
        let Some(space) = self.order.pop_front() else {
            self.front.debt = 0;
            self.left = SLICE_COMMANDS;
            return false;
        };
        let next = self.others.remove(&space);
        let next = next.expect("a space in the order has a lane");
        let last = std::mem::replace(&mut self.front, next);
        if !last.is_empty() {
            self.order.push_back(last.space);
            self.others.insert(last.space, last);
        }
        let paid = self.front.debt.min(SLICE_COMMANDS);
        self.front.debt -= paid;
        self.left = SLICE_COMMANDS - paid;
        true
    }
}
