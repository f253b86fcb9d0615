//! Which cases a run has seen, by what was asked and what was answered.
//!
//! A case that is never seen is a rule that nothing tests; `tests/sim/tests/runs.rs` asks for each
//! of [`CASES`]. Counted and left out of them is what only longer runs come to: a claim renewed for
//! so long that it gets another id, a fact whose end frees some keys and keeps others, more open
//! promises than a customer may have, a draw in the very millisecond of an erasure, and a lift of
//! what people added. In `coverage/`: offers, promises, people and others (`dealings`), handoffs
//! (`handoffs`), facts and mapped events (`facts`), and what goes on where nothing new is reserved
//! (`pressed`).

mod dealings;
mod facts;
mod handoffs;
mod pressed;

pub(super) use dealings::shown;
pub(super) use handoffs::read;
pub(super) use pressed::read as read_under;

use interlock_domain::contact::admission::AdmissionState;
use interlock_domain::contact::claim::ClaimVia;
use interlock_domain::contact::command::{Admit, Body, Check, Direction, Route};
use interlock_domain::contact::event::Event;
use interlock_domain::contact::name::AgentId;
use interlock_domain::contact::note::{Note, Noted};
use interlock_domain::contact::reason::{Reason, Refusal, Verdict};
use interlock_domain::contact::reply::{CheckReply, OwnerView, Reply};
use interlock_domain::key::EntityKey;
use interlock_domain::time::Timestamp;

/// The cases that a few short runs must see together.
pub const CASES: [&str; 153] = [
    "check: allowed, no owner",
    "check: allowed to the owner",
    "check: allowed by the owner's intents",
    "check: allowed past a lock",
    "check: deferred by an owner",
    "check: deferred by a lock",
    "check: handed off",
    "check: inbound in spite of a lock",
    "check: owner shown in another refusal",
    "claim: new",
    "claim: renewed",
    "claim: refused",
    "claim: turned down",
    "claim: by declaration",
    "observation: new",
    "observation: in place",
    "observation: ignored",
    "lock: new",
    "lock: renewed",
    "lock: refused",
    "lock: turned down",
    "lock: by declaration",
    "release: given back",
    "release: by declaration",
    "release: ended already",
    "release: stale",
    "release: stale by declaration",
    "release: nothing there by declaration",
    "release: nothing there",
    "admission: let through",
    "admission: at the highest cost so far",
    "admission: over the ceiling",
    "admission: exhausted",
    "admission: done",
    "admission: failed",
    "admission: skipped",
    "admission: settled already",
    "admission: settled otherwise",
    "effect: draws units",
    "effect: exhausted",
    "erasure: done",
    "erasure: with contacts and claims",
    "erasure: with units",
    "erasure: refused under a legal hold",
    "legal hold: placed",
    "legal hold: released",
    "legal hold: released already",
    "shadow: asked for",
    "shadow: ended",
    "repeat: claim",
    "repeat: lock",
    "repeat: release",
    "repeat: refusal",
    "repeat: another request",
    "offer: holds",
    "offer: supersedes",
    "offer: superseded",
    "offer: ended before it came",
    "offer: made before",
    "offer: id taken",
    "offer: turned",
    "offer: nothing to turn",
    "check: shows offers",
    "check: shows promises",
    "promise: open",
    "promise: over",
    "promise: nothing there",
    "feed: read",
    "people: added",
    "others: settled",
    "others: settlement refused",
    "handoff: made",
    "handoff: made, with an owner",
    "handoff: too many open",
    "handoff: due in the past",
    "handoff: accepted",
    "handoff: accepted again",
    "handoff: closed",
    "handoff: closed again",
    "handoff: closed already",
    "handoff: expired",
    "handoff: outcome suppresses",
    "handoff: an unknown word",
    "handoff: nothing there",
    "handoff: noted",
    "handoff: declared as accepted",
    "handoff: declared as closed",
    "handoff: declared in vain",
    "handoff: declared, changes nothing",
    "handoff: read while it waits",
    "handoff: read when closed",
    "handoff: read when expired",
    "handoff: read, nothing there",
    "handoff: effects listed",
    "handoff: effect seen",
    "repeat: handoff",
    "check: stopped by a handoff",
    "erasure: moved",
    "erasure: takes a handoff",
    "erasure: takes terms",
    "legal hold: keeps a handoff",
    "show: an entity",
    "fact: a key is tied",
    "fact: named at a later attempt",
    "fact: ended without keys",
    "fact: frees keys",
    "fact: keeps keys",
    "fact: under a legal hold",
    "mapped: begins",
    "mapped: in place",
    "mapped: too old",
    "mapped: ends",
    "mapped: an end too old",
    "mapped: an end before its beginning",
    "repeat: end of a fact",
    "advice: a customer",
    "advice: an object",
    "reports: none",
    "reports: a page",
    "reports: the last page",
    "message: noted",
    "full: a source",
    "full: a check that fails open",
    "full: an effect",
    "full: a claim",
    "full: an observation",
    "full: a lock",
    "full: an admission",
    "full: a contact",
    "full: an offer",
    "full: a word about an offer",
    "full: a promise",
    "full: a handoff",
    "full: a shadow run",
    "full: inbound goes on",
    "full: a check waits",
    "full: an opt-out goes on",
    "full: a settlement goes on",
    "full: a release goes on",
    "full: a lift goes on",
    "full: a renewal goes on",
    "full: a read goes on",
    "full: a settled admission goes on",
    "suspect: an admission",
    "suspect: a paid effect",
    "suspect: a check waits",
    "suspect: a check goes on",
    "suspect: a claim goes on",
    "late: a check",
    "hours: over a change to summer time",
    "hours: over a change from summer time",
    "rules: changed under way",
    "rules: look further back",
];

