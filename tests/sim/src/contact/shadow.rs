//! Shadow runs as the log tells them: one under way in a space, and each ends once.
//!
//! Here: the books of runs, and what asking for one and its end must come to
//! (`docs/spec/contact.md` §18). Not here: what a run finds, which is opaque to the product.

use std::collections::BTreeMap;

use interlock_domain::contact::command::{EndReport, RequestReport};
use interlock_domain::contact::event::{Event, RunEnded, RunRequested};
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::reply::{Reply, RunAsked};
use interlock_domain::contact::reports::reports_key;
use interlock_domain::ids::Id;
use interlock_domain::key::SpaceId;

use super::change::Change;
use super::judge::{Due, Moment};

#[derive(Clone, Copy, Debug)]
struct Run {
    record: u64,
    asked: RunRequested,
    /// The record that ended it.
    ended: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Runs(BTreeMap<SpaceId, Vec<Run>>);

impl Runs {
    pub(super) fn enter(&mut self, record: u64, space: SpaceId, event: &Event) {
        let list = self.0.entry(space).or_default();
        match event {
            Event::RunRequested(asked) => list.push(Run {
                record,
                asked: *asked,
                ended: u64::MAX,
            }),
            Event::RunEnded(ended) => {
                let run = list.iter_mut().find(|run| run.asked.id == ended.id);
                if let Some(run) = run {
                    run.ended = run.ended.min(record);
                }
            }
            _ => {}
        }
    }

    fn of(&self, space: SpaceId) -> &[Run] {
        self.0.get(&space).map_or(&[], Vec::as_slice)
    }

    fn of_id(&self, space: SpaceId, id: Id, before: u64) -> Option<&Run> {
        let mut runs = self.of(space).iter();
        runs.find(|run| run.asked.id == id && run.record < before)
    }

    /// Was this run under way after the record `since`, or at a later one?
    pub(super) fn was_pending(&self, space: SpaceId, said: &RunAsked, since: u64) -> bool {
        let mut runs = self.of(space).iter();
        runs.any(|run| {
            let asked = run.asked;
            run.ended > since
                && (asked.id, asked.days, asked.at) == (said.id, said.days, said.requested_at)
        })
    }

    /// Was the run unknown or over before a record? One that this record ends was not.
    pub(super) fn was_over(&self, space: SpaceId, id: Id, before: u64) -> bool {
        let run = self.of_id(space, id, before);
        run.is_none_or(|run| run.ended < before)
    }
}

/// A run under way is that one; else a new one begins, under the id that its record gives it.
pub(super) fn request(moment: &Moment<'_>, body: RequestReport, new_id: Option<Id>) -> Due {
    let mut runs = moment.books.runs.of(moment.space).iter();
    let pending = runs.find(|run| run.record < moment.record && run.ended >= moment.record);
    let answer = |asked: RunRequested, is_new| {
        Reply::RunAsked(RunAsked {
            id: asked.id,
            days: asked.days,
            requested_at: asked.at,
            is_new,
        })
    };
    if let Some(pending) = pending {
        return Due::Plain(answer(pending.asked, false), Noted::Accepted, Vec::new());
    }
    let asked = RunRequested {
        id: new_id.unwrap_or(Id([0; 16])),
        days: body.days,
        at: moment.now,
    };
    let taken = moment
        .books
        .runs
        .of_id(moment.space, asked.id, moment.record);
    if taken.is_some() {
        return Due::OneOf(Vec::new());
    }
    let change = Change::Exactly {
        key: reports_key(moment.space),
        event: Box::new(Event::RunRequested(asked)),
    };
    Due::Plain(answer(asked, true), Noted::Accepted, vec![change])
}

pub(super) fn end(moment: &Moment<'_>, body: &EndReport) -> Due {
    let runs = &moment.books.runs;
    if runs.was_over(moment.space, body.id, moment.record) {
        return Due::Plain(Reply::RunEnded, Noted::NothingToChange, Vec::new());
    }
    let event = Event::RunEnded(Box::new(RunEnded {
        id: body.id,
        at: moment.now,
        summary: body.summary.clone(),
    }));
    let change = Change::Exactly {
        key: reports_key(moment.space),
        event: Box::new(event),
    };
    Due::Plain(Reply::RunEnded, Noted::Accepted, vec![change])
}
