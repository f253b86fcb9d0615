//! A random walk over a log, with an independent model of what must be there.
//!
//! Here: every operation of the trait in random order, power cuts, torn ends, and the check that
//! the log holds what was acknowledged. Not here: how storage is cut (`Factory`). Called by the
//! suite, and by tests of one engine with more steps.

use std::collections::{BTreeMap, BTreeSet};

use super::support::{Rng, body, partition, replay};
use super::values::read_day;
use super::{Damage, Factory};
use crate::log::{
    Append, CHUNK_BYTES_MAX, Commit, Group, HistoryDay, Log, Owned, Partition, Positions, Sequence,
    SnapshotInfo, SnapshotSeal, SnapshotSlice,
};

const GROUPS: u16 = 4;
const PARTITIONS: u64 = 5;

/// The walk that is part of the suite.
pub fn random_walk(factory: &mut dyn Factory) {
    walk(factory, 42, 400);
}

/// Walks so many steps.
pub fn walk(factory: &mut dyn Factory, seed: u64, steps: u32) {
    let mut rng = Rng::new(seed);
    let mut model = Model::default();
    let mut log = model.start(factory);
    for step in 0..steps {
        match rng.below(100) {
            0..=64 => {
                let commit = model.next_commit(&mut rng);
                if let Some(commit) = commit {
                    log.commit(&commit)
                        .unwrap_or_else(|error| panic!("seed {seed}, step {step}: {error}"));
                    model.committed(commit);
                }
            }
            65..=79 => model.truncate(&*log, &mut rng),
            80..=87 => model.append_history(&*log, &mut rng),
            88 => model.purge(&*log),
            89..=91 => model.expect(&*log, seed, step),
            92..=93 => {
                drop(log);
                log = model.start(factory);
                model.expect(&*log, seed, step);
            }
            94..=95 => {
                model.tear(&*log, &mut rng);
                drop(log);
                factory.damage(Damage::Last);
                log = model.start(factory);
                model.expect(&*log, seed, step);
            }
            _ => {
                factory.crash(log);
                log = model.start(factory);
                model.expect(&*log, seed, step);
            }
        }
        factory.check();
    }
    factory.crash(log);
    let log = model.start(factory);
    model.expect(&*log, seed, steps);
}

/// A snapshot on its way: what is left to write.
struct Building {
    slices: Vec<Vec<u8>>,
    written: u32,
    name: u64,
    position: Sequence,
}

/// What the log must hold.
#[derive(Default)]
struct Model {
    owned: Vec<Owned>,
    appends: BTreeMap<(Group, Sequence), Append>,
    /// The highest position that may have been truncated.
    truncated: Positions,
    sealed: BTreeMap<Partition, (SnapshotInfo, Vec<Vec<u8>>)>,
    building: BTreeMap<Partition, Building>,
    names: BTreeMap<Partition, u64>,
    meta: BTreeMap<Vec<u8>, Vec<u8>>,
    days: BTreeMap<HistoryDay, BTreeMap<Vec<u8>, Vec<u8>>>,
    history: Option<Positions>,
}

impl Model {
    fn start(&mut self, factory: &mut dyn Factory) -> Box<dyn Log> {
        let log = factory.open(false).expect("the log opens");
        let groups: Vec<Group> = (0..GROUPS).map(Group).collect();
        let owned = log.acquire(&groups).expect("the groups can be acquired");
        if !self.owned.is_empty() {
            for (before, after) in self.owned.iter().zip(&owned) {
                assert_eq!(before.last, after.last, "{}", before.group);
                assert!(before.epoch < after.epoch, "{}", before.group);
            }
        }
        self.owned = owned;
        self.building.clear();
        // How far history has come may be behind after a power cut: then it is taken again.
        let known = log.history_position().expect("it can be read");
        for (group, sequence) in known.iter().flatten() {
            let taken = self.history.as_ref().and_then(|taken| taken.get(group));
            assert!(taken >= Some(sequence), "history does not run ahead");
        }
        self.history = known;
        log
    }

