//! A claim or a lock is given back by its id and epoch (`docs/spec/contact.md` §9, §10, §17).
//!
//! Here: the epoch must be the current one; what has ended stays as it is. Not here: where the id
//! leads (`find_claim`).

use smallvec::smallvec;

use crate::contact::Contact;
use crate::contact::claim::{Held, answer};
use crate::contact::command::{ClaimPlace, Command, ReleaseClaim};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{ClaimReleased, Event};
use crate::contact::note::{Fact, Noted};
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::key::EntityKey;
use crate::machine::{Context, Decision, Entities};
use crate::time::Timestamp;

/// Decides a release.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    release: &ReleaseClaim,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let ClaimPlace::At(target) = release.place else {
        return answer::unknown(command);
    };
    let entity = target.key(command.space);
    let Some(known) = entities.get(&entity) else {
        return answer::unknown(command);
    };
    let now = context.now;
    if let Some(claim) = known.claims().iter().find(|one| one.id == release.claim) {
        return give_back(command, (entity, claim), release.epoch, now);
    }
    if let Some(lock) = known.locks().iter().find(|one| one.id == release.claim) {
        return give_back(command, (entity, lock), release.epoch, now);
    }
    answer::unknown(command)
}

fn give_back(
    command: &Command,
    (entity, held): (EntityKey, &impl Held),
    epoch: i64,
    now: Timestamp,
) -> Decision<Contact> {
    let current = held.epoch();
    if u64::try_from(epoch) != Ok(current) {
        let facts = smallvec![
            (Fact::EpochAsked, epoch),
            (Fact::Epoch, current.cast_signed()),
        ];
        return answer::refused(command, Refusal::StaleEpoch, facts);
    }
    if held.until() <= now {
        return answer::stands(command, held, Noted::NothingToChange);
    }
    let event = ClaimReleased {
        id: held.id(),
        at: now,
    };
    let mut ended = held.clone();
    ended.end(now);
    Decision {
        events: smallvec![(entity, Event::ClaimReleased(event))],
        ..answer::stands(command, &ended, Noted::Accepted)
    }
}
