//! Where an answer comes from: a record written since the question, an outcome kept under its key,
//! or nothing that needs a record.

use std::ops::RangeInclusive;

use interlock_domain::contact::command::{Body, ClaimPlace, Command, DeclareContactMade};
use interlock_domain::contact::directory::row_key;
use interlock_domain::contact::event::Event;
use interlock_domain::contact::key;
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::reply::{DeclareReply, Reply};
use interlock_domain::ids::Id;
use interlock_domain::key::{EntityKey, Kind};
use interlock_domain::time::Timestamp;

use super::books::{Kept, State};
use super::budget::forgettings;
use super::change::Change;
use super::holds::{Hold, Register};
use super::judge::{Cited, Due, Moment, Outcome, counted};
use super::model::{Asked, ContactModel, Line};
use super::pressed::{Pressed, pressed};
use super::recorded::noted_and_done;
use super::{check, coverage};
use crate::machine::Given;

impl ContactModel {
    /// Finds the record that an answer comes from.
    pub(super) fn explain(
        &mut self,
        asked: &Asked,
        reply: &Reply,
        given: &Given<'_>,
    ) -> Result<(), String> {
        let command = &asked.command;
        if let Some(done) = self.undecided(asked, reply, given) {
            return done;
        }
        if let Some(done) = self.without_record(asked, reply) {
            return done;
        }
        let mut why = "no record fits".to_owned();
        let from = match reply {
            Reply::Check(check) => match self.decisions.get(&check.decision_id) {
                Some(&number) => number,
                None => return Err("the decision is not in the log".to_owned()),
            },
            _ => asked.since + 1,
        };
        if from > asked.since {
            let to = match reply {
                Reply::Check(_) => from,
                _ => self.records,
            };
            for number in self.changing_first(from..=to) {
                let Some(line) = self.lines.get(&number) else {
                    continue;
                };
                let claimed = line.claimed && !line.events.is_empty();
                if claimed || !line.may_be_of(command) {
                    continue;
                }
                match self.judge(number, command, reply) {
                    Ok(()) => {
                        self.saw_all(number, asked, reply);
                        return Ok(());
                    }
                    Err(error) => why = format!("record {number}: {error}"),
                }
            }
        }
        // Another command ended the run meanwhile.
        if *reply == Reply::RunEnded && self.was_over(command, self.records) {
            return Ok(());
        }
        for kept in self.kept(command).to_vec() {
            let same = command.receipt.map(|receipt| receipt.fingerprint) == Some(kept.fingerprint);
            if same && kept.ended > asked.since && kept.record >= self.first_kept(from, reply) {
                // A repeated item of a batch is told as a duplicate; else it is answered as it was.
                let completed = self.completed_by(asked, reply, kept.record);
                let as_then = match reply {
                    Reply::ObservedAgain => &Reply::Observed,
                    other => completed.as_ref().unwrap_or(other),
                };
                for first in self.as_first(command, kept.record) {
                    match self.judge(kept.record, &first, as_then) {
                        Ok(()) => {
                            self.saw(coverage::repeat(&command.body, reply));
                            return Ok(());
                        }
                        Err(error) => why = format!("{why}; kept by {}: {error}", kept.record),
                    }
                }
            }
        }
        Err(why)
    }

    /// A record that changes something has one command of its own, so these come first.
    fn changing_first(&self, records: RangeInclusive<u64>) -> Vec<u64> {
        let changes = |number: &u64| {
            let line = self.lines.get(number);
            line.is_some_and(|line| !line.events.is_empty())
        };
        let (mut some, none): (Vec<u64>, Vec<u64>) = records.partition(changes);
        some.extend(none);
        some
    }

    /// A repeated check names the record it comes from; any other may come from any.
    const fn first_kept(&self, from: u64, reply: &Reply) -> u64 {
        if matches!(reply, Reply::Check(_)) {
            from
        } else {
            0
        }
    }