    fn next_commit(&mut self, rng: &mut Rng) -> Option<Commit> {
        let mut commit = Commit::default();
        for owned in &self.owned {
            if rng.chance(1, 2) {
                commit.appends.push(next_append(owned, rng));
            }
        }
        if rng.chance(1, 5) {
            let mut keys = BTreeSet::new();
            for _ in 0..=rng.below(3) {
                keys.insert(vec![b'k', u8::try_from(rng.below(9)).unwrap_or(0)]);
            }
            for key in keys {
                let value = rng.chance(3, 4).then(|| {
                    let length = length(rng);
                    body(rng.next_u64(), length)
                });
                commit.meta.push((key, value));
            }
        }
        if rng.chance(2, 3) {
            self.add_slices(&mut commit, rng);
        }
        let is_empty = commit == Commit::default();
        (!is_empty).then_some(commit)
    }

    /// Goes on with a snapshot, or begins one.
    fn add_slices(&mut self, commit: &mut Commit, rng: &mut Rng) {
        let group = Group(u16::try_from(rng.below(u64::from(GROUPS))).unwrap_or(0));
        let number = u16::try_from(rng.below(PARTITIONS)).unwrap_or(0);
        let partition = partition(group, number);
        if rng.chance(1, 30) {
            self.building.remove(&partition);
        }
        if !self.building.contains_key(&partition) {
            let position = self.owned[usize::from(group.0)].last;
            let whole = encode(&self.state(partition, position));
            let cut = 1 + rng.index(whole.len());
            let mut slices: Vec<Vec<u8>> = whole.chunks(cut).map(<[u8]>::to_vec).collect();
            slices.truncate(60);
            let rest = whole.len() - slices.iter().map(Vec::len).sum::<usize>();
            slices.push(whole[whole.len() - rest..].to_vec());
            let name = self.names.entry(partition).or_default();
            *name += 1 + rng.below(3);
            let building = Building {
                slices,
                written: 0,
                name: *name,
                position,
            };
            self.building.insert(partition, building);
        }
        let Some(building) = self.building.get_mut(&partition) else {
            return;
        };
        for _ in 0..=rng.below(40) {
            let index = building.written;
            let Some(bytes) = building.slices.get(index as usize) else {
                commit.seals.push(SnapshotSeal {
                    partition,
                    snapshot: building.name,
                    position: building.position,
                    slices: index,
                    header: body(building.name, 20),
                });
                break;
            };
            commit.slices.push(SnapshotSlice {
                partition,
                snapshot: building.name,
                index,
                bytes: bytes.clone(),
            });
            building.written += 1;
        }
    }

    fn committed(&mut self, commit: Commit) {
        for append in commit.appends {
            self.owned[usize::from(append.group.0)].last = append.sequence;
            self.appends.insert((append.group, append.sequence), append);
        }
        for (key, value) in commit.meta {
            match value {
                Some(value) => self.meta.insert(key, value),
                None => self.meta.remove(&key),
            };
        }
        for seal in commit.seals {
            let Some(building) = self.building.remove(&seal.partition) else {
                panic!("only what is being built is sealed");
            };
            let info = SnapshotInfo {
                partition: seal.partition,
                snapshot: seal.snapshot,
                position: seal.position,
                slices: seal.slices,
                header: seal.header,
            };
            self.sealed.insert(seal.partition, (info, building.slices));
        }
    }

    /// Writes a last commit that will be torn, and that the model does not take in.
    fn tear(&mut self, log: &dyn Log, rng: &mut Rng) {
        let owned = &self.owned[rng.index(usize::from(GROUPS))];
        let commit = Commit {
            appends: vec![next_append(owned, rng)],
            ..Commit::default()
        };
        log.commit(&commit).expect("the commit is in order");
    }

