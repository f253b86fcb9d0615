//! History: one database for each UTC day, outside the log.
//!
//! Here: opening days on demand (few at a time), writing rows idempotently, reading in pages,
//! purging whole days. Not here: how far history has come; that position lies in the log, because
//! truncation has to respect it. Called within the sled engine only.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sled::IVec;

use super::chunk::{self, Defect};
use super::day_mark::{DayMark, DayMarks};
use super::files;
use super::keys;
use super::stages::Stage;
use super::store::{Store, StoreOptions};
use super::told::Whose;
use super::values;
use crate::log::{HistoryDay, HistorySize, LogError, Row};

/// Days kept open: today, the day before around midnight, and one that is being read.
const OPEN_MAX: usize = 3;
/// Cache of one day's database.
const CACHE_BYTES: u64 = 8 * 1024 * 1024;
/// Rows read at a time; the lock is not held while they are visited.
const PAGE: usize = 128;
/// Bytes of rows written before one sync. A commit that finds the disk at work on them waits for all of
/// them, so they are few.
const STAGE_BYTES: usize = 64 * 1024;
/// Name of a day's directory while it is being removed.
const PURGING: &str = "purging.";
/// Name of a day's directory that cannot be read, after a number.
const ASIDE: &str = "aside.";
/// How many there may be of one day.
const ASIDE_MAX: u32 = 1_000;

/// See the module.
#[derive(Debug)]
pub(super) struct History {
    dir: PathBuf,
    options: StoreOptions,
    /// The open days, the one used last in front.
    days: Mutex<VecDeque<(HistoryDay, Store)>>,
    /// A write or sync has failed. Final for all days, also for one that is closed and opened
    /// again: the kernel may have dropped pages that later reads would need.
    has_failed: AtomicBool,
    /// How far each day was written, as the log has it.
    marks: Mutex<DayMarks>,
}

impl History {
    /// History under `dir`, which is created with the first row.
    pub(super) fn open(
        dir: PathBuf,
        options: &StoreOptions,
        marks: DayMarks,
    ) -> Result<Self, LogError> {
        let history = Self {
            dir,
            options: StoreOptions {
                cache_bytes: CACHE_BYTES,
                whose: Whose::Day,
                ..options.clone()
            },
            days: Mutex::new(VecDeque::with_capacity(OPEN_MAX)),
            has_failed: AtomicBool::new(false),
            marks: Mutex::new(marks),
        };
        for name in history.names()? {
            if name.starts_with(PURGING) {
                remove_dir(&history.dir.join(name))?;
            }
        }
        Ok(history)
    }

    /// Writes rows durably, a stage at a time with `between` called between them; answers the day's mark
    /// with them, which the caller writes to the log.
    pub(super) fn append(
        &self,
        day: HistoryDay,
        rows: &[Row],
        between: &mut dyn FnMut(),
    ) -> Result<DayMark, LogError> {
        if self.has_failed.load(Ordering::Acquire) {
            let why = "an earlier write of history has failed";
            return Err(LogError::Io(why.to_owned()));
        }
        let mut mark = self.marks().get(&day).cloned().unwrap_or_default();
        let Some((last, _)) = rows.last() else {
            return Ok(mark);
        };
        mark.last.clone_from(last);
        let mut seen = BTreeSet::new();
        let mut left = rows;
        while !left.is_empty() {
            let count = stage_of(left);
            let (some, rest) = left.split_at(count);
            // The days are free for readers between two stages.
            let outcome = self.with_day(day, true, |store| {
                let mut stage = Stage::default();
                for (key, value) in some {
                    let prefix = keys::row(keys::HISTORY_ROW, key);
                    let was_there = values::put_alone(store, &mut stage, &prefix, value)?;
                    if !was_there {
                        let chunks = 0..chunk::count_of(value.len());
                        let new = chunks.map(|number| IVec::from(keys::chunk(&prefix, number)));
                        stage.new.extend(new);
                    }
                    mark.rows += u64::from(seen.insert(key) && !was_there);
                }
                store.write_stage(stage).map_err(LogError::Io)
            });
            if let Err(error) = outcome {
                self.has_failed.store(true, Ordering::Release);
                return Err(error);
            }
            left = rest;
            if !left.is_empty() {
                between();
            }
        }
        Ok(mark)
    }

