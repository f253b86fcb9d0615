//! Completing a command that names only an id, by what the id's row says.
//!
//! Here: the look-up and what its answer adds. Not here: the rows (`directory`) and the reads.

use crate::contact::command::{
    AdmissionPlace, Body, ClaimPlace, Command, FindAdmission, FindClaim, FindHold, FindTies,
    HoldPlace,
};
use crate::contact::handoff::command::{FindHandoff, HandoffCommand};
use crate::contact::reply::Reply;
use crate::contact::settle_admission;
use crate::ids::Id;

/// What is to be looked up before a command's keys are known; `None` when they are.
pub(super) fn of(command: &Command) -> Option<Command> {
    if let Body::ReleaseHold(release) = &command.body {
        let find = FindHold { hold: release.hold };
        return (release.place == HoldPlace::ToFind).then(|| Command {
            receipt: None,
            body: Body::FindHold(find),
            ..command.clone()
        });
    }
    if let Body::SettleAdmission(settle) = &command.body {
        let admission = settle.admission;
        let is_to_find = settle.place == AdmissionPlace::ToFind;
        return is_to_find.then(|| Command {
            receipt: None,
            body: Body::FindAdmission(FindAdmission { admission }),
            ..command.clone()
        });
    }
    if let Body::EndFact(end) = &command.body {
        let find = FindTies { object: end.object };
        return end.keys.is_none().then(|| Command {
            receipt: None,
            body: Body::FindTies(find),
            ..command.clone()
        });
    }
    let to_find = |place| place == ClaimPlace::ToFind;
    let claim = |claim| Body::FindClaim(FindClaim { claim });
    let look_up = if let Body::ReleaseClaim(release) = &command.body {
        to_find(release.place).then(|| claim(release.claim))
    } else if let Body::EndCommitment(end) = &command.body {
        to_find(end.place).then(|| claim(Id(end.row.0)))
    } else if let Body::Handoff(HandoffCommand::Close(close)) = &command.body {
        let find = FindHandoff {
            handoff: close.handoff,
        };
        to_find(close.place).then_some(Body::Handoff(HandoffCommand::Find(find)))
    } else {
        None
    };
    Some(Command {
        receipt: None,
        body: look_up?,
        ..command.clone()
    })
}

/// The command with what was found. An id that leads nowhere is decided too: its answer is a receipt's like any other.
pub(super) fn complete(mut command: Command, found: Reply) -> Result<Command, Reply> {
    if let Body::ReleaseHold(release) = &mut command.body {
        release.place = if let Reply::HoldFound(target) = found {
            HoldPlace::At(target)
        } else {
            HoldPlace::Nowhere
        };
        return Ok(command);
    }
    if let Body::SettleAdmission(settle) = &mut command.body {
        settle.place = settle_admission::place(&found);
        return Ok(command);
    }
    if let Body::EndFact(end) = &mut command.body {
        end.keys = Some(if let Reply::Ties(keys) = found {
            keys
        } else {
            Vec::new()
        });
        return Ok(command);
    }
    let found = if let Reply::Found(target) = found {
        ClaimPlace::At(target)
    } else {
        ClaimPlace::Nowhere
    };
    if let Body::ReleaseClaim(release) = &mut command.body {
        release.place = found;
    } else if let Body::EndCommitment(end) = &mut command.body {
        end.place = found;
    } else if let Body::Handoff(HandoffCommand::Close(close)) = &mut command.body {
        close.place = found;
    }
    Ok(command)
}
