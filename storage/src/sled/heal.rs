//! What a power cut can do to sled's own log, put right before sled sees it.
//!
//! Here: one check of the headers of sled's segments, and its repair. Not here: everything sled
//! repairs itself. Called by opening, while the directory is locked.
//!
//! sled writes its log in segments and notes in each header up to where the log was complete. A
//! disk may write what was not synced in any order. When it had written a later segment and not
//! the one its header refers to, sled 0.34 finds no end of its log, takes the database for empty
//! and begins to write over it. Everything acknowledged lies before the missing segment, because
//! it was synced; so whatever lies after it was never acknowledged, and the headers of those
//! segments are cleared here. sled then finds the end before them.
//!
//! sled also clears segments whose contents its own snapshot file covers, and does so while it
//! opens, before the name of that file is durable. A file that lost it looks the same as a torn
//! one, but then the missing segment was acknowledged. So a file that was cut while it was being
//! opened, or that has segments and not the first of its log, is not mended but refused, unchanged.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// sled's default, which is the one in use (`docs/storage.md` §1.5.1).
const SEGMENT_BYTES: u64 = 512 * 1024;
const HEADER_BYTES: usize = 20;
/// sled stores positions mixed with this, so that a header of zeros is not one.
const MASK: i64 = i64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    /// Where it lies in the file.
    offset: u64,
    /// Up to where the log was complete when it was begun.
    complete: i64,
}

/// What is to be done before sled may open a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// So many headers referred to a segment that was never written, and are cleared.
    Healed(usize),
    /// The file lacks a part of sled's log that may have been acknowledged. It is unchanged.
    Lost,
}

/// Clears headers that refer to a segment which is missing.
///
/// What sled's own snapshot file covers is no part of its log any more: segments before it may be
/// missing because they were used again. `interrupted`: the last opening did not come to its end.
pub(super) fn heal(dir: &Path, interrupted: bool) -> io::Result<Finding> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(dir.join("db"))?;
    let covered = snapshot(dir)?;
    let from = covered.unwrap_or_default();
    let mut segments = segments(&file)?.split_off(&from);
    let mut torn = Vec::new();
    while let Some(missing) = missing_end(&segments, from) {
        let beyond = segments.split_off(&missing);
        if beyond.is_empty() {
            break;
        }
        torn.extend(beyond.into_values());
    }
    if torn.is_empty() {
        return Ok(Finding::Healed(0));
    }
    if interrupted || (covered.is_none() && segments.is_empty()) {
        return Ok(Finding::Lost);
    }
    for segment in &torn {
        file.write_all_at(&[0; HEADER_BYTES], segment.offset)?;
    }
    file.sync_all()?;
    Ok(Finding::Healed(torn.len()))
}

/// The segment in which the log ends as the headers say, if it is not there but later ones are.
fn missing_end(segments: &BTreeMap<i64, Segment>, covered: i64) -> Option<i64> {
    let complete = segments.values().map(|segment| segment.complete).max()?;
    let end = segment_of(complete).max(covered);
    (!segments.contains_key(&end)).then_some(end)
}

/// Where the segment begins that a position of the log lies in.
fn segment_of(position: i64) -> i64 {
    let size = i64::try_from(SEGMENT_BYTES).unwrap_or(i64::MAX);
    (position / size * size).max(0)
}

/// The segment in which sled goes on reading after its newest snapshot file, if it has one. The
/// file's name is the position it covers.
fn snapshot(dir: &Path) -> io::Result<Option<i64>> {
    let mut covered = None;
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let position = name
            .to_str()
            .and_then(|name| name.strip_prefix("snap."))
            .and_then(|position| i64::from_str_radix(position, 16).ok());
        covered = covered.max(position.map(segment_of));
    }
    Ok(covered)
}