    /// What the log has now.
    pub(super) fn marks(&self) -> MutexGuard<'_, DayMarks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a day lies.
    pub(super) fn path_of(&self, day: HistoryDay) -> PathBuf {
        self.dir.join(name_of(day))
    }

    /// Does a day have a row?
    pub(super) fn has(&self, day: HistoryDay, key: &[u8]) -> Result<bool, LogError> {
        let mut has = false;
        self.with_day(day, false, |store| {
            let name = keys::row(keys::HISTORY_ROW, key);
            has = !values::is_unfilled(store, &name)? && values::read(store, &name)?.is_some();
            Ok(())
        })?;
        Ok(has)
    }

    /// How many rows a day has.
    pub(super) fn count(&self, day: HistoryDay) -> Result<u64, LogError> {
        let mut rows = 0;
        self.with_day(day, false, |store| {
            let head = keys::HISTORY_ROW;
            values::scan(store, head, head, &mut |prefix, value| {
                rows += u64::from(filled(store, prefix, value)?.is_some());
                Ok(true)
            })
        })?;
        Ok(rows)
    }

    /// Reads at most a page of rows from a key on; empty when there are no more.
    pub(super) fn page(&self, day: HistoryDay, from: &[u8]) -> Result<Vec<Row>, LogError> {
        let mut rows = Vec::new();
        self.with_day(day, false, |store| {
            let start = keys::row(keys::HISTORY_ROW, from);
            let head = keys::HISTORY_ROW;
            values::scan(store, head, &start, &mut |prefix, value| {
                if let (Some(value), Some(key)) =
                    (filled(store, prefix, value)?, keys::parse_row(head, prefix))
                {
                    rows.push((key, value));
                }
                Ok(rows.len() < PAGE)
            })
        })?;
        Ok(rows)
    }

    /// Removes all days before `before`.
    pub(super) fn purge(&self, before: HistoryDay) -> Result<Vec<HistoryDay>, LogError> {
        let mut days = self.days.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gone = Vec::new();
        for name in self.names()? {
            if let Some(day) = parse_day(&name)
                && day < before
            {
                gone.push(day);
            }
        }
        gone.sort_unstable();
        days.retain(|(day, _)| *day >= before);
        let mut renamed = Vec::with_capacity(gone.len());
        for &day in &gone {
            let from = self.dir.join(name_of(day));
            let to = self.dir.join(format!("{PURGING}{}", name_of(day)));
            fs::rename(&from, &to).map_err(|error| files::io_error("rename", &from, &error))?;
            renamed.push(to);
        }
        if !gone.is_empty() {
            // The names are gone for good before the files go: a day is there whole or not at all.
            files::sync_dir(&self.dir)?;
        }
        for path in renamed {
            remove_dir(&path)?;
        }
        Ok(gone)
    }

    /// Closes a day and gives its folder another name, durably; answers it, or `None` when there is none.
    /// Nothing of it is removed, also not by a purge.
    pub(super) fn put_aside(&self, day: HistoryDay) -> Result<Option<PathBuf>, LogError> {
        let mut days = self.days.lock().unwrap_or_else(PoisonError::into_inner);
        days.retain(|(open, _)| *open != day);
        let from = self.path_of(day);
        if !from.exists() {
            return Ok(None);
        }
        let name = name_of(day);
        let free = (0..ASIDE_MAX)
            .map(|number| self.dir.join(format!("{ASIDE}{number}.{name}")))
            .find(|path| !path.exists());
        let Some(to) = free else {
            let why = format!("{} holds too many days put aside", self.dir.display());
            return Err(LogError::Io(why));
        };
        fs::rename(&from, &to).map_err(|error| files::io_error("put aside", &from, &error))?;
        files::sync_dir(&self.dir)?;
        Ok(Some(to))
    }

    /// Counts the days and the bytes of their files.
    pub(super) fn size(&self) -> Result<HistorySize, LogError> {
        let mut size = HistorySize::default();
        for name in self.names()? {
            if let Some(day) = parse_day(&name) {
                size.days.push(day);
                size.bytes += files::bytes_in(&self.dir.join(name))?;
            }
        }
        size.days.sort_unstable();
        Ok(size)
    }

