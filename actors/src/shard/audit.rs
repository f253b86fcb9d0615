//! Everything a shard holds, for checkers of L1.
//!
//! Here: reading alone. Not here: what must hold (the simulator judges it over all shards and all
//! messages on their way). Never called while serving.

use interlock_domain::key::EntityKey;
use interlock_domain::machine::Machine;

use super::Shard;
use crate::message::{Return, ShardMessage, Transaction};
use crate::partition::{Found, Held};
use crate::placement::{Place, partition_of};

/// One thing that was found.
#[derive(Debug)]
pub enum Seen<'a, M: Machine> {
    /// An entity at home.
    Home {
        /// Which.
        key: &'a EntityKey,
        /// The version of its last event.
        version: u64,
        /// Its state.
        entity: &'a M::Entity,
    },
    /// The mark of an entity that is away.
    Mark {
        /// Which.
        key: &'a EntityKey,
    },
    /// A transaction in the queue of an entity that is away.
    Waiting {
        /// The entity it waits for.
        key: &'a EntityKey,
        /// Who waits.
        transaction: &'a Transaction<M>,
    },
    /// An entity that a transaction holds, or that is on its way home.
    Held {
        /// Which, and where its home is.
        place: &'a Place,
        /// What travels.
        held: &'a Held<M>,
    },
}

impl<M: Machine> Shard<M> {
    /// Visits every entity, mark and loan here.
    pub fn audit(&self, visit: &mut dyn FnMut(Seen<'_, M>)) {
        for partition in self.partitions.iter().flatten() {
            partition.each_home(&mut |key, version, entity| {
                visit(Seen::Home {
                    key,
                    version,
                    entity,
                });
            });
        }
        self.audit_away(visit);
    }

    /// Visits every mark and loan here, and nothing that is at home.
    pub fn audit_away(&self, visit: &mut dyn FnMut(Seen<'_, M>)) {
        for partition in self.partitions.iter().flatten() {
            partition.each_mark(&mut |key, queue| {
                visit(Seen::Mark { key });
                for transaction in queue {
                    visit(Seen::Waiting { key, transaction });
                    audit_transaction(transaction, visit);
                }
            });
        }
        for transaction in self.queue.iter() {
            audit_transaction(transaction, visit);
        }
        for out in &self.out {
            audit_work(&out.returns, &out.transactions, visit);
        }
    }

    /// An entity that this shard has at home, with the version of its last event.
    #[must_use]
    pub fn at_home(&self, key: &EntityKey) -> Option<(&M::Entity, u64)> {
        let partition = self.partitions[usize::from(partition_of(key).0)].as_ref()?;
        match partition.find(key) {
            Found::Home(entity, version) => Some((entity, version)),
            Found::Absent(_) | Found::Lent => None,
        }
    }
}

/// Visits every loan in a message on its way.
pub fn audit_message<M: Machine>(message: &ShardMessage<M>, visit: &mut dyn FnMut(Seen<'_, M>)) {
    match message {
        ShardMessage::Work {
            returns,
            transactions,
            ..
        } => audit_work(returns, transactions, visit),
        ShardMessage::Policy { .. }
        | ShardMessage::Adopt(_)
        | ShardMessage::SnapshotBegin { .. }
        | ShardMessage::SnapshotSlice(_)
        | ShardMessage::Sweep
        | ShardMessage::SweepAll(_)
        | ShardMessage::Scan(_) => {}
    }
}

fn audit_work<M: Machine>(
    returns: &[Return<M>],
    transactions: &[Box<Transaction<M>>],
    visit: &mut dyn FnMut(Seen<'_, M>),
) {
    for Return { place, held } in returns {
        visit(Seen::Held { place, held });
    }
    for transaction in transactions {
        audit_transaction(transaction, visit);
    }
}

fn audit_transaction<M: Machine>(transaction: &Transaction<M>, visit: &mut dyn FnMut(Seen<'_, M>)) {
    for (place, held) in transaction.places.iter().zip(&transaction.held) {
        visit(Seen::Held { place, held });
    }
}
