//! The facts of one entity, with the names and times an operator reads.

use interlock_api::directory::SpaceEntry;
use interlock_domain::contact::budget;
use interlock_domain::contact::claim::{Claim, governing};
use interlock_domain::contact::customer::Customer;
use interlock_domain::contact::effect::Effect;
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::legal_hold::{HoldTarget, Holds};
use interlock_domain::contact::name::{ChannelId, OperationId, PurposeId};
use interlock_domain::contact::object::Object;
use interlock_domain::contact::paid::{self, Meters};
use interlock_domain::contact::policy::{PaidScope, Policy, Purpose};
use interlock_domain::contact::suppression::Suppression;
use interlock_domain::contact::window::Window;
use interlock_domain::key::{KeyHash, Kind};
use interlock_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::effect_name::short;
use super::super::print::time;
use crate::admin::source_name;

/// What is held.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Shown {
    /// `customer`, `object` or `effect`.
    pub(super) what: String,
    /// The space's name.
    pub(super) space: String,
    /// The node's time.
    pub(super) now: String,
    /// Whether anything is held.
    pub(super) known: bool,
    /// Who has it, live claims first.
    pub(super) claims: Vec<ClaimFacts>,
    /// Locks on its tasks.
    pub(super) locks: Vec<LockFacts>,
    /// Of a customer: what is left of each purpose's budget.
    pub(super) budgets: Vec<BudgetFacts>,
    /// Of a customer or an object: what is used of the cap of each paid operation.
    pub(super) paid: Vec<PaidFacts>,
    /// Of a customer: who may not contact it.
    pub(super) suppressions: Vec<SuppressionFacts>,
    /// Of a customer: when it last wrote.
    pub(super) messages: Vec<MessageFacts>,
    /// Of a customer or an object: live legal holds on it, oldest first.
    pub(super) legal_holds: Vec<HoldFacts>,
    /// Of an effect.
    pub(super) effect: Option<EffectFacts>,
    /// Of an object: how many effect keys live as long as it.
    pub(super) tied: u64,
}

/// A claim.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClaimFacts {
    pub(super) id: String,
    pub(super) holder: String,
    pub(super) kind: String,
    pub(super) level: String,
    pub(super) epoch: u64,
    pub(super) source: String,
    pub(super) via: String,
    pub(super) since: String,
    pub(super) until: String,
    /// How many intents others may follow.
    pub(super) intents: u64,
    pub(super) live: bool,
    /// It decides for others.
    pub(super) governs: bool,
}

/// A lock on a task.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LockFacts {
    pub(super) id: String,
    pub(super) holder: String,
    pub(super) task: String,
    pub(super) epoch: u64,
    pub(super) source: String,
    pub(super) since: String,
    pub(super) until: String,
    pub(super) live: bool,
}

/// A purpose's budget.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BudgetFacts {
    pub(super) purpose: String,
    pub(super) used: u64,
    pub(super) limit: u32,
    pub(super) per_hours: u16,
    /// When a unit is free, if none is now.
    pub(super) next: Option<String>,
}

/// The cap of a paid operation.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PaidFacts {
    pub(super) operation: String,
    /// Units that count now.
    pub(super) used: u64,
    pub(super) limit: u32,
    pub(super) per_hours: u16,
    /// When a unit is free, if none is now.
    pub(super) next: Option<String>,
}

/// A live legal hold.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HoldFacts {
    pub(super) id: String,
    pub(super) since: String,
}

/// A suppression.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SuppressionFacts {
    pub(super) purpose: String,
    pub(super) channel: Option<String>,
    pub(super) source: String,
    pub(super) since: String,
    pub(super) until: Option<String>,
    pub(super) window: Option<String>,
    pub(super) in_force: bool,
}

/// The last message on a channel.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MessageFacts {
    pub(super) channel: String,
    pub(super) at: String,
}

