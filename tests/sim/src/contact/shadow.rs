//! Shadow runs as the log tells them: one under way in a space, and each ends once.
//!
//! Here: the books of runs, and what asking for one and its end must come to
//! (`docs/spec/contact.md` §18). Not here: what a run finds, which is opaque to the product.

use std::collections::BTreeMap;

use interlock_domain::contact::command::{EndReport, ReadReports, RequestReport};
use interlock_domain::contact::event::{Event, RunEnded, RunRequested};
use interlock_domain::contact::note::Noted;
use interlock_domain::contact::reply::{Reply, RunAsked, RunsPage};
use interlock_domain::contact::reports::{self, RunState, reports_key};
use interlock_domain::ids::Id;
use interlock_domain::key::SpaceId;
use interlock_domain::time::Timestamp;

use super::change::Change;
use super::judge::{Due, Moment};
use super::limits::{KEPT_RUNS, RUNS_S};

#[derive(Clone, Debug)]
struct Run {
    record: u64,
    asked: RunRequested,
    /// The record that ended it.
    ended: u64,
    outcome: Option<RunEnded>,
    /// Its place among those of the space.
    number: u32,
    /// The record that forgot it with all others.
    gone: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Runs(BTreeMap<SpaceId, Vec<Run>>);

impl Runs {
    pub(super) fn enter(&mut self, record: u64, space: SpaceId, event: &Event) {
        let list = self.0.entry(space).or_default();
        match event {
            Event::RunRequested(asked) => {
                let kept = list.iter().filter(|run| run.gone == u64::MAX).count();
                list.push(Run {
                    record,
                    asked: *asked,
                    ended: u64::MAX,
                    outcome: None,
                    number: u32::try_from(kept + 1).unwrap_or(u32::MAX),
                    gone: u64::MAX,
                });
            }
            Event::RunEnded(ended) => {
                let run = list.iter_mut().find(|run| run.asked.id == ended.id);
                if let Some(run) = run {
                    run.ended = run.ended.min(record);
                    run.outcome.get_or_insert_with(|| (**ended).clone());
                }
            }
            _ => {}
        }
    }

    /// All runs of a space are forgotten.
    pub(super) fn gone(&mut self, record: u64, space: SpaceId) {
        for run in self.0.get_mut(&space).into_iter().flatten() {
            run.gone = run.gone.min(record);
        }
    }

    /// Is a run under way, or the newest not old enough to be forgotten?
    pub(super) fn is_needed(&self, space: SpaceId, now: Timestamp) -> bool {
        let newest = self.of(space).last();
        newest.is_some_and(|run| {
            run.gone == u64::MAX && (run.ended == u64::MAX || now < run.asked.at.plus_s(RUNS_S))
        })
    }

    /// A page of the runs before a record, the newest first.
    pub(super) fn page(&self, space: SpaceId, body: ReadReports, before: u64) -> RunsPage {
        let all = self.of(space).iter().rev();
        let known = all.filter(|run| run.record < before && run.gone >= before);
        let asked = |run: &&Run| body.before.is_none_or(|number| run.number < number);
        let mut runs: Vec<&Run> = known.take(KEPT_RUNS).filter(asked).collect();
        let more = runs.len() > body.limit;
        runs.truncate(body.limit);
        let next = runs.last().map(|run| run.number).filter(|_| more);
        let runs = runs.into_iter().map(|run| run.shown(before)).collect();
        RunsPage { runs, next }
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

impl Run {
    /// As it stood before a record.
    fn shown(&self, before: u64) -> reports::Run {
        let ended = self.outcome.as_ref().filter(|_| self.ended < before);
        reports::Run {
            number: self.number,
            id: self.asked.id,
            days: self.asked.days,
            requested_at: self.asked.at,
            state: match ended.map(|ended| (ended.at, ended.summary.clone())) {
                None => RunState::Pending,
                Some((at, Some(summary))) => RunState::Done { at, summary },
                Some((at, None)) => RunState::Failed { at },
            },
        }
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
