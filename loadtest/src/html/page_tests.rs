//! The page as a whole: well-formed, complete, and sufficient to itself.

use std::collections::BTreeSet;

use super::*;
use crate::report::{
    GrowthStep, Latency, Machine, Peer, Race, Recovery, Second, Server, ShardStep, Spread, Step,
    Throughput,
};

fn latency() -> Latency {
    Latency {
        count: 1000,
        p50_ms: 1.0,
        p90_ms: 2.0,
        p99_ms: 5.0,
        p999_ms: 9.0,
        max_ms: 12.0,
        curve: vec![
            (0.0, 0.5),
            (50.0, 1.0),
            (90.0, 2.0),
            (99.0, 5.0),
            (99.9, 9.0),
            (100.0, 12.0),
        ],
    }
}

/// More than one chart can tell apart.
const STEPS: [&str; 9] = [
    "reserve", "settle", "claim", "renew", "release", "declare", "check", "batch", "lock",
];

fn run(name: &str, connections: u64) -> Run {
    let second = |at: u32| Second {
        at_s: f64::from(at),
        per_second: 400_000.0 + f64::from(at),
        p50_ms: 1.0,
        p99_ms: 5.0,
        resident_bytes: Some(400_000_000),
        disk_bytes: Some(u64::from(at) * 1_000_000),
    };
    Run {
        name: name.to_owned(),
        pace: Loop::Open,
        rate: Some(5000.0),
        unit: "checks",
        connections,
        batch: 500.0,
        about: "purpose `service`, 1 million customers".to_owned(),
        seconds: 3.0,
        count: 1_200_000,
        undecided: 0,
        requests: 2400,
        throughput: Some(Throughput {
            per_second: 400_123.0,
            requests_per_second: 800.0,
        }),
        latency: latency(),
        steps: STEPS
            .map(|name| Step {
                name,
                latency: latency(),
            })
            .to_vec(),
        over_time: (1..=20).map(second).collect(),
        decisions: Default::default(),
        reasons: Default::default(),
        tokens: 0,
        tokens_verified: 0,
        ordered_pairs: 0,
        faults: Default::default(),
        sent_bytes: 0,
        received_bytes: 0,
        cpu: Default::default(),
        server: None,
    }
}

fn peer(connections: u64, form: &'static str) -> Peer {
    let spread = Spread {
        min: 4.5,
        median: 5.0,
        max: 5.5,
    };
    Peer {
        peer: "Redis 7.0.15".to_owned(),
        form,
        durability: "appendfsync always".to_owned(),
        connections,
        batch: 500,
        ours: vec![400_000.0, 410_000.0],
        theirs: vec![80_000.0, 90_000.0],
        ratio: spread,
        ratio_to_best: spread,
        server_us: [Some(4.5), None],
        generator_us: [0.5, 0.4],
        p99_ms: [5.0, 9.0],
        differences: vec!["no receipts".to_owned()],
    }
}

fn document() -> Document {
    Document {
        format: crate::report::FORMAT,
        scenario: "peer <\"&'>".to_owned(),
        command: "interlock-load peer --peer redis".to_owned(),
        started_ms: 1_796_083_199_000,
        machine: Machine {
            cores: 2,
            processor: "A <fast> one".to_owned(),
            memory_bytes: 24_000_000_000,
            kernel: "Linux 6.18".to_owned(),
            file_system: "ext4".to_owned(),
            commit: "abc1234-dirty".to_owned(),
            optimised: true,
        },
        servers: vec![Server {
            url: "127.0.0.1:7440".to_owned(),
            spawned: true,
            ready: "ready shards=1".to_owned(),
            settings: vec!["--shards 1".to_owned()],
        }],
        passed: true,
        runs: vec![
            run("Interlock, 4 connections, round 2", 4),
            run("Redis, 4 connections, round 2", 4),
        ],
        shards: [1, 2, 4].map(shard).to_vec(),
        growth: [10_000, 1_000_000, 10_000_000].map(grown).to_vec(),
        recovery: Some(Recovery {
            disk_bytes: 1_000_000,
            journal_bytes: 900_000,
            ready_s: 1.5,
            rebuilt_s: 1.2,
            entities: 3_000_000,
            entities_per_second: 2_000_000.0,
            records: 10,
            snapshots: 2,
            acknowledged: 500,
            lost: 0,
        }),
        race: Some(Race {
            violations: vec!["one effect, two winners".to_owned()],
            ..Race::default()
        }),
        peers: vec![peer(4, "pipeline"), peer(4, "one call")],
        words: vec!["two shards gain nothing <here>".to_owned()],
        ..Document::default()
    }
}

