//! The numbers a check compared, for its decision receipt.
//!
//! Here: which numbers explain which reason. Not here: what decides (`order`). An allow of a purpose
//! with a budget keeps what is left of it, so that the last allow explains the first deny.

use smallvec::smallvec;

use crate::contact::check::show::Sight;
use crate::contact::command::Direction;
use crate::contact::effect::Effect;
use crate::contact::note::{Fact, Facts};
use crate::contact::reason::{Reason, Verdict};
use crate::contact::reply::CheckReply;

/// What was compared.
pub(super) fn compared(sight: &Sight<'_>, reply: &CheckReply) -> Facts {
    match (reply.verdict, reply.reasons.first()) {
        (Verdict::Allow, _) if sight.check.direction == Direction::Outbound => budget(sight, reply),
        (_, None) => Facts::new(),
        (_, Some(reason)) => of_reason(*reason, sight, reply),
    }
}

fn of_reason(reason: Reason, sight: &Sight<'_>, reply: &CheckReply) -> Facts {
    match reason {
        Reason::EffectDone | Reason::EffectInFlight | Reason::EffectUnknownOutcome => {
            let known = sight.effect;
            let attempt = known.map(|known| (Fact::Attempt, i64::from(known.attempt)));
            let until = known.map(|known: &Effect| (Fact::UntilMs, known.turned_at.0));
            attempt.into_iter().chain(until).collect()
        }
        Reason::Suppressed => Facts::new(),
        Reason::ContactWindow => until(reply.contact_window_until.map(|until| until.0)),
        Reason::OwnerActive => match sight.owner {
            None => Facts::new(),
            Some(owner) => smallvec![
                (Fact::RankHeld, i64::from(owner.rank)),
                (Fact::Epoch, owner.epoch.cast_signed()),
                (Fact::UntilMs, owner.until.0),
            ],
        },
        Reason::LockHeld => until(reply.locks.iter().map(|lock| lock.until.0).max()),
        Reason::BudgetExhausted | Reason::BudgetPaced => budget(sight, reply),
        Reason::QuietHours => {
            let quiet = reply.channel.and_then(|channel| channel.quiet_until);
            until(quiet.map(|until| until.0))
        }
        Reason::TemplateRequired | Reason::Rebuilding | Reason::Unavailable => Facts::new(),
    }
}

fn until(until: Option<i64>) -> Facts {
    until
        .map(|until| (Fact::UntilMs, until))
        .into_iter()
        .collect()
}

fn budget(sight: &Sight<'_>, reply: &CheckReply) -> Facts {
    let asked = sight.purpose;
    let view = reply.budgets.iter().find(|view| view.purpose == asked.id);
    let Some((view, rules)) = view.zip(asked.budget.as_ref()) else {
        return Facts::new();
    };
    let mut facts: Facts = smallvec![
        (Fact::Remaining, i64::from(view.remaining)),
        (Fact::Limit, i64::from(rules.limit)),
        (Fact::PerHours, i64::from(rules.per_hours)),
    ];
    facts.extend(view.next_allowed_at.map(|next| (Fact::NextMs, next.0)));
    facts
}
