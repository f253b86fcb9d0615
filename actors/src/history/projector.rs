//! The projection itself, without a thread: appends in, rows out.
//!
//! Here: what waits to be written, and how far history has come. Not here: when it is written
//! (`writer`). Driven by the writer's thread in production and step by step by the simulator.

use std::collections::BTreeMap;

use interlock_domain::machine::Machine;
use interlock_storage::{Group, HistoryDay, Log, LogError, Positions, Row, Sequence};

use super::row;

/// What one write came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrote {
    /// Notes in its rows.
    pub notes: u64,
    /// Rows.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Projector {
    /// Rows that wait, by day.
    rows: BTreeMap<HistoryDay, Vec<Row>>,
    waiting: Wrote,
    /// What was taken in, written or not.
    taken: Positions,
    /// What is written.
    durable: Positions,
}

impl Projector {
    /// A projector that goes on after what history has already.
    #[must_use]
    pub fn new(durable: Positions) -> Self {
        Self {
            rows: BTreeMap::new(),
            waiting: Wrote::default(),
            taken: durable.clone(),
            durable,
        }
    }

    /// Takes in an append, unless history has it. Appends of a group come in their order.
    ///
    /// # Errors
    /// When its records cannot be read; nothing of it is taken then.
    pub fn take<M: Machine>(
        &mut self,
        group: Group,
        sequence: Sequence,
        records: &[u8],
    ) -> Result<(), LogError> {
        let taken = self.taken.entry(group).or_default();
        if sequence <= *taken {
            return Ok(());
        }
        let (rows, waiting) = (&mut self.rows, &mut self.waiting);
        waiting.notes += row::pack::<M>((group, sequence), records, &mut |day, row| {
            waiting.rows += 1;
            waiting.bytes += (row.0.len() + row.1.len()) as u64;
            rows.entry(day).or_default().push(row);
        })?;
        *taken = sequence;
        Ok(())
    }

    /// Notes that a group's log is projected up to here, whatever it holds: used at a start, where
    /// what was truncated before history began is owed to nobody.
    pub fn reach(&mut self, group: Group, sequence: Sequence) {
        let taken = self.taken.entry(group).or_default();
        *taken = sequence.max(*taken);
    }

    /// Bytes of the rows that wait.
    #[must_use]
    pub const fn waiting_bytes(&self) -> u64 {
        self.waiting.bytes
    }

    /// Appends that were taken in and are not written.
    #[must_use]
    pub fn waiting_appends(&self) -> u64 {
        let lag = |(group, taken): (&Group, &Sequence)| {
            taken.0 - self.durable.get(group).copied().unwrap_or_default().0
        };
        self.taken.iter().map(lag).sum()
    }

    /// Is there anything to write, rows or a position?
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.taken != self.durable
    }

    /// Writes what waits; `between` is called between two syncs of it. The position goes with the last
    /// day, after all rows are durable.
    ///
    /// # Errors
    /// When the log cannot be written; final.
    pub fn write(&mut self, log: &dyn Log, between: &mut dyn FnMut()) -> Result<Wrote, LogError> {
        if !self.is_behind() {
            return Ok(Wrote::default());
        }
        let last = self.rows.pop_last();
        for (day, rows) in std::mem::take(&mut self.rows) {
            log.history_append_paced(day, &rows, &Positions::new(), between)?;
        }
        let (day, rows) = last.unwrap_or((HistoryDay(0), Vec::new()));
        log.history_append_paced(day, &rows, &self.taken, between)?;
        self.durable.clone_from(&self.taken);
        Ok(std::mem::take(&mut self.waiting))
    }

    /// How far history has come, durably.
    #[must_use]
    pub const fn durable(&self) -> &Positions {
        &self.durable
    }
}
