//! Answers that leave nothing behind: what came too late, and what nothing new was reserved for.
//!
//! Whether it came too late, how full the node was and when the turn was, the world knows; where in the
//! log the turn was is open, from the question to the answer.

use interlock_domain::contact::command::{Body, Command, Direction};
use interlock_domain::contact::handoff::command::HandoffCommand;
use interlock_domain::contact::reason::{Reason, Verdict};
use interlock_domain::contact::reply::{CheckReply, Reply};
use interlock_domain::time::Timestamp;

use super::books::Kept;
use super::budget::forgettings;
use super::explain::customer_of;
use super::judge::Moment;
use super::model::{Asked, ContactModel};
use super::pressed::pressed;
use crate::conditions::Sure;
use crate::machine::Given;

impl ContactModel {
    /// Judges an answer that says that the command was not decided; `None` when it is none.
    pub(super) fn undecided(
        &mut self,
        asked: &Asked,
        reply: &Reply,
        given: &Given<'_>,
    ) -> Option<Result<(), String>> {
        let (command, space) = (&asked.command, asked.command.space);
        if given.late {
            self.saw(Some("late: a check"));
            return Some(match reply {
                Reply::Check(check) => late(command, check),
                _ => Err("it came too late to be decided".to_owned()),
            });
        }
        match reply {
            Reply::TooManyKeys => {
                self.saw(Some("full: a source"));
                let full = given.conditions.is_part_full(space, command.source.0);
                let fine = full != Sure::No && !frees(command) && self.may_be_new(asked, given);
                Some(
                    fine.then_some(())
                        .ok_or_else(|| format!("its keys: {full:?}")),
                )
            }
            Reply::Capacity | Reply::ClockSuspect => {
                self.saw(case(command, reply));
                let mut ways = given.conditions.is_full(space).ways().iter();
                let fine = ways.any(|&full| self.is_turned_away(asked, reply, (given, full)));
                Some(fine.then_some(()).ok_or_else(|| format!("under {given:?}")))
            }
            _ => None,
        }
    }

    /// Was there a moment since the question at which the command came to this?
    fn is_turned_away(
        &self,
        asked: &Asked,
        reply: &Reply,
        (given, full): (&Given<'_>, bool),
    ) -> bool {
        let (command, space) = (&asked.command, asked.command.space);
        let rules = self.rules.range((space, 0)..=(space, u32::MAX)).rev();
        let mut rules = rules.filter(|(_, rules)| rules.knows(command));
        rules.any(|(_, rules)| {
            let mut moments = asked.since + 1..=self.records + 1;
            moments.any(|record| {
                let mut moment = Moment {
                    books: &self.books,
                    rules,
                    space,
                    record,
                    now: given.conditions.time,
                    epoch: None,
                    run: None,
                    erased: None,
                    made: None,
                    full,
                    suspect: given.conditions.suspect,
                    forgotten: Timestamp(0),
                };
                if self
                    .kept(command)
                    .iter()
                    .any(|kept| is_there(kept, &moment))
                {
                    return false;
                }
                let mut far = forgettings(&moment, customer_of(command)).into_iter();
                far.any(|forgotten| {
                    moment.forgotten = forgotten;
                    pressed(&moment, command).without.contains(reply)
                })
            })
        })
    }

    /// Was there a moment since the question at which no outcome was kept under the command's key?
    fn may_be_new(&self, asked: &Asked, given: &Given<'_>) -> bool {
        let now = given.conditions.time;
        let mut moments = asked.since + 1..=self.records + 1;
        let kept = self.kept(&asked.command);
        moments.any(|record| {
            let there =
                |kept: &Kept| kept.record < record && record <= kept.ended && now < kept.until;
            !kept.iter().any(there)
        })
    }

    /// Does a record keep an outcome under a new key of a source that has as many as it may have? One
    /// that is over may still be there, and then its key is no new one.
    pub(super) fn keeps_one_too_many(&self, number: u64, command: &Command) -> bool {
        let line = &self.lines[&number];
        let full = line.conditions.is_part_full(line.space, command.source.0);
        let mut earlier = self.kept(command).iter();
        full == Sure::Yes
            && command.receipt.is_some()
            && !frees(command)
            && !earlier.any(|kept| kept.record < number)
    }
}

fn is_there(kept: &Kept, moment: &Moment<'_>) -> bool {
    kept.record < moment.record && moment.record <= kept.ended && moment.now < kept.until
}

/// Settles, releases, lifts and ends go on, whatever a source has kept.
fn frees(command: &Command) -> bool {
    match &command.body {
        Body::SettleEffect(_)
        | Body::DeclareEffect(_)
        | Body::LiftSuppression(_)
        | Body::EndCommitment(_)
        | Body::ForgetCustomer(_)
        | Body::ReleaseHold(_)
        | Body::EndObservation(_)
        | Body::EndReport(_)
        | Body::ReleaseClaim(_)
        | Body::SettleAdmission(_)
        | Body::EndFact(_) => true,
        Body::Handoff(body) => {
            matches!(body, HandoffCommand::Close(_))
        }
        _ => false,
    }
}

/// What was turned away.
fn case(command: &Command, reply: &Reply) -> Option<&'static str> {
    Some(match (reply, &command.body) {
        (Reply::ClockSuspect, Body::Admit(_)) => "suspect: an admission",
        (Reply::ClockSuspect, _) => "suspect: a paid effect",
        (_, Body::Check(_)) => "full: a check that fails open",
        (_, Body::ReserveEffect(_)) => "full: an effect",
        (_, Body::ClaimTarget(_)) => "full: a claim",
        (_, Body::ObserveOwner(_)) => "full: an observation",
        (_, Body::LockTask(_)) => "full: a lock",
        (_, Body::Admit(_)) => "full: an admission",
        (_, Body::DeclareContactMade(_)) => "full: a contact",
        (_, Body::MakeCommitment(_)) => "full: an offer",
        (_, Body::EndCommitment(_)) => "full: a word about an offer",
        (_, Body::TurnPromise(_)) => "full: a promise",
        (_, Body::Handoff(_)) => "full: a handoff",
        (_, Body::RequestReport(_)) => "full: a shadow run",
        _ => return None,
    })
}

/// A check that was not decided in time: in doubt nobody is contacted, and nobody is refused an
/// answer.
fn late(command: &Command, reply: &CheckReply) -> Result<(), String> {
    let Body::Check(check) = &command.body else {
        return Err("not a check".to_owned());
    };
    let verdict = match check.direction {
        Direction::Inbound => Verdict::Allow,
        Direction::Outbound => Verdict::Defer,
    };
    let fine = reply.verdict == verdict
        && *reply.reasons == [Reason::Unavailable]
        && reply.valid_for_s == 0
        && !reply.sign;
    fine.then_some(())
        .ok_or_else(|| "late in another way".to_owned())
}
