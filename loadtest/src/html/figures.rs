//! Which charts and tables a document comes to. A figure that a wrong answer makes worthless is not
//! shown at all.

use super::axis::Axis;
use super::beside;
use super::chart::{Bar, Chart, Drawing, SERIES_MAX, Table};
use super::words::{bytes, figure, whole};
use crate::report::{self, Document, GrowthStep, Latency, Run, Second, ShardStep};

/// Runs whose curves share a chart.
const TOGETHER_MAX: usize = 6;

/// Every chart, in reading order.
pub(crate) fn charts(document: &Document) -> Vec<Chart> {
    let mut charts = Vec::new();
    if document.passed {
        charts.extend(beside::charts(&document.peers));
        charts.extend(shards(&document.shards));
        charts.extend(growth(&document.growth));
    }
    for (title, runs) in groups(document) {
        charts.extend(latency(&title, &runs));
        if document.passed {
            charts.extend(over_time(&title, &runs));
        }
        charts.extend(room(&title, &runs));
    }
    charts.extend(document.runs.iter().flat_map(steps));
    charts
}

/// The chart of throughput by shards, where there is one and every answer was right.
pub(crate) fn throughput_by_shards(document: &Document) -> Option<Chart> {
    let steps = document.passed.then_some(&document.shards)?;
    shards(steps).into_iter().next()
}

/// The same by customers.
pub(crate) fn throughput_by_customers(document: &Document) -> Option<Chart> {
    let steps = document.passed.then_some(&document.growth)?;
    growth(steps).into_iter().next()
}

/// What a recovery and a race found, as rows.
pub(crate) fn details(document: &Document) -> Option<Table> {
    let mut rows: Vec<(&str, String)> = Vec::new();
    if let Some(it) = &document.recovery {
        rows.extend([
            ("data when it was killed", bytes(it.disk_bytes as f64)),
            ("seconds until it was ready", figure(it.ready_s)),
            ("seconds of rebuilding", figure(it.rebuilt_s)),
            ("entities", whole(it.entities as f64)),
            ("records", whole(it.records as f64)),
            ("snapshots", whole(it.snapshots as f64)),
            (
                "acknowledged and asked about",
                whole(it.acknowledged as f64),
            ),
            ("of them lost", whole(it.lost as f64)),
        ]);
        if document.passed {
            rows.push(("entities a second", whole(it.entities_per_second)));
        }
    }
    if let Some(it) = &document.race {
        rows.extend([
            ("effect keys raced for", whole(it.effects as f64)),
            ("attempts at them", whole(it.effect_attempts as f64)),
            ("budgets raced for", whole(it.budgets as f64)),
            ("contacts of each", whole(it.budget_limit as f64)),
            ("attempts at them", whole(it.budget_attempts as f64)),
            ("targets claimed", whole(it.targets as f64)),
            ("attempts at them", whole(it.claim_attempts as f64)),
            ("claims granted", whole(it.claims as f64)),
        ]);
        rows.extend(
            it.violations
                .iter()
                .map(|it| ("granted against the rules", it.clone())),
        );
    }
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, value)| vec![name.to_owned(), value])
        .collect();
    (!rows.is_empty()).then(|| Table {
        head: strings(["what", "found"]),
        rows,
    })
}

/// A run with its name beside others.
type Named<'a> = (String, &'a Run);

/// Runs that are looked at together: those of a comparison's last round by their connections, others
/// a few at a time.
fn groups<'a>(document: &'a Document) -> Vec<(String, Vec<Named<'a>>)> {
    if !document.peers.is_empty() {
        return last_round(document);
    }
    let parts = document.runs.chunks(TOGETHER_MAX);
    let count = parts.len();
    let group = |(number, runs): (usize, &'a [Run])| {
        let title = match runs {
            [only] => only.name.clone(),
            _ if count == 1 => document.scenario.clone(),
            _ => format!("{}, {number} of {count}", document.scenario),
        };
        let named = runs.iter().map(|run| (run.name.clone(), run));
        (title, named.collect())
    };
    (1..).zip(parts).map(group).collect()
}

