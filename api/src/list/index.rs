//! The rows of one space's list, by the number of their last change.
//!
//! Here: which rows a page has. Not here: how a page is written, and whether the rows are all there
//! (`list`). A change replaces the row of its entry, so there is one row an entry.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use interlock_domain::contact::notice::ListChanged;
use interlock_domain::contact::suppression::Suppression;
use interlock_domain::ids::Id;
use interlock_domain::time::Timestamp;

/// How many older rows each change looks at, to drop what nobody needs any more. Two for one new
/// row: what is to be dropped is found within as many changes as the list has rows.
const LOOKED_AT: usize = 2;

/// The list of a space.
#[derive(Debug, Default)]
pub(crate) struct Index {
    rows: BTreeMap<u64, Arc<ListChanged>>,
    numbers: HashMap<Id, u64>,
    last: u64,
    /// The number after which the next change looks for rows to drop.
    looked: u64,
}

/// Where a page starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The number of the last change that was read.
    pub(crate) after: u64,
    /// The list's number when the reader began with nothing: up to it only what is in force is read,
    /// after it every change.
    pub(crate) began: u64,
}

/// A page of rows.
#[derive(Debug)]
pub(crate) struct Page {
    /// The rows, oldest change first.
    pub(crate) rows: Vec<Arc<ListChanged>>,
    /// The number of the last change that the reader knows with it.
    pub(crate) after: u64,
    /// Nothing comes after it for now.
    pub(crate) ended: bool,
}

impl Index {
    /// The number of the newest change.
    pub(crate) const fn last(&self) -> u64 {
        self.last
    }

    /// Takes the row of a change, unless a later one of the same entry is there.
    pub(crate) fn put(&mut self, row: Arc<ListChanged>) {
        let (id, number) = (row.entry.entry, row.entry.number);
        self.reached(number);
        match self.numbers.get_mut(&id) {
            Some(known) if *known >= number => return,
            Some(known) => {
                self.rows.remove(known);
                *known = number;
            }
            None => {
                self.numbers.insert(id, number);
            }
        }
        let at = row.entry.lifted.unwrap_or(row.entry.since);
        self.rows.insert(number, row);
        self.drop_forgotten(at);
    }

    /// The list goes to this number.
    pub(crate) fn reached(&mut self, number: u64) {
        self.last = self.last.max(number);
    }

    /// Drops a few of the rows that the customers have forgotten.
    fn drop_forgotten(&mut self, now: Timestamp) {
        let next = self.rows.range(self.looked + 1..).take(LOOKED_AT);
        let looked: Vec<(u64, Id, bool)> = next
            .map(|(number, row)| (*number, row.entry.entry, row.entry.is_kept(now)))
            .collect();
        self.looked = match looked.last() {
            Some((number, ..)) if looked.len() == LOOKED_AT => *number,
            _ => 0,
        };
        for (number, id, _) in looked.into_iter().filter(|(.., kept)| !kept) {
            self.rows.remove(&number);
            self.numbers.remove(&id);
        }
    }

    /// The rows from a position on, at most `limit`, at least one.
    pub(crate) fn page(&self, from: Position, limit: usize, now: Timestamp) -> Page {
        let mut rows = Vec::new();
        for (number, row) in self.rows.range(from.after.saturating_add(1)..) {
            if *number <= from.began && !lasts(&row.entry, now) {
                continue;
            }
            rows.push(Arc::clone(row));
            if rows.len() >= limit {
                return Page {
                    rows,
                    after: *number,
                    ended: false,
                };
            }
        }
        Page {
            rows,
            after: self.last.max(from.after),
            ended: true,
        }
    }
}

/// Whether an entry is neither lifted nor over. One that a shard's clock dates a moment ahead lasts.
fn lasts(entry: &Suppression, now: Timestamp) -> bool {
    entry.lifted.is_none() && entry.until.is_none_or(|until| now < until)
}
