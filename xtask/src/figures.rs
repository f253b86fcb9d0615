//! Figures of a release server on this machine: for each number of shards and each scenario a fresh
//! server with real syncs, the load harness on the same machine over loopback, several runs. Prints a
//! Markdown table with the machine it was measured on, to paste into the README. Runs are interleaved,
//! so that a slow minute of the machine does not fall on one row.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::server::{self, Server};
use crate::shell::{self, Outcome};
use crate::sizes;
use crate::targets;

/// How to measure.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Measured seconds of each run
    #[arg(long, default_value_t = 10.0)]
    pub(crate) seconds: f64,
    /// Runs of each row; the table shows the median and the range
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) runs: u32,
    /// Numbers of shards to measure, with commas between them
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    pub(crate) shards: Vec<u32>,
    /// Connections of the load
    #[arg(long, default_value_t = 4)]
    pub(crate) connections: u32,
    /// Print the figures of every run as JSON instead
    #[arg(long)]
    pub(crate) json: bool,
    /// Measure what each thing takes of memory and disk instead of how fast they are decided
    #[arg(long)]
    pub(crate) sizes: bool,
    /// How many entities are made of each thing for `--sizes`; fewer than 150,000 do not fill the
    /// log's cache first
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(8_000..=5_000_000))]
    pub(crate) count: u32,
    /// Measure every target of docs/performance.md instead, by one command of the load harness each;
    /// redis-server is needed. The status tells of wrong answers and of what could not be measured,
    /// never of speed
    #[arg(long, conflicts_with_all = ["sizes", "json"])]
    pub(crate) targets: bool,
    /// Only these targets, with commas between them
    #[arg(long, value_delimiter = ',', requires = "targets", value_name = "ID")]
    pub(crate) only: Vec<String>,
    /// Where the targets' table and charts are written; without it target/figures
    #[arg(long, requires = "targets", value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Every target as short as it can be, to try the verb itself
    #[arg(long, requires = "targets")]
    pub(crate) quick: bool,
    /// A server that is already built; for the targets the harness beside it is taken, where there is
    /// one
    #[arg(long)]
    pub(crate) binary: Option<PathBuf>,
}

/// The rows of each number of shards: a name and the harness's words for it.
const SCENARIOS: [(&str, &[&str]); 4] = [
    ("batches of 500", &["batch", "--closed"]),
    (
        "batches of 500, one customer",
        &["hot", "--closed", "--on", "customer"],
    ),
    (
        "batches of 500, one object",
        &["hot", "--closed", "--on", "object"],
    ),
    ("one check a request", &["single", "--closed"]),
];

/// One run's figures.
#[derive(Debug, Clone, Serialize)]
struct Run {
    scenario: &'static str,
    shards: u32,
    checks_per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    server_us_per_check: f64,
    report: Value,
}

/// Measures and prints.
pub(crate) fn run(options: &Options) -> Outcome {
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => server::build(true)?,
    };
    if options.sizes {
        sizes::run(&binary, options.count as usize, options.json)?;
        if !options.json {
            let count = options.count;
            let command = format!("`cargo xtask figures --sizes --count {count}`");
            println!("Measured with {command} on:\n\n{}", machine());
        }
        return Ok(());
    }
    if options.targets {
        let beside = binary.with_file_name("interlock-load");
        let given = options.binary.is_some() && beside.is_file();
        let harness = if given { beside } else { build_harness()? };
        let usual = shell::work_folder().join("figures");
        return targets::run(&targets::Plan {
            server: &binary,
            harness: &harness,
            only: &options.only,
            seconds: options.seconds,
            quick: options.quick,
            out: options.out.as_deref().unwrap_or(&usual),
        });
    }
    let harness = build_harness()?;
    let mut runs: BTreeMap<(u32, usize), Vec<Run>> = BTreeMap::new();
    for round in 1..=options.runs {
        for &shards in &options.shards {
            for (index, scenario) in SCENARIOS.iter().enumerate() {
                eprintln!("figures: round {round}, --shards {shards}, {}", scenario.0);
                let run = measure(&binary, &harness, shards, *scenario, options)?;
                eprintln!(
                    "   {:.0} checks/s, p99 {:.2} ms",
                    run.checks_per_second, run.p99_ms
                );
                runs.entry((shards, index)).or_default().push(run);
            }
        }
    }
    if options.json {
        let all: Vec<&Run> = runs.values().flatten().collect();
        println!(
            "{}",
            serde_json::to_string_pretty(&all).map_err(|error| error.to_string())?
        );
        return Ok(());
    }
    println!("{}", table(&runs, options));
    println!(
        "Measured with {} on:\n\n{}",
        command_line(options),
        machine()
    );
    Ok(())
}

fn build_harness() -> Outcome<PathBuf> {
    shell::run(&mut shell::cargo([
        "build",
        "--quiet",
        "--release",
        "-p",
        "interlock-load",
    ]))?;
    Ok(shell::build_folder()?.join("release/interlock-load"))
}

