//! What a command about a handoff must come to (§16, §17), over the books.

use interlock_domain::contact::claim::{Claim, ClaimKind, ClaimVia};
use interlock_domain::contact::command::{ClaimPlace, Route};
use interlock_domain::contact::event::{ClaimReleased, Event, HandoffTurned};
use interlock_domain::contact::handoff::command::{
    AcceptHandoff, CloseHandoff, CreateHandoff, HandoffCommand,
};
use interlock_domain::contact::handoff::{Handoff, HandoffStatus, Package, handoff_key};
use interlock_domain::contact::name::{PurposeId, SourceId};
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::{DeclareReply, HandoffReply, Reply};
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::{KeyHash, Kind};
use interlock_domain::time::Timestamp;

use super::super::change::Change;
use super::super::claims::{self, exactly};
use super::super::judge::{Moment, Outcome, suppressed_by};
use super::super::limits::{KEPT_HANDOFFS, OPEN_HANDOFFS};
use super::super::{check, offers};
use super::{may_be_forgotten, status};

/// What a command about a handoff must come to.
pub(in crate::contact) fn due(
    moment: &Moment<'_>,
    (route, source): (Route, SourceId),
    body: &HandoffCommand,
) -> Vec<Outcome> {
    match body {
        HandoffCommand::Create(body) => create(moment, body),
        HandoffCommand::Accept(body) => accept(moment, route, *body),
        HandoffCommand::Close(body) => close(moment, (route, source), body),
        HandoffCommand::Note => vec![said(true, Noted::Accepted)],
        HandoffCommand::Read(_)
        | HandoffCommand::Find(_)
        | HandoffCommand::ListEffects(_)
        | HandoffCommand::SeeEffect(_) => unreachable!("a read leaves no record"),
    }
}

fn said(accepted: bool, noted: Noted) -> Outcome {
    Outcome {
        reply: Reply::Declared(DeclareReply {
            accepted,
            ..DeclareReply::TURNED_DOWN
        }),
        noted,
        changes: Vec::new(),
    }
}

/// That it is closed says nothing without its outcome.
fn unsaid() -> Outcome {
    said(false, Noted::Refused(Refusal::InvalidTransition))
}

fn refused(route: Route, refusal: Refusal) -> Outcome {
    claims::refused(route, refusal, None)
}

fn shown(moment: &Moment<'_>, route: Route, id: Id, handoff: &Handoff) -> Reply {
    if route == Route::Declare {
        return said(true, Noted::Accepted).reply;
    }
    Reply::Handoff(Box::new(HandoffReply {
        id,
        status: status(handoff, moment.now),
        outcome: handoff.outcome.clone(),
        handoff: Some(handoff.clone()),
    }))
}

fn create(moment: &Moment<'_>, body: &CreateHandoff) -> Vec<Outcome> {
    let now = moment.now;
    let customer = moment.key(Kind::Customer, body.customer);
    let book = &moment.books.handoffs;
    let count = book.count(customer, moment.record, now);
    let mut outcomes = Vec::new();
    // What is past its time may be gone, or be there until somebody looks.
    if count.open >= OPEN_HANDOFFS || count.all >= KEPT_HANDOFFS {
        outcomes.push(refused(Route::Handoffs, Refusal::TargetFull));
    }
    let expected_by = body.expected_by;
    let expected_by = expected_by.unwrap_or_else(|| now.plus_s(moment.rules.handoffs.wait_s));
    if count.open >= OPEN_HANDOFFS || count.known >= KEPT_HANDOFFS || expected_by <= now {
        return outcomes;
    }
    let (commitments, promises) = offers::shown(moment, Some(body.customer));
    let owner = claims::governing(moment, Some(body.customer), None);
    let handoff = Handoff {
        customer: body.customer,
        target: body.target.clone(),
        created_at: now,
        expected_by,
        state: HandoffStatus::Created,
        turned_at: now,
        outcome: None,
        sealed: body.sealed.clone(),
        destination: body.destination.clone(),
        package: Package {
            owner: owner[0].map(claims::owner),
            commitments,
            promises,
            suppressions: Vec::new(),
            effects: body.effects.clone(),
            vocabulary: moment.rules.handoffs.vocabulary(),
        },
        conversation: body.conversation,
        holds: Vec::new(),
    };
    let hold = hold(moment, body, expected_by);
    let key = handoff_key(moment.space, body.id);
    // The package is judged where the event is compared, and shown as it was made.
    let made = moment.made.unwrap_or(&handoff);
    let reply = shown(moment, Route::Handoffs, body.id, made);
    outcomes.push(Outcome {
        reply,
        noted: Noted::Accepted,
        changes: vec![
            Change::HandedOver {
                key,
                handoff: Box::new(handoff),
            },
            Change::HeldFor {
                key: customer,
                hold: Box::new(hold),
            },
        ],
    });
    outcomes
}

