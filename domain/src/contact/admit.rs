//! May this call of a paid operation be made? (`POST /v1/coordination/admissions`,
//! `docs/spec/contact.md` §7)
//!
//! Here: the units are there and are reserved in the same step, or nothing happens. Not here: how
//! units count (`paid`) and what becomes of them (`settle_admission`).

use smallvec::smallvec;

use crate::contact::Contact;
use crate::contact::admission::{self, Admission, AdmissionState};
use crate::contact::command::{Admit, Command};
use crate::contact::directory::{Target, row_key};
use crate::contact::entity::ContactEntity;
use crate::contact::event::Event;
use crate::contact::name::OperationId;
use crate::contact::note::{Fact, Facts, Note, Noted};
use crate::contact::paid::{self, Meters, space_budget_key};
use crate::contact::policy::{PaidBudget, PaidScope, Policy};
use crate::contact::reason::Refusal;
use crate::contact::reply::{AdmissionReply, Member, Reply};
use crate::ids::Id;
use crate::key::{KeyList, SpaceId};
use crate::machine::{Context, Decision, Entities, Events};
use crate::time::Timestamp;

impl Admit {
    /// Adds the entities it touches: the admission's row, what the cap is for, and the operation's
    /// budget of the space, which knows what its calls cost.
    pub(super) fn keys(&self, space: SpaceId, keys: &mut KeyList) {
        keys.push(row_key(space, self.new_id));
        let budget = space_budget_key(space, OperationId::of(&self.operation));
        let target = self.target.key(space);
        keys.extend((target != budget).then_some(target));
        keys.push(budget);
    }

    /// The rules of its operation; `None` when it is not declared, or not with this scope.
    pub(super) fn budget<'a>(&self, policy: &'a Policy) -> Option<&'a PaidBudget> {
        let budget = policy.paid_budget(&self.operation)?;
        let fits = match (budget.scope, self.target) {
            (PaidScope::Subject, Target::Customer(_))
            | (PaidScope::Object, Target::Object(_))
            | (PaidScope::Space, Target::Space(_)) => true,
            (PaidScope::Subject | PaidScope::Object | PaidScope::Space, _) => false,
        };
        fits.then_some(budget)
    }
}

/// What a call wants of a budget.
pub(super) struct Draw<'a> {
    pub(super) operation: OperationId,
    pub(super) budget: &'a PaidBudget,
    pub(super) units: u32,
}

impl Draw<'_> {
    /// Units left after the call, or why it may not be made and what was compared.
    pub(super) fn judge(
        &self,
        meters: Option<&Meters>,
        now: Timestamp,
    ) -> Result<(u32, Facts), (Reply, Facts)> {
        let look = paid::look(meters, self.operation, self.budget, now);
        let units = (Fact::Units, i64::from(self.units));
        if self.units > self.budget.call_ceiling {
            let ceiling = (Fact::Ceiling, i64::from(self.budget.call_ceiling));
            let reply = Reply::Refused(Refusal::OverCallCeiling);
            return Err((reply, smallvec![units, ceiling]));
        }
        let mut facts: Facts = smallvec![
            units,
            (Fact::Remaining, i64::from(look.remaining)),
            (Fact::Limit, i64::from(self.budget.limit_units)),
            (Fact::PerHours, i64::from(self.budget.per_hours)),
        ];
        if let Some(left) = look.remaining.checked_sub(self.units) {
            facts[1].1 = i64::from(left);
            return Ok((left, facts));
        }
        let next = paid::next_allowed_at(meters, self.operation, self.budget, self.units, now);
        facts.extend(next.map(|next| (Fact::NextMs, next.0)));
        let reply = next.map_or(
            Reply::Refused(Refusal::BudgetExhausted),
            |next_allowed_at| Reply::Exhausted { next_allowed_at },
        );
        Err((reply, facts))
    }
}

/// Decides an admission.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    admit: &Admit,
    context: &Context<'_, Policy>,
) -> Decision<Contact> {
    let (now, space) = (context.now, command.space);
    let Some(budget) = admit.budget(context.policy) else {
        return Decision::read(Reply::Undeclared(Member::Operation));
    };
    if context.clock_suspect {
        return Decision::read(Reply::ClockSuspect);
    }
    if context.full {
        return Decision::read(Reply::Capacity);
    }
    let operation = OperationId::of(&admit.operation);
    let measured = admission::measured(entities, &space_budget_key(space, operation));
    let draw = Draw {
        operation,
        budget,
        units: admit
            .units
            .unwrap_or_else(|| measured.unwrap_or(budget.call_ceiling)),
    };
    let entity = admit.target.key(space);
    let meters = admission::meters(entities, &entity);
    let (remaining, facts) = match draw.judge(meters, now) {
        Ok(judged) => judged,
        Err((reply, facts)) => return refused(command, reply, facts),
    };
    let at = paid::draws_at(meters, now);
    let admission = Admission {
        operation: admit.operation.clone(),
        at,
        expires_at: now.plus_s(i64::from(context.policy.effect_lease_s)),
        reserved: draw.units,
        state: AdmissionState::Reserved,
        source: command.source,
    };
    let reply = shown(&admission, admit.new_id, Some(remaining));
    let reserved = admission::reservation(operation, budget, draw.units, at);
    let row = Event::RowWritten(Box::new(admission.row(admit.target)));
    let mut events = Events::new();
    events.push((row_key(space, admit.new_id), row));
    events.push((entity, Event::UnitsReserved(reserved)));
    Decision {
        events,
        ..noted(command, Some(admit.new_id), reply, (Noted::Accepted, facts))
    }
}

/// A budget or ceiling says no; nothing changes.
pub(super) fn refused(command: &Command, reply: Reply, facts: Facts) -> Decision<Contact> {
    let why = if let Reply::Refused(refusal) = &reply {
        *refusal
    } else {
        Refusal::BudgetExhausted
    };
    noted(command, None, reply, (Noted::Refused(why), facts))
}

/// An answer about an admission, with its note.
pub(super) fn noted(
    command: &Command,
    id: Option<Id>,
    reply: Reply,
    (decision, facts): (Noted, Facts),
) -> Decision<Contact> {
    Decision {
        events: Events::new(),
        reply,
        note: Some(Note {
            decision_id: id,
            facts,
            ..Note::new(command, decision)
        }),
        notices: Vec::new(),
    }
}

/// An admission as an answer shows it.
pub(super) fn shown(admission: &Admission, id: Id, remaining: Option<u32>) -> Reply {
    Reply::Admission(Box::new(AdmissionReply {
        admission_id: id,
        operation: admission.operation.clone(),
        state: admission.state,
        units: admission.units(),
        expires_at: admission.expires_at,
        remaining,
    }))
}
