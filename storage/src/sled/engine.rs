//! The [`Log`] that [`SledLog`] is.
//!
//! Here: each operation as its steps. Not here: the steps themselves (`sled.rs`). Called through
//! the trait.

use std::ops::ControlFlow;
use std::sync::PoisonError;

use super::{SledLog, chunk, keys, landmarks, values};
use crate::Coverage;
use crate::book::{check_groups, check_rows, is_wanted};
use crate::log::{
    AppendError, COMMIT_BYTES_MAX, Capabilities, Commit, Cut, Epoch, Group, HistoryDay,
    HistorySize, JournalSize, Landed, Log, LogError, Owned, Positions, Replayed, Row, Sequence,
    SnapshotInfo, VisitRow,
};
use crate::memory::not_found;
use crate::pin::Pin;

/// Commits looked up in the book at a time.
const REPLAY_PAGE: usize = 256;

impl Log for SledLog {
    fn acquire(&self, groups: &[Group]) -> Result<Vec<Owned>, LogError> {
        check_groups(groups)?;
        let _writer = self.writer();
        let batch = self.epochs_batch(groups)?;
        self.write(batch).map_err(LogError::Io)?;
        Ok(self.book().acquire(groups))
    }

    fn commit(&self, commit: &Commit) -> Result<(), AppendError> {
        let _writer = self.writer();
        if self.store.has_failed() {
            return Err(AppendError::Unknown(
                "an earlier write or sync has failed on this handle".to_owned(),
            ));
        }
        let number = {
            let book = self.book();
            book.check(commit)?;
            book.last_number + 1
        };
        let (stages, bytes) = self.stages_of(number, commit).map_err(|error| {
            // A value to be replaced cannot be read: nothing was written, but nothing here can be
            // trusted any more either.
            self.store.fail();
            AppendError::Unknown(error.to_string())
        })?;
        for stage in stages.into_stages() {
            self.write_stage(stage).map_err(AppendError::Unknown)?;
        }
        let keys = chunk::count_of(usize::try_from(bytes).unwrap_or(usize::MAX));
        self.book().commit(number, bytes, keys, commit);
        Ok(())
    }

    fn resolve(
        &self,
        group: Group,
        epoch: Epoch,
        sequence: Sequence,
        records: &[u8],
    ) -> Result<Landed, LogError> {
        let number = {
            let book = self.book();
            match book.find(group, sequence) {
                Some(number) => number,
                None => return not_found(&book, group, sequence),
            }
        };
        let appends = self.read_commit(number)?.unwrap_or_default();
        let landed = appends.iter().any(|append| {
            append.group == group
                && append.sequence == sequence
                && append.epoch == epoch
                && append.records == records
        });
        Ok(if landed { Landed::Yes } else { Landed::No })
    }

