//! Tables fit their columns and say what they must.

use std::time::Duration;

use super::*;
use crate::answer::Counts;
use crate::report::{Cpu, Faults, GrowthStep, ShardStep, Throughput};
use crate::tally::{self, Tally};

fn run(right: bool) -> Run {
    let mut tally = Tally::new(2).expect("tally");
    let counts = Counts {
        decisions: [123_456_789, 1_000_000, 99_999_999],
        reasons: [1_000_000; 13],
        tokens: 7,
        tokens_verified: 3,
        ordered: 5,
    };
    tally.took(0, Duration::from_millis(12));
    Run {
        name: "flooding space beside the quiet space".to_owned(),
        pace: Loop::Open,
        rate: Some(1e6),
        unit: "checks",
        connections: 16,
        batch: 500.0,
        about: "purpose service, 1000000 customers, 1000000 objects, seed 1".to_owned(),
        seconds: 10.0,
        count: 123_456_789,
        undecided: 1_000_000,
        requests: 123_456_789,
        throughput: right.then_some(Throughput {
            per_second: 12_345_678.9,
            requests_per_second: 24_691.4,
        }),
        latency: tally::latency(&tally.latency),
        steps: vec![crate::report::Step {
            name: "reserve again",
            latency: tally::latency(&tally.steps[0]),
        }],
        over_time: Vec::new(),
        decisions: crate::answer::DECISIONS
            .into_iter()
            .zip(counts.decisions)
            .collect(),
        reasons: counts.reasons_seen().collect(),
        tokens: 7,
        tokens_verified: 3,
        ordered_pairs: 5,
        faults: Faults {
            wrong_answers: if right { 0 } else { 3 },
            refused: 1_000_000,
            statuses: BTreeMap::from([(429, 1_000_000)]),
            broken_connections: 0,
            unsent: 1_000_000,
            first: vec!["wrong answer: result 7: ".to_owned() + &"words ".repeat(30)],
        },
        sent_bytes: 99_000_000_000,
        received_bytes: 99_000_000_000,
        cpu: Cpu {
            generator_us: 0.25,
            generator_cores: 0.1,
            server_us: Some(4.5),
            server_cores: Some(1.8),
            machine_cores: Some(2.0),
        },
        server: Some(Resources {
            shards_busy: vec![0.95; 16],
            disk_bytes: Some(123_000_000_000),
            written_bytes: 99_000_000_000,
            ..Resources::default()
        }),
    }
}

fn document(right: bool) -> Document {
    let mut document = Document {
        command: "interlock-load ".to_owned() + &"--set limits.space_asks_ms=0 ".repeat(5),
        runs: vec![run(right)],
        shards: vec![ShardStep {
            shards: 16,
            per_second: 1_234_567.0,
            p50_ms: 1.0,
            p99_ms: 123.45,
            busy: 1.0,
            server_us: 4.5,
        }],
        growth: vec![GrowthStep {
            customers: 10_000_000,
            entities: 20_000_000,
            per_second: 1_234_567.0,
            p50_ms: 1.0,
            p99_ms: 123.45,
            resident_bytes: 3_500_000_000,
            bytes_per_entity: 175.0,
            disk_bytes: 12_500_000_000,
        }],
        race: Some(Race {
            violations: vec!["effect key 1: 2 of 32 callers won it, 1 may".to_owned()],
            ..Race::default()
        }),
        words: vec!["Take 1 shard. ".repeat(10)],
        ..Document::default()
    };
    document.judge();
    document
}

#[test]
fn numbers_are_grouped() {
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(999), "999");
    assert_eq!(grouped(1_234_567), "1,234,567");
}

#[test]
fn a_table_fits_80_columns() {
    let text = Table(&document(true)).to_string();
    let long: Vec<_> = text
        .lines()
        .filter(|line| line.chars().count() > 80)
        .collect();
    assert_eq!(long, Vec::<&str>::new());
    for part in [
        "OPEN LOOP at 1,000,000",
        "(12,345,679/s), and 1,000,000 undecided",
        "VIOLATION",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_wrong_answer_leaves_no_rate_anywhere() {
    let document = document(false);
    assert!(!document.passed);
    let text = Table(&document).to_string();
    assert!(
        text.contains("NO RATE") && text.contains("3 wrong answers"),
        "{text}"
    );
    assert!(!text.contains("12,345,67"), "{text}");
    let json = serde_json::to_value(&document).expect("JSON");
    assert_eq!(json["runs"][0].get("throughput"), None);
    assert_eq!(json["runs"][0]["faults"]["wrong_answers"], 3);
    assert_eq!(json["runs"][0]["decisions"]["allow"], 123_456_789);
}