    fn truncate(&mut self, log: &dyn Log, rng: &mut Rng) {
        let mut upto = log.coverage().positions();
        for (group, position) in &mut upto {
            let covered = self.covered(*group);
            assert!(*position <= covered, "{group}: {position:?} of {covered:?}");
            if let Some(history) = &self.history {
                *position = (*position).min(history.get(group).copied().unwrap_or_default());
            }
        }
        for (&group, &position) in &upto {
            let known = self.truncated.entry(group).or_default();
            *known = position.max(*known);
        }
        let limit = 1 + rng.index(300);
        for _ in 0..=rng.below(5) {
            if !log.truncate(&upto, limit).expect("it is covered") {
                break;
            }
        }
        let beyond = Positions::from([(Group(0), self.covered(Group(0)).next())]);
        assert!(log.truncate(&beyond, limit).is_err(), "it is not covered");
    }

    /// What of a group is in snapshots.
    fn covered(&self, group: Group) -> Sequence {
        let mut covered = self.owned[usize::from(group.0)].last;
        for append in self.appends.values().filter(|a| a.group == group) {
            for partition in &append.partitions {
                let sealed = self.sealed.get(partition);
                let position = sealed.map_or(Sequence(0), |(info, _)| info.position);
                if append.sequence > position {
                    covered = covered.min(Sequence(append.sequence.0 - 1));
                }
            }
        }
        covered
    }

    fn append_history(&mut self, log: &dyn Log, rng: &mut Rng) {
        let day = HistoryDay(i32::try_from(rng.below(5)).unwrap_or(0));
        let mut rows = Vec::new();
        for _ in 0..=rng.below(6) {
            let key = vec![u8::try_from(rng.below(200)).unwrap_or(0)];
            rows.push((
                key.clone(),
                body(u64::from(key[0]), 40 * usize::from(key[0])),
            ));
        }
        let mut position = self.history.clone().unwrap_or_default();
        for owned in &self.owned {
            let taken = position.entry(owned.group).or_default();
            let left = owned.last.0 - taken.0;
            taken.0 += rng.below(left + 1);
        }
        log.history_append(day, &rows, &position)
            .expect("rows can be written");
        self.days.entry(day).or_default().extend(rows);
        self.history = Some(position);
    }

    fn purge(&mut self, log: &dyn Log) {
        let gone = log.history_purge(HistoryDay(2)).expect("days can go");
        let kept = self.days.split_off(&HistoryDay(2));
        let expected: Vec<HistoryDay> = self.days.keys().copied().collect();
        assert_eq!(gone, expected);
        self.days = kept;
    }

    /// The appends that make up a partition.
    fn state(&self, partition: Partition, upto: Sequence) -> Vec<(u64, Vec<u8>)> {
        let group = partition.group();
        self.appends
            .range((group, Sequence(0))..=(group, upto))
            .filter(|(_, append)| append.partitions.contains(&partition))
            .map(|((_, sequence), append)| (sequence.0, append.records.clone()))
            .collect()
    }

    fn expect(&self, log: &dyn Log, seed: u64, step: u32) {
        let place = format!("seed {seed}, step {step}");
        self.expect_journal(log, &place);
        self.expect_snapshots(log, &place);
        let meta = log.meta_scan(b"").expect("values can be read");
        let expected: Vec<_> = self.meta.clone().into_iter().collect();
        assert!(meta == expected, "{place}: meta values");
        for day in (0..5).map(HistoryDay) {
            let rows = read_day(log, day, &[]);
            let expected = self.days.get(&day).cloned().unwrap_or_default();
            let expected: Vec<_> = expected.into_iter().collect();
            assert!(rows == expected, "{place}: history of {day:?}");
        }
    }

