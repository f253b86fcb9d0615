//! Tests of the faulty engine: the suite without faults, then every fault.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::suite::support::{append, append_to, partition, places, snapshot};
use crate::suite::{self, Damage, Factory};

struct FaultyFactory(FaultyLog);

impl FaultyFactory {
    fn new(seed: u64) -> Self {
        Self(FaultyLog::new(FaultPlan::calm(seed)))
    }
}

impl Factory for FaultyFactory {
    fn open(&mut self, accept_truncation: bool) -> Result<Box<dyn Log>, LogError> {
        self.0 = self.0.restart(accept_truncation)?;
        Ok(Box::new(self.0.clone()))
    }

    fn crash(&mut self, log: Box<dyn Log>) {
        drop(log);
        self.0 = self.0.crash().expect("nothing is damaged");
    }

    fn damage(&mut self, damage: Damage) {
        self.0.store().damage(damage);
    }
}

#[test]
fn conformance() {
    suite::run(&mut |_| Box::new(FaultyFactory::new(3)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn walks(seed in any::<u64>()) {
        suite::walk::walk(&mut FaultyFactory::new(seed), seed, 150);
    }
}

const A: Group = Group(0);

fn of(append: crate::log::Append) -> Commit {
    Commit {
        appends: vec![append],
        ..Commit::default()
    }
}

fn acquired(log: &FaultyLog) -> Owned {
    log.acquire(&[A]).expect("it can be acquired")[0]
}

#[test]
fn each_fault_ends_as_it_says() {
    for (fault, lands) in [
        (Fault::Landed, true),
        (Fault::Lost, false),
        (Fault::Torn, false),
    ] {
        let log = FaultyLog::new(FaultPlan::calm(1));
        let mut owned = [acquired(&log)];
        append_to(&log, &mut owned, &[0], 9);
        log.script(fault);
        let next = append(&owned[0], &[0], 9);
        let outcome = log.commit(&of(next.clone()));
        assert!(matches!(outcome, Err(AppendError::Unknown(_))));
        let again = log.commit(&of(next.clone()));
        assert!(matches!(again, Err(AppendError::Unknown(_))), "it is final");
        let after = log.crash().expect("nothing is damaged");
        assert!(log.meta(b"x").is_err(), "the old handle is dead");
        assert!(log.crash().is_err(), "it crashes once");
        let landed = after.resolve(A, next.epoch, next.sequence, &next.records);
        let expected = if lands { Landed::Yes } else { Landed::No };
        assert_eq!(landed.expect("it can be resolved"), expected);
        assert_eq!(acquired(&after).last.0, 1 + u64::from(lands));
    }
}

#[test]
fn a_full_disk_is_no_end() {
    let log = FaultyLog::new(FaultPlan::calm(1));
    let owned = acquired(&log);
    log.script(Fault::Full);
    let next = of(append(&owned, &[0], 9));
    assert!(matches!(log.commit(&next), Err(AppendError::Full(_))));
    log.commit(&next).expect("there is room again");
    assert_eq!(log.counts().full, 1);
}

#[test]
fn a_power_cut_undoes_truncations_from_the_end() {
    let mut seen = BTreeMap::new();
    for seed in 0..40 {
        let log = FaultyLog::new(FaultPlan::calm(seed));
        let mut owned = [acquired(&log)];
        for _ in 0..9 {
            append_to(&log, &mut owned, &[0], 9);
        }
        log.commit(&snapshot(partition(A, 0), 1, Sequence(9), &[vec![1]]))
            .expect("the snapshot is in order");
        let upto = log.coverage().positions();
        for _ in 0..3 {
            log.truncate(&upto, 2).expect("it is covered");
        }
        assert_eq!(places(&log).len(), 3);
        let after = log.crash().expect("nothing is damaged");
        let left = places(&after);
        let first = 10 - left.len() as u64;
        let expected: Vec<_> = (first..10).map(|s| (A, Sequence(s))).collect();
        assert_eq!(left, expected, "the end is always there");
        assert_eq!(after.journal_size().commits, left.len() as u64 + 1);
        *seen.entry(left.len()).or_insert(0) += 1;
    }
    let outcomes: Vec<usize> = seen.into_keys().collect();
    assert_eq!(outcomes, vec![3, 5, 7, 9], "every outcome comes up");
}

#[test]
fn a_storm_loses_nothing_acknowledged_and_repeats_by_seed() {
    let run = |seed| {
        let mut log = FaultyLog::new(FaultPlan::stormy(seed));
        let mut acknowledged: Vec<(Sequence, Vec<u8>)> = Vec::new();
        let mut unknown: Option<crate::log::Append> = None;
        let mut owned = None;
        for _ in 0..20_000 {
            if log.has_failed() {
                log = log.crash().expect("nothing is damaged");
                owned = None;
            }
            let mine = match owned {
                Some(owned) => owned,
                None => match log.acquire(&[A]) {
                    Ok(all) => {
                        let last = all[0].last.0;
                        if let Some(unknown) = unknown.take()
                            && last == unknown.sequence.0
                        {
                            acknowledged.push((unknown.sequence, unknown.records));
                        }
                        assert_eq!(last, acknowledged.len() as u64);
                        all[0]
                    }
                    Err(_) => continue,
                },
            };
            let next = append(&mine, &[0], 4);
            owned = match log.commit(&of(next.clone())) {
                Ok(()) => {
                    acknowledged.push((next.sequence, next.records));
                    Some(Owned {
                        last: next.sequence,
                        ..mine
                    })
                }
                Err(AppendError::Full(_)) => Some(mine),
                Err(AppendError::Unknown(_)) => {
                    unknown = Some(next);
                    None
                }
                Err(error) => panic!("{error}"),
            };
        }
        let log = log.crash().expect("nothing is damaged");
        log.set_plan(FaultPlan::calm(0));
        let mut read = Vec::new();
        log.replay(&Positions::new(), &mut |append| {
            read.push((append.sequence, append.records));
            ControlFlow::Continue(())
        })
        .expect("it can be replayed");
        assert!(read.len() >= acknowledged.len());
        assert!(read[..acknowledged.len()] == acknowledged);
        (log.counts(), read.len())
    };
    let (counts, length) = run(7);
    assert_eq!((counts, length), run(7), "the same seed, the same run");
    assert_ne!((counts, length), run(8));
    assert!(counts.unknown > 10 && counts.full > 10 && counts.errors > 0);
    assert!(counts.delay_ticks > 0);
}