    /// Answers that leave no record.
    fn without_record(&mut self, asked: &Asked, reply: &Reply) -> Option<Result<(), String>> {
        if let Some(read) = self.read(asked, reply) {
            return Some(read);
        }
        let command = &asked.command;
        match reply {
            Reply::Undeclared(_) => {
                let mut newer = self
                    .rules
                    .range((command.space, 0)..=(command.space, u32::MAX));
                let fine = newer.any(|(_, rules)| !rules.knows(command));
                if let Body::Handoff(body) = &command.body {
                    self.saw(coverage::read(body, reply));
                }
                Some(
                    fine.then_some(())
                        .ok_or_else(|| "all rules know it".to_owned()),
                )
            }
            Reply::Conflict => {
                let mut kept = self.kept(command).iter();
                let other = |kept: &Kept| {
                    command.receipt.map(|receipt| receipt.fingerprint) != Some(kept.fingerprint)
                        && kept.ended > asked.since
                };
                let fine = kept.any(other);
                self.saw(Some("repeat: another request"));
                Some(
                    fine.then_some(())
                        .ok_or_else(|| "no other request".to_owned()),
                )
            }
            Reply::NotFound => Some(self.not_there(asked).map(|()| {
                if matches!(command.body, Body::ReleaseClaim(_)) {
                    self.saw(Some("release: nothing there"));
                }
            })),
            Reply::RunAsked(run) if !run.is_new => {
                let runs = &self.books.runs;
                let fine = runs.was_pending(command.space, run, asked.since);
                Some(
                    fine.then_some(())
                        .ok_or_else(|| format!("runs are {runs:?}")),
                )
            }
            Reply::RunEnded => self.was_over(command, asked.since).then_some(Ok(())),
            Reply::Feed(last) => Some(self.is_far(asked, *last)),
            Reply::Moved => Some(self.has_moved(asked)),
            _ => None,
        }
    }

    /// Is it the end of a run that was over, or unknown, after this record?
    fn was_over(&self, command: &Command, after: u64) -> bool {
        let Body::EndReport(body) = &command.body else {
            return false;
        };
        let runs = &self.books.runs;
        runs.was_over(command.space, body.id, after + 1)
    }

    /// Was there a moment since the question at which what is named may not have been there?
    fn not_there(&self, asked: &Asked) -> Result<(), String> {
        let (space, moments) = (asked.command.space, asked.since..=self.records);
        let fine = match &asked.command.body {
            Body::SettleEffect(body) => {
                let key = key(space, Kind::Effect, body.effect);
                moments.into_iter().any(|record| {
                    match self.books.attempt(key, record + 1) {
                        None => true,
                        // It may be over by now: no record tells the time of this answer.
                        Some(attempt) => {
                            matches!(attempt.state, State::Done { .. } | State::Failed { .. })
                        }
                    }
                })
            }
            Body::ReleaseClaim(body) => {
                let ClaimPlace::At(target) = body.place else {
                    return Ok(());
                };
                let key = target.key(space);
                let mut moments = moments;
                moments.any(|record| {
                    !is_known(self.books.claims(key), body.claim, record + 1, self.latest)
                        && !is_known(self.books.locks(key), body.claim, record + 1, self.latest)
                })
            }
            Body::SettleAdmission(body) => {
                let admitted = self.books.spent.admission(row_key(space, body.admission));
                let form = admitted.and_then(|all| Some((all, all.form(asked.since + 1)?)));
                form.is_none_or(|(all, form)| {
                    form.source != asked.command.source || all.until <= self.latest
                })
            }
            Body::ReleaseHold(body) => {
                let holds = &self.books.legal_holds;
                holds.may_be_unknown(space, body.hold, asked.since + 1, self.latest)
            }
            _ => return Err("it names nothing that must be there".to_owned()),
        };
        fine.then_some(()).ok_or_else(|| "it is there".to_owned())
    }

    pub(super) fn kept(&self, command: &Command) -> &[Kept] {
        command.receipt.map_or(&[], |receipt| {
            self.books.receipts(EntityKey {
                kind: Kind::Receipt,
                space: command.space,
                hash: receipt.hash,
            })
        })
    }