/// An effect.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EffectFacts {
    pub(super) short: String,
    pub(super) state: String,
    pub(super) attempt: u32,
    pub(super) kind: String,
    pub(super) source: String,
    pub(super) reserved_at: String,
    /// While the attempt is not settled: when its lease ends or ended.
    pub(super) lease_until: Option<String>,
    pub(super) settled_at: Option<String>,
    /// Done or failed: until when it is remembered.
    pub(super) kept_until: Option<String>,
    /// It is remembered as long as an object lives.
    pub(super) tied: bool,
}

impl Shown {
    /// Of an entity; nothing is held when there is none.
    pub(super) fn of(
        space: &SpaceEntry,
        kind: Kind,
        hash: KeyHash,
        entity: Option<&ContactEntity>,
        now: Timestamp,
    ) -> Self {
        let mut shown = Self {
            what: kind.name().to_owned(),
            space: space.name.to_string(),
            now: time(now),
            known: entity.is_some(),
            claims: Vec::new(),
            locks: Vec::new(),
            budgets: Vec::new(),
            paid: Vec::new(),
            suppressions: Vec::new(),
            messages: Vec::new(),
            legal_holds: Vec::new(),
            effect: None,
            tied: 0,
        };
        if let Some(customer) = entity.and_then(ContactEntity::as_customer) {
            shown.customer(space, customer, now);
        }
        if let Some(object) = entity.and_then(ContactEntity::as_object) {
            shown.object(space, object, now);
        }
        let effect = entity.and_then(ContactEntity::as_effect);
        shown.effect = effect.map(|effect| effect_facts(space, hash, effect, now));
        shown
    }

    fn customer(&mut self, space: &SpaceEntry, customer: &Customer, now: Timestamp) {
        let policy = &*space.policy;
        self.claims = claims(&customer.rare.claims, now);
        let purposes = policy.purposes().iter();
        self.budgets = purposes
            .filter_map(|purpose| budget_facts(purpose, customer, now))
            .collect();
        let drawn = (PaidScope::Subject, customer.rare.paid.as_deref());
        self.paid = paid_facts(policy, drawn, now);
        let suppressions = customer.rare.suppressions.iter();
        self.suppressions = suppressions
            .map(|known| suppression_facts(space, known, now))
            .collect();
        let messages = customer.rare.messages.iter();
        self.messages = messages
            .map(|message| MessageFacts {
                channel: channel(policy, message.channel),
                at: time(message.at),
            })
            .collect();
    }

    /// Adds the live ones of the space's holds that are on `target`.
    pub(super) fn held(&mut self, holds: Option<&Holds>, target: HoldTarget) {
        let live = holds.map_or(&[][..], |holds| &holds.live).iter();
        let here = live.filter(|hold| hold.target == target);
        self.legal_holds = here
            .map(|hold| HoldFacts {
                id: id(hold.id.0),
                since: time(hold.since),
            })
            .collect();
    }

    fn object(&mut self, space: &SpaceEntry, object: &Object, now: Timestamp) {
        self.claims = claims(&object.claims, now);
        self.tied = object.tied().len() as u64;
        let drawn = (PaidScope::Object, object.paid.as_deref());
        self.paid = paid_facts(&space.policy, drawn, now);
        let locks = object.locks.iter();
        self.locks = locks
            .map(|lock| LockFacts {
                id: id(lock.id.0),
                holder: lock.holder.to_string(),
                task: lock.task.to_string(),
                epoch: lock.epoch,
                source: lock.source.to_string(),
                since: time(lock.since),
                until: time(lock.until),
                live: lock.is_live(now),
            })
            .collect();
        self.locks.sort_by_key(|lock| !lock.live);
    }
}

fn claims(known: &[Claim], now: Timestamp) -> Vec<ClaimFacts> {
    let first = governing(known.iter(), now).map(|claim| claim.id);
    let mut claims: Vec<ClaimFacts> = known
        .iter()
        .map(|claim| ClaimFacts {
            id: id(claim.id.0),
            holder: claim.holder.to_string(),
            kind: claim.kind.slug().to_owned(),
            level: claim.level.to_string(),
            epoch: claim.epoch,
            source: claim.source.to_string(),
            via: claim.via.slug().to_owned(),
            since: time(claim.since),
            until: time(claim.until),
            intents: claim.intents.len() as u64,
            live: claim.is_live(now),
            governs: first == Some(claim.id),
        })
        .collect();
    claims.sort_by_key(|claim| (!claim.governs, !claim.live));
    claims
}

