//! Somebody takes a customer or an object, by declaration (`docs/spec/contact.md` §9).
//!
//! Here: who may, for how long, and under which id and epoch. A declaration is turned down while
//! somebody else holds the target at the same level or a stricter one; a holder renews its own. Not
//! here: what an ownership source reports (`observe_owner`), and which claim governs (`claim`).

use smallvec::smallvec;

use crate::contact::Contact;
use crate::contact::claim::{self, CLAIMS_LIVE_MAX, Claim, ClaimVia, answer, naming};
use crate::contact::command::{ClaimTarget, Command};
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::note::{Fact, Noted};
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{Member, Reply};
use crate::contact::text::Text;
use crate::machine::{Context, Decision, Entities};
use crate::time::Timestamp;

/// Decides a declared claim.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    wanted: &ClaimTarget,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let now = context.now;
    let Some((rank, level)) = context.policy.level(wanted.level.as_deref()) else {
        return Decision::read(Reply::Undeclared(Member::Level));
    };
    let entity = wanted.target.key(command.space);
    let view = entities.view(&entity);
    let known = view.entity.map_or(&[][..], ContactEntity::claims);
    let own = known.iter().find(|claim| is_own(claim, wanted, now));
    let others = known
        .iter()
        .filter(|claim| claim.holder != wanted.holder && claim.rank <= rank);
    // A renewal that gets no stricter is the holder's own affair, whoever else has come since.
    let renews = own.is_some_and(|own| own.rank <= rank);
    if let (Some(other), false) = (claim::governing(others, now), renews) {
        let facts = smallvec![
            (Fact::RankAsked, i64::from(rank)),
            (Fact::RankHeld, i64::from(other.rank)),
            (Fact::UntilMs, other.until.0),
        ];
        let holder = (other.holder.clone(), other.until);
        return answer::is_held(command, Refusal::LeaseHeld, holder, facts);
    }
    if own.is_none() {
        if context.full {
            return Decision::read(Reply::Capacity);
        }
        // Holds of handoffs have a bound of their own.
        let counts = |claim: &&Claim| claim.is_live(now) && claim.via != ClaimVia::Handoff;
        if known.iter().filter(counts).count() >= CLAIMS_LIVE_MAX {
            let facts = smallvec![(Fact::Used, CLAIMS_LIVE_MAX.cast_signed() as i64)];
            return answer::refused(command, Refusal::TargetFull, facts);
        }
    }
    let lease_s = wanted
        .lease_s
        .min(context.policy.ownership.max_declared_lease_s);
    let accepted = Claim {
        level: level.clone(),
        rank,
        until: now.plus_s(i64::from(lease_s)),
        epoch: view.next_version,
        ..begun(wanted, own, now)
    };
    let events = naming::events(
        command,
        (
            wanted.target,
            Event::ClaimAccepted(Box::new(accepted.clone())),
        ),
        own.map(Claim::named),
        accepted.named(),
        now,
    );
    let other = |claim: &Claim| claim.is_live(now) && claim.holder != wanted.holder;
    let overlaps = own.is_none() && known.iter().any(other);
    let stands = answer::stands(command, &accepted, Noted::Accepted);
    Decision {
        events,
        ..answer::beside(stands, overlaps)
    }
}

/// Whether a claim is the one the holder renews.
fn is_own(claim: &Claim, wanted: &ClaimTarget, now: Timestamp) -> bool {
    claim.is_live(now)
        && claim.via == ClaimVia::Declaration
        && claim.kind == wanted.kind
        && claim.holder == wanted.holder
}

/// What a claim begins with: of `before`, whose place it takes, it keeps the id while that may be
/// kept, and since when when the holder is the same.
pub(super) fn begun(wanted: &ClaimTarget, before: Option<&Claim>, now: Timestamp) -> Claim {
    let (id, named_at) = naming::name(before.map(Claim::named), wanted.new_id, now);
    let same_holder = before.filter(|before| before.holder == wanted.holder);
    Claim {
        id,
        kind: wanted.kind,
        holder: wanted.holder.clone(),
        level: Text::from(""),
        rank: 0,
        source: wanted.source.clone(),
        via: ClaimVia::Declaration,
        since: same_holder.map_or(now, |before| before.since),
        accepted_at: now,
        until: now,
        epoch: 0,
        intents: wanted.intents.clone(),
        observed_at: now,
        named_at,
    }
}
