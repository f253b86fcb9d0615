//! Events of systems that the space maps to ownership (§9).
//!
//! Here: from an item of `/v1/batch` and the space's mappings to observations. Not here: which of
//! several claims governs, and what is too old to count (`domain`).

use interlock_domain::contact::claim::{ClaimKind, ClaimVia};
use interlock_domain::contact::command::{
    Body, ClaimTarget, Command, EndObservation, ObserveOwner, Route,
};
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::policy::{Mapping, MappingEffect, Policy};
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::time::Timestamp;
use interlock_wire::contact::messages::{EventParts, SystemEvent};

use crate::contact::{command, identity, messages};
use crate::directory::Caller;
use crate::ids;

/// The commands of an event: one for each mapping of its type and each customer and object it is
/// about. An event of a type that is not mapped has none.
///
/// # Errors
/// What is wrong with the event, in words.
pub(crate) fn commands(
    caller: &Caller,
    event: &SystemEvent<'_>,
    now: Timestamp,
) -> Result<Vec<Command>, &'static str> {
    let policy = &caller.space.policy;
    let is_mapped = |mapping: &&Mapping| *mapping.canonical_type == *event.canonical_type;
    let mut mapped = policy
        .ownership
        .mappings
        .iter()
        .filter(is_mapped)
        .peekable();
    if mapped.peek().is_none() {
        return Ok(Vec::new());
    }
    let parts = event.parts()?;
    let targets = targets(caller, &parts);
    let mut ids = ids::stream().ok_or("the node has no random numbers; send the item again")?;
    let mut commands = Vec::new();
    for mapping in mapped {
        for &target in &targets {
            let seen = Seen {
                mapping,
                parts: &parts,
                target,
                new_id: ids.next(now),
            };
            let part = part(mapping, target);
            let key = event.idempotency_key.as_ref();
            let receipt = messages::receipt(caller, key, &part, &parts);
            commands.push(command::of(
                caller,
                Route::Batch,
                receipt,
                seen.body(policy)?,
            ));
        }
    }
    Ok(commands)
}

fn targets(caller: &Caller, parts: &EventParts<'_>) -> Vec<Target> {
    let secret = caller.space.secret.prepared();
    let mut objects: Vec<_> = parts
        .objects
        .iter()
        .map(|object| identity::object(secret, object))
        .collect();
    objects.sort_unstable();
    objects.dedup();
    let customers = messages::customers(caller, &parts.handles);
    let customers = customers.into_iter().map(Target::Customer);
    customers
        .chain(objects.into_iter().map(Target::Object))
        .collect()
}

/// What tells the commands of one event apart: the target, and whose observation it is.
fn part(mapping: &Mapping, target: Target) -> Vec<u8> {
    let (kind, hash) = match target {
        Target::Customer(hash) => (b'c', hash),
        Target::Object(hash) => (b'o', hash),
        Target::Space(_) => unreachable!("an event is of a customer or an object"),
    };
    let mut part = vec![kind];
    part.extend_from_slice(&hash.0);
    part.extend_from_slice(mapping.source.as_bytes());
    part
}

/// One mapping of one event on one target.
struct Seen<'a> {
    mapping: &'a Mapping,
    parts: &'a EventParts<'a>,
    target: Target,
    new_id: Id,
}

impl Seen<'_> {
    fn body(&self, policy: &Policy) -> Result<Body, &'static str> {
        let observed_at = self.parts.occurred_at.map(Timestamp);
        match &self.mapping.effect {
            MappingEffect::Ends => Ok(Body::EndObservation(EndObservation {
                target: self.target,
                source: self.mapping.source.clone(),
                observed_at,
                new_id: self.new_id,
            })),
            MappingEffect::Begins {
                holder_field,
                rank,
                lease_s,
            } => {
                let holder = self.parts.field(holder_field).ok_or(
                    "the event is mapped to ownership and its `fields` name no holder: send the \
                     member that the mapping names, a text of 1 to 256 characters",
                )?;
                Ok(Body::ObserveOwner(ObserveOwner {
                    claim: ClaimTarget {
                        target: self.target,
                        kind: ClaimKind::Owner,
                        holder: Text::from(holder.as_str()),
                        level: policy.ownership.levels.get(usize::from(*rank)).cloned(),
                        lease_s: *lease_s,
                        intents: Vec::new(),
                        source: self.mapping.source.clone(),
                        new_id: self.new_id,
                    },
                    observed_at,
                    via: ClaimVia::Mapping,
                }))
            }
        }
    }
}
