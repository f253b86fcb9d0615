//! Finding a decision again.
//!
//! Here: reading notes by their time, from the journal and from history. Reads the log only, so an
//! offline verb and a running server use it alike; on a server call it outside the event loop, for
//! it reads files. Not here: what a note says.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use interlock_domain::key::SpaceId;
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::{Group, HistoryDay, Log, LogError, Positions, Replayed, Sequence};

use super::day_of;
use super::row::{self, RowKey, SPAN_MS, Seen};
use crate::record;

/// An id's own time and its record's time may differ by this much, in milliseconds.
const SLACK_MS: i64 = 1_000;

/// What stays of a decision, with what its record said around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt<M: Machine> {
    /// Whose decision it was.
    pub space: SpaceId,
    /// When it was decided.
    pub time: Timestamp,
    /// The policy version it was decided with.
    pub policy: u32,
    /// What the product noted.
    pub note: M::Note,
}

/// Finds the first note that is `wanted` among those decided within a second of `at`. Of a decision
/// id, `at` is the time in its first 48 bits. Sees everything that is durable, also what only the
/// journal has yet; `None` when there is none, or its day was purged.
///
/// ```
/// use interlock_actors::history;
/// use interlock_domain::ids::Id;
/// use interlock_domain::machine::Machine;
/// use interlock_domain::time::Timestamp;
/// use interlock_storage::{Log, LogError};
///
/// // `names` is the product's: does this note carry the decision id?
/// fn explain<M: Machine>(
///     log: &dyn Log,
///     id: Id,
///     names: impl Fn(&M::Note, Id) -> bool,
/// ) -> Result<Option<history::Receipt<M>>, LogError> {
///     let mut stamp = [0; 8];
///     stamp[2..].copy_from_slice(&id.0[..6]);
///     let at = Timestamp(i64::from_be_bytes(stamp));
///     history::find::<M>(log, at, &mut |receipt| names(&receipt.note, id))
/// }
/// ```
///
/// # Errors
/// When the log cannot be read, or was written by a newer build.
pub fn find<M: Machine>(
    log: &dyn Log,
    at: Timestamp,
    wanted: &mut dyn FnMut(&Receipt<M>) -> bool,
) -> Result<Option<Receipt<M>>, LogError> {
    let mut found = None;
    let (from, upto) = (at.plus_ms(-SLACK_MS), at.plus_ms(SLACK_MS));
    between::<M>(log, from, upto, &mut |receipt| {
        if wanted(&receipt) {
            found = Some(receipt);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Visits every note decided from `from` to `upto`, both included, once each, until the visitor
/// breaks off. What only the journal has yet comes first; then history, a day after the other,
/// within a day nearly in the order of time.
///
/// # Errors
/// When the log cannot be read, or was written by a newer build.
pub fn between<M: Machine>(
    log: &dyn Log,
    from: Timestamp,
    upto: Timestamp,
    visit: &mut dyn FnMut(Receipt<M>) -> ControlFlow<()>,
) -> Result<(), LogError> {
    let mut reader = Reader::<M> {
        from,
        upto,
        visit,
        journal: BTreeMap::new(),
    };
    // In this order: what moves from the journal into history meanwhile is then seen in one of
    // them, or in both, never in neither.
    let after = log.history_position()?.unwrap_or_default();
    if reader.journal(log, &after)?.is_break() {
        return Ok(());
    }
    for day in day_of(from).0..=day_of(upto).0 {
        if reader.day(log, HistoryDay(day))?.is_break() {
            return Ok(());
        }
    }
    Ok(())
}

struct Reader<'a, M: Machine> {
    from: Timestamp,
    upto: Timestamp,
    visit: &'a mut dyn FnMut(Receipt<M>) -> ControlFlow<()>,
    /// The first and the last append of each group that the journal has shown.
    journal: BTreeMap<Group, (Sequence, Sequence)>,
}

impl<M: Machine> Reader<'_, M> {
    fn see(&mut self, seen: Seen<'_>) -> Result<ControlFlow<()>, LogError> {
        if seen.time < self.from || seen.time > self.upto {
            return Ok(ControlFlow::Continue(()));
        }
        let note = postcard::from_bytes(seen.bytes)
            .map_err(|error| LogError::Corrupt(format!("a note cannot be read: {error}")))?;
        Ok((self.visit)(Receipt {
            space: seen.space,
            time: seen.time,
            policy: seen.policy,
            note,
        }))
    }

    fn journal(&mut self, log: &dyn Log, after: &Positions) -> Result<ControlFlow<()>, LogError> {
        let mut outcome = Ok(ControlFlow::Continue(()));
        log.replay(after, &mut |replayed| {
            outcome = self.append(&replayed);
            match outcome {
                Ok(flow) => flow,
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        outcome
    }

    fn append(&mut self, replayed: &Replayed) -> Result<ControlFlow<()>, LogError> {
        let sequence = replayed.sequence;
        let shown = self.journal.entry(replayed.group);
        shown.or_insert((sequence, sequence)).1 = sequence;
        let mut flow = ControlFlow::Continue(());
        record::visit::<M>(&replayed.records, &mut |view| {
            if let Some(bytes) = view.note_bytes()?
                && flow.is_continue()
            {
                flow = self.see(Seen {
                    space: view.head.space,
                    time: view.head.time,
                    policy: view.head.policy,
                    bytes,
                })?;
            }
            Ok(())
        })?;
        Ok(flow)
    }

    fn day(&mut self, log: &dyn Log, day: HistoryDay) -> Result<ControlFlow<()>, LogError> {
        let start = row::prefix(self.from.0.saturating_sub(SPAN_MS));
        let mut outcome = Ok(Some(ControlFlow::Continue(())));
        log.history_read(day, &start, &mut |key, value| {
            outcome = self.row(key, value);
            match outcome {
                Ok(Some(flow)) => flow,
                Ok(None) | Err(_) => ControlFlow::Break(()),
            }
        })?;
        outcome.map(|flow| flow.unwrap_or(ControlFlow::Continue(())))
    }

    /// `None` when this row and all after it are too late.
    fn row(&mut self, key: &[u8], value: &[u8]) -> Result<Option<ControlFlow<()>>, LogError> {
        let key = RowKey::decode(key)?;
        if key.time > self.upto.0 {
            return Ok(None);
        }
        let shown = self.journal.get(&key.group);
        if shown.is_some_and(|&(first, last)| (first..=last).contains(&key.sequence)) {
            return Ok(Some(ControlFlow::Continue(())));
        }
        row::read::<M>(value, &mut |seen| self.see(seen)).map(Some)
    }
}
