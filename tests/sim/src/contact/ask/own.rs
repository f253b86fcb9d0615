//! What is asked about who has a customer, an object or a task: claims, observations, locks and
//! what is given back.

use interlock_domain::contact::claim::{ClaimKind, ClaimVia};
use interlock_domain::contact::command::{
    Body, ClaimPlace, ClaimTarget, EndObservation, LockTask, ObserveOwner, ReleaseClaim, Route,
};
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::handoff::command::HandoffCommand;
use interlock_domain::contact::name::IntentId;
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::{KeyHash, Kind, SpaceId};
use interlock_domain::time::Timestamp;

use super::super::rules::{INTENTS, Rules};
use super::REPEATABLE;
use crate::keys::key_in;
use crate::random::Random;

/// Who holds and who asks.
pub(super) const AGENTS: [&str; 3] = ["anna", "bot", "carl"];
/// What may be locked.
pub(super) const TASKS: [&str; 2] = ["invoice", "refund"];
/// Leases, in seconds. Many end while their run goes on.
const LEASES_S: [u32; 8] = [1, 1, 2, 3, 8, 30, 900, 86_400];
/// The declaring source's name.
const SOURCE: &str = "crm";

/// Stands where the edge puts an id.
const NO_ID: Id = Id([0; 16]);

/// Ids that were handed out, or will be.
#[derive(Debug)]
pub(super) struct Ids {
    space: SpaceId,
    partitions: u64,
    /// Of late, with epochs; a renewed one is here with each of them.
    known: Vec<(Id, u64)>,
    /// From all of the run.
    old: Vec<(Id, u64)>,
    seen: u64,
    /// Put into commands that may still be under way.
    fresh: Vec<Id>,
    /// When the last observation was so.
    observed_at: Timestamp,
}

impl Ids {
    pub(super) const fn new(space: SpaceId, partitions: u64) -> Self {
        Self {
            space,
            partitions,
            known: Vec::new(),
            old: Vec::new(),
            seen: 0,
            fresh: Vec::new(),
            observed_at: Timestamp(0),
        }
    }

    /// An id came to light.
    pub(super) fn claimed(&mut self, id: Id, epoch: u64) {
        push(&mut self.known, (id, epoch));
        self.seen += 1;
        if self.seen.is_multiple_of(16) {
            push(&mut self.old, (id, epoch));
        }
    }

    /// Gives a command the id that the edge gives it, each time it is asked.
    pub(super) fn name(&mut self, body: &mut Body, random: &mut Random) {
        let new_id = match body {
            Body::ClaimTarget(claim) | Body::ObserveOwner(ObserveOwner { claim, .. }) => {
                &mut claim.new_id
            }
            Body::EndObservation(end) => &mut end.new_id,
            Body::LockTask(lock) => &mut lock.new_id,
            Body::Admit(admit) => &mut admit.new_id,
            Body::ForgetCustomer(forget) => &mut forget.new_id,
            Body::PlaceHold(place) => &mut place.new_id,
            Body::Handoff(HandoffCommand::Create(create)) => {
                let hash = key_in(self.space, Kind::Handoff, self.partitions, random).hash;
                create.id = Id(hash.0);
                return;
            }
            _ => return,
        };
        let hash = key_in(self.space, Kind::Directory, self.partitions, random).hash;
        *new_id = Id(hash.0);
        push(&mut self.fresh, *new_id);
    }

    /// The name of an entity that nobody used before.
    pub(super) fn fresh(&self, kind: Kind, random: &mut Random) -> KeyHash {
        key_in(self.space, kind, self.partitions, random).hash
    }
}

fn push<T>(list: &mut Vec<T>, one: T) {
    list.push(one);
    if list.len() > REPEATABLE {
        list.remove(0);
    }
}

/// What somebody takes: its id is put in later, and is no part of the request.
pub(super) fn claim(rules: &Rules, target: Target, random: &mut Random) -> (Route, Body) {
    let intents = INTENTS.iter().filter(|_| random.chance(250));
    let intents = intents.map(|name| IntentId::of(name)).collect();
    let body = ClaimTarget {
        target,
        kind: random.pick(&[ClaimKind::Owner, ClaimKind::Case]),
        holder: Text::from(random.pick(&AGENTS)),
        level: level(rules, random),
        lease_s: random.pick(&LEASES_S),
        intents,
        source: Text::from(SOURCE),
        new_id: NO_ID,
    };
    let route = random.pick(&[Route::Claims, Route::Claims, Route::Declare]);
    (route, Body::ClaimTarget(body))
}

