//! The cases of offers, promises, people's suppressions and what others than the holder settle.

use interlock_domain::contact::command::{Body, Route, SettledBy};
use interlock_domain::contact::commitment::CommitmentState;
use interlock_domain::contact::event::Event;
use interlock_domain::contact::note::{Note, Noted};
use interlock_domain::contact::promise::PromiseState;
use interlock_domain::contact::reply::Reply;
use interlock_domain::key::EntityKey;

/// The case of an answer that a record explains.
pub(super) fn case(
    body: &Body,
    route: Route,
    note: Option<&Note>,
    events: &[(EntityKey, Event)],
) -> Option<&'static str> {
    let refused = note.is_some_and(|note| matches!(note.decision, Noted::Refused(_)));
    let any = |is: fn(&Event) -> bool| events.iter().any(|(_, event)| is(event));
    match body {
        Body::MakeCommitment(_) => Some(of_offer(refused, events)),
        Body::EndCommitment(_) if any(|event| matches!(event, Event::CommitmentTurned(_))) => {
            Some("offer: turned")
        }
        Body::EndCommitment(_) => Some("offer: nothing to turn"),
        Body::TurnPromise(_) => events
            .iter()
            .find_map(|(_, event)| match event {
                Event::PromiseTurned(turned) => Some(&turned.state),
                _ => None,
            })
            .map_or_else(
                || {
                    Some(if refused {
                        "promise: too many"
                    } else {
                        "promise: nothing there"
                    })
                },
                |state| {
                    Some(match state {
                        PromiseState::Open => "promise: open",
                        PromiseState::Kept | PromiseState::Withdrawn => "promise: over",
                    })
                },
            ),
        Body::AddSuppression(_) if route == Route::PeoplesSuppressions => Some("people: added"),
        Body::LiftSuppression(_)
            if route == Route::PeoplesSuppressions
                && any(|event| matches!(event, Event::SuppressionLifted(_))) =>
        {
            Some("people: lifted")
        }
        Body::SettleEffect(settle) if settle.by != SettledBy::Holder => {
            if refused {
                Some("others: settlement refused")
            } else {
                Some("others: settled")
            }
        }
        _ => None,
    }
}

fn of_offer(refused: bool, events: &[(EntityKey, Event)]) -> &'static str {
    let made = events.iter().find_map(|(_, event)| match event {
        Event::CommitmentMade(made) => Some(made.state),
        _ => None,
    });
    let mut all = events.iter();
    let supersedes = all.any(|(_, event)| matches!(event, Event::CommitmentTurned(_)));
    match made {
        None if refused => "offer: id taken",
        None => "offer: made before",
        Some(CommitmentState::Superseded) => "offer: superseded",
        Some(CommitmentState::Withdrawn | CommitmentState::Declined) => {
            "offer: ended before it came"
        }
        Some(CommitmentState::Made | CommitmentState::Accepted) if supersedes => {
            "offer: supersedes"
        }
        Some(CommitmentState::Made | CommitmentState::Accepted) => "offer: holds",
    }
}

/// What a check shows beside its decision.
pub(in crate::contact) fn shown(reply: &Reply) -> [Option<&'static str>; 2] {
    let Reply::Check(check) = reply else {
        return [None; 2];
    };
    [
        (!check.commitments.is_empty()).then_some("check: shows offers"),
        (!check.promises.is_empty()).then_some("check: shows promises"),
    ]
}
