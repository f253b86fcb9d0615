//! A customer is handed over (`docs/spec/contact.md` §16).
//!
//! Here: in one decision the handoff, the target's hold on the customer and what the package shows.
//! The hold is never refused and never shortened; a stricter claim goes on winning. Not here: its end
//! (`close`), and what the package says in words (the edge).

use smallvec::smallvec;

use crate::contact::claim::{self, Claim, ClaimKind, ClaimVia};
use crate::contact::command::Command;
use crate::contact::customer::Customer;
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::handoff::command::CreateHandoff;
use crate::contact::handoff::{
    Handoff, HandoffStatus, KEPT_MAX, OPEN_MAX, Package, answer, handoff_key,
};
use crate::contact::note::Noted;
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{Member, Reply};
use crate::contact::text::Text;
use crate::contact::{Contact, advise, key};
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities};
use crate::time::Timestamp;

/// What the hold says of where it comes from. It is the handoff's, not a source's: nobody renews it
/// or gives it back but the handoff's outcome.
const SOURCE: &str = "handoff";

/// Decides it.
pub(in crate::contact) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    create: &CreateHandoff,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let (now, policy) = (context.now, context.policy);
    let wait_s = i64::from(policy.handoffs.wait_s);
    let expected_by = create.expected_by.unwrap_or(now.plus_s(wait_s));
    if expected_by <= now {
        return Decision::read(Reply::Past(Member::ExpectedBy));
    }
    if context.full {
        return Decision::read(Reply::Capacity);
    }
    let entity = key(command.space, Kind::Customer, create.customer);
    let view = entities.view(&entity);
    let customer = view.entity.and_then(ContactEntity::as_customer);
    let claims = customer.map_or(&[][..], |known| &known.rare.claims);
    let kept = customer.map_or(&[][..], Customer::handoffs);
    let kept = kept.iter().filter(|known| now < known.until).count();
    let open = claims.iter().filter(|claim| is_open(claim, now)).count();
    if open >= OPEN_MAX || kept >= KEPT_MAX {
        return answer::refused(command, create.id, Refusal::TargetFull);
    }
    let Some(level) = level(policy) else {
        return Decision::read(Reply::Undeclared(Member::Level));
    };
    let handoff = Handoff {
        customer: create.customer,
        target: create.target.clone(),
        created_at: now,
        expected_by,
        state: HandoffStatus::Created,
        turned_at: now,
        outcome: None,
        sealed: create.sealed.clone(),
        destination: create.destination.clone(),
        package: package(customer, create, policy, now),
        conversation: create.conversation,
        holds: Vec::new(),
    };
    let hold = Claim {
        level: level.clone(),
        epoch: view.next_version,
        ..hold(create, policy.handoffs.rank, (now, expected_by))
    };
    Decision {
        events: smallvec![
            (entity, Event::ClaimAccepted(Box::new(hold))),
            (
                handoff_key(command.space, create.id),
                Event::HandoffCreated(Box::new(handoff.clone())),
            ),
        ],
        ..answer::stands(command, create.id, &handoff, Noted::Accepted, now)
    }
}

/// Whether a claim is the hold of a handoff that waits for its outcome.
fn is_open(claim: &Claim, now: Timestamp) -> bool {
    claim.via == ClaimVia::Handoff && claim.is_live(now)
}

/// The level's name; a document always has one of the handoffs' rank.
fn level(policy: &Policy) -> Option<&Text> {
    let levels = &policy.ownership.levels;
    levels.get(usize::from(policy.handoffs.rank))
}

fn hold(create: &CreateHandoff, rank: u8, (now, until): (Timestamp, Timestamp)) -> Claim {
    Claim {
        id: create.id,
        kind: ClaimKind::Owner,
        holder: create.target.clone(),
        level: Text::from(""),
        rank,
        source: Text::from(SOURCE),
        via: ClaimVia::Handoff,
        since: now,
        accepted_at: now,
        until,
        epoch: 0,
        intents: Vec::new(),
        observed_at: now,
        named_at: now,
    }
}

fn package(
    customer: Option<&Customer>,
    create: &CreateHandoff,
    policy: &Policy,
    now: Timestamp,
) -> Package {
    let claims = customer.map_or(&[][..], |known| &known.rare.claims);
    let suppressed = advise::suppressions(customer, None, now);
    let names = suppressed.iter();
    let names = names.filter_map(|purpose| policy.suppression_purpose_name(*purpose));
    Package {
        owner: claim::governing(claims.iter(), now).map(Claim::view),
        commitments: advise::commitments(customer, now),
        promises: advise::promises(customer),
        suppressions: names.map(Text::from).collect(),
        effects: create.effects.clone(),
        vocabulary: policy.handoffs.vocabulary.clone(),
    }
}