/// `target` has the customer until then.
fn hold(moment: &Moment<'_>, body: &CreateHandoff, until: Timestamp) -> Claim {
    let now = moment.now;
    let (rank, level) = moment
        .rules
        .level(Some(&Text::from(moment.rules.handoffs.level)));
    Claim {
        id: body.id,
        kind: ClaimKind::Owner,
        holder: body.target.clone(),
        level,
        rank,
        source: Text::from(""),
        via: ClaimVia::Handoff,
        since: now,
        accepted_at: now,
        until,
        epoch: moment.epoch.unwrap_or(0),
        intents: Vec::new(),
        observed_at: now,
        named_at: now,
    }
}

/// Is a handoff the one that is due? Lists are in an order of their own, and purposes come by name.
pub(in crate::contact) fn is_due(moment: &Moment<'_>, due: &Handoff, made: &Handoff) -> bool {
    let mut sorted = made.clone();
    let package = &mut sorted.package;
    package
        .commitments
        .sort_by(|one, other| one.id.cmp(&other.id));
    package.promises.sort_by(|one, other| one.id.cmp(&other.id));
    let names = std::mem::take(&mut package.suppressions);
    let of = |name: &Text| match &**name {
        "any" => PurposeId::ANY,
        name => PurposeId::of(name),
    };
    let mut purposes: Vec<PurposeId> = names.iter().map(of).collect();
    purposes.sort_unstable();
    // A purpose that has left the rules has no name any more.
    let mut suppressed = check::suppressed_on(moment, due.customer, None);
    suppressed.retain(|id| *id == PurposeId::ANY || moment.rules.purpose(*id).is_some());
    sorted == *due && purposes == suppressed
}

/// Is a claim the hold that is due? Where it says it comes from is left open.
pub(in crate::contact) fn is_hold_due(due: &Claim, made: &Claim) -> bool {
    let mut due = due.clone();
    due.source.clone_from(&made.source);
    due == *made
}

/// What a word about a handoff that is not there comes to.
fn absent(route: Route) -> Outcome {
    if route == Route::Declare {
        // It is recorded, and holds nobody.
        return said(true, Noted::Accepted);
    }
    Outcome {
        reply: Reply::NotFound,
        noted: Noted::NothingToChange,
        changes: Vec::new(),
    }
}

/// The handoff that a command names, and what it comes to where that is, or may be, gone.
fn named<'a>(moment: &Moment<'a>, route: Route, id: Id) -> (Option<&'a Handoff>, Vec<Outcome>) {
    let book = &moment.books.handoffs;
    let handoff = book.of_id(handoff_key(moment.space, id), moment.record);
    let gone = handoff.is_none_or(|handoff| may_be_forgotten(handoff, moment.now));
    let absent = gone.then(|| absent(route));
    (handoff, absent.into_iter().collect())
}

fn is_of_another(handoff: &Handoff, subject: Option<KeyHash>) -> bool {
    subject.is_some_and(|subject| subject != handoff.customer)
}