fn shard(shards: u32) -> ShardStep {
    ShardStep {
        shards,
        per_second: 400_000.0,
        p50_ms: 1.0,
        p99_ms: 5.0,
        busy: 0.93,
        server_us: 4.2,
    }
}

fn grown(customers: u64) -> GrowthStep {
    GrowthStep {
        customers,
        entities: customers * 2,
        per_second: 390_000.0,
        p50_ms: 1.0,
        p99_ms: 5.0,
        resident_bytes: customers * 200,
        bytes_per_entity: 100.0,
        disk_bytes: customers * 300,
    }
}

/// Follows every tag to its end; answers the texts between them.
fn read(page: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut texts = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a doctype");
    while let Some((text, after)) = rest.split_once('<') {
        if !text.trim().is_empty() {
            texts.push(text.trim().to_owned());
        }
        let (tag, after) = after.split_once('>').expect("a tag that ends");
        rest = after;
        assert!(
            tag.matches('"').count().is_multiple_of(2),
            "an attribute without an end: {tag}"
        );
        let name = tag.trim_start_matches('/').split_whitespace().next();
        let name = name.expect("a name").trim_end_matches('/');
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "another tag was open");
        } else if !tag.ends_with('/') {
            open.push(name.to_owned());
        }
    }
    assert_eq!(open, Vec::<String>::new(), "left open");
    texts
}

#[test]
fn it_is_well_formed_and_shows_everything() {
    let page = page(&document()).expect("a page");
    let texts = read(&page);
    let all: BTreeSet<&str> = texts.iter().map(String::as_str).collect();
    for title in figures::charts(&document()) {
        assert!(
            all.contains(escaped(&title.title).as_str()),
            "{}",
            title.title
        );
        assert!(
            !title.table.rows.is_empty(),
            "{} has no numbers",
            title.title
        );
        for row in &title.table.rows {
            assert_eq!(row.len(), title.table.head.len(), "{}", title.title);
        }
        assert!(!title.x.title.is_empty() && !title.y.title.is_empty());
        for axis in [&title.x.title, &title.y.title] {
            assert!(
                all.contains(axis.as_str()),
                "the axis {axis} of {}",
                title.title
            );
        }
        if title.series.len() > 1 {
            for series in &title.series {
                assert!(
                    all.contains(escaped(series).as_str()),
                    "{series} of {}",
                    title.title
                );
            }
        }
    }
    let wanted = [
        "Interlock over Redis 7.0.15",
        "Throughput by shards",
        "Memory by customers",
        "Latency: 4 connections, round 2",
        "Throughput over time: 4 connections, round 2",
        "abc1234-dirty",
        "interlock-load peer --peer redis",
        "2026-11-30 23:59 UTC",
        "A &lt;fast&gt; one",
        "two shards gain nothing &lt;here&gt;",
        "5 (4.50–5.50)",
        "one effect, two winners",
        "no receipts",
        "99.9 %",
        "Latency by kind of request: Redis, 4 connections, round 2, 2 of 2",
        "lock",
    ];
    for text in wanted {
        assert!(all.contains(text), "{text}");
    }
}

