//! What a command comes to where nothing new may be reserved, or where the clock cannot be trusted
//! (`docs/reliability.md`, what a client sees).
//!
//! Nothing new is reserved; what goes on, ends, is taken back or is only told goes on. A check of a
//! purpose that fails closed waits, of any other it is an error, and inbound is never held back
//! (`check`). Here: what of a command is new, and which answers leave no record for it.

use interlock_domain::contact::command::{Body, Command, ReserveEffect};
use interlock_domain::contact::event::Event;
use interlock_domain::contact::handoff::command::HandoffCommand;
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::promise::PromiseState;
use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::Reply;
use interlock_domain::key::Kind;

use super::change::Change;
use super::check::{Standing, standing};
use super::judge::{Cited, Due, Moment, Outcome, due};

/// What a command may come to.
#[derive(Debug)]
pub(super) struct Pressed {
    /// With a record.
    pub(super) due: Due,
    /// Without one, as it changes nothing.
    pub(super) without: Vec<Reply>,
}

impl Pressed {
    const fn only(without: Vec<Reply>) -> Self {
        let due = Due::OneOf(Vec::new());
        Self { due, without }
    }
}

/// Decides a command under the conditions of its moment.
pub(super) fn pressed(moment: &Moment<'_>, command: &Command) -> Pressed {
    let due = due(moment, command);
    match due {
        Due::Check(mut all) => {
            let before = all.len();
            all.retain(|decided| !decided.capacity);
            let without = vec![Reply::Capacity; usize::from(all.len() < before)];
            let due = Due::Check(all);
            Pressed { due, without }
        }
        due => of_body(moment, &command.body, due),
    }
}

fn of_body(moment: &Moment<'_>, body: &Body, due: Due) -> Pressed {
    let mut without = Vec::new();
    match body {
        Body::Admit(_) => {
            without.extend(moment.suspect.then_some(Reply::ClockSuspect));
            without.extend(moment.full.then_some(Reply::Capacity));
        }
        Body::ReserveEffect(body) => without.extend(reservation(moment, body, &due)),
        _ => {}
    }
    if !without.is_empty() {
        return Pressed::only(without);
    }
    if moment.full {
        begun(moment, body, due)
    } else {
        Pressed { due, without }
    }
}

/// Opening an attempt is new; drawing units needs the time.
fn reservation(moment: &Moment<'_>, body: &ReserveEffect, due: &Due) -> Vec<Reply> {
    let key = moment.key(Kind::Effect, body.effect.hash);
    let held = moment.books.attempt(key, moment.record);
    let mut without = Vec::new();
    if matches!(standing(held, moment.now), Standing::Held(..)) {
        return without;
    }
    without.extend(moment.full.then_some(Reply::Capacity));
    let operation = body.draws_on.as_ref().filter(|_| body.cost_units > 0);
    let draws = operation.is_some_and(|name| moment.rules.cap(name).is_some());
    let too_many = matches!(due, Due::Plain(Reply::Refused(Refusal::TargetFull), ..));
    without.extend((moment.suspect && draws && !too_many).then_some(Reply::ClockSuspect));
    without
}

/// Takes out what begins something.
fn begun(moment: &Moment<'_>, body: &Body, due: Due) -> Pressed {
    let capacity = || vec![Reply::Capacity];
    match due {
        Due::Contact(Cited::Not, _) => Pressed::only(capacity()),
        // It begins where the decision it cites is forgotten.
        due @ Due::Contact(Cited::Maybe(_), _) => Pressed {
            due,
            without: capacity(),
        },
        Due::Plain(Reply::RunAsked(run), ..) if run.is_new => Pressed::only(capacity()),
        Due::OneOf(outcomes) => {
            let before = outcomes.len();
            let mut left = outcomes;
            let mut without = Vec::new();
            if matches!(body, Body::EndCommitment(_)) {
                return word(moment, body, left);
            }
            if matches!(body, Body::EndObservation(_)) {
                let due = Due::OneOf(left.into_iter().map(ended).collect());
                return Pressed { due, without };
            }
            left.retain(|outcome| !begins(moment, body, outcome));
            if left.len() < before {
                without = capacity();
            }
            // Whether there is room at all, or at the target, may be asked in either order.
            if left.iter().any(is_too_many) {
                without = capacity();
            }
            let due = Due::OneOf(left);
            Pressed { due, without }
        }
        due => Pressed {
            due,
            without: Vec::new(),
        },
    }
}

fn is_too_many(outcome: &Outcome) -> bool {
    outcome.noted == Noted::Refused(Refusal::TargetFull)
}

/// Does it begin something that was not there?
fn begins(moment: &Moment<'_>, body: &Body, outcome: &Outcome) -> bool {
    match body {
        Body::ClaimTarget(_) | Body::ObserveOwner(_) | Body::LockTask(_) => {
            is_named(&outcome.changes)
        }
        Body::MakeCommitment(_) | Body::Handoff(HandoffCommand::Create(_)) => {
            !outcome.changes.is_empty()
        }
        Body::TurnPromise(body) => {
            let key = moment.key(Kind::Customer, body.customer);
            let open = moment.books.offers.open(key, moment.record);
            let known = open.iter().any(|known| known.id == body.promise.id);
            body.state == PromiseState::Open && !known && !outcome.changes.is_empty()
        }
        _ => false,
    }
}

/// An end of nothing is taken, and not remembered: that would be new.
fn ended(outcome: Outcome) -> Outcome {
    if !is_named(&outcome.changes) {
        return outcome;
    }
    Outcome {
        noted: Noted::NothingToChange,
        changes: Vec::new(),
        ..outcome
    }
}

/// Does a claim or a lock get a name, and none ends under another?
fn is_named(changes: &[Change]) -> bool {
    let is = |change: &Change, wanted: fn(&Event) -> bool| match change {
        Change::Exactly { event, .. } => wanted(event),
        _ => false,
    };
    let row = |event: &Event| matches!(event, Event::RowWritten(_));
    let end = |event: &Event| matches!(event, Event::ClaimReleased(_));
    changes.iter().any(|change| is(change, row)) && !changes.iter().any(|change| is(change, end))
}

/// A word about an offer that is not known waits for it, and is new.
fn word(moment: &Moment<'_>, body: &Body, mut left: Vec<Outcome>) -> Pressed {
    let Body::EndCommitment(body) = body else {
        return Pressed::only(Vec::new());
    };
    let knows = super::offers::knows(moment, body);
    let mut without = Vec::new();
    if knows != Some(true) {
        without.extend(
            left.iter()
                .any(|it| !it.changes.is_empty())
                .then_some(Reply::Capacity),
        );
    }
    if knows == Some(false) {
        left.retain(|outcome| outcome.changes.is_empty());
    }
    let due = Due::OneOf(left);
    Pressed { due, without }
}
