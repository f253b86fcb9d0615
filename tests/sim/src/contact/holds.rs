//! The books of claims and locks: every form each of them ever had, by the record that gave it.
//!
//! Nothing is changed in place, so that a target can be read as it stood before any record. Not
//! here: who may take what (`claims`, `locks`).

use std::collections::BTreeMap;

use interlock_domain::contact::claim::{Claim, TaskLock};
use interlock_domain::contact::directory::{DirectoryRow, Target};
use interlock_domain::ids::Id;
use interlock_domain::time::Timestamp;

use super::limits::{ENDED_CLAIM_S, ENDED_CLAIMS};

/// Forms between two marks.
const MARK_EVERY: usize = 64;

/// What claims and locks have in common.
pub(super) trait Hold {
    fn id(&self) -> Id;
    fn until(&self) -> Timestamp;
    fn epoch(&self) -> u64;
    /// Ends it, unless it is over before: what is over is never over later.
    fn end(&mut self, at: Timestamp);
    fn accepted_at(&self) -> Timestamp;

    fn is_over(&self, now: Timestamp) -> bool {
        now >= self.until()
    }
}

impl Hold for Claim {
    fn id(&self) -> Id {
        self.id
    }
    fn until(&self) -> Timestamp {
        self.until
    }
    fn epoch(&self) -> u64 {
        self.epoch
    }
    fn end(&mut self, at: Timestamp) {
        self.until = self.until.min(at);
    }
    fn accepted_at(&self) -> Timestamp {
        self.accepted_at
    }
}

impl Hold for TaskLock {
    fn id(&self) -> Id {
        self.id
    }
    fn until(&self) -> Timestamp {
        self.until
    }
    fn epoch(&self) -> u64 {
        self.epoch
    }
    fn end(&mut self, at: Timestamp) {
        self.until = self.until.min(at);
    }
    fn accepted_at(&self) -> Timestamp {
        self.accepted_at
    }
}

/// One form of a claim or a lock.
#[derive(Debug)]
struct Form<T> {
    record: u64,
    /// The record that gave it another form.
    replaced: u64,
    what: T,
}

/// What was live at a record, so that nobody reads from the beginning.
#[derive(Debug)]
struct Mark {
    record: u64,
    /// Forms there were.
    length: usize,
    live: Vec<usize>,
}

/// All claims, or all locks, of one target.
#[derive(Debug)]
pub(super) struct Register<T> {
    forms: Vec<Form<T>>,
    by_id: BTreeMap<Id, Vec<usize>>,
    marks: Vec<Mark>,
    /// The records of erasures: what was there before one is gone.
    erased: Vec<u64>,
}

impl<T> Default for Register<T> {
    fn default() -> Self {
        Self {
            forms: Vec::new(),
            by_id: BTreeMap::new(),
            marks: Vec::new(),
            erased: Vec::new(),
        }
    }
}

impl<T: Hold + Clone> Register<T> {
    /// Enters a form.
    pub(super) fn enter(&mut self, record: u64, what: T) {
        let index = self.forms.len();
        let now = what.accepted_at();
        let forms = self.by_id.entry(what.id()).or_default();
        if let Some(&last) = forms.last() {
            self.forms[last].replaced = record;
        }
        forms.push(index);
        self.forms.push(Form {
            record,
            replaced: u64::MAX,
            what,
        });
        if self.forms.len().is_multiple_of(MARK_EVERY) {
            let stands = |&index: &usize| {
                let form = &self.forms[index];
                form.replaced == u64::MAX && !form.what.is_over(now)
            };
            let (known, from) = self
                .marks
                .last()
                .map_or((&[][..], 0), |mark| (&mark.live[..], mark.length));
            let live = known.iter().copied().chain(from..self.forms.len());
            let live = live.filter(stands).collect();
            let length = self.forms.len();
            self.marks.push(Mark {
                record,
                length,
                live,
            });
        }
    }

    /// Ends one, if it is here.
    pub(super) fn end(&mut self, record: u64, id: Id, at: Timestamp) -> bool {
        let Some(mut ended) = self.of_id(id, u64::MAX).cloned() else {
            return false;
        };
        ended.end(at);
        self.enter(record, ended);
        true
    }

    /// Everything there is goes.
    pub(super) fn erase(&mut self, record: u64) {
        self.erased.push(record);
    }

