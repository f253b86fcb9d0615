//! Acquiring the entities of a transaction, in the global order, and giving them back.
//!
//! Here: loans. A transaction visits the home shards of its entities; each shard moves the entity
//! out of its map into the transaction. The shard of the last entity decides.

use interlock_domain::machine::{Machine, Undecided};

use super::Shard;
use crate::message::{Answer, Return, Transaction};
use crate::partition::{Found, Held, Home, Partition};
use crate::placement::Place;

/// What the shard of a transaction's next entity found.
enum Next {
    /// Every entity that is left is here and free.
    Decide,
    /// The next one is here and free, but not all of the rest.
    Lend,
    /// The next one is away.
    Wait,
    /// The next one lives on another shard.
    Forward(u16),
}

impl<M: Machine> Shard<M> {
    /// Takes a transaction as far as it goes here: decides it, forwards it, or queues it.
    pub(super) fn acquire(&mut self, mut transaction: Box<Transaction<M>>) {
        if !self.drop_undecidable(&mut transaction) {
            self.release(&mut transaction);
            return;
        }
        loop {
            match self.next(&transaction) {
                Next::Decide => {
                    self.decide(&mut transaction);
                    self.release(&mut transaction);
                    return;
                }
                Next::Lend => {
                    let place = transaction.places[transaction.held.len()];
                    let held = self.partition(place.partition).lend(&place.key);
                    transaction.held.push(held);
                    self.on_loan += 1;
                }
                Next::Wait => {
                    self.wait(transaction);
                    return;
                }
                Next::Forward(target) => {
                    self.stats.loans += 1;
                    self.out[usize::from(target)].transactions.push(transaction);
                    return;
                }
            }
        }
    }

    /// An entity comes home: the first transaction that waits for it becomes ready with it.
    pub(super) fn come_home(&mut self, place: Place, held: Held<M>) {
        let partition = self.partition(place.partition);
        let home = partition.come_home(&place.key, held);
        if partition.snapshot_unblocked() {
            self.slices_due.push_back(place.partition);
        }
        match home {
            Home::Next(mut transaction, held) => {
                transaction.held.push(held);
                self.queue.ready(transaction);
            }
            Home::Stays { born } => {
                self.on_loan -= 1;
                if born {
                    self.count_new(&place);
                }
            }
        }
    }

    fn next(&self, transaction: &Transaction<M>) -> Next {
        let rest = &transaction.places[transaction.held.len()..];
        let Some(first) = rest.first() else {
            return Next::Decide;
        };
        if first.shard != self.options.index {
            return Next::Forward(first.shard);
        }
        if self.is_lent(first) {
            return Next::Wait;
        }
        let free = |place: &Place| place.shard == self.options.index && !self.is_lent(place);
        if rest[1..].iter().all(free) {
            Next::Decide
        } else {
            Next::Lend
        }
    }

    /// Is an entity that lives here away? Mostly nothing of its partition is.
    fn is_lent(&self, place: &Place) -> bool {
        match &self.partitions[usize::from(place.partition.0)] {
            Some(partition) if partition.away() > 0 => {
                matches!(partition.find(&place.key), Found::Lent)
            }
            Some(_) | None => false,
        }
    }

    /// Looks up an entity that lives here.
    pub(super) fn find(&self, place: &Place) -> Found<'_, M::Entity> {
        find(&self.partitions, place)
    }

    fn wait(&mut self, mut transaction: Box<Transaction<M>>) {
        let place = transaction.places[transaction.held.len()];
        let bound = self.options.queue_per_entity_max;
        transaction.waits += 1;
        self.stats.waits += 1;
        let refused = self
            .partition(place.partition)
            .wait(&place.key, transaction, bound);
        if let Err(mut transaction) = refused {
            self.stats.busy += transaction.items.len() as u64;
            let Transaction {
                items, reply_to, ..
            } = &mut *transaction;
            for item in items.drain(..) {
                self.frame.answer(reply_to, item.index, Answer::Busy);
            }
            self.release(&mut transaction);
        }
    }

    /// Drops the commands nobody waits for any more and those that are late; answers whether any
    /// is left.
    pub(super) fn drop_undecidable(&mut self, transaction: &mut Transaction<M>) -> bool {
        if self.mono > transaction.deadline {
            self.stats.late += transaction.items.len() as u64;
            let policy = std::sync::Arc::clone(&transaction.policy);
            for item in transaction.items.drain(..) {
                let why = Undecided::Deadline;
                let reply = M::undecided(&item.command, &policy, why, self.now, &mut self.ids);
                let answer = reply.map_or(Answer::NotDecided(why), Answer::Instead);
                let reply_to = &transaction.reply_to;
                self.frame.answer(reply_to, item.index, answer);
            }
        }
        if transaction.reply_to.0.gone() {
            self.stats.gone += transaction.items.len() as u64;
            transaction.items.clear();
        }
        !transaction.items.is_empty()
    }

    /// Gives the entities of a transaction back: those that live here at once, others with the
    /// messages of this turn, after its frame.
    pub(super) fn release(&mut self, transaction: &mut Transaction<M>) {
        for (place, held) in transaction.places.iter().zip(transaction.held.drain(..)) {
            if place.shard == self.options.index {
                self.come_home(*place, held);
            } else {
                self.out[usize::from(place.shard)].returns.push(Return {
                    place: *place,
                    held,
                });
            }
        }
    }
}

/// Looks up an entity among a shard's partitions.
pub(super) fn find<'a, M: Machine>(
    partitions: &'a [Option<Box<Partition<M>>>],
    place: &Place,
) -> Found<'a, M::Entity> {
    match &partitions[usize::from(place.partition.0)] {
        Some(partition) => partition.find(&place.key),
        None => Found::Absent(0),
    }
}
