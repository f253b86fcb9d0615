//! The projection without a node, driven by chance.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use interlock_actors::history::{self, Projector};
use interlock_actors::record::{RecordEncoder, RecordHead};
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::rng::Rng;
use interlock_storage::{
    Append, Commit, Epoch, FaultPlan, FaultyLog, GROUPS, Group, HistoryDay, Log, MemoryLog,
    Positions, Sequence,
};

use crate::tickets::{DAY_MS, NOON, SPACE, Tickets};

/// A log of random appends, and a projector that is driven by chance.
struct Walk {
    rng: Rng,
    disk: FaultyLog,
    epochs: BTreeMap<Group, (Epoch, Sequence)>,
    projector: Projector,
    /// Durable appends that the projector has not been handed.
    fed: Vec<Append>,
    acknowledged: BTreeSet<u64>,
    next: u64,
    now: i64,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut walk = Self {
            rng: Rng::new(seed),
            disk: FaultyLog::new(FaultPlan::calm(seed)),
            epochs: BTreeMap::new(),
            projector: Projector::new(Positions::new()),
            fed: Vec::new(),
            acknowledged: BTreeSet::new(),
            next: 0,
            now: NOON.0,
        };
        walk.begin();
        walk
    }

    /// A start: acquires, and projects what the journal has beyond history.
    fn begin(&mut self) {
        let groups: Vec<Group> = (0..GROUPS).map(Group).collect();
        let owned = self.disk.acquire(&groups).expect("groups can be acquired");
        let place = |owned: &interlock_storage::Owned| (owned.group, (owned.epoch, owned.last));
        self.epochs = owned.iter().map(place).collect();
        let durable = self.disk.history_position().expect("it can be read");
        let mut projector = Projector::new(durable.unwrap_or_default());
        let after = projector.durable().clone();
        self.disk
            .replay(&after, &mut |replayed| {
                projector
                    .take::<Tickets>(replayed.group, replayed.sequence, &replayed.records)
                    .expect("it was encoded");
                ControlFlow::Continue(())
            })
            .expect("the journal can be read");
        self.projector = projector;
        self.fed.clear();
    }

    fn commit(&mut self) {
        let mut commit = Commit::default();
        let mut tickets = Vec::new();
        let groups: BTreeSet<u64> = (0..=self.rng.below(2)).map(|_| self.rng.below(3)).collect();
        for group in groups {
            let group = Group(u16::try_from(group).expect("below 3"));
            let (epoch, last) = self.epochs[&group];
            let records = self.records(&mut tickets);
            commit.appends.push(Append {
                group,
                epoch,
                sequence: last.next(),
                partitions: Vec::new(),
                records,
            });
        }
        self.disk.commit(&commit).expect("a calm disk");
        for append in &commit.appends {
            self.epochs
                .insert(append.group, (append.epoch, append.sequence));
        }
        self.acknowledged.extend(tickets);
        self.fed.append(&mut commit.appends);
    }

    /// Some records, of which some have notes; time goes on in steps from none to days.
    fn records(&mut self, tickets: &mut Vec<u64>) -> Vec<u8> {
        let mut records = Vec::new();
        let mut encoder = RecordEncoder::default();
        for _ in 0..=self.rng.below(200) {
            let step = [0, 0, 1, 90, 400, DAY_MS / 9][self.rng.index(6)];
            self.now += if self.rng.chance(1, 60) { step } else { 0 };
            // Frames of several shards follow each other, each with a time of its own.
            let late = i64::try_from(self.rng.below(40)).expect("below 40");
            let head = RecordHead {
                format: Tickets::FORMAT,
                product: Tickets::PRODUCT,
                space: SPACE,
                time: Timestamp(self.now - late),
                policy: 7,
                entries: 0,
            };
            let note = self.rng.chance(9, 10).then_some(self.next);
            self.next += 1;
            tickets.extend(note);
            let record = encoder.encode::<Tickets>(head, &[], note.as_ref());
            records.extend_from_slice(record.expect("it can be encoded"));
        }
        records
    }

    fn feed(&mut self) {
        let some = self.rng.index(self.fed.len() + 1);
        for append in self.fed.drain(..some) {
            self.projector
                .take::<Tickets>(append.group, append.sequence, &append.records)
                .expect("it was encoded");
        }
    }

    fn truncate(&mut self) {
        let mut upto = self.disk.coverage().positions();
        let beyond = upto.clone();
        for (group, position) in &mut upto {
            let taken = self.projector.durable().get(group);
            *position = (*position).min(taken.copied().unwrap_or_default());
        }
        let limit = 1 + self.rng.index(20);
        self.disk.truncate(&upto, limit).expect("history has it");
        if beyond != upto && self.disk.history_position().expect("it is read").is_some() {
            let refused = self.disk.truncate(&beyond, limit);
            assert!(refused.is_err(), "history has not taken all of {beyond:?}");
        }
    }

    fn check(&self, when: &str) {
        let mut found = BTreeMap::new();
        let (from, upto) = (NOON.plus_ms(-DAY_MS), NOON.plus_ms(4_000 * DAY_MS));
        history::between::<Tickets>(&self.disk, from, upto, &mut |receipt| {
            *found.entry(receipt.note).or_insert(0_u32) += 1;
            ControlFlow::Continue(())
        })
        .expect("the log can be read");
        let expected: BTreeMap<u64, u32> = self.acknowledged.iter().map(|&t| (t, 1)).collect();
        assert!(
            found == expected,
            "{when}: {} of {}",
            found.len(),
            expected.len()
        );
    }
}

