//! Whether a look-up was right: the answer that completes a command which names only an id. Also reads
//! that leave no record.

use interlock_domain::contact::command::{Body, SettleAdmission};
use interlock_domain::contact::directory::{Target, row_key};
use interlock_domain::contact::feed::feed_key;
use interlock_domain::contact::handoff::command::HandoffCommand;
use interlock_domain::contact::handoff::handoff_key;
use interlock_domain::contact::key;
use interlock_domain::contact::name::OperationId;
use interlock_domain::contact::reply::Reply;
use interlock_domain::ids::Id;
use interlock_domain::key::Kind;

use super::model::{Asked, ContactModel};
use super::privacy;

impl ContactModel {
    /// Was the look-up before a release right?
    pub(super) fn found(&self, asked: &Asked, found: &Reply) -> Result<(), String> {
        if let Body::SettleAdmission(body) = &asked.command.body {
            return self.found_admission(asked, body, found);
        }
        if let Body::ReleaseHold(body) = &asked.command.body {
            let (holds, space) = (&self.books.legal_holds, asked.command.space);
            let target = |before| holds.target(space, body.hold, before);
            let fine = match found {
                Reply::HoldFound(found) => target(u64::MAX) == Some(*found),
                Reply::NotFound => {
                    holds.may_be_unknown(space, body.hold, asked.since + 1, self.latest)
                }
                _ => false,
            };
            return fine.then_some(()).ok_or_else(|| "another hold".to_owned());
        }
        if let Body::EndFact(body) = &asked.command.body {
            let object = key(asked.command.space, Kind::Object, body.object);
            let mut moments = asked.since + 1..=self.records + 1;
            let fine = moments.any(|before| match found {
                Reply::Ties(keys) => self.books.ties.of(object, before) == keys,
                _ => false,
            });
            return fine.then_some(()).ok_or_else(|| "other ties".to_owned());
        }
        if let Body::Handoff(HandoffCommand::Close(body)) = &asked.command.body {
            return self.found_handoff(asked, body.handoff, found);
        }
        let id = match &asked.command.body {
            Body::ReleaseClaim(body) => body.claim,
            Body::EndCommitment(body) => Id(body.row.0),
            _ => return Err("it is not looked up".to_owned()),
        };
        let row = self.books.row(row_key(asked.command.space, id));
        let fine = match (found, row) {
            (Reply::Found(target), Some(row)) => *target == row.target,
            (Reply::NotFound, Some(row)) => row.record > asked.since || row.until <= self.latest,
            (Reply::NotFound, None) => true,
            _ => false,
        };
        fine.then_some(())
            .ok_or_else(|| format!("the row is {row:?}"))
    }
}

impl ContactModel {
    fn found_handoff(&self, asked: &Asked, id: Id, found: &Reply) -> Result<(), String> {
        let key = handoff_key(asked.command.space, id);
        let forms = self.books.handoffs.since(key, asked.since);
        let fine = match found {
            Reply::Found(target) => {
                let mut forms = forms.iter().flatten();
                forms.any(|handoff| *target == Target::Customer(handoff.customer))
            }
            Reply::NotFound => self.may_be_unknown(asked, id),
            _ => false,
        };
        fine.then_some(())
            .ok_or_else(|| format!("the handoff is {forms:?}"))
    }

    fn found_admission(
        &self,
        asked: &Asked,
        body: &SettleAdmission,
        found: &Reply,
    ) -> Result<(), String> {
        let row = row_key(asked.command.space, body.admission);
        let admitted = self.books.spent.admission(row);
        let fine = match (found, admitted) {
            (Reply::FoundAdmission { target, operation }, Some(all)) => {
                let form = all.form(u64::MAX);
                let named = form.is_some_and(|form| OperationId::of(&form.operation) == *operation);
                *target == all.target && named
            }
            (Reply::NotFound, Some(all)) => {
                all.form(asked.since + 1).is_none() || all.until <= self.latest
            }
            (Reply::NotFound, None) => true,
            _ => false,
        };
        fine.then_some(())
            .ok_or_else(|| format!("the admission is {admitted:?}"))
    }
}

impl ContactModel {
    /// Was the list so far at some moment since the question? A change that was answered before it
    /// counts.
    pub(super) fn is_far(&mut self, asked: &Asked, last: u64) -> Result<(), String> {
        let key = feed_key(asked.command.space);
        let from = self.books.feed(key, asked.since + 1);
        let to = self.books.feed(key, self.records + 1);
        if !(from..=to).contains(&last) {
            return Err(format!("the list went from {from} to {to}"));
        }
        self.saw(Some(if last == 0 {
            "feed: empty"
        } else {
            "feed: read"
        }));
        Ok(())
    }

    /// An erasure must name the row of every offer of its customer, and every handoff.
    pub(super) fn has_moved(&mut self, asked: &Asked) -> Result<(), String> {
        let command = &asked.command;
        let Body::ForgetCustomer(body) = &command.body else {
            return Err("only an erasure is made from what was read".to_owned());
        };
        let key = key(command.space, Kind::Customer, body.customer);
        let mut moments = asked.since + 1..=self.records + 1;
        let fine = moments.any(|before| {
            !privacy::unnamed(&self.books, key, body, (before, self.latest)).is_empty()
        });
        self.saw(Some("erasure: moved"));
        fine.then_some(())
            .ok_or_else(|| "nothing was offered".to_owned())
    }
}