    fn expect_journal(&self, log: &dyn Log, place: &str) {
        let mut next = Positions::new();
        for read in replay(log, &Positions::new()) {
            let key = (read.group, read.sequence);
            let written = &self.appends[&key];
            assert_eq!(read.epoch, written.epoch, "{place}: {key:?}");
            assert_eq!(read.partitions, written.partitions, "{place}: {key:?}");
            assert!(read.records == written.records, "{place}: {key:?}");
            let expected = next.entry(read.group).or_insert(read.sequence);
            assert_eq!(*expected, read.sequence, "{place}: {}", read.group);
            *expected = read.sequence.next();
        }
        for owned in &self.owned {
            let group = owned.group;
            let truncated = self.truncated.get(&group).copied().unwrap_or_default();
            let first = replay_first(log, group).unwrap_or(owned.last.next());
            assert!(
                first <= truncated.next(),
                "{place}: {group} lost its beginning"
            );
            let last = next
                .get(&group)
                .map_or(owned.last, |next| Sequence(next.0 - 1));
            assert_eq!(last, owned.last, "{place}: {group} lost its end");
            let known = log.coverage().truncatable(group);
            assert!(known <= self.covered(group), "{place}: {group}");
        }
    }

    fn expect_snapshots(&self, log: &dyn Log, place: &str) {
        let infos = log.snapshots().expect("snapshots can be listed");
        let expected: Vec<_> = self.sealed.values().map(|(info, _)| info.clone()).collect();
        assert_eq!(infos, expected, "{place}");
        for (info, slices) in self.sealed.values() {
            let mut read = Vec::new();
            log.read_snapshot(info, &mut |bytes| {
                read.push(bytes.to_vec());
                std::ops::ControlFlow::Continue(())
            })
            .expect("a current snapshot can be read");
            assert!(read == *slices, "{place}: snapshot of {}", info.partition);
            let group = info.partition.group();
            let mut state = decode(&read.concat());
            let tail = replay(log, &Positions::from([(group, info.position)]));
            state.extend(
                tail.into_iter()
                    .filter(|append| append.partitions.contains(&info.partition))
                    .map(|append| (append.sequence.0, append.records)),
            );
            let last = self.owned[usize::from(group.0)].last;
            let whole = self.state(info.partition, last);
            assert!(state == whole, "{place}: state of {}", info.partition);
        }
    }
}

fn replay_first(log: &dyn Log, group: Group) -> Option<Sequence> {
    let all = replay(log, &Positions::new());
    all.iter().find(|a| a.group == group).map(|a| a.sequence)
}

fn length(rng: &mut Rng) -> usize {
    let most = [40, 300, CHUNK_BYTES_MAX, 3 * CHUNK_BYTES_MAX][rng.index(4)];
    rng.index(most)
}

fn next_append(owned: &Owned, rng: &mut Rng) -> Append {
    let sequence = owned.last.next();
    let mut partitions = BTreeSet::new();
    for _ in 0..rng.below(3) {
        let number = u16::try_from(rng.below(PARTITIONS)).unwrap_or(0);
        partitions.insert(partition(owned.group, number));
    }
    let length = length(rng);
    Append {
        group: owned.group,
        epoch: owned.epoch,
        sequence,
        partitions: partitions.into_iter().collect(),
        records: body(rng.next_u64(), length),
    }
}

/// A partition as a snapshot holds it.
fn encode(state: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![0];
    for (sequence, records) in state {
        bytes.extend_from_slice(&sequence.to_le_bytes());
        bytes.extend_from_slice(&(records.len() as u64).to_le_bytes());
        bytes.extend_from_slice(records);
    }
    bytes
}

fn decode(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut state = Vec::new();
    let mut rest = &bytes[1..];
    while let Some((sequence, after)) = rest.split_first_chunk::<8>() {
        let (length, after) = after.split_first_chunk::<8>().expect("it was encoded");
        let length = usize::try_from(u64::from_le_bytes(*length)).expect("it was encoded");
        let (records, after) = after.split_at(length);
        state.push((u64::from_le_bytes(*sequence), records.to_vec()));
        rest = after;
    }
    state
}
