//! L1 and C6 over a whole node: every entity is home, or on exactly one loan, and what replay makes of
//! its records.
//!
//! Here: an audit of all there is, and a quick one of what is away, which is where an entity can be
//! lost or doubled. What a turn changed at home is compared in `replay`. Who calls which when is `world`'s.

use std::collections::BTreeMap;

use interlock_actors::placement::{Place, partition_of, shard_of};
use interlock_actors::shard::audit::{Seen, audit_message};
use interlock_domain::key::EntityKey;
use interlock_domain::machine::Machine;

use crate::machine::{Violation, violated};
use crate::node::Node;
use crate::replay::Replay;

/// Where one entity was seen.
#[derive(Debug, Default, PartialEq, Eq)]
struct Spots {
    homes: u32,
    marks: u32,
    holders: u32,
}

/// What an audit counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audited {
    /// Entities at home.
    pub homes: usize,
    /// Entities away, also those that do not exist.
    pub away: usize,
    /// Entities away that exist.
    pub lent: usize,
    /// Transactions in queues.
    pub waiting: usize,
}

/// What an audit looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everything, also whether each entity is whole and at its own shard.
    All,
    /// What is away from home.
    Away,
}

/// Audits a node.
///
/// # Errors
/// When an entity is in two places, or in none, or one of them is broken or not what its records say.
pub fn audit<M: Machine>(
    node: &Node<M>,
    replay: &Replay<M>,
    reach: Reach,
) -> Result<Audited, Violation> {
    let mut spots: BTreeMap<EntityKey, Spots> = BTreeMap::new();
    let mut audited = Audited::default();
    let mut wrong: Option<Violation> = None;
    let mut shard_at = None;
    let mut look = |seen: Seen<'_, M>, shard: Option<usize>| {
        let found = match seen {
            Seen::Home {
                key,
                version,
                entity,
            } => {
                audited.homes += 1;
                spots.entry(*key).or_default().homes += 1;
                belongs(key, shard, node.count())
                    .and_then(|()| check::<M>(entity))
                    .and_then(|()| replay.agrees(key, Some(entity), version))
            }
            Seen::Mark { key } => {
                audited.away += 1;
                spots.entry(*key).or_default().marks += 1;
                belongs(key, shard, node.count())
            }
            Seen::Waiting { key, transaction } => {
                audited.waiting += 1;
                match transaction.places.get(transaction.held.len()) {
                    Some(Place { key: next, .. }) if next == key => Ok(()),
                    next => violated("L1", format!("waits for {key:?}, needs {next:?}")),
                }
            }
            Seen::Held { place, held } => {
                spots.entry(place.key).or_default().holders += 1;
                let entity = held.entity.as_ref();
                audited.lent += usize::from(entity.is_some());
                entity
                    .map_or(Ok(()), check::<M>)
                    .and_then(|()| replay.agrees(&place.key, entity, held.version))
            }
        };
        if let Err(violation) = found {
            wrong.get_or_insert(violation);
        }
    };
    for (at, shard) in node.shards.iter().enumerate() {
        shard_at.replace(at);
        match reach {
            Reach::All => shard.audit(&mut |seen| look(seen, shard_at)),
            Reach::Away => shard.audit_away(&mut |seen| look(seen, shard_at)),
        }
    }
    node.each_message(&mut |message| audit_message(message, &mut |seen| look(seen, None)));
    if let Some(violation) = wrong {
        return Err(violation);
    }
    placed(node, &spots, reach)?;
    match reach {
        Reach::All => complete(audited, replay),
        Reach::Away => Ok(audited),
    }
}

/// Is each entity in one place?
fn placed<M: Machine>(
    node: &Node<M>,
    spots: &BTreeMap<EntityKey, Spots>,
    reach: Reach,
) -> Result<(), Violation> {
    for (key, spots) in spots {
        let homes = match reach {
            Reach::All => spots.homes,
            Reach::Away => homes(node, key),
        };
        let fine = matches!((homes, spots.marks, spots.holders), (1, 0, 0) | (0, 1, 1));
        if !fine {
            return violated("L1", format!("{key:?} is at {spots:?}, {homes} homes"));
        }
    }
    Ok(())
}

/// Are there as many entities as their records made?
fn complete<M: Machine>(audited: Audited, replay: &Replay<M>) -> Result<Audited, Violation> {
    let there = audited.homes + audited.lent;
    let replayed = replay.entities();
    if there == replayed {
        return Ok(audited);
    }
    violated(
        "C6",
        format!("{there} entities, by their records {replayed}"),
    )
}

fn homes<M: Machine>(node: &Node<M>, key: &EntityKey) -> u32 {
    let homes = node
        .shards
        .iter()
        .filter(|shard| shard.at_home(key).is_some());
    homes.map(|_| 1).sum()
}

fn check<M: Machine>(entity: &M::Entity) -> Result<(), Violation> {
    M::check(entity).or_else(|broken| violated(broken.invariant, broken.seen))
}

fn belongs(key: &EntityKey, shard: Option<usize>, shards: u16) -> Result<(), Violation> {
    let home = usize::from(shard_of(partition_of(key), shards));
    if shard == Some(home) {
        return Ok(());
    }
    violated("L1", format!("{key:?} of shard {home} is at {shard:?}"))
}