    fn replay(
        &self,
        after: &Positions,
        visit: &mut dyn FnMut(Replayed) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        let mut from = 0;
        loop {
            let page = self.book().wanted(from, after, REPLAY_PAGE);
            if page.is_empty() {
                return Ok(());
            }
            for number in page {
                from = number;
                for append in self.read_commit(number)?.unwrap_or_default() {
                    if is_wanted((append.group, append.sequence), after) && visit(append).is_break()
                    {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn snapshots(&self) -> Result<Vec<SnapshotInfo>, LogError> {
        Ok(self.book().sealed.values().cloned().collect())
    }

    fn read_snapshot(
        &self,
        info: &SnapshotInfo,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        for index in 0..info.slices {
            let name = keys::slice(info.partition, info.snapshot, index);
            let Some(slice) = values::read(&self.store, &name)? else {
                return Err(self.store.whose().damaged(&format!(
                    "snapshot {} of {} in {} has no slice {index}",
                    info.snapshot,
                    info.partition,
                    self.store.dir().join("db").display()
                )));
            };
            if visit(&slice).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn coverage(&self) -> Coverage {
        self.book().coverage.clone()
    }

    fn truncate(&self, upto: &Positions, limit: usize) -> Result<bool, LogError> {
        let limit = limit.max(1);
        let mut writer = self.writer();
        let taken = {
            let mut book = self.book();
            book.check_truncate(upto)?;
            if self.pin.keeps(book.size().bytes) {
                return Ok(false);
            }
            match writer.doomed.is_empty() {
                true => book.take_oldest(upto, limit),
                false => Vec::new(),
            }
        };
        let mut batch = sled::Batch::default();
        if let Some(newest) = taken.last() {
            let mut lasts = Positions::new();
            for entry in &taken {
                lasts.extend(entry.appends.iter().copied());
            }
            batch = self.floor_batch(newest.number, &lasts)?;
        }
        let doomed = taken.iter().map(|entry| (entry.number, entry.keys, 0));
        writer.doomed.extend(doomed);
        let removed = self
            .sweep_journal(&mut writer, batch, limit)
            .map_err(LogError::Io)?;
        self.sweep_snapshots(limit.saturating_sub(removed))?;
        let book = self.book();
        Ok(!writer.doomed.is_empty() || !book.garbage.is_empty() || book.oldest_may_go(upto))
    }

    fn pin(&self) -> &Pin {
        &self.pin
    }

    fn cut(&self) -> Result<Cut, LogError> {
        // A commit holds the writer until it is durable and in the book.
        let _writer = self.writer();
        let groups = self.book().groups();
        let meta = self.meta_scan(b"")?;
        Ok(Cut { groups, meta })
    }

    fn journal_size(&self) -> JournalSize {
        self.book().size()
    }

    fn meta(&self, key: &[u8]) -> Result<Option<Vec<u8>>, LogError> {
        let _no_batch = self.values.read().unwrap_or_else(PoisonError::into_inner);
        let value = values::read(&self.store, &keys::row(keys::USER, key))?;
        Ok(value.and_then(landmarks::decode_user))
    }

    fn meta_scan(&self, prefix: &[u8]) -> Result<Vec<Row>, LogError> {
        let _no_batch = self.values.read().unwrap_or_else(PoisonError::into_inner);
        let head = keys::row_prefix(keys::USER, prefix);
        let mut rows = Vec::new();
        values::scan(&self.store, &head, &head, &mut |name, value| {
            let value = value.map_err(|defect| values::damaged(&self.store, name, defect))?;
            if let (Some(key), Some(value)) = (
                keys::parse_row(keys::USER, name),
                landmarks::decode_user(value),
            ) {
                rows.push((key, value));
            }
            Ok(true)
        })?;
        Ok(rows)
    }

    fn history_append_paced(
        &self,
        day: HistoryDay,
        rows: &[Row],
        position: &Positions,
        between: &mut dyn FnMut(),
    ) -> Result<(), LogError> {
        check_rows(rows)?;
        let mark = self.history.append(day, rows, between)?;
        self.put_history(position, day, mark)
    }

    fn history_read(
        &self,
        day: HistoryDay,
        from: &[u8],
        visit: &mut VisitRow<'_>,
    ) -> Result<(), LogError> {
        let mut from = from.to_vec();
        loop {
            let page = self.history.page(day, &from)?;
            let Some((last, _)) = page.last() else {
                return Ok(());
            };
            // The next key in order after the last one of the page.
            from = [last.as_slice(), &[0]].concat();
            for (key, value) in &page {
                if visit(key, value).is_break() {
                    return Ok(());
                }
            }
        }
    }

    fn history_purge(&self, before: HistoryDay) -> Result<Vec<HistoryDay>, LogError> {
        // The marks go first: a day without one is sound, a mark without its day is not.
        let marked: Vec<HistoryDay> = self.history.marks().keys().copied().collect();
        for day in marked.into_iter().filter(|day| *day < before) {
            self.mark_day(sled::Batch::default(), day, None)?;
        }
        self.history.purge(before)
    }

    fn history_size(&self) -> Result<HistorySize, LogError> {
        self.history.size()
    }

    fn history_position(&self) -> Result<Option<Positions>, LogError> {
        Ok(self.book().history.clone())
    }

    fn free_bytes(&self) -> Option<u64> {
        let space = rustix::fs::statvfs(self.store.dir()).ok()?;
        Some(space.f_bavail.saturating_mul(space.f_frsize))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            engine: "sled",
            durability: "fsync",
            commit_bytes_max: COMMIT_BYTES_MAX,
            multi_node: false,
        }
    }
}
