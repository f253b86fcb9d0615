//! How long the functions take that every check goes through: criterion over `tests/bench`, and what it
//! found as a table. Not here: whole servers (`figures`, the harness).

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::shell::{self, Outcome};

/// What to measure.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Only what has this in its name
    filter: Option<String>,
    /// Measured seconds of each
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Print one JSON document instead of a table
    #[arg(long)]
    json: bool,
}

/// One function.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    name: String,
    /// Nanoseconds of one element: a check, a hash, a signature.
    ns: f64,
    /// Where the true median lies with 95 % confidence.
    from_ns: f64,
    to_ns: f64,
}

/// Measures, shows progress meanwhile, and prints what came of it.
///
/// # Errors
/// The benchmarks do not build or fail, or left nothing.
pub(crate) fn run(options: &Options) -> Outcome {
    let found = shell::work_folder().join("criterion");
    // What an earlier run left would stand in the table as if it were of now.
    if found.exists() {
        fs::remove_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
    }
    let seconds = options.seconds.to_string();
    let mut arguments = vec!["bench", "-p", "interlock-bench", "--benches", "--"];
    arguments.extend(options.filter.as_deref());
    arguments.extend(["--measurement-time", &seconds]);
    let mut command = shell::cargo(arguments);
    command.env("CRITERION_HOME", &found);
    // With `--json` nothing but the document is for standard output.
    command.stdout(std::io::stderr());
    let ended = command
        .status()
        .map_err(|error| format!("cargo bench: {error}"))?;
    if !ended.success() {
        return Err("the benchmarks did not end well".to_owned());
    }
    let rows = rows(&found)?;
    if options.json {
        let document = serde_json::to_string_pretty(&rows).map_err(|error| error.to_string())?;
        println!("{document}");
    } else {
        print!("{}", table(&rows));
    }
    Ok(())
}

/// What criterion left, by name.
fn rows(folder: &Path) -> Outcome<Vec<Row>> {
    let mut rows = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let new = folder.join("new");
        if new.is_dir() {
            rows.push(row(&new)?);
            continue;
        }
        let entries = fs::read_dir(&folder).map_err(|error| at(&folder, &error))?;
        let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        folders.extend(paths.filter(|path| path.is_dir()));
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    if rows.is_empty() {
        return Err("no benchmark has this in its name".to_owned());
    }
    Ok(rows)
}

fn at(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

fn row(folder: &Path) -> Outcome<Row> {
    let about = document(&folder.join("benchmark.json"))?;
    let estimates = document(&folder.join("estimates.json"))?;
    judged(&about, &estimates).ok_or_else(|| at(folder, &"not what criterion writes"))
}

/// The median, for one element where a round has several.
fn judged(about: &Value, estimates: &Value) -> Option<Row> {
    let elements = about["throughput"]["Elements"].as_f64().unwrap_or(1.0);
    let median = &estimates["median"];
    let interval = &median["confidence_interval"];
    let each = |value: &Value| Some(value.as_f64()? / elements);
    Some(Row {
        name: about["full_id"].as_str()?.to_owned(),
        ns: each(&median["point_estimate"])?,
        from_ns: each(&interval["lower_bound"])?,
        to_ns: each(&interval["upper_bound"])?,
    })
}

fn document(path: &PathBuf) -> Outcome<Value> {
    let text = fs::read_to_string(path).map_err(|error| at(path, &error))?;
    serde_json::from_str(&text).map_err(|error| at(path, &error))
}

fn table(rows: &[Row]) -> String {
    let mut table = format!("{:<40} {:>10}   95 % of it\n", "what", "ns each");
    for row in rows {
        let Row { name, ns, .. } = row;
        let (from, to) = (row.from_ns, row.to_ns);
        table += &format!("{name:<40} {ns:>10.1}   {from:.1} to {to:.1}\n");
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_round_of_many_is_shown_for_one() {
        let estimate = json!({"median": {"point_estimate": 1_500.0,
            "confidence_interval": {"lower_bound": 1_000.0, "upper_bound": 2_000.0}}});
        let about = json!({"full_id": "shard/batch", "throughput": {"Elements": 500}});
        let row = judged(&about, &estimate).expect("both documents are whole");
        assert_eq!((row.ns, row.from_ns, row.to_ns), (3.0, 2.0, 4.0));
        let alone = json!({"full_id": "sign/token", "throughput": null});
        assert_eq!(judged(&alone, &estimate).map(|row| row.ns), Some(1_500.0));
        assert_eq!(judged(&json!({}), &estimate), None);
        assert!(table(&[row]).lines().all(|line| line.len() <= 80));
    }
}
