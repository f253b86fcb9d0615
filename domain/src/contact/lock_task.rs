//! Somebody takes one task of an object (`docs/spec/contact.md` §10).
//!
//! Here: one holder for each object and task, until the lease ends; the same holder renews. A lock
//! holds the task, never the object or a customer. Not here: what a lock stops (`check/order`).
//! Keeps C3.

use smallvec::smallvec;

use crate::contact::Contact;
use crate::contact::claim::{LOCKS_LIVE_MAX, TaskLock, answer, naming};
use crate::contact::command::{Command, LockTask};
use crate::contact::directory::Target;
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::note::{Fact, Noted};
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{Member, Reply};
use crate::machine::{Context, Decision, Entities};

/// Decides a lock.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    wanted: &LockTask,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let now = context.now;
    let Some((_, level)) = context.policy.level(wanted.level.as_deref()) else {
        return Decision::read(Reply::Undeclared(Member::Level));
    };
    let entity = Target::Object(wanted.object).key(command.space);
    let view = entities.view(&entity);
    let known = view.entity.map_or(&[][..], ContactEntity::locks);
    let live = known.iter().filter(|lock| lock.is_live(now));
    let before = live.clone().find(|lock| lock.task == wanted.task);
    if let Some(other) = before.filter(|lock| lock.holder != wanted.holder) {
        let facts = smallvec![(Fact::UntilMs, other.until.0)];
        let holder = (other.holder.clone(), other.until);
        return answer::is_held(command, Refusal::TaskLocked, holder, facts);
    }
    if before.is_none() {
        if context.full {
            return Decision::read(Reply::Capacity);
        }
        if live.count() >= LOCKS_LIVE_MAX {
            let facts = smallvec![(Fact::Used, LOCKS_LIVE_MAX.cast_signed() as i64)];
            return answer::refused(command, Refusal::TargetFull, facts);
        }
    }
    let lease_s = wanted
        .lease_s
        .min(context.policy.ownership.max_declared_lease_s);
    let named = before.map(|before| (before.id, before.named_at));
    let (id, named_at) = naming::name(named, wanted.new_id, now);
    // A lock that goes on under a new name begins with it: two of one task never overlap.
    let same = before.filter(|before| before.id == id);
    let taken = TaskLock {
        id,
        holder: wanted.holder.clone(),
        task: wanted.task.clone(),
        source: wanted.source.clone(),
        since: same.map_or(now, |before| before.since),
        until: now.plus_s(i64::from(lease_s)),
        epoch: view.next_version,
        level: level.clone(),
        accepted_at: now,
        named_at,
    };
    let accepted = Event::LockTaken(Box::new(taken.clone()));
    let target = Target::Object(wanted.object);
    Decision {
        events: naming::events(command, (target, accepted), named, (id, named_at), now),
        ..answer::stands(command, &taken, Noted::Accepted)
    }
}