/// What an ownership source says: now, late, at the same time as the last, or ahead of its time.
pub(super) fn observe(
    ids: &mut Ids,
    rules: &Rules,
    (target, now): (Target, Timestamp),
    random: &mut Random,
) -> (Route, Body) {
    let (_, body) = claim(rules, target, random);
    let Body::ClaimTarget(mut claim) = body else {
        unreachable!("a claim is a claim");
    };
    claim.source = Text::from(rules.owners[random.index(rules.owners.len())].0);
    let ago = i64::try_from(random.range(1..=5_000)).unwrap_or(1);
    let observed_at = match random.weighted(&[3, 3, 2, 1, 1]) {
        0 => None,
        1 => Some(now.plus_ms(-ago)),
        2 => Some(ids.observed_at),
        3 => Some(ids.observed_at.plus_ms(-1)),
        _ => Some(now.plus_ms(ago * 20)),
    };
    ids.observed_at = observed_at.unwrap_or(now).min(now);
    (
        Route::Claims,
        Body::ObserveOwner(ObserveOwner {
            claim,
            observed_at,
            via: ClaimVia::Worker,
        }),
    )
}

/// A mapped event begins or ends what its source says.
pub(super) fn map(
    ids: &mut Ids,
    rules: &Rules,
    about: (Target, Timestamp),
    random: &mut Random,
) -> (Route, Body) {
    let (_, body) = observe(ids, rules, about, random);
    let Body::ObserveOwner(mut begins) = body else {
        unreachable!("an observation is one");
    };
    if random.chance(450) {
        let body = EndObservation {
            target: begins.claim.target,
            source: begins.claim.source,
            observed_at: begins.observed_at,
            new_id: NO_ID,
        };
        return (Route::Batch, Body::EndObservation(body));
    }
    begins.via = ClaimVia::Mapping;
    begins.claim.kind = ClaimKind::Owner;
    begins.claim.intents.clear();
    let level = level(rules, random);
    begins.claim.level = level.or_else(|| rules.levels.last().map(|name| Text::from(*name)));
    (Route::Batch, Body::ObserveOwner(begins))
}

/// A task somebody takes.
pub(super) fn lock(rules: &Rules, object: KeyHash, random: &mut Random) -> (Route, Body) {
    let body = LockTask {
        object,
        task: Text::from(random.pick(&TASKS)),
        holder: Text::from(random.pick(&AGENTS)),
        level: level(rules, random),
        lease_s: random.pick(&LEASES_S),
        source: Text::from(SOURCE),
        new_id: NO_ID,
    };
    let route = random.pick(&[Route::Claims, Route::Claims, Route::Declare]);
    (route, Body::LockTask(body))
}

/// Something is given back: what was handed out of late or long ago, what is being handed out, or
/// what never was, by its epoch or another.
pub(super) fn release(ids: &Ids, random: &mut Random) -> (Route, Body) {
    let of = |list: &[(Id, u64)], random: &mut Random| {
        (!list.is_empty()).then(|| list[random.index(list.len())])
    };
    let known = match random.weighted(&[12, 2, 1, 1]) {
        // The newest of them are the most likely to hold still.
        0 if random.chance(500) => ids.known.last().copied(),
        0 => of(&ids.known, random),
        1 => of(&ids.old, random),
        2 if !ids.fresh.is_empty() => Some((ids.fresh[random.index(ids.fresh.len())], 1)),
        _ => None,
    };
    let invented = Id([u8::try_from(random.below(200)).unwrap_or(0); 16]);
    let (claim, epoch) = known.unwrap_or((invented, 1));
    let epoch = i64::try_from(epoch).unwrap_or(i64::MAX);
    let epoch = match random.weighted(&[12, 1, 1, 1]) {
        0 => epoch,
        1 => epoch - 1,
        2 => epoch + 1,
        _ => -1,
    };
    let body = ReleaseClaim {
        claim,
        epoch,
        place: ClaimPlace::ToFind,
    };
    let route = random.pick(&[Route::Release, Route::Release, Route::Declare]);
    (route, Body::ReleaseClaim(body))
}

fn level(rules: &Rules, random: &mut Random) -> Option<Text> {
    if random.chance(300) {
        return None;
    }
    let softer = random.index(rules.levels.len());
    let soft = random.index(rules.levels.len());
    Some(Text::from(rules.levels[soft.max(softer)]))
}
