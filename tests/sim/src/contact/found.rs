//! Whether a look-up was right: the answer that completes a command which names only an id. Also what
//! the first of a repeated command may have been, and reads that leave no record.

use interlock_domain::contact::command::{
    AdmissionPlace, Body, ClaimPlace, Command, EndCommitment, ObserveOwner, SettleAdmission,
};
use interlock_domain::contact::directory::row_key;
use interlock_domain::contact::event::Event;
use interlock_domain::contact::feed::feed_key;
use interlock_domain::contact::key;
use interlock_domain::contact::name::OperationId;
use interlock_domain::contact::reply::Reply;
use interlock_domain::ids::Id;
use interlock_domain::key::Kind;

use super::model::{Asked, ContactModel};

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
    /// A request that comes again differs in what the edge puts in anew: the id it would hand out,
    /// and where the claim was found. Answers the forms the first may have had.
    pub(super) fn as_first(&self, command: &Command, record: u64) -> Vec<Command> {
        let Some(line) = self.lines.get(&record) else {
            return Vec::new();
        };
        let mut first = command.clone();
        let row = line.events.iter().find_map(|(key, event)| match event {
            Event::RowWritten(_) => Some(Id(key.hash.0)),
            _ => None,
        });
        match &mut first.body {
            Body::ClaimTarget(claim) | Body::ObserveOwner(ObserveOwner { claim, .. }) => {
                claim.new_id = row.unwrap_or(claim.new_id);
            }
            Body::LockTask(lock) => lock.new_id = row.unwrap_or(lock.new_id),
            Body::Admit(admit) => admit.new_id = row.unwrap_or(admit.new_id),
            Body::SettleAdmission(settle) => {
                let row = row_key(command.space, settle.admission);
                let admitted = self.books.spent.admission(row);
                let place = admitted.and_then(|all| {
                    let operation = OperationId::of(&all.form(u64::MAX)?.operation);
                    let target = all.target;
                    Some(AdmissionPlace::At { target, operation })
                });
                settle.place = place.unwrap_or(AdmissionPlace::Nowhere);
            }
            Body::EndCommitment(end) => {
                let key = row_key(command.space, Id(end.row.0));
                let mut forms = vec![command.clone()];
                for place in [
                    self.books.row(key).map(|row| ClaimPlace::At(row.target)),
                    Some(ClaimPlace::Nowhere),
                ] {
                    let place = place.unwrap_or(ClaimPlace::Nowhere);
                    let body = Body::EndCommitment(EndCommitment {
                        place,
                        ..end.clone()
                    });
                    forms.push(Command {
                        body,
                        ..command.clone()
                    });
                }
                return forms;
            }
            Body::ReleaseClaim(release) => {
                let key = row_key(command.space, release.claim);
                let mut forms = Vec::new();
                for place in [
                    self.books.row(key).map(|row| ClaimPlace::At(row.target)),
                    Some(ClaimPlace::Nowhere),
                ] {
                    let mut release = release.clone();
                    release.place = place.unwrap_or(ClaimPlace::Nowhere);
                    let body = Body::ReleaseClaim(release);
                    forms.push(Command {
                        body,
                        ..command.clone()
                    });
                }
                return forms;
            }
            _ => {}
        }
        vec![first]
    }

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

    /// An erasure must name the row of every offer of its customer; here it names none.
    pub(super) fn has_moved(&self, command: &Command) -> Result<(), String> {
        let Body::ForgetCustomer(body) = &command.body else {
            return Err("only an erasure is made from what was read".to_owned());
        };
        let key = key(command.space, Kind::Customer, body.customer);
        let fine = self.books.offers.any(key);
        fine.then_some(())
            .ok_or_else(|| "nothing was offered".to_owned())
    }
}