/// All segments with a sound header, by their position in the log.
fn segments(file: &File) -> io::Result<BTreeMap<i64, Segment>> {
    let length = file.metadata()?.len();
    let mut segments = BTreeMap::new();
    for offset in (0..length).step_by(usize::try_from(SEGMENT_BYTES).unwrap_or(usize::MAX)) {
        if length - offset < HEADER_BYTES as u64 {
            break;
        }
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, offset)?;
        if let Some((position, complete)) = parse(&header) {
            segments.insert(position, Segment { offset, complete });
        }
    }
    Ok(segments)
}

/// Layout: checksum `u32`, position `i64`, complete up to `i64`, little-endian and masked.
fn parse(header: &[u8; HEADER_BYTES]) -> Option<(i64, i64)> {
    let (checksum, rest) = header.split_first_chunk::<4>()?;
    let (position, complete) = rest.split_first_chunk::<8>()?;
    let complete = complete.first_chunk::<8>()?;
    let sound = crc32fast::hash(rest) == u32::from_le_bytes(*checksum) ^ u32::MAX;
    sound.then(|| {
        (
            i64::from_le_bytes(*position) ^ MASK,
            i64::from_le_bytes(*complete) ^ MASK,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Log;
    use crate::sled::files::OPENING;
    use crate::sled::testing::SledFactory;
    use crate::sled::tests::{acquired, commit_one};
    use crate::suite::support::places;

    /// The file behind a log that is closed.
    fn raw(db: &Path) -> File {
        let file = OpenOptions::new().read(true).write(true).open(db);
        file.expect("it is there")
    }

    #[test]
    fn a_log_whose_end_is_missing_ends_before_it() {
        let root = tempfile::tempdir().expect("a directory");
        let factory = SledFactory::without_copies(root.path());
        let log = factory.open_sled(false).expect("it opens");
        let mut owned = acquired(&log);
        for _ in 0..40 {
            commit_one(&log, &mut owned, 50_000);
        }
        let kept = places(&log);
        let db = factory.dir().join("db");
        let synced = segments(&File::open(&db).expect("it is there")).expect("it can be read");
        assert!(synced.len() > 4, "sled's own format is understood");
        for _ in 0..40 {
            commit_one(&log, &mut owned, 50_000);
        }
        drop(log);
        // As if the second half had not been synced: its last segments are on the disk, the one
        // before them is not.
        let file = raw(&db);
        let all = segments(&file).expect("it can be read");
        let (_, newest) = all.last_key_value().expect("there are some");
        let end = segment_of(newest.complete);
        assert!(end > *synced.last_key_value().expect("there are some").0);
        file.write_all_at(&[0; HEADER_BYTES], all[&end].offset)
            .expect("the disk works");
        for entry in std::fs::read_dir(factory.dir()).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.to_string_lossy().contains("snap.") {
                std::fs::remove_file(path).expect("the disk works");
            }
        }
        let log = factory.open_sled(false).expect("it opens");
        assert!(log.recovery().segments_cleared > 0);
        let found = places(&log);
        assert!(
            found.starts_with(&kept),
            "{} of {}",
            found.len(),
            kept.len()
        );
        assert!(log.journal_size().commits < 80);
        drop(log);
        let log = factory.open_sled(false).expect("it opens");
        assert_eq!(log.recovery().segments_cleared, 0);
    }

    #[test]
    fn segments_that_sled_has_done_with_may_be_missing() {
        let root = tempfile::tempdir().expect("a directory");
        let factory = SledFactory::without_copies(root.path());
        let log = factory.open_sled(false).expect("it opens");
        let mut owned = acquired(&log);
        for _ in 0..40 {
            commit_one(&log, &mut owned, 50_000);
        }
        drop(log);
        // sled writes its snapshot file, and the log goes on behind it.
        let log = factory.open_sled(false).expect("it opens");
        let mut owned = acquired(&log);
        commit_one(&log, &mut owned, 10);
        let expected = places(&log);
        drop(log);
        let covered = snapshot(factory.dir()).expect("it can be read");
        let covered = covered.expect("sled has written a snapshot file");
        assert!(covered > 0, "which covers something");
        let file = raw(&factory.dir().join("db"));
        let before = segments(&file).expect("it can be read");
        for (_, segment) in before.range(..covered) {
            file.write_all_at(&[0; HEADER_BYTES], segment.offset)
                .expect("the disk works");
        }
        assert!(!before.contains_key(&covered) || before[&covered].complete < covered);
        let log = factory.open_sled(false).expect("it opens");
        assert_eq!(log.recovery().segments_cleared, 0);
        assert_eq!(places(&log), expected);
    }

    /// A log in two segments, of which the first is cleared and covered by sled's snapshot file, and
    /// the path of that file.
    fn covered_beginning(factory: &SledFactory) -> std::path::PathBuf {
        let log = factory.open_sled(false).expect("it opens");
        let mut owned = acquired(&log);
        let db = factory.dir().join("db");
        while fs::metadata(&db).expect("it is there").len() <= SEGMENT_BYTES {
            commit_one(&log, &mut owned, 5_000);
        }
        drop(log);
        drop(factory.open_sled(false).expect("it opens"));
        let covered = snapshot(factory.dir()).expect("it can be read");
        assert!(
            covered > Some(0),
            "the snapshot file covers the first segment"
        );
        let file = raw(&db);
        for (_, segment) in segments(&file).expect("it can be read").range(..1) {
            file.write_all_at(&[0; HEADER_BYTES], segment.offset)
                .expect("the disk works");
        }
        fs::read_dir(factory.dir())
            .expect("it can be read")
            .map(|entry| entry.expect("it can be read").path())
            .find(|path| path.to_string_lossy().contains("snap."))
            .expect("the snapshot file is there")
    }

    /// The engine refuses, says what to do, and leaves every byte as it was.
    fn expect_refused(factory: &SledFactory) {
        let db = factory.dir().join("db");
        let before = fs::read(&db).expect("it is there");
        for _ in 0..2 {
            let error = factory.open_sled(false).expect_err("it has lost something");
            let crate::log::LogError::Corrupt(why) = &error else {
                panic!("{error}");
            };
            assert!(why.contains("put a copy"), "{why}");
            assert!(fs::read(&db).expect("it is there") == before, "unchanged");
        }
    }

    #[test]
    fn a_log_without_its_beginning_is_not_taken_for_an_empty_one() {
        let root = tempfile::tempdir().expect("a directory");
        let factory = SledFactory::without_copies(root.path());
        let snapshot = covered_beginning(&factory);
        fs::remove_file(snapshot).expect("the disk works");
        expect_refused(&factory);
    }

    #[test]
    fn what_a_cut_start_left_is_not_mended_by_guessing() {
        let root = tempfile::tempdir().expect("a directory");
        let factory = SledFactory::without_copies(root.path());
        let log = factory.open_sled(false).expect("it opens");
        let mut owned = acquired(&log);
        for _ in 0..40 {
            commit_one(&log, &mut owned, 50_000);
        }
        let expected = places(&log);
        drop(log);
        let db = factory.dir().join("db");
        let file = raw(&db);
        let all = segments(&file).expect("it can be read");
        let (_, newest) = all.last_key_value().expect("there are some");
        let offset = all[&segment_of(newest.complete)].offset;
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, offset)
            .expect("it is there");
        file.write_all_at(&[0; HEADER_BYTES], offset)
            .expect("the disk works");
        let mark = factory.dir().join(OPENING);
        fs::write(&mark, []).expect("the disk works");
        expect_refused(&factory);
        // A start that was cut and lost nothing goes on, and takes its mark away.
        file.write_all_at(&header, offset).expect("the disk works");
        let log = factory.open_sled(false).expect("it opens");
        assert_eq!(places(&log), expected);
        assert!(!mark.exists());
    }
}
