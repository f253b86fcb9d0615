//! Reading and writing of single values that may span chunks.
//!
//! Here: meta values, pointers and history rows. Not here: journal and snapshots, which are written
//! once and never replaced. Called within the sled engine only.

use sled::{Batch, IVec};

use super::chunk::{self, Assembler, Defect};
use super::keys;
use super::stages::Stage;
use super::store::Store;
use crate::log::LogError;

/// Pairs read at a time.
const PAGE: usize = 64;

/// What a scan calls with each value's name and content; says whether to go on.
type Visit<'a> = dyn FnMut(&[u8], Result<Vec<u8>, Defect>) -> Result<bool, LogError> + 'a;

/// Reads one value.
pub(super) fn read(store: &Store, prefix: &[u8]) -> Result<Option<Vec<u8>>, LogError> {
    let key = keys::chunk(prefix, 0);
    let Some(first) = store.get(&key)? else {
        return Ok(None);
    };
    let mut assembler = Assembler::new(prefix.to_vec());
    let mut outcome = assembler.push(&key, &first);
    for number in 1..assembler.count() {
        let key = keys::chunk(prefix, number);
        let Some(chunk) = store.get(&key)? else {
            break;
        };
        outcome = outcome.and_then(|()| assembler.push(&key, &chunk));
    }
    outcome
        .and_then(|()| assembler.finish())
        .map(Some)
        .map_err(|defect| damaged(store, prefix, defect))
}

/// Is there nothing but a key that was laid out?
pub(super) fn is_unfilled(store: &Store, prefix: &[u8]) -> Result<bool, LogError> {
    let first = store.get(&keys::chunk(prefix, 0))?;
    Ok(first.is_some_and(|chunk| chunk.is_empty()))
}

/// Adds a value to a batch (`None` removes it), with the removal of what an older and longer one
/// would leave behind. Answers whether there was an older one.
pub(super) fn put(
    store: &Store,
    batch: &mut Batch,
    prefix: &[u8],
    value: Option<&[u8]>,
) -> Result<bool, LogError> {
    let old = chunks_there(store, prefix)?;
    replace(batch, prefix, value, old);
    Ok(old > 0)
}

/// Adds a value that counts by itself; answers whether there was an older one. It goes into the batch
/// only when it is, or was, of several chunks, which count together.
pub(super) fn put_alone(
    store: &Store,
    stage: &mut Stage,
    prefix: &[u8],
    value: &[u8],
) -> Result<bool, LogError> {
    let old = chunks_there(store, prefix)?;
    if old.max(chunk::count_of(value.len())) == 1 {
        chunk::cut(prefix, &[value], &mut |key, chunk| {
            stage.alone.push((IVec::from(key), IVec::from(chunk)));
        });
    } else {
        replace(stage.batch(), prefix, Some(value), old);
    }
    Ok(old > 0)
}

/// Puts a value in the place of one of so many chunks.
fn replace(batch: &mut Batch, prefix: &[u8], value: Option<&[u8]>, old: u32) {
    let new = value.map_or(0, |value| insert(batch, prefix, value));
    for number in new..old {
        batch.remove(keys::chunk(prefix, number));
    }
}

/// How many chunks the value has that is there; 0 when there is none.
fn chunks_there(store: &Store, prefix: &[u8]) -> Result<u32, LogError> {
    let key = keys::chunk(prefix, 0);
    let Some(first) = store.get(&key)? else {
        return Ok(0);
    };
    match chunk::open(&key, &first) {
        Ok((head, _)) => Ok(head.count),
        Err(Defect::Unfilled) => Ok(0),
        Err(defect @ (Defect::Damaged(_) | Defect::Newer(_))) => {
            Err(damaged(store, prefix, defect))
        }
    }
}

/// Adds a value that was never there before.
pub(super) fn insert(batch: &mut Batch, prefix: &[u8], value: &[u8]) -> u32 {
    chunk::cut(prefix, &[value], &mut |key, chunk| {
        batch.insert(key, IVec::from(chunk));
    })
}

/// Visits all values whose name starts with `head`, in order, from the name `from` on, until
/// `visit` says no. Gives each value or why it cannot be read.
pub(super) fn scan(
    store: &Store,
    head: &[u8],
    from: &[u8],
    visit: &mut Visit<'_>,
) -> Result<(), LogError> {
    let mut next = from.to_vec();
    let mut open: Option<(Assembler, Result<(), Defect>)> = None;
    loop {
        let page = store.page(head, &next, PAGE)?;
        let Some((last, _)) = page.last() else {
            break;
        };
        next = [last.as_ref(), &[0]].concat();
        for (key, chunk) in &page {
            let prefix = key.len().checked_sub(keys::CHUNK).map(|end| &key[..end]);
            let prefix = prefix.unwrap_or(key);
            if let Some((assembler, _)) = &open
                && assembler.prefix() != prefix
                && let Some(done) = open.take()
                && !close(done, visit)?
            {
                return Ok(());
            }
            let (assembler, outcome) =
                open.get_or_insert_with(|| (Assembler::new(prefix.to_vec()), Ok(())));
            if outcome.is_ok() {
                *outcome = assembler.push(key, chunk);
            }
        }
    }
    if let Some(done) = open {
        close(done, visit)?;
    }
    Ok(())
}

fn close(
    (assembler, outcome): (Assembler, Result<(), Defect>),
    visit: &mut Visit<'_>,
) -> Result<bool, LogError> {
    let prefix = assembler.prefix().to_vec();
    visit(&prefix, outcome.and_then(|()| assembler.finish()))
}

/// The error for a value that cannot be read, where nothing can be given up to go on.
pub(super) fn damaged(store: &Store, prefix: &[u8], defect: Defect) -> LogError {
    let place = format!(
        "{} in {}",
        prefix.escape_ascii(),
        store.dir().join("db").display()
    );
    let why = match defect {
        Defect::Newer(version) => {
            return LogError::Format(format!(
                "value {place} has format {version}, which a newer interlock has written"
            ));
        }
        Defect::Damaged(why) => why,
        Defect::Unfilled => chunk::UNFILLED.to_owned(),
    };
    let whose = store.whose();
    whose.damaged(&format!("value {place} is damaged ({why})"))
}