/// The case of an answer that a record explains.
pub(super) fn case(
    body: &Body,
    route: Route,
    reply: &Reply,
    note: Option<&Note>,
    events: &[(EntityKey, Event)],
) -> Option<&'static str> {
    let declared = route == Route::Declare;
    let fresh = events
        .iter()
        .any(|(_, event)| matches!(event, Event::RowWritten(_)));
    let replaced = events
        .iter()
        .any(|(_, event)| matches!(event, Event::ClaimReleased(_)));
    let refused = note.is_some_and(|note| matches!(note.decision, Noted::Refused(_)));
    match body {
        Body::Check(check) => match reply {
            Reply::Check(reply) => of_check(check, reply),
            _ => None,
        },
        Body::ClaimTarget(_) => Some(match (refused, declared) {
            (true, true) => "claim: turned down",
            (true, false) => "claim: refused",
            (false, _) if replaced => "claim: under another id",
            (false, true) => "claim: by declaration",
            (false, false) if fresh => "claim: new",
            (false, false) => "claim: renewed",
        }),
        Body::ObserveOwner(body) if body.via == ClaimVia::Mapping => Some(facts::mapped(events)),
        Body::EndObservation(_) => Some(facts::ended(events)),
        Body::EndFact(_) => facts::end(reply),
        Body::NoteMessage(_) => Some("message: noted"),
        Body::ReserveEffect(body) if body.fact.is_some() => facts::tied(events, note),
        Body::ObserveOwner(_) => Some(match (accepts(events), fresh) {
            (false, _) => "observation: ignored",
            (true, true) => "observation: new",
            (true, false) => "observation: in place",
        }),
        Body::LockTask(_) => Some(match (refused, declared) {
            (true, true) => "lock: turned down",
            (true, false) => "lock: refused",
            (false, true) => "lock: by declaration",
            (false, false) if fresh => "lock: new",
            (false, false) => "lock: renewed",
        }),
        Body::Admit(body) => of_admission(body, reply),
        Body::SettleAdmission(_) => of_settlement(reply, events),
        Body::ReserveEffect(body) if body.draws_on.is_some() => match reply {
            Reply::Effect(effect) if effect.created => Some("effect: draws units"),
            Reply::Exhausted { .. } => Some("effect: exhausted"),
            _ => None,
        },
        Body::ForgetCustomer(_) => Some(of_erasure(reply)),
        Body::PlaceHold(_) if holds(events) => Some("legal hold: keeps a handoff"),
        Body::PlaceHold(_) => Some("legal hold: placed"),
        Body::ReleaseHold(_) if events.is_empty() => Some("legal hold: released already"),
        Body::ReleaseHold(_) => Some("legal hold: released"),
        Body::RequestReport(_) => Some("shadow: asked for"),
        Body::EndReport(_) => Some("shadow: ended"),
        Body::ReleaseClaim(_) => Some(of_release(declared, replaced, reply, note)),
        Body::Handoff(body) => handoffs::case(body, route, reply, note, events),
        _ => dealings::case(body, route, note, events),
    }
}

const fn of_admission(body: &Admit, reply: &Reply) -> Option<&'static str> {
    match (reply, body.units) {
        (Reply::Admission(_), Some(_)) => Some("admission: let through"),
        (Reply::Admission(_), None) => Some("admission: at the highest cost so far"),
        (Reply::Exhausted { .. }, _) => Some("admission: exhausted"),
        (Reply::Refused(_), _) => Some("admission: over the ceiling"),
        _ => None,
    }
}

/// The case of an event by its record's time: units that count from the next millisecond on.
pub(super) fn moment(event: &Event, time: Timestamp) -> Option<&'static str> {
    let later = matches!(event, Event::UnitsReserved(reserved) if reserved.at > time);
    later.then_some("admission: in the millisecond of an erasure")
}