    /// The last erasure before a record; 0 without one.
    fn erasure(&self, before: u64) -> u64 {
        let mut erased = self.erased.iter().rev();
        erased
            .find(|erased| **erased < before)
            .copied()
            .unwrap_or(0)
    }

    /// How many ids there were before a record.
    pub(super) fn ids(&self, before: u64) -> usize {
        let ids = self.by_id.keys();
        ids.filter(|id| self.of_id(**id, before).is_some()).count()
    }

    /// Forms since the last erasure.
    fn before(&self, before: u64) -> &[Form<T>] {
        let erasure = self.erasure(before);
        let from = self.forms.partition_point(|form| form.record <= erasure);
        let until = self.forms.partition_point(|form| form.record < before);
        &self.forms[from..until.max(from)]
    }

    /// Those that hold at `now`, as they stood before a record.
    pub(super) fn live(&self, before: u64, now: Timestamp) -> Vec<&T> {
        let erasure = self.erasure(before);
        let until = self.forms.partition_point(|form| form.record < before);
        let forms = &self.forms[..until];
        let marks = self.marks.partition_point(|mark| mark.record < before);
        let (known, from) = self.marks[..marks]
            .last()
            .map_or((&[][..], 0), |mark| (&mark.live[..], mark.length));
        let fresh = known.iter().copied().chain(from..forms.len());
        fresh
            .map(|index| &forms[index])
            .filter(|form| {
                form.record > erasure && form.replaced >= before && !form.what.is_over(now)
            })
            .map(|form| &form.what)
            .collect()
    }

    /// The one with an id, as it stood before a record.
    pub(super) fn of_id(&self, id: Id, before: u64) -> Option<&T> {
        let forms = self.by_id.get(&id)?;
        let until = forms.partition_point(|&index| self.forms[index].record < before);
        let last = &self.forms[*forms[..until].last()?];
        (last.record > self.erasure(before)).then_some(&last.what)
    }

    /// The last that was accepted of those that match.
    pub(super) fn last(&self, before: u64, matches: impl Fn(&T) -> bool) -> Option<&T> {
        let forms = self.before(before).iter().rev();
        let mut matching = forms.filter(|form| matches(&form.what));
        let newest = matching.next()?;
        // The record that gave it may have ended the one before it, too.
        let same = matching.take_while(|form| form.record == newest.record);
        same.chain([newest])
            .map(|form| &form.what)
            .max_by_key(|what| what.epoch())
    }

    /// Must it be remembered? It holds, or it ended less than a day ago and fewer than 32 ended
    /// since.
    pub(super) fn is_known(&self, what: &T, before: u64, now: Timestamp) -> bool {
        if !what.is_over(now) {
            return true;
        }
        let later = self.before(before).iter().rev().filter(|form| {
            form.replaced >= before
                && form.what.id() != what.id()
                && form.what.is_over(now)
                && form.what.until() >= what.until()
        });
        now < what.until().plus_s(ENDED_CLAIM_S) && later.take(ENDED_CLAIMS).count() < ENDED_CLAIMS
    }

    /// Is there anything that must be remembered?
    pub(super) fn is_needed(&self, before: u64, now: Timestamp) -> bool {
        let mut forms = self.before(before).iter().rev();
        forms.any(|form| form.replaced >= before && now < form.what.until().plus_s(ENDED_CLAIM_S))
    }
}

/// An id's way to its target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) record: u64,
    pub(super) target: Target,
    pub(super) until: Timestamp,
    terms: bool,
    /// The record that took the terms.
    pub(super) cleared: u64,
}

impl Row {
    pub(super) fn new(record: u64, row: &DirectoryRow) -> Self {
        Self {
            record,
            target: row.target,
            until: row.until,
            terms: row.terms.is_some(),
            cleared: u64::MAX,
        }
    }

    /// Are there terms before a record?
    pub(super) const fn has_terms(&self, before: u64) -> bool {
        self.terms && self.record < before && before <= self.cleared
    }

    /// Is it the same row at a record, but for its terms?
    pub(super) fn loses_terms(&self, row: &DirectoryRow, record: u64) -> bool {
        self.has_terms(record)
            && row.terms.is_none()
            && row.erased.is_none()
            && row.admission.is_none()
            && (row.target, row.until) == (self.target, self.until)
    }
}