fn accept(moment: &Moment<'_>, route: Route, body: AcceptHandoff) -> Vec<Outcome> {
    let (handoff, mut outcomes) = named(moment, route, body.handoff);
    let Some(handoff) = handoff else {
        return outcomes;
    };
    if is_of_another(handoff, body.subject) {
        outcomes.push(said(false, Noted::NothingToChange));
        return outcomes;
    }
    let mut changes = Vec::new();
    let mut shows = handoff.clone();
    match status(handoff, moment.now) {
        HandoffStatus::Expired => {
            outcomes.push(refused(route, Refusal::HandoffExpired));
            return outcomes;
        }
        HandoffStatus::Closed => {
            outcomes.push(refused(route, Refusal::HandoffClosed));
            return outcomes;
        }
        HandoffStatus::Accepted => {}
        HandoffStatus::Created => {
            let turned = HandoffTurned {
                state: HandoffStatus::Accepted,
                outcome: None,
                at: moment.now,
            };
            shows.state = HandoffStatus::Accepted;
            shows.turned_at = moment.now;
            let key = handoff_key(moment.space, body.handoff);
            changes.push(exactly(key, Event::HandoffTurned(Box::new(turned))));
        }
    }
    outcomes.push(Outcome {
        reply: shown(moment, route, body.handoff, &shows),
        noted: Noted::Accepted,
        changes,
    });
    outcomes
}

fn close(
    moment: &Moment<'_>,
    (route, source): (Route, SourceId),
    body: &CloseHandoff,
) -> Vec<Outcome> {
    if body.place == ClaimPlace::Nowhere {
        // It was not there when it was looked up.
        let mut outcomes = vec![absent(route)];
        if body.outcome.is_none() {
            outcomes.push(unsaid());
        }
        return outcomes;
    }
    let (handoff, mut outcomes) = named(moment, route, body.handoff);
    if handoff.is_some_and(|handoff| is_of_another(handoff, body.subject)) {
        outcomes.push(said(false, Noted::NothingToChange));
    }
    let (Some(handoff), Some(outcome)) = (handoff, &body.outcome) else {
        if body.outcome.is_none() {
            outcomes.push(unsaid());
        }
        return outcomes;
    };
    if is_of_another(handoff, body.subject) {
        return outcomes;
    }
    outcomes.extend(match status(handoff, moment.now) {
        HandoffStatus::Expired => Some(refused(route, Refusal::HandoffExpired)),
        HandoffStatus::Closed if handoff.outcome.as_ref() == Some(outcome) => Some(Outcome {
            reply: shown(moment, route, body.handoff, handoff),
            noted: Noted::NothingToChange,
            changes: Vec::new(),
        }),
        HandoffStatus::Closed => Some(refused(route, Refusal::HandoffClosed)),
        HandoffStatus::Created | HandoffStatus::Accepted => {
            let heard = moment.rules.handoffs.hears(outcome);
            heard.then(|| closed(moment, (route, source), body.handoff, (handoff, outcome)))
        }
    });
    outcomes
}

/// It ends the hold, and only that, and applies what the space maps the outcome to.
fn closed(
    moment: &Moment<'_>,
    (route, source): (Route, SourceId),
    id: Id,
    (handoff, outcome): (&Handoff, &Text),
) -> Outcome {
    let at = moment.now;
    let mut shows = handoff.clone();
    shows.state = HandoffStatus::Closed;
    shows.turned_at = at;
    shows.outcome = Some(outcome.clone());
    let turned = HandoffTurned {
        state: HandoffStatus::Closed,
        outcome: Some(outcome.clone()),
        at,
    };
    let turned = Event::HandoffTurned(Box::new(turned));
    let released = Event::ClaimReleased(ClaimReleased { id, at });
    let customer = moment.key(Kind::Customer, handoff.customer);
    let mut changes = vec![
        exactly(handoff_key(moment.space, id), turned),
        exactly(customer, released),
    ];
    if let Some(adds) = moment.rules.handoffs.suppresses(outcome, handoff)
        && !handoff.destination.is_empty()
    {
        changes.extend(suppressed_by(moment, source, &adds));
    }
    Outcome {
        reply: shown(moment, route, id, &shows),
        noted: Noted::Accepted,
        changes,
    }
}