    /// Does the command come to this answer, this note and these changes at this record?
    fn judge(&self, number: u64, command: &Command, reply: &Reply) -> Result<(), String> {
        let line = &self.lines[&number];
        if self.keeps_one_too_many(number, command) {
            return Err("the source has as many keys as it may have".to_owned());
        }
        let mut why = "due is nothing".to_owned();
        for &full in line.conditions.is_full(line.space).ways() {
            match self.judge_if(number, (command, reply), full) {
                Ok(()) => return Ok(()),
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    /// The same, where there was room or not.
    fn judge_if(
        &self,
        number: u64,
        (command, reply): (&Command, &Reply),
        full: bool,
    ) -> Result<(), String> {
        let line = &self.lines[&number];
        let mut moment = Moment {
            books: &self.books,
            rules: &self.rules[&(line.space, line.policy)],
            space: line.space,
            record: number,
            now: line.time,
            epoch: line.epoch(),
            run: line.run(),
            erased: line.erased(),
            made: line.made(),
            full,
            suspect: line.conditions.suspect,
            forgotten: Timestamp(0),
        };
        let mut why = String::new();
        for forgotten in forgettings(&moment, customer_of(command)) {
            moment.forgotten = forgotten;
            match judge_at(&moment, line, command, reply) {
                Ok(()) => return Ok(()),
                Err(error) => why = error,
            }
        }
        Err(why)
    }
}

/// Whose contacts a command is about.
pub(super) fn customer_of(command: &Command) -> Option<EntityKey> {
    match &command.body {
        Body::Check(check) => Some(key(command.space, Kind::Customer, check.customer?)),
        _ => None,
    }
}

/// Does the command come to this at a moment?
fn judge_at(
    moment: &Moment<'_>,
    line: &Line,
    command: &Command,
    reply: &Reply,
) -> Result<(), String> {
    let mut why = "due is nothing".to_owned();
    for (changes, noted) in comes_to(moment, line, command, reply)? {
        match noted_and_done(moment, line, (command, reply), changes, noted) {
            Ok(()) => return Ok(()),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// What a record's command may come to, as far as it gives this answer: changes and notes.
type Come = Vec<(Vec<Change>, Option<Noted>)>;

fn comes_to(
    moment: &Moment<'_>,
    line: &Line,
    command: &Command,
    reply: &Reply,
) -> Result<Come, String> {
    let Pressed { due, without } = pressed(moment, command);
    if !without.is_empty() && matches!(&due, Due::OneOf(left) if left.is_empty()) {
        return Err(format!("due is {without:?}, and no record"));
    }
    match (due, reply, &command.body) {
        (Due::Check(all), Reply::Check(reply), Body::Check(body)) => {
            if line.decision_id() != Some(reply.decision_id) {
                return Err("another decision's record".to_owned());
            }
            let mut why = String::new();
            for decided in all {
                match check::compare(moment, body, &decided, reply) {
                    Ok(()) => {
                        let noted = Noted::Check(decided.verdict);
                        return Ok(vec![(decided.changes, Some(noted))]);
                    }
                    Err(error) => why = error,
                }
            }
            Err(why)
        }
        (Due::Plain(due, noted, changes), reply, _) => {
            if due != *reply {
                return Err(format!("due is {due:?}"));
            }
            Ok(vec![(changes, Some(noted))])
        }
        (Due::OneOf(outcomes), reply, _) => {
            if outcomes.iter().all(|outcome| outcome.reply != *reply) {
                return Err(format!("due is {outcomes:?}"));
            }
            let mut outcomes = outcomes;
            outcomes.retain(|outcome| outcome.reply == *reply);
            let come = |outcome: Outcome| (outcome.changes, Some(outcome.noted));
            Ok(outcomes.into_iter().map(come).collect())
        }
        (Due::Contact(cited, changes), Reply::Declared(said), Body::DeclareContactMade(body)) => {
            let changes = contact(moment, line, (cited, changes), (body, said))?;
            let noted = line.note.as_ref().map(|note| note.decision);
            Ok(vec![(changes, noted)])
        }
        (due, ..) => Err(format!("due is {due:?}")),
    }
}

/// The changes of a declared contact, if the answer names the decision it must.
fn contact(
    moment: &Moment<'_>,
    line: &Line,
    (cited, mut changes): (Cited, Vec<Change>),
    (body, said): (&DeclareContactMade, &DeclareReply),
) -> Result<Vec<Change>, String> {
    let new = line.events.iter().find_map(|(_, event)| match event {
        Event::ContactCounted(counted) => Some(counted.id),
        _ => None,
    });
    let held = match cited {
        Cited::Held(id) => Some(id),
        Cited::Maybe(id) => Some(id).filter(|_| new.is_none()),
        Cited::Not | Cited::Nobody => None,
    };
    if cited != Cited::Nobody {
        changes.push(counted(moment, body, held));
    }
    let under = held.or(new).or(line.decision_id());
    let fine = said.accepted && under.is_some() && said.decision_id == under;
    if !fine || line.decision_id() != under {
        return Err(format!("it cites {cited:?}, counts {new:?}"));
    }
    Ok(changes)
}

/// Must a target know an id?
fn is_known<T: Hold + Clone>(
    all: Option<&Register<T>>,
    id: Id,
    before: u64,
    now: Timestamp,
) -> bool {
    let known = all.and_then(|all| Some((all, all.of_id(id, before)?)));
    known.is_some_and(|(all, hold)| all.is_known(hold, before, now))
}
