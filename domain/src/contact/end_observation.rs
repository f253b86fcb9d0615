//! A mapped event ends what its source said about a target (`docs/spec/contact.md` §9).
//!
//! Here: an end is an observation that is over at once. It has a time and an epoch of its own, so
//! that what happened before it and arrives after it begins nothing, also where the end comes first.
//! Not here: which events end something (the space's mappings), and beginnings (`observe_owner`).

use crate::contact::Contact;
use crate::contact::claim::{Claim, ClaimKind, ClaimVia, answer, naming};
use crate::contact::command::{Command, EndObservation};
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::note::{Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reply::{Member, Reply};
use crate::contact::text::Text;
use crate::machine::{Context, Decision, Entities};

/// Decides an end.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    end: &EndObservation,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let now = context.now;
    if context.policy.ownership_source(&end.source).is_none() {
        return Decision::read(Reply::Undeclared(Member::Source));
    }
    let Some((rank, level)) = context.policy.level(None) else {
        return Decision::read(Reply::Undeclared(Member::Level));
    };
    let observed_at = end.observed_at.unwrap_or(now).min(now);
    let view = entities.view(&end.target.key(command.space));
    let known = view.entity.map_or(&[][..], ContactEntity::claims);
    let last = known
        .iter()
        .filter(|claim| claim.via.is_observed() && claim.source == end.source)
        .max_by_key(|claim| claim.epoch);
    let is_older = last.is_some_and(|last| observed_at < last.observed_at);
    // Without room, an end of nothing is not remembered: it would take room.
    if is_older || (last.is_none() && context.full) {
        return nothing(command);
    }
    let (id, named_at) = naming::name(last.map(Claim::named), end.new_id, now);
    let begun = Claim {
        id,
        kind: ClaimKind::Owner,
        holder: Text::from(""),
        level: level.clone(),
        rank,
        source: end.source.clone(),
        via: ClaimVia::Mapping,
        since: now,
        accepted_at: now,
        until: now,
        epoch: view.next_version,
        intents: Vec::new(),
        observed_at,
        named_at,
    };
    let ended = match last {
        Some(last) => Claim {
            id,
            named_at,
            accepted_at: now,
            until: now,
            epoch: view.next_version,
            observed_at,
            ..last.clone()
        },
        None => begun,
    };
    let events = naming::events(
        command,
        (end.target, Event::ClaimAccepted(Box::new(ended.clone()))),
        last.map(Claim::named),
        ended.named(),
        now,
    );
    Decision {
        events,
        ..answer::stands(command, &ended, Noted::Accepted)
    }
}

fn nothing(command: &Command) -> Decision<Contact> {
    Decision {
        note: Some(Note::new(command, Noted::NothingToChange)),
        ..Decision::read(Reply::Observed)
    }
}
