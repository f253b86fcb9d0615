//! Whether a look-up was right: the answer that completes a command which names only an id.

use interlock_domain::contact::command::{Body, SettleAdmission};
use interlock_domain::contact::directory::row_key;
use interlock_domain::contact::name::OperationId;
use interlock_domain::contact::reply::Reply;

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
                Reply::NotFound => target(asked.since + 1).is_none(),
                _ => false,
            };
            return fine.then_some(()).ok_or_else(|| "another hold".to_owned());
        }
        let Body::ReleaseClaim(body) = &asked.command.body else {
            return Err("only a release is looked up".to_owned());
        };
        let row = self.books.row(row_key(asked.command.space, body.claim));
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
