//! The cases of keys that live as long as a fact, and of mapped events.

use interlock_domain::contact::event::Event;
use interlock_domain::contact::note::{Note, Noted};
use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::Reply;
use interlock_domain::key::EntityKey;

fn any(events: &[(EntityKey, Event)], is: fn(&Event) -> bool) -> bool {
    events.iter().any(|(_, event)| is(event))
}

/// A reservation that names a fact.
pub(super) fn tied(events: &[(EntityKey, Event)], note: Option<&Note>) -> Option<&'static str> {
    let full = Noted::Refused(Refusal::TargetFull);
    if note.is_some_and(|note| note.decision == full) {
        return Some("fact: too many keys");
    }
    if any(events, |event| matches!(event, Event::KeyTied(_))) {
        return Some("fact: a key is tied");
    }
    any(events, |event| matches!(event, Event::EffectReserved(_)))
        .then_some("fact: named at a later attempt")
}

/// The end of a fact.
pub(super) const fn end(reply: &Reply) -> Option<&'static str> {
    match reply {
        Reply::FactEnded(untied) => Some(match (untied.freed, untied.kept) {
            (0, 0) => "fact: ended without keys",
            (_, 0) => "fact: frees keys",
            (0, _) => "fact: keeps keys",
            (_, _) => "fact: frees and keeps keys",
        }),
        Reply::Refused(_) => Some("fact: under a legal hold"),
        _ => None,
    }
}

/// A mapped event that begins.
pub(super) fn mapped(events: &[(EntityKey, Event)]) -> &'static str {
    match (
        any(events, |event| matches!(event, Event::ClaimAccepted(_))),
        any(events, |event| matches!(event, Event::RowWritten(_))),
    ) {
        (false, _) => "mapped: too old",
        (true, true) => "mapped: begins",
        (true, false) => "mapped: in place",
    }
}

/// A mapped event that ends.
pub(super) fn ended(events: &[(EntityKey, Event)]) -> &'static str {
    match (
        any(events, |event| matches!(event, Event::ClaimAccepted(_))),
        any(events, |event| matches!(event, Event::RowWritten(_))),
    ) {
        (false, _) => "mapped: an end too old",
        (true, true) => "mapped: an end before its beginning",
        (true, false) => "mapped: ends",
    }
}
