//! What is known of a customer or an object, as advice for a turn (`docs/spec/contact.md` §18).
//!
//! Here: the read, and the members it shares with a check's answer. It decides, reserves, spends and
//! issues nothing. Not here: a check (`check`).

use smallvec::SmallVec;

use crate::contact::Contact;
use crate::contact::budget;
use crate::contact::claim::{self, Claim};
use crate::contact::command::{Advise, Command};
use crate::contact::customer::Customer;
use crate::contact::directory::Target;
use crate::contact::entity::ContactEntity;
use crate::contact::name::{ChannelId, PurposeId};
use crate::contact::policy::Policy;
use crate::contact::promise::Promise;
use crate::contact::reply::{AdviceReply, BudgetView, CommitmentView, Reply};
use crate::machine::{Context, Decision, Entities};
use crate::time::Timestamp;

/// Answers with what is known.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    advise: &Advise,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let (now, policy) = (context.now, context.policy);
    let entity = entities.get(&advise.target.key(command.space));
    let claims = entity.map_or(&[][..], ContactEntity::claims);
    let customer = entity.and_then(ContactEntity::as_customer);
    let budgets = match advise.target {
        Target::Customer(_) => budgets(customer, policy, now),
        Target::Object(_) | Target::Space(_) => SmallVec::new(),
    };
    Decision::read(Reply::Advice(Box::new(AdviceReply {
        owner: claim::governing(claims.iter(), now).map(Claim::view),
        suppressions: suppressions(customer, None, now),
        budgets,
        commitments: commitments(customer, now),
        promises: promises(customer),
    })))
}

/// Every budget as a whole.
fn budgets(
    customer: Option<&Customer>,
    policy: &Policy,
    now: Timestamp,
) -> SmallVec<[BudgetView; 4]> {
    let contacts = customer.map_or(&[][..], |known| &known.contacts);
    let of = |purpose: &crate::contact::policy::Purpose| {
        let rules = purpose.budget.as_ref()?;
        let times = budget::contacts_of(contacts, purpose.id).map(|(at, _)| at);
        Some(budget::whole(rules, times, now).view(purpose.id))
    };
    policy.purposes().iter().filter_map(of).collect()
}

/// Purposes with an entry for all hours, on the asked channel or on every one; without a channel,
/// on any. In order, without repeats.
pub(super) fn suppressions(
    customer: Option<&Customer>,
    asked: Option<ChannelId>,
    now: Timestamp,
) -> SmallVec<[PurposeId; 2]> {
    let mut purposes: SmallVec<[PurposeId; 2]> = SmallVec::new();
    let entries = customer.map(|customer| customer.rare.suppressions.iter());
    for entry in entries.into_iter().flatten() {
        let on_channel = asked.is_none() || entry.channel.is_none() || entry.channel == asked;
        if on_channel && entry.window.is_none() && entry.in_force(now) {
            purposes.push(entry.purpose);
        }
    }
    purposes.sort_unstable();
    purposes.dedup();
    purposes
}

/// What was offered and holds.
pub(super) fn commitments(customer: Option<&Customer>, now: Timestamp) -> Vec<CommitmentView> {
    let offered = customer.map(|customer| customer.rare.commitments.iter());
    let offered = offered.into_iter().flatten();
    let holds = offered.filter(|commitment| commitment.holds(now));
    holds
        .map(|commitment| CommitmentView {
            id: commitment.id.clone(),
            kind: commitment.kind.clone(),
            valid_until: commitment.until,
        })
        .collect()
}

/// What the company owes and has not kept.
pub(super) fn promises(customer: Option<&Customer>) -> Vec<Promise> {
    customer.map_or_else(Vec::new, |known| known.promises().to_vec())
}