/// Commits, projecting, writing, truncating and crashing in any order: each note is there once, and
/// rows are the same however often they were written.
#[test]
fn notes_survive_any_order_of_crashes() {
    for seed in 0..10 {
        let mut walk = Walk::new(seed);
        for step in 0..100 {
            match walk.rng.below(100) {
                0..35 => walk.commit(),
                35..60 => walk.feed(),
                60..78 => {
                    let disk = walk.disk.clone();
                    let wrote = walk.projector.write(&disk, &mut || ());
                    wrote.expect("a calm disk");
                }
                78..90 => walk.truncate(),
                90..97 => {
                    walk.disk = walk.disk.crash().expect("it can be opened");
                    walk.begin();
                    walk.check(&format!("seed {seed}, step {step}, after a crash"));
                }
                _ => walk.check(&format!("seed {seed}, step {step}")),
            }
        }
        walk.check(&format!("seed {seed}, at the end"));
        assert!(walk.acknowledged.len() > 500, "seed {seed} did little");
    }
}

/// Rows are few and small: what a note takes is little more than its own bytes.
#[test]
fn rows_hold_many_notes() {
    let disk = MemoryLog::new();
    let mut encoder = RecordEncoder::default();
    let mut records = Vec::new();
    for ticket in 0..10_000_u64 {
        let head = RecordHead {
            format: Tickets::FORMAT,
            product: Tickets::PRODUCT,
            space: SPACE,
            time: NOON.plus_ms(i64::try_from(ticket / 200).expect("small")),
            policy: 7,
            entries: 0,
        };
        let ticket = u64::MAX - ticket;
        let record = encoder.encode::<Tickets>(head, &[], Some(&ticket));
        records.extend_from_slice(record.expect("it can be encoded"));
    }
    let mut projector = Projector::new(Positions::new());
    projector
        .take::<Tickets>(Group(3), Sequence(1), &records)
        .expect("it was encoded");
    let wrote = projector.write(&disk, &mut || ());
    let wrote = wrote.expect("it can be written");
    assert_eq!(wrote.notes, 10_000);
    // A ticket takes 10 bytes, and 4 say whose it is and when.
    assert!(wrote.bytes < 10_000 * 15, "{wrote:?}");
    assert!(wrote.rows < 45, "{wrote:?}");
    let mut rows = 0;
    let day = history::day_of(NOON);
    disk.history_read(day, &[], &mut |key, value| {
        assert!(key.len() + value.len() < 4_000, "a row fits under one key");
        rows += 1;
        ControlFlow::Continue(())
    })
    .expect("it can be read");
    assert_eq!(rows, wrote.rows);
    assert_eq!(day, HistoryDay(20_000));
}
