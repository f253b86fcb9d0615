//! The memory as the log tells it: every committed record applied in log order.
//!
//! Here: the sim's own replay, written without recovery's leniency: from the first record on it
//! knows everything, so a version that is not the next one, a life that starts below an earlier one
//! or a time that goes back is a violation at once (C6). Not here: what a record means (the model).

use std::collections::BTreeMap;

use interlock_actors::placement::partition_of;
use interlock_actors::record::{self, Change, Entry};
use interlock_domain::key::EntityKey;
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::{Append, LogError, Partition};

use crate::conditions::{Framed, of_records};
use crate::machine::{Memory, Violation, Written, violated};

/// What is known of one entity, also after it was purged.
#[derive(Debug)]
struct Line<E> {
    version: u64,
    time: Timestamp,
    entity: Option<E>,
}

/// See the module.
#[derive(Debug)]
pub struct Journal<M: Machine> {
    lines: BTreeMap<EntityKey, Line<M::Entity>>,
    floors: BTreeMap<Partition, u64>,
    records: u64,
    latest: Timestamp,
}

impl<M: Machine> Default for Journal<M> {
    fn default() -> Self {
        Self {
            lines: BTreeMap::new(),
            floors: BTreeMap::new(),
            records: 0,
            latest: Timestamp(0),
        }
    }
}

impl<M: Machine> Journal<M> {
    /// The records of an append, decoded and numbered on from those taken in. Its commit was made of
    /// these frames.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn decode(&self, append: &Append, frames: &[Framed]) -> Result<Vec<Written<M>>, Violation> {
        let mut conditions = of_records(frames, append.group);
        let more = || LogError::Corrupt("more records than its frames have".to_owned());
        let mut written = Vec::new();
        let at = (append.group, append.sequence);
        record::visit::<M>(&append.records, &mut |view| {
            let mut entries = Vec::new();
            view.entries(&mut |entry| {
                let event = match entry.change {
                    Change::Event | Change::Created => Some(entry.event::<M>()?),
                    Change::Purged => None,
                };
                entries.push(Entry {
                    key: entry.key,
                    version: entry.version,
                    change: entry.change,
                    event,
                });
                Ok(())
            })?;
            written.push(Written {
                number: 0,
                at,
                space: view.head.space,
                time: view.head.time,
                policy: view.head.policy,
                entries,
                note: view.note::<M>()?,
                conditions: conditions.next().cloned().ok_or_else(more)?,
            });
            Ok(())
        })?;
        if conditions.next().is_some() {
            return violated("C6", "a commit has fewer records than its frames");
        }
        for (number, record) in (self.records + 1..).zip(&mut written) {
            record.number = number;
        }
        Ok(written)
    }

    /// Takes in the next record of an append.
    ///
    /// # Errors
    /// When it cannot follow those before it.
    pub fn take(&mut self, append: &Append, record: &Written<M>) -> Result<(), Violation> {
        self.records += 1;
        if record.entries.is_empty() && record.note.is_none() {
            return violated("C6", "a record that says nothing");
        }
        for entry in &record.entries {
            let partition = partition_of(&entry.key);
            if partition.group() != append.group || !append.partitions.contains(&partition) {
                return violated("C6", format!("{partition} is changed and not named"));
            }
            self.entry(entry, record.time, partition)?;
        }
        // Only a whole decision owes the invariants, not each of its events.
        for entry in &record.entries {
            if let Some(entity) = &self.lines[&entry.key].entity {
                M::check(entity).or_else(|broken| violated(broken.invariant, broken.seen))?;
            }
        }
        Ok(())
    }

    /// The time of the last record that changed an entity.
    #[must_use]
    pub fn time(&self, key: &EntityKey) -> Timestamp {
        self.lines.get(key).map_or(Timestamp(0), |line| line.time)
    }

    /// The time of the last record that changed any entity.
    #[must_use]
    pub const fn latest(&self) -> Timestamp {
        self.latest
    }

    /// Every entity that exists.
    #[must_use]
    pub fn memory(&self) -> Memory<M::Entity> {
        self.lines
            .iter()
            .filter_map(|(&key, line)| Some((key, (line.version, line.entity.clone()?))))
            .collect()
    }

    /// The floor of every partition that has one.
    #[must_use]
    pub const fn floors(&self) -> &BTreeMap<Partition, u64> {
        &self.floors
    }

    fn entry(
        &mut self,
        entry: &Entry<M::Event>,
        time: Timestamp,
        partition: Partition,
    ) -> Result<(), Violation> {
        let Entry {
            key,
            version,
            change,
            event,
        } = entry;
        let line = self.lines.entry(*key).or_insert(Line {
            version: 0,
            time: Timestamp(0),
            entity: None,
        });
        let gapless = match change {
            Change::Event | Change::Purged => line.entity.is_some() && *version == line.version + 1,
            // Floors are a partition's, so a new life may start well above the last one.
            Change::Created => line.entity.is_none() && *version > line.version,
        };
        if !gapless {
            let (was, lives) = (line.version, line.entity.is_some());
            return violated(
                "C6",
                format!(
                    "{key:?} goes from version {was} (lives: {lives}) to {version} ({change:?})"
                ),
            );
        }
        if time < line.time {
            let back = line.time.since(time);
            return violated(
                "time",
                format!("{key:?} is changed {back} ms before its last change"),
            );
        }
        line.version = *version;
        line.time = time;
        self.latest = self.latest.max(time);
        match event {
            Some(event) => {
                let entity = line.entity.get_or_insert_with(|| M::empty(key.kind));
                M::apply(entity, event);
            }
            None => {
                line.entity = None;
                let floor = self.floors.entry(partition).or_insert(0);
                *floor = (*floor).max(*version);
            }
        }
        Ok(())
    }
}
