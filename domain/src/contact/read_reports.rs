//! A page of the shadow runs of a space (`docs/spec/contact.md` §18).
//!
//! Here: the read, newest first. Not here: how a cursor is written (the edge).

use crate::contact::Contact;
use crate::contact::command::{Command, ReadReports};
use crate::contact::entity::ContactEntity;
use crate::contact::reply::{Reply, RunsPage};
use crate::contact::reports::{Run, reports_key};
use crate::machine::{Decision, Entities};

/// Answers with the page.
pub(super) fn decide(
    entities: &Entities<'_, ContactEntity>,
    command: &Command,
    read: ReadReports,
) -> Decision<Contact> {
    let known = entities.get(&reports_key(command.space));
    let known = known.and_then(ContactEntity::as_reports);
    let runs = known.map_or(&[][..], |known| &known.runs);
    let is_older = |run: &&Run| read.before.is_none_or(|before| run.number < before);
    let mut older = runs.iter().rev().filter(is_older);
    let page: Vec<Run> = older.by_ref().take(read.limit).cloned().collect();
    let next = older.next().and(page.last()).map(|last| last.number);
    Decision::read(Reply::Runs(Box::new(RunsPage { runs: page, next })))
}
