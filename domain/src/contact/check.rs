//! May this agent do this now?
//!
//! Here: one check from its entities to its answer (`docs/spec/contact.md` §4, §5): the order is
//! in `check/order`, the informative members in `check/show`. Only an `allow` changes anything,
//! and what it changes is one effect and one contact. Not here: signing (the edge), and what an
//! effect or a budget is. Keeps C1, C2 and C5.

mod facts;
mod order;
mod show;

use smallvec::{SmallVec, smallvec};

use crate::contact::command::{Check, Command, Direction};
use crate::contact::customer::UNSLICED;
use crate::contact::effect::Standing;
use crate::contact::entity::ContactEntity;
use crate::contact::event::{ContactCounted, Event};
use crate::contact::note::{Mark, Note, Noted};
use crate::contact::policy::Policy;
use crate::contact::reason::{Reason, Verdict};
use crate::contact::reply::{CheckReply, EffectView, EffectViewState, Member, Reply};
use crate::contact::{Contact, budget, effect, key};
use crate::ids::{Id, IdStream};
use crate::key::Kind;
use crate::machine::{Context, Decision, Entities, Events, Undecided};
use crate::time::Timestamp;

use order::Stop;
use show::Sight;

/// For how many seconds a decision may be relied on. Below a token's life of 120 s.
pub(super) const VALID_FOR_S: u32 = 60;

/// Decides a check.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    check: &Check,
    context: &mut Context<'_, Policy>,
) -> Decision<Contact> {
    let Some(sight) = Sight::new(entities, command, check, context) else {
        return Decision::read(Reply::Undeclared(Member::Purpose));
    };
    let outcome = match check.direction {
        Direction::Outbound => order::outbound(&sight),
        Direction::Inbound => order::inbound(&sight),
    };
    match outcome {
        Some(stop) => held_back(command, &sight, stop, context.ids.next(context.now)),
        None if context.full && sight.reserves() => no_room(command, &sight, context),
        None => allowed(command, &sight, context),
    }
}

/// An answer that leaves nothing behind but its note.
fn held_back(command: &Command, sight: &Sight<'_>, stop: Stop, id: Id) -> Decision<Contact> {
    let mut reply = sight.reply(id, stop.verdict, smallvec![stop.reason]);
    reply.contact_window_until = stop.contact_window_until;
    if stop.is_blind() {
        reply.valid_for_s = 0;
    }
    answer(command, sight, reply, SmallVec::new())
}

/// Memory is above its bound. Inbound is never held back, so it goes without the reservation; a
/// caller that acts only on `effect.state` `none` does not act.
fn no_room(
    command: &Command,
    sight: &Sight<'_>,
    context: &mut Context<'_, Policy>,
) -> Decision<Contact> {
    let verdict = match sight.check.direction {
        Direction::Inbound => Verdict::Allow,
        Direction::Outbound if sight.purpose.fails_closed => Verdict::Defer,
        Direction::Outbound => return Decision::read(Reply::Capacity),
    };
    let id = context.ids.next(context.now);
    let mut reply = sight.reply(id, verdict, smallvec![Reason::Unavailable]);
    reply.valid_for_s = 0;
    answer(command, sight, reply, SmallVec::new())
}

/// Nothing stops it: the effect and the contact are reserved in the same step.
fn allowed(
    command: &Command,
    sight: &Sight<'_>,
    context: &mut Context<'_, Policy>,
) -> Decision<Contact> {
    let check = sight.check;
    let id = context.ids.next(context.now);
    let mut reply = sight.reply(id, Verdict::Allow, sight.allow_reasons());
    let mut events = SmallVec::new();
    let mut effect_id = None;
    if let (Some(wanted), Some(Standing::Free { attempt })) = (check.effect, sight.standing) {
        let reserved = effect::reservation(
            sight.effect,
            wanted,
            attempt,
            command.source,
            context.policy,
            context.now,
        );
        effect_id = Some(wanted.id());
        let entity = key(command.space, Kind::Effect, wanted.hash);
        events.push((entity, Event::EffectReserved(reserved)));
        reply.effect = Some(EffectView {
            state: EffectViewState::None,
            attempt,
        });
    }
    if let (Direction::Outbound, Some(customer)) = (check.direction, check.customer) {
        let counted = count(sight, id, effect_id, context.now);
        let entity = key(command.space, Kind::Customer, customer);
        events.push((entity, Event::ContactCounted(counted)));
        sight.spend(&mut reply, counted.share);
        reply.sign = sight.purpose.token
            && !context.clock_suspect
            && check.gateway.is_some()
            && check.channel.is_some();
    }
    answer(command, sight, reply, events)
}

fn count(sight: &Sight<'_>, id: Id, effect: Option<[u8; 32]>, now: Timestamp) -> ContactCounted {
    let keep = budget::keep(sight.purpose);
    let budget = sight.purpose.budget.as_ref();
    ContactCounted {
        id,
        purpose: sight.purpose.id,
        channel: sight.check.channel,
        share: budget.map_or(UNSLICED, |budget| budget::share(budget, sight.check.intent)),
        at: now,
        keep_hours: keep.hours,
        keep_newest: keep.newest,
        decided: true,
        effect,
    }
}

fn answer(
    command: &Command,
    sight: &Sight<'_>,
    reply: CheckReply,
    events: Events<Event>,
) -> Decision<Contact> {
    let check = sight.check;
    let counts = |(_, event): &(_, Event)| matches!(event, Event::ContactCounted(_));
    let mark = events.iter().any(counts).then_some(Mark::ContactReserved);
    let note = Note {
        facts: facts::compared(sight, &reply),
        route: command.route,
        source: command.source,
        decision_id: Some(reply.decision_id),
        decision: Noted::Check(reply.verdict),
        reasons: reply.reasons.clone(),
        purpose: Some(check.purpose),
        channel: check.channel,
        direction: Some(check.direction),
        mark,
    };
    Decision {
        events,
        reply: Reply::Check(Box::new(reply)),
        note: Some(note),
        notices: Vec::new(),
    }
}

/// The answer to a check that is not decided; `None` where the client gets an error.
///
/// While state is rebuilt a purpose that fails open must not be decided: a done effect could run
/// twice; nor where nothing can be recorded. Past its deadline a check is answered in place, whatever
/// its purpose.
pub(super) fn undecided(
    check: &Check,
    policy: &Policy,
    why: Undecided,
    now: Timestamp,
    ids: &mut IdStream,
) -> Option<Reply> {
    let reason = match why {
        Undecided::Rebuilding => Reason::Rebuilding,
        Undecided::Deadline | Undecided::NoRoom => Reason::Unavailable,
    };
    let verdict = match (check.direction, why) {
        (Direction::Inbound, _) => Verdict::Allow,
        (Direction::Outbound, Undecided::Deadline) => Verdict::Defer,
        (Direction::Outbound, Undecided::Rebuilding | Undecided::NoRoom) => {
            let rules = policy.purpose_rules(check.purpose)?;
            rules.fails_closed.then_some(Verdict::Defer)?
        }
    };
    let mut reply = show::bare(check, ids.next(now), now);
    reply.verdict = verdict;
    reply.reasons = smallvec![reason];
    reply.valid_for_s = 0;
    Some(Reply::Check(Box::new(reply)))
}
