//! How a command on pairs is decided.

use interlock_domain::key::EntityKey;
use interlock_domain::machine::{Context, Decision, Entities};
use smallvec::SmallVec;

use super::{
    Act, Command, Counters, DELIBERATE, Entity, Event, Note, Noted, Pair, Policy, RECEIPT_KEPT_MS,
    Receipt, Reply, Unwritable, Values,
};

pub(super) fn decide(
    entities: &Entities<'_, Entity>,
    command: &Command,
    context: &Context<'_, Policy>,
) -> Decision<Counters> {
    if command.bound != context.policy.version {
        return Decision::read(Reply::Misbound);
    }
    let values = match values(entities, command, context) {
        Ok(values) => values,
        Err(reply) => return Decision::read(reply),
    };
    match &command.act {
        Act::Read => Decision::read(Reply::Seen(values)),
        Act::Panic => panic!("{DELIBERATE}"),
        Act::Misfit => misfit(command),
        Act::Clear => clear(entities, command, context, &values),
        Act::Add { amount, receipt } => {
            if let Some(reply) = repeated(entities, receipt.as_ref(), context) {
                return Decision::read(reply);
            }
            add(entities, command, context, &values, (*amount, *receipt))
        }
    }
}

/// The value of each pair; both halves must agree, and none may be from the future.
fn values(
    entities: &Entities<'_, Entity>,
    command: &Command,
    context: &Context<'_, Policy>,
) -> Result<Values, Reply> {
    let mut values = Values::new();
    for Pair { left, right, .. } in &command.pairs {
        let [left, right] = [left, right].map(|key| match entities.get(key) {
            Some(Entity::Counter(counter)) if counter.changed > context.now => Err(Reply::Early),
            Some(Entity::Counter(counter)) => Ok(counter.value),
            Some(Entity::Receipt(_)) => Err(Reply::Torn),
            None => Ok(0),
        });
        let (left, right) = (left?, right?);
        if left != right {
            return Err(Reply::Torn);
        }
        values.push(left);
    }
    Ok(values)
}

fn repeated(
    entities: &Entities<'_, Entity>,
    receipt: Option<&EntityKey>,
    context: &Context<'_, Policy>,
) -> Option<Reply> {
    match entities.get(receipt?) {
        Some(Entity::Receipt(kept)) if context.now < kept.until => Some(Reply::Repeated {
            first: kept.first,
            values: kept.values.clone(),
            at: context.now,
        }),
        Some(_) | None => None,
    }
}

fn add(
    entities: &Entities<'_, Entity>,
    command: &Command,
    context: &Context<'_, Policy>,
    before: &Values,
    (amount, receipt): (i64, Option<EntityKey>),
) -> Decision<Counters> {
    let limit = context.policy.limit;
    if before.iter().any(|value| (value + amount).abs() > limit) {
        let mut decision = Decision::read(Reply::Refused {
            values: before.clone(),
            version: context.policy.version,
        });
        // Every other refusal leaves a record of its own, without an event.
        if command.ticket.is_multiple_of(2) {
            decision.note = Some(note(entities, command, Noted::Refused(before.clone())));
        }
        return decision;
    }
    let at = context.now;
    let values: Values = before.iter().map(|value| value + amount).collect();
    let mut decision = Decision::read(Reply::Done(values.clone()));
    for Pair { left, right, .. } in &command.pairs {
        // An odd amount reaches the left half in two events of one record.
        let first = if amount % 2 == 0 { amount } else { amount - 1 };
        let added = |amount| Event::Added { amount, at };
        decision.events.push((*left, added(first)));
        decision.events.push((*right, added(amount)));
        if first != amount {
            decision.events.push((*left, added(amount - first)));
        }
    }
    if let Some(key) = receipt {
        let kept = Receipt {
            first: command.ticket,
            values: values.clone(),
            until: at.plus_ms(RECEIPT_KEPT_MS),
        };
        decision.events.push((key, Event::Kept(kept)));
    }
    decision.note = Some(note(entities, command, Noted::Done(values)));
    decision.notices.push(command.ticket);
    decision
}

fn clear(
    entities: &Entities<'_, Entity>,
    command: &Command,
    context: &Context<'_, Policy>,
    before: &Values,
) -> Decision<Counters> {
    let zeros: Values = before.iter().map(|_| 0).collect();
    let mut decision = Decision::read(Reply::Done(zeros.clone()));
    let at = context.now;
    for (pair, &value) in command.pairs.iter().zip(before) {
        if value != 0 {
            decision.events.push((pair.left, Event::Cleared { at }));
            decision.events.push((pair.right, Event::Cleared { at }));
        }
    }
    decision.note = Some(note(entities, command, Noted::Done(zeros)));
    decision
}

fn misfit(command: &Command) -> Decision<Counters> {
    let mut decision = Decision::read(Reply::Torn);
    let left = command.pairs[0].left;
    decision.events = SmallVec::from_iter([(left, Event::Unwritable(Unwritable))]);
    decision
}

fn note(entities: &Entities<'_, Entity>, command: &Command, noted: Noted) -> Note {
    let epoch = |pair: &Pair| entities.view(&pair.left).next_version;
    Note {
        ticket: command.ticket,
        noted,
        epochs: command.pairs.iter().map(epoch).collect(),
    }
}
