//! Where an answer comes from: a record written since the question, an outcome kept under its key,
//! or nothing that needs a record.

use interlock_domain::contact::command::{Body, Command, Direction};
use interlock_domain::contact::event::Event;
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::reason::{Reason, Verdict};
use interlock_domain::contact::reply::{CheckReply, Reply};
use interlock_domain::key::{EntityKey, Kind};
use interlock_domain::time::Timestamp;

use super::books::{Kept, State};
use super::check;
use super::judge::{Change, Cited, Due, Moment, counted, due, fits};
use super::model::{Asked, ContactModel};

/// How long an outcome is kept: a check's, and any other.
const KEPT_S: [i64; 2] = [600, 86_400];

impl ContactModel {
    /// Finds the record that an answer comes from.
    pub(super) fn explain(&mut self, asked: &Asked, reply: &Reply) -> Result<(), String> {
        let command = &asked.command;
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
            for number in from..=to {
                let Some(line) = self.lines.get(&number) else {
                    continue;
                };
                let claimed = line.claimed && !line.events.is_empty();
                if claimed || !line.may_be_of(command) {
                    continue;
                }
                match self.judge(number, command, reply) {
                    Ok(()) => {
                        if let Some(line) = self.lines.get_mut(&number) {
                            line.claimed = true;
                        }
                        return Ok(());
                    }
                    Err(error) => why = format!("record {number}: {error}"),
                }
            }
        }
        for kept in self.kept(command) {
            let same = command.receipt.map(|receipt| receipt.fingerprint) == Some(kept.fingerprint);
            if same && kept.ended > asked.since && kept.record >= self.first_kept(from, reply) {
                match self.judge(kept.record, command, reply) {
                    Ok(()) => return Ok(()),
                    Err(error) => why = format!("{why}; kept by {}: {error}", kept.record),
                }
            }
        }
        // Nor does such a message leave a record.
        if *reply == Reply::Observed && command.receipt.is_none() {
            return Ok(());
        }
        Err(why)
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
    fn without_record(&self, asked: &Asked, reply: &Reply) -> Option<Result<(), String>> {
        let command = &asked.command;
        match reply {
            Reply::Undeclared(_) => {
                let mut newer = self
                    .rules
                    .range((command.space, 0)..=(command.space, u32::MAX));
                let fine = newer.any(|(_, rules)| !rules.knows(command));
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
                Some(
                    fine.then_some(())
                        .ok_or_else(|| "no other request".to_owned()),
                )
            }
            Reply::NotFound => Some(self.not_there(asked)),
            Reply::Capacity => Some(Err("memory is not full".to_owned())),
            Reply::Check(check) if check.reasons.contains(&Reason::Unavailable) => {
                Some(late(command, check))
            }
            _ => None,
        }
    }

    /// Was there a moment since the question at which the key may have been free?
    fn not_there(&self, asked: &Asked) -> Result<(), String> {
        let Body::SettleEffect(body) = &asked.command.body else {
            return Err("only a settlement names a key that must be there".to_owned());
        };
        let key = EntityKey {
            kind: Kind::Effect,
            space: asked.command.space,
            hash: body.effect,
        };
        let mut moments = asked.since..=self.records;
        let fine = moments.any(|record| match self.books.attempt(key, record + 1) {
            None => true,
            // It may be over by now: no record tells the time of this answer.
            Some(attempt) => matches!(attempt.state, State::Done { .. } | State::Failed { .. }),
        });
        fine.then_some(())
            .ok_or_else(|| "the key is there".to_owned())
    }

    fn kept(&self, command: &Command) -> &[Kept] {
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
        let moment = Moment {
            books: &self.books,
            rules: &self.rules[&(line.space, line.policy)],
            space: line.space,
            record: number,
            now: line.time,
        };
        let (mut changes, noted) = match (due(&moment, command), reply, &command.body) {
            (Due::Check(decided), Reply::Check(reply), Body::Check(body)) => {
                check::compare(&moment, body, &decided, reply)?;
                if line.decision_id() != Some(reply.decision_id) {
                    return Err("another decision's record".to_owned());
                }
                let noted = Noted::Check(decided.verdict);
                (decided.changes, Some(noted))
            }
            (Due::Plain(due, noted, changes), reply, _) => {
                if due != *reply {
                    return Err(format!("due is {due:?}"));
                }
                let silent = matches!(command.body, Body::ObserveMessage(_));
                (changes, (!silent).then_some(noted))
            }
            (
                Due::Contact(cited, mut changes),
                Reply::Declared(said),
                Body::DeclareContactMade(body),
            ) => {
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
                    changes.push(counted(&moment, body, held));
                }
                let under = held.or(new).or(line.decision_id());
                let fine = said.accepted && under.is_some() && said.decision_id == under;
                if !fine || line.decision_id() != under {
                    return Err(format!("it cites {cited:?}, counts {new:?}"));
                }
                (changes, line.note.as_ref().map(|note| note.decision))
            }
            (due, ..) => return Err(format!("due is {due:?}")),
        };
        let notes = line.note.as_ref().map(|note| note.decision);
        // What is taken and changes nothing may be noted either way.
        let idle = |noted| noted == Some(Noted::NothingToChange) || noted == Some(Noted::Accepted);
        if notes != noted && !(changes.is_empty() && idle(notes) && idle(noted)) {
            return Err(format!("it notes {notes:?}, not {noted:?}"));
        }
        let (receipts, others): (Vec<_>, Vec<_>) = line
            .events
            .iter()
            .partition(|(_, event)| matches!(event, Event::ReceiptKept(_)));
        // A message older than anything asks for need not be remembered.
        if matches!(command.body, Body::ObserveMessage(_)) && others.is_empty() {
            changes.clear();
        }
        changed(&moment, &changes, &others)?;
        receipted(command, reply, &receipts, line.time)
    }
}

/// Are these changes the record's, all and no other?
fn changed(
    moment: &Moment<'_>,
    changes: &[Change],
    others: &[&(EntityKey, Event)],
) -> Result<(), String> {
    let fit = others.len() == changes.len()
        && changes
            .iter()
            .all(|change| others.iter().any(|event| fits(moment, change, event)));
    if fit {
        Ok(())
    } else {
        Err(format!("changes {changes:?}, in the record {others:?}"))
    }
}

/// Is the outcome kept, where it must be, for as long as it must be?
fn receipted(
    command: &Command,
    reply: &Reply,
    receipts: &[&(EntityKey, Event)],
    now: Timestamp,
) -> Result<(), String> {
    let stored = command.receipt.is_some() && !matches!(reply, Reply::NotFound);
    let kept_s = KEPT_S[usize::from(!matches!(command.body, Body::Check(_)))];
    match (receipts, command.receipt) {
        ([(key, Event::ReceiptKept(kept))], Some(receipt)) if stored => {
            let fine = key.hash == receipt.hash
                && kept.fingerprint == receipt.fingerprint
                && kept.until == now.plus_s(kept_s);
            fine.then_some(()).ok_or_else(|| format!("keeps {kept:?}"))
        }
        ([], _) if !stored => Ok(()),
        _ => Err(format!("keeps {receipts:?}")),
    }
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
    let fine = reply.verdict == verdict && reply.valid_for_s == 0 && !reply.sign;
    fine.then_some(())
        .ok_or_else(|| "late in another way".to_owned())
}