fn last_round(document: &Document) -> Vec<(String, Vec<Named<'_>>)> {
    let rounds = document.peers.iter().map(|peer| peer.ours.len()).max();
    let last = format!(", round {}", rounds.unwrap_or(0));
    let mut groups: Vec<(u64, Vec<Named<'_>>)> = Vec::new();
    for run in document.runs.iter().filter(|run| run.name.ends_with(&last)) {
        // The title says what they have in common.
        let connections = report::connections(run.connections);
        let common = format!(", {connections}{last}");
        let name = run.name.strip_suffix(&common).unwrap_or(&run.name);
        let named = (name.to_owned(), run);
        match groups.iter_mut().find(|group| group.0 == run.connections) {
            Some(group) => group.1.push(named),
            None => groups.push((run.connections, vec![named])),
        }
    }
    let titled = |(number, runs)| (format!("{}{last}", report::connections(number)), runs);
    groups.into_iter().map(titled).collect()
}

fn latency(title: &str, runs: &[Named<'_>]) -> Vec<Chart> {
    let of: Vec<(&str, &Latency)> = runs
        .iter()
        .map(|(name, run)| (name.as_str(), &run.latency))
        .collect();
    curves(&format!("Latency: {title}"), &of)
}

fn steps(run: &Run) -> Vec<Chart> {
    let of: Vec<(&str, &Latency)> = run.steps.iter().map(|it| (it.name, &it.latency)).collect();
    curves(&format!("Latency by kind of request: {}", run.name), &of)
}

/// The curves of these, over several charts when there are more than a chart can tell apart.
fn curves(title: &str, of: &[(&str, &Latency)]) -> Vec<Chart> {
    let known = of
        .iter()
        .copied()
        .filter(|(_, latency)| !latency.curve.is_empty());
    let known: Vec<_> = known.collect();
    let parts = known.chunks(SERIES_MAX);
    let count = parts.len();
    let chart = |(number, of): (usize, _)| {
        if count == 1 {
            curves_of(title.to_owned(), of)
        } else {
            curves_of(format!("{title}, {number} of {count}"), of)
        }
    };
    (1..).zip(parts).map(chart).collect()
}

fn curves_of(title: String, of: &[(&str, &Latency)]) -> Chart {
    let points = || of.iter().flat_map(|(_, latency)| latency.curve.iter());
    let row = |(name, latency): &(&str, &Latency)| {
        let figures = [
            latency.p50_ms,
            latency.p90_ms,
            latency.p99_ms,
            latency.p999_ms,
            latency.max_ms,
        ];
        let mut cells = vec![(*name).to_owned(), whole(latency.count as f64)];
        cells.extend(figures.map(figure));
        cells
    };
    Chart {
        title,
        note:
            "The share of requests that took at most so long; each step to the right is ten times \
               rarer."
                .to_owned(),
        x: Axis::nines("share of requests", points().map(|point| point.0)),
        y: Axis::fitting("milliseconds", points().map(|point| point.1)),
        series: of.iter().map(|(name, _)| (*name).to_owned()).collect(),
        drawing: Drawing::Lines(
            of.iter()
                .map(|(_, latency)| latency.curve.clone())
                .collect(),
        ),
        table: Table {
            head: strings([
                "run", "requests", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms",
            ]),
            rows: of.iter().map(row).collect(),
        },
    }
}

fn over_time(title: &str, runs: &[Named<'_>]) -> Option<Chart> {
    let unit = runs.first()?.1.unit;
    let runs: Vec<(&str, &[Second])> = runs
        .iter()
        .filter(|(_, run)| run.throughput.is_some())
        .map(|(name, run)| (name.as_str(), whole_seconds(&run.over_time)))
        .filter(|(_, seconds)| !seconds.is_empty())
        .take(SERIES_MAX)
        .collect();
    let seconds = || runs.iter().flat_map(|(_, seconds)| seconds.iter());
    let points = |(_, seconds): &(&str, &[Second])| {
        let point = |second: &Second| (second.at_s, second.per_second);
        seconds.iter().map(point).collect::<Vec<_>>()
    };
    let longest = runs.iter().map(|(_, seconds)| seconds.len()).max()?;
    let row = |at: usize| {
        let of = |(_, seconds): &(&str, &[Second])| {
            let second = seconds.get(at);
            second.map_or_else(String::new, |it| whole(it.per_second))
        };
        let moment = runs.iter().find_map(|(_, seconds)| seconds.get(at));
        let mut cells = vec![moment.map_or_else(String::new, |it| figure(it.at_s))];
        cells.extend(runs.iter().map(of));
        cells
    };
    let names = || runs.iter().map(|(name, _)| (*name).to_owned());
    Some(Chart {
        title: format!("Throughput over time: {title}"),
        note: format!("What each second brought, in {unit} a second."),
        x: Axis::linear("seconds of the measured time", seconds().map(|it| it.at_s)),
        y: Axis::linear(
            &format!("{unit} a second"),
            seconds().map(|it| it.per_second),
        ),
        series: names().collect(),
        drawing: Drawing::Lines(runs.iter().map(points).collect()),
        table: Table {
            head: ["second".to_owned()].into_iter().chain(names()).collect(),
            rows: (0..longest).map(row).collect(),
        },
    })
}

/// Without a last piece of a second, whose rate says little.
fn whole_seconds(seconds: &[Second]) -> &[Second] {
    const LEAST_S: f64 = 0.5;
    let Some((last, before)) = seconds.split_last() else {
        return seconds;
    };
    let began = before.last().map_or(0.0, |second| second.at_s);
    if !before.is_empty() && last.at_s - began < LEAST_S {
        before
    } else {
        seconds
    }
}

/// One of a second's sizes.
type Bytes = fn(&Second) -> Option<u64>;

/// Memory and disk of the server second by second: of one run only, and not of a comparison, whose
/// runs are too short to tell anything of it.
fn room(title: &str, runs: &[Named<'_>]) -> Option<Chart> {
    let [(_, run)] = runs else {
        return None;
    };
    let seconds: Vec<&Second> = run
        .over_time
        .iter()
        .filter(|second| second.resident_bytes.is_some())
        .collect();
    if seconds.len() < 2 {
        return None;
    }
    let mega = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / 1e6);
    let kinds: [(&str, Bytes); 2] = [
        ("resident memory", |second| second.resident_bytes),
        ("data directory", |second| second.disk_bytes),
    ];
    let points = |of: Bytes| {
        let point = |second: &&Second| Some((second.at_s, mega(of(second))?));
        seconds.iter().filter_map(point).collect::<Vec<_>>()
    };
    let drawn: Vec<_> = kinds
        .iter()
        .map(|(name, of)| ((*name).to_owned(), points(*of)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let row = |second: &&Second| {
        let known = |bytes| mega(bytes).map_or_else(String::new, figure);
        vec![
            figure(second.at_s),
            known(second.resident_bytes),
            known(second.disk_bytes),
        ]
    };
    let heights = drawn
        .iter()
        .flat_map(|(_, points)| points.iter().map(|point| point.1));
    Some(Chart {
        title: format!("Memory and disk over time: {title}"),
        note: "What the server has at the end of each second.".to_owned(),
        x: Axis::linear(
            "seconds of the measured time",
            seconds.iter().map(|it| it.at_s),
        ),
        y: Axis::linear("megabytes", heights),
        series: drawn.iter().map(|(name, _)| name.clone()).collect(),
        drawing: Drawing::Lines(drawn.iter().map(|(_, points)| points.clone()).collect()),
        table: Table {
            head: strings(["second", "resident MB", "data MB"]),
            rows: seconds.iter().map(row).collect(),
        },
    })
}

fn shards(steps: &[ShardStep]) -> Vec<Chart> {
    if steps.is_empty() {
        return Vec::new();
    }
    let table = Table {
        head: strings([
            "shards",
            "checks/s",
            "p50 ms",
            "p99 ms",
            "busiest shard",
            "server us",
        ]),
        rows: steps
            .iter()
            .map(|it| {
                let busy = format!("{:.0} %", it.busy * 100.0);
                vec![
                    it.shards.to_string(),
                    whole(it.per_second),
                    figure(it.p50_ms),
                    figure(it.p99_ms),
                    busy,
                    figure(it.server_us),
                ]
            })
            .collect(),
    };
    let bars = |title: &str, note: &str, unit: &str, value: fn(&ShardStep) -> f64| Chart {
        title: title.to_owned(),
        note: note.to_owned(),
        x: Axis::names("shards", steps.iter().map(|it| it.shards.to_string())),
        y: Axis::linear(unit, steps.iter().map(value)),
        series: vec![title.to_owned()],
        drawing: Drawing::Bars(steps.iter().map(|it| vec![plain(value(it))]).collect()),
        table: table.clone(),
    };
    vec![
        bars(
            "Throughput by shards",
            "The best load of each number of shards.",
            "checks a second",
            |it| it.per_second,
        ),
        bars(
            "Latency by shards",
            "What 99 of 100 batches took at most at that load.",
            "milliseconds",
            |it| it.p99_ms,
        ),
        bars(
            "How busy the busiest shard is",
            "The share of its time in turns; near 100 % another shard may help, if there is a core.",
            "percent",
            |it| it.busy * 100.0,
        ),
    ]
}

fn growth(steps: &[GrowthStep]) -> Vec<Chart> {
    if steps.is_empty() {
        return Vec::new();
    }
    let row = |it: &GrowthStep| {
        vec![
            whole(it.customers as f64),
            whole(it.entities as f64),
            whole(it.per_second),
            figure(it.p50_ms),
            figure(it.p99_ms),
            bytes(it.resident_bytes as f64),
            figure(it.bytes_per_entity),
            bytes(it.disk_bytes as f64),
        ]
    };
    let head = [
        "customers",
        "entities",
        "checks/s",
        "p50 ms",
        "p99 ms",
        "resident",
        "bytes an entity",
        "disk",
    ];
    let table = Table {
        head: strings(head),
        rows: steps.iter().map(row).collect(),
    };
    let line = |title: &str, note: &str, unit: &str, value: fn(&GrowthStep) -> f64| {
        let points = steps.iter().map(|it| (it.customers as f64, value(it)));
        Chart {
            title: title.to_owned(),
            note: note.to_owned(),
            x: Axis::powers("customers", steps.iter().map(|it| it.customers as f64)),
            y: Axis::linear(unit, steps.iter().map(value)),
            series: vec![title.to_owned()],
            drawing: Drawing::Lines(vec![points.collect()]),
            table: table.clone(),
        }
    };
    vec![
        line(
            "Throughput by customers",
            "Checks over all customers that the server knows.",
            "checks a second",
            |it| it.per_second,
        ),
        line(
            "Memory by customers",
            "Resident memory of the server.",
            "megabytes",
            |it| it.resident_bytes as f64 / 1e6,
        ),
    ]
}

const fn plain(value: f64) -> Bar {
    Bar {
        value: Some(value),
        low: value,
        high: value,
    }
}

fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}
