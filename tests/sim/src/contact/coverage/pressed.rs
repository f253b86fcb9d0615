//! Cases of decisions that went on where nothing new was reserved or the clock could not be trusted, and
//! of rules and clocks that changed meanwhile.

use interlock_domain::contact::command::{Body, Command, Direction};
use interlock_domain::contact::reason::{Reason, Verdict};
use interlock_domain::contact::reply::Reply;
use interlock_domain::time::Timestamp;

use super::super::budget::forgettings;
use super::super::explain::customer_of;
use super::super::judge::Moment;
use super::super::model::{Asked, ContactModel, Line};
use super::super::rules::Rules;
use super::{case, shown};
use crate::conditions::{Conditions, Sure};

impl ContactModel {
    /// Takes note that a record explains an answer.
    pub(in crate::contact) fn saw_all(&mut self, number: u64, asked: &Asked, reply: &Reply) {
        let command = &asked.command;
        let Some(line) = self.lines.get_mut(&number) else {
            return;
        };
        line.claimed = true;
        let (body, route) = (&command.body, command.route);
        let note = line.note.as_ref();
        let mut cases = vec![case(body, route, reply, note, &line.events)];
        cases.extend(under(command, reply, line));
        cases.push((line.policy > asked.policy).then_some("rules: changed under way"));
        if let Some(rules) = self.rules.get(&(line.space, line.policy)) {
            cases.push(window(command, line, rules));
            let moment = Moment {
                books: &self.books,
                rules,
                space: line.space,
                record: number,
                now: line.time,
                epoch: None,
                run: None,
                erased: None,
                made: None,
                full: false,
                suspect: false,
                forgotten: Timestamp(0),
            };
            let far = forgettings(&moment, customer_of(command)).len() > 1;
            cases.push(far.then_some("rules: look further back"));
        }
        cases.into_iter().for_each(|case| self.saw(case));
        let shown = shown(reply).into_iter();
        shown.for_each(|case| self.saw(case));
    }
}

/// The cases of an answer that a record explains, by how its node stood.
fn under(command: &Command, reply: &Reply, line: &Line) -> [Option<&'static str>; 2] {
    let full = line.conditions.is_full(line.space) == Sure::Yes;
    let full = full.then(|| while_full(&command.body, reply, line));
    let suspect = line.conditions.suspect;
    let suspect = suspect.then(|| while_suspect(&command.body, reply));
    [full.flatten(), suspect.flatten()]
}

fn while_full(body: &Body, reply: &Reply, line: &Line) -> Option<&'static str> {
    match (body, reply) {
        (Body::Check(check), Reply::Check(reply)) => {
            let waits = reply.reasons.contains(&Reason::Unavailable);
            waits.then_some(match check.direction {
                Direction::Inbound => "full: inbound goes on",
                Direction::Outbound => "full: a check waits",
            })
        }
        (Body::AddSuppression(_), _) => Some("full: an opt-out goes on"),
        _ if line.events.is_empty() => None,
        (Body::SettleEffect(_) | Body::DeclareEffect(_), _) => Some("full: a settlement goes on"),
        (Body::SettleAdmission(_), _) => Some("full: a settled admission goes on"),
        (Body::ReleaseClaim(_), _) => Some("full: a release goes on"),
        (Body::LiftSuppression(_), _) => Some("full: a lift goes on"),
        (Body::ClaimTarget(_) | Body::LockTask(_), _) => Some("full: a renewal goes on"),
        _ => None,
    }
}

fn while_suspect(body: &Body, reply: &Reply) -> Option<&'static str> {
    match (body, reply) {
        (Body::Check(check), Reply::Check(reply)) => match (check.direction, reply.verdict) {
            _ if reply.reasons.contains(&Reason::Unavailable) => Some("suspect: a check waits"),
            (Direction::Outbound, Verdict::Allow) => Some("suspect: a check goes on"),
            _ => None,
        },
        (Body::ClaimTarget(_) | Body::LockTask(_), _) => Some("suspect: a claim goes on"),
        _ => None,
    }
}

/// The case of a read, which goes on.
pub(in crate::contact) fn read(command: &Command, conditions: &Conditions) -> Option<&'static str> {
    let reads = matches!(command.body, Body::Show(_) | Body::Advise(_));
    let full = conditions.is_full(command.space) == Sure::Yes;
    (reads && full).then_some("full: a read goes on")
}

/// The case of a check inside hours that last over a change of clocks.
fn window(command: &Command, line: &Line, rules: &Rules) -> Option<&'static str> {
    let Body::Check(check) = &command.body else {
        return None;
    };
    let channel = rules.channel(check.channel?)?;
    let longer = channel.quiet.as_ref()?.change(line.time)?;
    Some(if longer < 0 {
        "hours: over a change to summer time"
    } else {
        "hours: over a change from summer time"
    })
}