#[test]
fn a_run_of_its_own_shows_memory_and_disk() {
    let mut document = document();
    document.peers.clear();
    document.runs.truncate(1);
    let page = page(&document).expect("a page");
    let texts = read(&page);
    for text in ["megabytes", "resident memory", "data directory"] {
        assert!(texts.iter().any(|it| it == text), "{text}");
    }
    assert!(
        page.contains("<td>20</td><td>400</td><td>20</td>"),
        "the last second's numbers"
    );
}

#[test]
fn a_last_piece_of_a_second_is_left_out_and_nothing_is_said_twice() {
    let mut document = document();
    let piece = Second {
        at_s: 20.1,
        per_second: 777.0,
        ..document.runs[0].over_time[19]
    };
    document.runs[0].over_time.push(piece);
    let page = page(&document).expect("a page");
    assert!(page.contains("<td>400,020</td>") && !page.contains("777"));
    assert_eq!(page.matches("no receipts").count(), 1);
    assert_eq!(page.matches("appendfsync always").count(), 1);
}

#[test]
fn it_needs_nothing_from_anywhere_else() {
    let page = page(&document()).expect("a page");
    for word in [
        "http://", "https://", "//", "<script", "<link", "@import", "url(", "src=",
    ] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
    assert!(page.contains("width=device-width"));
    let ids: Vec<&str> = page.split(" id=\"").skip(1).collect();
    let ids: Vec<&str> = ids.iter().filter_map(|it| it.split('"').next()).collect();
    assert_eq!(
        ids.len(),
        ids.iter().collect::<BTreeSet<_>>().len(),
        "an id twice"
    );
}

#[test]
fn a_wrong_answer_leaves_no_throughput() {
    let mut document = document();
    document.passed = false;
    document.runs[0]
        .faults
        .first
        .push("two <allows>".to_owned());
    let page = page(&document).expect("a page");
    read(&page);
    assert!(page.contains("two &lt;allows&gt;") && page.contains("An answer was wrong"));
    for figure in ["400,123", "Throughput", "Interlock over", "checks a second"] {
        assert!(!page.contains(figure), "{figure}");
    }
}

#[test]
fn a_document_without_runs_is_a_page_as_well() {
    let page = page(&Document::default()).expect("a page");
    read(&page);
    assert!(page.contains("Conditions") && !page.contains("<figure"));
}

#[test]
fn a_page_that_cannot_be_written_is_told_with_its_file() {
    let file = std::env::temp_dir().join("no-such-directory/report.html");
    for outcome in [check(&file), write(&file, &Document::default())] {
        let error = outcome.expect_err("no directory");
        assert!(error.contains("report.html"), "{error}");
    }
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("report.html");
    check(&file).expect("it can be written");
    assert!(!file.exists());
    fs::write(&file, "the last one").expect("a file");
    check(&file).expect("it can be written over");
    assert_eq!(fs::read_to_string(&file).expect("its text"), "the last one");
}

#[test]
fn charts_stand_in_files_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let charts = folder.path().join("charts");
    check_folder(&charts).expect("a folder");
    write_charts(&charts, &document()).expect("written");
    for name in ["shards.svg", "growth.svg"] {
        let text = fs::read_to_string(charts.join(name)).expect(name);
        assert!(text.starts_with("<svg "), "{text}");
        assert!(
            text.contains("xmlns=\"http://www.w3.org/2000/svg\""),
            "{name}"
        );
        assert!(text.contains("<title>Throughput by "), "{name}");
        assert!(text.trim_end().ends_with("</svg>"), "{name}");
    }
    fs::remove_file(charts.join("shards.svg")).expect("removed");
    let wrong = Document {
        passed: false,
        ..document()
    };
    write_charts(&charts, &wrong).expect("nothing to write");
    assert!(
        !charts.join("shards.svg").exists(),
        "no figure of wrong answers"
    );
}
