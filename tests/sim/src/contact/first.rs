//! What the first of a repeated command may have been: a request that comes again differs in what the
//! edge puts in anew, the id it would hand out and where something was found.

use interlock_domain::contact::command::{AdmissionPlace, Body, ClaimPlace, Command, ObserveOwner};
use interlock_domain::contact::directory::{Target, row_key};
use interlock_domain::contact::event::Event;
use interlock_domain::contact::handoff::command::HandoffCommand;
use interlock_domain::contact::handoff::handoff_key;
use interlock_domain::contact::name::OperationId;
use interlock_domain::ids::Id;

use super::model::ContactModel;

impl ContactModel {
    /// The forms that the first may have had, which was decided by a record.
    pub(super) fn as_first(&self, command: &Command, record: u64) -> Vec<Command> {
        let Some(line) = self.lines.get(&record) else {
            return Vec::new();
        };
        let forms = self.places(command);
        if !forms.is_empty() {
            return forms;
        }
        let mut first = command.clone();
        let row = line.events.iter().find_map(|(key, event)| match event {
            Event::RowWritten(_) | Event::HandoffCreated(_) => Some(Id(key.hash.0)),
            _ => None,
        });
        match &mut first.body {
            Body::ClaimTarget(claim) | Body::ObserveOwner(ObserveOwner { claim, .. }) => {
                claim.new_id = row.unwrap_or(claim.new_id);
            }
            Body::LockTask(lock) => lock.new_id = row.unwrap_or(lock.new_id),
            Body::EndFact(end) => {
                let ended = line.events.iter().find_map(|(_, event)| match event {
                    Event::FactEnded(ended) => Some(ended.effects.clone()),
                    _ => None,
                });
                end.keys = Some(ended.unwrap_or_default());
            }
            Body::EndObservation(end) => end.new_id = row.unwrap_or(end.new_id),
            Body::Admit(admit) => admit.new_id = row.unwrap_or(admit.new_id),
            Body::Handoff(HandoffCommand::Create(create)) => create.id = row.unwrap_or(create.id),
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
            _ => {}
        }
        vec![first]
    }

    /// What was looked up may have been found, or not.
    fn places(&self, command: &Command) -> Vec<Command> {
        let by_row = |id| {
            self.books
                .row(row_key(command.space, id))
                .map(|row| row.target)
        };
        let (found, is_given) = match &command.body {
            Body::EndCommitment(end) => (by_row(Id(end.row.0)), true),
            Body::ReleaseClaim(release) => (by_row(release.claim), false),
            Body::Handoff(HandoffCommand::Close(close)) => {
                let made = self
                    .books
                    .handoffs
                    .ever(handoff_key(command.space, close.handoff));
                (made.map(|made| Target::Customer(made.customer)), false)
            }
            _ => return Vec::new(),
        };
        let placed = |place: ClaimPlace| {
            let mut form = command.clone();
            match &mut form.body {
                Body::EndCommitment(end) => end.place = place,
                Body::ReleaseClaim(release) => release.place = place,
                Body::Handoff(HandoffCommand::Close(close)) => close.place = place,
                _ => {}
            }
            form
        };
        let mut forms: Vec<Command> = found.map(ClaimPlace::At).map(placed).into_iter().collect();
        forms.push(placed(ClaimPlace::Nowhere));
        if is_given {
            forms.push(command.clone());
        }
        forms
    }
}