fn measure(
    binary: &Path,
    harness: &Path,
    shards: u32,
    (scenario, words): (&'static str, &[&str]),
    options: &Options,
) -> Outcome<Run> {
    // The data lies on the disk that holds the build, not on a temporary file system in memory.
    let folder = tempfile::tempdir_in(shell::work_folder()).map_err(|error| error.to_string())?;
    let server = Server::start(binary, folder.path(), &["--shards", &shards.to_string()])?;
    if !server.ready.contains("durability=fsync") {
        return Err(format!(
            "the server does not sync before it answers: {}",
            server.ready
        ));
    }
    let mut load = shell::command(harness, words);
    load.args(["--json", "--url", &server.url, "--key", server::KEY]);
    load.args(["--seconds", &options.seconds.to_string()]);
    load.args(["--connections", &options.connections.to_string()]);
    let text = shell::read(&mut load)?;
    server.stop()?;
    let mut document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let report = document["runs"][0].take();
    let number = |pointer: &str| {
        let found = report.pointer(pointer).and_then(Value::as_f64);
        found.ok_or_else(|| format!("{scenario}: the harness gave no {pointer}"))
    };
    if number("/faults/refused")? > 0.0 {
        return Err(format!("{scenario}: the server refused load"));
    }
    Ok(Run {
        scenario,
        shards,
        checks_per_second: number("/throughput/per_second")?,
        p50_ms: number("/latency/p50_ms")?,
        p99_ms: number("/latency/p99_ms")?,
        server_us_per_check: number("/cpu/server_us")?,
        report,
    })
}

fn table(runs: &BTreeMap<(u32, usize), Vec<Run>>, options: &Options) -> String {
    let mut text = String::from(
        "| scenario | shards | checks/s (range) | p50 ms | p99 ms | server CPU, us a check |\n\
         | - | - | - | - | - | - |\n",
    );
    for of_row in runs.values() {
        let median = |figure: fn(&Run) -> f64| middle(of_row.iter().map(figure).collect());
        let rates = || of_row.iter().map(|run| run.checks_per_second);
        let thousands = |value: f64| {
            let digits = usize::from(value < 1e4);
            format!("{:.digits$}k", value / 1e3)
        };
        let low = rates().fold(f64::INFINITY, f64::min);
        let high = rates().fold(0.0, f64::max);
        let (scenario, shards) = (of_row[0].scenario, of_row[0].shards);
        text.push_str(&format!(
            "| {scenario} | {shards} | {} ({}–{}) | {:.2} | {:.2} | {:.2} |\n",
            thousands(median(|run| run.checks_per_second)),
            thousands(low),
            thousands(high),
            median(|run| run.p50_ms),
            median(|run| run.p99_ms),
            median(|run| run.server_us_per_check),
        ));
    }
    text.push_str(&format!(
        "\nMedian and range of {} runs of {} s after 1 s of warm-up, {} connections, a sync before \
         every answer; the load runs on the same machine.\n",
        options.runs, options.seconds, options.connections
    ));
    text
}

fn command_line(options: &Options) -> String {
    let shards: Vec<String> = options.shards.iter().map(u32::to_string).collect();
    format!(
        "`cargo xtask figures --seconds {} --runs {} --shards {} --connections {}`",
        options.seconds,
        options.runs,
        shards.join(","),
        options.connections
    )
}

/// The machine in one Markdown table.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let processors = file("/proc/cpuinfo");
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':'))
            .map_or("unknown".to_owned(), |(_, value)| value.trim().to_owned())
    };
    let read = |program: &str, words: &[&str]| {
        shell::read(&mut shell::command(program, words)).unwrap_or_else(|_| "unknown".to_owned())
    };
    let disk = read(
        "findmnt",
        &["--noheadings", "--output", "FSTYPE", "--target", "."],
    );
    let rows = [
        ("cores", cores.to_string()),
        ("processor", field(&processors, "model name")),
        ("memory", field(&file("/proc/meminfo"), "MemTotal")),
        ("kernel", read("uname", &["-sr"])),
        ("file system", disk),
        ("commit", read("git", &["rev-parse", "--short", "HEAD"])),
    ];
    let mut text = String::from("| machine | |\n| - | - |\n");
    for (name, value) in rows {
        text.push_str(&format!("| {name} | {} |\n", value.trim()));
    }
    text
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (lower, upper) = ((values.len() - 1) / 2, values.len() / 2);
    f64::midpoint(values[lower], values[upper])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_odd_and_even_numbers_of_runs() {
        assert!((middle(vec![3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((middle(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
    }

    #[test]
    fn a_table_has_a_row_for_each_scenario() {
        let run = |rate| Run {
            scenario: "batches of 500",
            shards: 1,
            checks_per_second: rate,
            p50_ms: 2.0,
            p99_ms: 5.0,
            server_us_per_check: 4.0,
            report: Value::Null,
        };
        let runs = BTreeMap::from([((1, 0), vec![run(240_000.0), run(250_000.0), run(230_400.0)])]);
        let options = Options {
            seconds: 10.0,
            runs: 3,
            shards: vec![1],
            connections: 4,
            json: false,
            sizes: false,
            count: 200_000,
            targets: false,
            only: Vec::new(),
            out: None,
            quick: false,
            binary: None,
        };
        let row = "| batches of 500 | 1 | 240k (230k–250k) | 2.00 | 5.00 | 4.00 |";
        let text = table(&runs, &options);
        assert!(text.contains(row), "{text}");
    }
}
