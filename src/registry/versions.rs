//! What is remembered of a space's documents: the last versions, and the edits.
//!
//! Here: the bounds on both, and the rows that follow from a step. A step changes a copy and writes
//! rows; the copy is put in force with the change they belong to. Not here: who may take a step
//! (`plane`) and what a document says (`policy`).

use std::sync::Arc;

use super::rows::{self, DiffRow, Ended, EndedRow, VersionRow};
use super::{Meta, encode};

/// The longest document of an edit, in bytes: what the verbs take too. Those of open edits are in
/// memory.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 64 * 1024;
/// Versions that are remembered of each document of a space.
pub(crate) const VERSIONS_MAX: usize = 100;
/// Edits of a space that wait for somebody; a further one is refused.
pub(crate) const OPEN_MAX: usize = 100;
/// Edits of a space that ended and are remembered.
pub(crate) const CLOSED_MAX: usize = 100;

/// What is remembered of a space's documents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Documents {
    /// In the order they came into force; without the documents themselves.
    versions: Vec<Arc<VersionRow>>,
    /// In the order they came.
    diffs: Vec<Arc<DiffRow>>,
}

impl Documents {
    /// The versions, the oldest first.
    pub(crate) fn versions(&self) -> impl DoubleEndedIterator<Item = &VersionRow> {
        self.versions.iter().map(|row| &**row)
    }

    /// The edits, the oldest first.
    pub(crate) fn diffs(&self) -> impl DoubleEndedIterator<Item = &Arc<DiffRow>> {
        self.diffs.iter()
    }

    /// How many edits wait for somebody.
    pub(crate) fn open(&self) -> usize {
        self.diffs.iter().filter(|row| row.ended.is_none()).count()
    }

    /// The number of the next edit.
    pub(crate) fn next_number(&self) -> u64 {
        self.diffs.last().map_or(1, |row| row.number + 1)
    }

    /// A version that a start found, in the order of the rows' names.
    pub(super) fn load_version(&mut self, mut row: VersionRow) {
        row.document = None;
        self.versions.push(Arc::new(row));
    }

    /// An edit that a start found.
    pub(super) fn load_diff(&mut self, row: DiffRow) {
        self.diffs.push(Arc::new(kept(row)));
    }

    /// Puts what a start found in its order.
    pub(super) fn loaded(&mut self) {
        self.versions.sort_by_key(|row| (row.at, row.version));
        self.diffs.sort_by_key(|row| row.number);
    }

    /// Remembers a version that comes into force. Open edits of the document end: they were made
    /// against another one.
    pub(super) fn add_version(&mut self, meta: &mut Meta, mut row: VersionRow) {
        meta.push((rows::version_name(&row), Some(encode(&row))));
        row.document = None;
        let stale = self.diffs.iter().filter(|one| {
            let applied = row.diff == Some(one.id);
            one.ended.is_none() && one.kind == row.kind && !applied
        });
        let stale: Vec<Arc<DiffRow>> = stale.cloned().collect();
        let at = row.at;
        let kind = row.kind.clone();
        self.versions.push(Arc::new(row));
        let of_kind = |one: &&Arc<VersionRow>| one.kind == kind;
        if self.versions.iter().filter(of_kind).count() > VERSIONS_MAX
            && let Some(place) = self.versions.iter().position(|one| one.kind == kind)
        {
            let oldest = self.versions.remove(place);
            meta.push((rows::version_name(&oldest), None));
        }
        for diff in stale {
            let ended = EndedRow {
                state: Ended::Superseded,
                at,
                by: None,
                version: None,
            };
            self.end(meta, &diff, ended);
        }
    }

    /// Remembers an edit, new or changed. The answer is the whole of it, as the row has it.
    pub(super) fn put_diff(&mut self, meta: &mut Meta, row: DiffRow) -> Arc<DiffRow> {
        let name = rows::diff_name(row.space, row.number);
        meta.push((name, Some(encode(&row))));
        let row = Arc::new(row);
        let in_memory = match row.ended {
            None => Arc::clone(&row),
            Some(_) => Arc::new(kept((*row).clone())),
        };
        let known = self.diffs.iter_mut().find(|one| one.number == row.number);
        match known {
            Some(known) => *known = in_memory,
            None => self.diffs.push(in_memory),
        }
        let mut closed = self.diffs.iter().filter(|row| row.ended.is_some());
        if closed.by_ref().count() > CLOSED_MAX
            && let Some(place) = self.diffs.iter().position(|row| row.ended.is_some())
        {
            let oldest = self.diffs.remove(place);
            meta.push((rows::diff_name(oldest.space, oldest.number), None));
        }
        row
    }

    /// Ends an edit. From then on its document is only in its row; that of one that is superseded is
    /// gone, since a version may end all that are open in one commit.
    pub(super) fn end(&mut self, meta: &mut Meta, diff: &DiffRow, ended: EndedRow) -> Arc<DiffRow> {
        let superseded = ended.state == Ended::Superseded;
        let row = DiffRow {
            ended: Some(ended),
            ..diff.clone()
        };
        self.put_diff(meta, if superseded { row.lean() } else { row })
    }
}

/// As much of an edit as is kept in memory.
fn kept(row: DiffRow) -> DiffRow {
    match row.ended {
        None => row,
        Some(_) => row.lean(),
    }
}