fn of_settlement(reply: &Reply, events: &[(EntityKey, Event)]) -> Option<&'static str> {
    let settled = |event: &Event| matches!(event, Event::AdmissionSettled(_));
    match reply {
        Reply::Admission(_) if !events.iter().any(|(_, event)| settled(event)) => {
            Some("admission: settled already")
        }
        Reply::Admission(admission) => match admission.state {
            AdmissionState::Done { .. } => Some("admission: done"),
            AdmissionState::Failed => Some("admission: failed"),
            AdmissionState::Skipped => Some("admission: skipped"),
            AdmissionState::Reserved => None,
        },
        Reply::Refused(_) => Some("admission: settled otherwise"),
        _ => None,
    }
}

fn of_erasure(reply: &Reply) -> &'static str {
    match reply {
        Reply::Erased(it) if it.erased.handoffs > 0 => "erasure: takes a handoff",
        Reply::Erased(it) if it.erased.terms > 0 => "erasure: takes terms",
        Reply::Erased(it) if it.erased.contacts > 0 && it.erased.claims > 0 => {
            "erasure: with contacts and claims"
        }
        Reply::Erased(it) if it.erased.paid_units > 0 => "erasure: with units",
        Reply::Erased(_) => "erasure: done",
        _ => "erasure: refused under a legal hold",
    }
}

fn holds(events: &[(EntityKey, Event)]) -> bool {
    let holds = |event: &Event| matches!(event, Event::HandoffHeld(held) if held.placed);
    events.iter().any(|(_, event)| holds(event))
}

fn accepts(events: &[(EntityKey, Event)]) -> bool {
    let accepts = |event: &Event| match event {
        Event::ClaimAccepted(claim) => claim.via == ClaimVia::Worker,
        _ => false,
    };
    events.iter().any(|(_, event)| accepts(event))
}

fn of_release(declared: bool, released: bool, reply: &Reply, note: Option<&Note>) -> &'static str {
    let stale = Some(Noted::Refused(Refusal::StaleEpoch));
    let is_stale = note.map(|note| note.decision) == stale;
    let claimed = matches!(reply, Reply::Claim(_))
        || matches!(reply, Reply::Declared(declared) if declared.accepted);
    match (released, claimed, is_stale, declared) {
        (true, _, _, true) => "release: by declaration",
        (true, _, _, false) => "release: given back",
        (false, true, _, _) => "release: ended already",
        (false, false, true, true) => "release: stale by declaration",
        (false, false, true, false) => "release: stale",
        (false, false, false, true) => "release: nothing there by declaration",
        (false, false, false, false) => "release: nothing there",
    }
}

fn of_check(check: &Check, reply: &CheckReply) -> Option<&'static str> {
    let has = |reason| reply.reasons.contains(&reason);
    let handed_over = |owner: &OwnerView| owner.via == ClaimVia::Handoff;
    if has(Reason::OwnerActive) && reply.owner.as_ref().is_some_and(handed_over) {
        return Some("check: stopped by a handoff");
    }
    match (reply.verdict, &reply.owner) {
        (Verdict::HandoffTo, _) => Some("check: handed off"),
        (Verdict::Defer, _) if has(Reason::OwnerActive) => Some("check: deferred by an owner"),
        (Verdict::Defer, _) if has(Reason::LockHeld) => Some("check: deferred by a lock"),
        (Verdict::Allow, _) if check.direction == Direction::Inbound && has(Reason::LockHeld) => {
            Some("check: inbound in spite of a lock")
        }
        (Verdict::Allow, _) if !reply.locks.is_empty() => Some("check: allowed past a lock"),
        (Verdict::Allow, None) => Some("check: allowed, no owner"),
        (Verdict::Allow, Some(owner)) if AgentId::of(&owner.holder) == check.agent => {
            Some("check: allowed to the owner")
        }
        (Verdict::Allow, Some(_)) => Some("check: allowed by the owner's intents"),
        (Verdict::Deny | Verdict::Defer, Some(_)) => Some("check: owner shown in another refusal"),
        (Verdict::Deny | Verdict::Defer, None) => None,
    }
}

/// The case of an answer given again.
pub(super) const fn repeat(body: &Body, reply: &Reply) -> Option<&'static str> {
    match (body, reply) {
        (Body::ClaimTarget(_) | Body::LockTask(_), Reply::Held(_)) => Some("repeat: refusal"),
        (Body::ClaimTarget(_) | Body::ObserveOwner(_), _) => Some("repeat: claim"),
        (Body::LockTask(_), _) => Some("repeat: lock"),
        (Body::ReleaseClaim(_), _) => Some("repeat: release"),
        (Body::EndFact(_), _) => Some("repeat: end of a fact"),
        (Body::Handoff(_), Reply::Handoff(_)) => Some("repeat: handoff"),
        _ => None,
    }
}
