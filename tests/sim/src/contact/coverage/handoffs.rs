//! The cases of handoffs.

use interlock_domain::contact::command::Route;
use interlock_domain::contact::event::Event;
use interlock_domain::contact::handoff::HandoffStatus;
use interlock_domain::contact::handoff::command::HandoffCommand;
use interlock_domain::contact::note::{Note, Noted};
use interlock_domain::contact::reason::Refusal;
use interlock_domain::contact::reply::Reply;
use interlock_domain::key::EntityKey;

/// The case of an answer that a record explains.
pub(super) fn case(
    body: &HandoffCommand,
    route: Route,
    reply: &Reply,
    note: Option<&Note>,
    events: &[(EntityKey, Event)],
) -> Option<&'static str> {
    let decision = note.map(|note| note.decision);
    let any = |is: fn(&Event) -> bool| events.iter().any(|(_, event)| is(event));
    let turned = any(|event| matches!(event, Event::HandoffTurned(_)));
    let declared = route == Route::Declare;
    let accepted = matches!(reply, Reply::Declared(declared) if declared.accepted);
    match (body, decision) {
        (_, Some(Noted::Refused(Refusal::TargetFull))) => Some("handoff: too many open"),
        (_, Some(Noted::Refused(Refusal::HandoffExpired))) => Some("handoff: expired"),
        (_, Some(Noted::Refused(Refusal::HandoffClosed))) => Some("handoff: closed already"),
        (HandoffCommand::Create(_), _) => match reply {
            Reply::Handoff(made) => {
                let package = made.handoff.as_ref().map(|made| &made.package);
                let package = package?;
                Some(if package.owner.is_some() {
                    "handoff: made, with an owner"
                } else {
                    "handoff: made"
                })
            }
            _ => None,
        },
        (HandoffCommand::Note, _) => Some("handoff: noted"),
        (_, _) if declared && !turned && !accepted => Some("handoff: declared in vain"),
        (_, _) if declared && !turned => Some("handoff: declared, changes nothing"),
        (HandoffCommand::Accept(_), _) if declared => Some("handoff: declared as accepted"),
        (HandoffCommand::Accept(_), _) if turned => Some("handoff: accepted"),
        (HandoffCommand::Accept(_), _) => Some("handoff: accepted again"),
        (HandoffCommand::Close(_), _) if any(|e| matches!(e, Event::SuppressionAdded(_))) => {
            Some("handoff: outcome suppresses")
        }
        (HandoffCommand::Close(_), _) if declared => Some("handoff: declared as closed"),
        (HandoffCommand::Close(_), _) if turned => Some("handoff: closed"),
        (HandoffCommand::Close(_), _) => Some("handoff: closed again"),
        _ => None,
    }
}

/// The case of a read, or of an answer that leaves no record.
pub(in crate::contact) fn read(body: &HandoffCommand, reply: &Reply) -> Option<&'static str> {
    match (body, reply) {
        (HandoffCommand::Create(_), Reply::Past(_)) => Some("handoff: due in the past"),
        (HandoffCommand::Close(_), Reply::Undeclared(_)) => Some("handoff: an unknown word"),
        (HandoffCommand::Accept(_) | HandoffCommand::Close(_), Reply::NotFound) => {
            Some("handoff: nothing there")
        }
        (HandoffCommand::Read(_), Reply::Handoff(shown)) => Some(match shown.status {
            HandoffStatus::Created | HandoffStatus::Accepted => "handoff: read while it waits",
            HandoffStatus::Closed => "handoff: read when closed",
            HandoffStatus::Expired => "handoff: read when expired",
        }),
        (HandoffCommand::Read(_), _) => Some("handoff: read, nothing there"),
        (HandoffCommand::ListEffects(_), Reply::Effects(list)) if !list.is_empty() => {
            Some("handoff: effects listed")
        }
        (HandoffCommand::SeeEffect(_), Reply::EffectSeen(Some(_))) => Some("handoff: effect seen"),
        _ => None,
    }
}