fn budget_facts(purpose: &Purpose, customer: &Customer, now: Timestamp) -> Option<BudgetFacts> {
    let rule = purpose.budget.as_ref()?;
    let contacts = customer.contacts.iter();
    let times = contacts
        .filter(|contact| contact.purpose == purpose.id)
        .map(|contact| contact.at);
    let window_s = i64::from(rule.per_hours) * 3_600;
    let used = times.clone().filter(|at| now < at.plus_s(window_s)).count();
    let look = budget::whole(rule, times, now);
    Some(BudgetFacts {
        purpose: purpose.name.to_string(),
        used: used as u64,
        limit: rule.limit,
        per_hours: rule.per_hours,
        next: look.next_allowed_at.map(time),
    })
}

/// What is used of the operations of a scope.
fn paid_facts(
    policy: &Policy,
    (scope, meters): (PaidScope, Option<&Meters>),
    now: Timestamp,
) -> Vec<PaidFacts> {
    let operations = policy.paid.iter();
    let operations = operations.filter(|(_, budget)| budget.scope == scope);
    operations
        .map(|(name, budget)| {
            let operation = OperationId::of(name);
            let next = paid::next_allowed_at(meters, operation, budget, 1, now);
            PaidFacts {
                operation: name.to_string(),
                used: paid::look(meters, operation, budget, now).used,
                limit: budget.limit_units,
                per_hours: budget.per_hours,
                next: next.map(time),
            }
        })
        .collect()
}

fn suppression_facts(space: &SpaceEntry, known: &Suppression, now: Timestamp) -> SuppressionFacts {
    let policy = &*space.policy;
    SuppressionFacts {
        purpose: purpose(policy, known.purpose),
        channel: known.channel.map(|one| channel(policy, one)),
        source: source_name(space, known.source),
        since: time(known.since),
        until: known.until.map(time),
        window: known.window.as_ref().map(window),
        in_force: known.in_force(now),
    }
}

fn effect_facts(space: &SpaceEntry, hash: KeyHash, effect: &Effect, now: Timestamp) -> EffectFacts {
    use interlock_domain::contact::reply::EffectState;
    let settled = effect.state != EffectState::Reserved;
    let turned = time(effect.turned_at);
    EffectFacts {
        short: short(hash),
        state: effect.state_at(now).slug().to_owned(),
        attempt: effect.attempt,
        kind: effect.kind.name().to_owned(),
        source: source_name(space, effect.source),
        reserved_at: time(effect.reserved_at),
        lease_until: (!settled).then(|| turned.clone()),
        settled_at: settled.then_some(turned),
        kept_until: effect.due().map(time),
        tied: effect.tied,
    }
}

fn purpose(policy: &Policy, id: PurposeId) -> String {
    if id == PurposeId::ANY {
        return "any".to_owned();
    }
    let name = policy.purpose_name(id);
    name.map_or_else(|| format!("undeclared {}", id.0), str::to_owned)
}

fn channel(policy: &Policy, id: ChannelId) -> String {
    let name = policy.channel_name(id);
    name.map_or_else(|| format!("undeclared {}", id.0), str::to_owned)
}

fn window(window: &Window) -> String {
    let hours = format!("{} to {} {}", window.from(), window.to(), window.tz());
    match window.days() {
        None => hours,
        Some(days) => {
            let days: Vec<String> = days.iter().map(u8::to_string).collect();
            format!("{hours}, days {}", days.join(" "))
        }
    }
}

fn id(bytes: [u8; 16]) -> String {
    uuid::Uuid::from_bytes(bytes).to_string()
}
