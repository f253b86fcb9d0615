//! An ownership source says who has a customer or an object (`docs/spec/contact.md` §9).
//!
//! Here: an observation is never turned down; it takes the place of what the same source said about
//! the target, unless it is older than that. Not here: which of several claims governs (`claim`).

use crate::contact::Contact;
use crate::contact::claim::{Claim, answer, naming};
use crate::contact::claim_target::begun;
use crate::contact::command::{Command, ObserveOwner};
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::note::Noted;
use crate::contact::policy::Policy;
use crate::contact::reply::{Member, Reply};
use crate::machine::{Context, Decision, Entities};

/// Decides an observation.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    observe: &ObserveOwner,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let now = context.now;
    let seen = &observe.claim;
    let Some((rank, level)) = context.policy.level(seen.level.as_deref()) else {
        return Decision::read(Reply::Undeclared(Member::Level));
    };
    let Some(source) = context.policy.ownership_source(&seen.source) else {
        return Decision::read(Reply::Undeclared(Member::Source));
    };
    let observed_at = observe.observed_at.unwrap_or(now).min(now);
    let entity = seen.target.key(command.space);
    let view = entities.view(&entity);
    let known = view.entity.map_or(&[][..], ContactEntity::claims);
    let last = known
        .iter()
        .filter(|claim| claim.via.is_observed() && claim.source == seen.source)
        .max_by_key(|claim| claim.epoch);
    if let Some(last) = last.filter(|last| observed_at < last.observed_at) {
        return answer::stands(command, last, Noted::NothingToChange);
    }
    let before = last.filter(|last| last.is_live(now));
    if before.is_none() && context.full {
        return Decision::read(Reply::Capacity);
    }
    let lease_s = seen.lease_s.min(source.max_validity_s);
    let accepted = Claim {
        level: level.clone(),
        rank,
        via: observe.via,
        until: now.plus_s(i64::from(lease_s)),
        epoch: view.next_version,
        observed_at,
        ..begun(seen, before, now)
    };
    let events = naming::events(
        command,
        (
            seen.target,
            Event::ClaimAccepted(Box::new(accepted.clone())),
        ),
        before.map(Claim::named),
        accepted.named(),
        now,
    );
    let goes_on = before.is_some_and(|before| before.holder == seen.holder);
    let replaced = before.map(|before| before.id);
    let other = |claim: &Claim| {
        claim.is_live(now) && claim.holder != seen.holder && Some(claim.id) != replaced
    };
    let overlaps = !goes_on && known.iter().any(other);
    Decision {
        events,
        ..answer::beside(
            answer::stands(command, &accepted, Noted::Accepted),
            overlaps,
        )
    }
}