    /// Runs `step` on a day's database; `false` when there is none and `create` is not set.
    fn with_day(
        &self,
        day: HistoryDay,
        create: bool,
        step: impl FnOnce(&Store) -> Result<(), LogError>,
    ) -> Result<bool, LogError> {
        let mut days = self.days.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = days.iter().position(|(open, _)| *open == day) {
            if let Some(found) = days.remove(at) {
                days.push_front(found);
            }
        } else {
            let dir = self.path_of(day);
            if !create && !dir.exists() {
                return Ok(false);
            }
            files::create_dir(&self.dir)?;
            // Room first: a day holds a lock, a cache and a thread.
            days.truncate(OPEN_MAX - 1);
            let (store, _) = Store::open(&dir, &self.options)?;
            days.push_front((day, store));
        }
        match days.front() {
            Some((_, store)) => step(store).map(|()| true),
            None => Ok(false),
        }
    }

    fn names(&self) -> Result<Vec<String>, LogError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(files::io_error("read", &self.dir, &error)),
        };
        entries
            .map(|entry| {
                entry
                    .map(|entry| entry.file_name().to_string_lossy().into_owned())
                    .map_err(|error| files::io_error("read", &self.dir, &error))
            })
            .collect()
    }
}

/// How many of these rows make the next stage; at least one.
fn stage_of(rows: &[Row]) -> usize {
    let mut bytes = 0;
    let full = rows.iter().position(|(key, value)| {
        bytes += key.len() + value.len();
        bytes >= STAGE_BYTES
    });
    full.map_or(rows.len(), |last| last + 1)
}

/// The value of a row; `None` when its key was laid out by a write that never came to its end.
fn filled(
    store: &Store,
    prefix: &[u8],
    value: Result<Vec<u8>, Defect>,
) -> Result<Option<Vec<u8>>, LogError> {
    match value {
        Ok(value) => Ok(Some(value)),
        Err(Defect::Unfilled) => Ok(None),
        Err(defect @ (Defect::Damaged(_) | Defect::Newer(_))) => {
            Err(values::damaged(store, prefix, defect))
        }
    }
}

fn remove_dir(path: &Path) -> Result<(), LogError> {
    fs::remove_dir_all(path).map_err(|error| files::io_error("remove", path, &error))
}

/// The directory of a day: `2026-11-29`. Days outside the years 0 to 9999 keep their number.
fn name_of(day: HistoryDay) -> String {
    let (year, month, date) = civil(i64::from(day.0));
    if (0..=9999).contains(&year) {
        format!("{year:04}-{month:02}-{date:02}")
    } else {
        format!("day.{}", day.0)
    }
}

fn parse_day(name: &str) -> Option<HistoryDay> {
    if let Some(number) = name.strip_prefix("day.") {
        return number.parse().ok().map(HistoryDay);
    }
    let mut parts = name.split('-');
    let year: i64 = parts.next()?.parse().ok()?;
    let month: i64 = parts.next()?.parse().ok()?;
    let date: i64 = parts.next()?.parse().ok()?;
    let day = HistoryDay(i32::try_from(days_before(year, month) + date - 1).ok()?);
    (parts.next().is_none() && name_of(day) == name).then_some(day)
}

/// Days from 1970-01-01 to the first of a month. Years begin in March here, so that the leap day
/// is the last of its year.
fn days_before(year: i64, month: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9).rem_euclid(12);
    let day_of_year = (153 * month_from_march + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let day_of_era = day.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let date = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_names() {
        for (day, name) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (20_786, "2026-11-29"),
        ] {
            assert_eq!(name_of(HistoryDay(day)), name);
        }
        for day in (-800_000..3_000_000).step_by(37) {
            let day = HistoryDay(day);
            assert_eq!(parse_day(&name_of(day)), Some(day));
        }
        for name in [
            "2026-02-30",
            "2026-1-01",
            "purging.2026-01-01",
            "x",
            "2026-01-01-01",
        ] {
            assert_eq!(parse_day(name), None, "{name}");
        }
    }
}
