//! Cases about meta values and history.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::Factory;
use super::support::{
    append_to, body, open, partition, places, reopen, snapshot, start, truncate_all,
};
use crate::log::{
    CHUNK_BYTES_MAX, Commit, Group, HistoryDay, KEY_BYTES_MAX, Log, LogError, Positions, Row,
    Sequence, VALUE_BYTES_MAX,
};

const A: Group = Group(3);

/// Meta values of every size are set, replaced, removed and found by prefix.
pub fn meta_values(factory: &mut dyn Factory) {
    let mut log = open(factory);
    let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let keys: [&[u8]; 8] = [
        b"",
        b"a",
        b"a\0",
        b"a\0\0",
        b"a\x01",
        b"ab",
        b"b\xff\xff",
        &[0xff; KEY_BYTES_MAX],
    ];
    let bound = CHUNK_BYTES_MAX;
    let lengths = [
        0,
        1,
        bound - 21,
        bound - 20,
        bound,
        3 * bound,
        1,
        0,
        2 * bound + 1,
    ];
    for (round, &length) in lengths.iter().enumerate() {
        let mut commit = Commit::default();
        for (number, key) in keys.iter().enumerate() {
            let value = match (round + number) % 5 {
                4 => None,
                other => Some(body(other as u64, length + number)),
            };
            match &value {
                Some(value) => model.insert(key.to_vec(), value.clone()),
                None => model.remove(*key),
            };
            commit.meta.push((key.to_vec(), value));
        }
        log.commit(&commit).expect("the values are in order");
        expect_meta(&*log, &model);
        factory.crash(log);
        log = open(factory);
        expect_meta(&*log, &model);
    }
    let large = body(1, VALUE_BYTES_MAX);
    let commit = Commit {
        meta: vec![(b"large".to_vec(), Some(large.clone()))],
        ..Commit::default()
    };
    log.commit(&commit).expect("the value is at its bound");
    let log = reopen(factory, log);
    assert_eq!(log.meta(b"large").expect("it can be read"), Some(large));
    factory.check();
}

fn expect_meta(log: &dyn Log, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
    for prefix in [&b""[..], b"a", b"a\0", b"b", b"\xff\xff", b"c"] {
        let expected: Vec<Row> = model
            .iter()
            .filter(|(key, _)| key.starts_with(prefix))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let read = log.meta_scan(prefix).expect("values can be read");
        assert!(read == expected, "prefix {}", prefix.escape_ascii());
    }
    for (key, value) in model {
        let read = log.meta(key).expect("values can be read");
        assert!(read.as_ref() == Some(value), "key {}", key.escape_ascii());
    }
    assert_eq!(log.meta(b"nothing").expect("values can be read"), None);
}

/// Reads a day from a key on.
pub fn read_day(log: &dyn Log, day: HistoryDay, from: &[u8]) -> Vec<Row> {
    let mut rows = Vec::new();
    log.history_read(day, from, &mut |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })
    .expect("the day can be read");
    rows
}

/// Rows are written once however often, survive, and go by whole days.
pub fn history_rows(factory: &mut dyn Factory) {
    let mut log = open(factory);
    let none = Positions::new();
    assert_eq!(log.history_position().expect("it can be read"), None);
    let row = |day: i32, number: u32| {
        let key = number.to_be_bytes().to_vec();
        let length = [3, CHUNK_BYTES_MAX, 3 * CHUNK_BYTES_MAX][(number % 3) as usize];
        (key, body(u64::from(number) ^ (day as u64) << 32, length))
    };
    let days = 20_000..20_006;
    for round in 0..2 {
        for day in days.clone() {
            let rows: Vec<Row> = (0..40).map(|number| row(day, number)).collect();
            for rows in [&rows[..25], &rows[15..]] {
                log.history_append(HistoryDay(day), rows, &none)
                    .expect("rows can be written");
            }
            assert!(read_day(&*log, HistoryDay(day), &[]) == rows, "day {day}");
        }
        if round == 0 {
            factory.crash(log);
            log = open(factory);
        }
    }
    for day in days {
        let rows: Vec<Row> = (0..40).map(|number| row(day, number)).collect();
        assert!(read_day(&*log, HistoryDay(day), &[]) == rows, "day {day}");
        let from = read_day(&*log, HistoryDay(day), &17_u32.to_be_bytes());
        assert!(from == rows[17..], "day {day}");
    }
    assert_eq!(read_day(&*log, HistoryDay(7), &[]), vec![]);
    let too_large = [(vec![0; KEY_BYTES_MAX + 1], vec![])];
    assert!(
        log.history_append(HistoryDay(7), &too_large, &none)
            .is_err()
    );
    let gone = log.history_purge(HistoryDay(20_004)).expect("days can go");
    assert_eq!(gone, (20_000..20_004).map(HistoryDay).collect::<Vec<_>>());
    factory.check();
    factory.crash(log);
    let log = open(factory);
    for day in 20_000..20_006 {
        let left = read_day(&*log, HistoryDay(day), &[]).len();
        assert_eq!(left, if day < 20_004 { 0 } else { 40 }, "day {day}");
    }
    let again = log.history_purge(HistoryDay(20_004)).expect("days can go");
    assert_eq!(again, vec![]);
    log.history_append(HistoryDay(20_000), &[row(20_000, 1)], &none)
        .expect("a purged day can be written again");
    assert_eq!(read_day(&*log, HistoryDay(20_000), &[]).len(), 1);
}

/// Once history is in use, truncation waits for it.
pub fn history_holds_truncation(factory: &mut dyn Factory) {
    let (log, mut owned) = start(factory, &[A]);
    for _ in 0..6 {
        append_to(&*log, &mut owned, &[0], 10);
    }
    log.commit(&snapshot(partition(A, 0), 1, Sequence(6), &[vec![1]]))
        .expect("the snapshot is in order");
    let took = |log: &dyn Log, sequence: u64| {
        let position = Positions::from([(A, Sequence(sequence))]);
        log.history_append(HistoryDay(1), &[(vec![1], vec![2])], &position)
            .expect("rows can be written");
    };
    took(&*log, 4);
    took(&*log, 3);
    let known = Some(Positions::from([(A, Sequence(4))]));
    assert_eq!(log.history_position().expect("it can be read"), known);
    let all = Positions::from([(A, Sequence(6))]);
    let error = log.truncate(&all, 100).expect_err("history needs it");
    assert!(matches!(error, LogError::Corrupt(_)), "{error}");
    assert_eq!(places(&*log).len(), 6);
    truncate_all(&*log, &Positions::from([(A, Sequence(4))]), 100);
    assert_eq!(places(&*log), vec![(A, Sequence(5)), (A, Sequence(6))]);
    append_to(&*log, &mut owned, &[0], 10);
    factory.crash(log);
    let log = open(factory);
    assert_eq!(log.history_position().expect("it can be read"), known);
    assert_eq!(places(&*log).len(), 3);
    assert!(log.truncate(&all, 100).is_err(), "it still needs it");
    took(&*log, 6);
    truncate_all(&*log, &all, 100);
    assert_eq!(places(&*log), vec![(A, Sequence(7))]);
}
