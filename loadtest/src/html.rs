//! A call of the harness as one page: `--html report.html`. It holds everything it shows, asks nothing
//! of any other place (its policy forbids it), has no scripts, and can be read on a phone and in the
//! dark. Each chart has its numbers as a table below it.
//!
//! Here: the page around the charts. Not here: which charts a document comes to ([`figures`]), how one
//! is drawn ([`chart`], [`axis`]), how numbers and words are written ([`words`]).

mod axis;
mod beside;
mod chart;
mod figures;
mod words;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::report::{Document, Loop, Run};

use self::chart::Table;
pub(crate) use self::words::civil;
use self::words::{bytes, date, escaped, figure, whole};

const STYLE: &str = include_str!("html/page.css");
/// Rows from which a table is folded away.
const ROWS_SHOWN_MAX: usize = 14;

/// Writes the page of a document; an error names the file.
pub(crate) fn write(path: &Path, document: &Document) -> Result<(), String> {
    let page = page(document)?;
    fs::write(path, page).map_err(|error| format!("{}: {error}", path.display()))
}

/// Whether a page can be written there, to know it before a long run; leaves what is there as it is.
pub(crate) fn check(path: &Path) -> Result<(), String> {
    let is_new = !path.exists();
    let opened = fs::OpenOptions::new().create(true).append(true).open(path);
    opened
        .and_then(|_| {
            if is_new {
                fs::remove_file(path)
            } else {
                Ok(())
            }
        })
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes the chart of throughput by shards, or that by customers, where the document has one: a file
/// that stands alone, named after the scenario. Charts of figures with a wrong answer are not drawn.
pub(crate) fn write_charts(folder: &Path, document: &Document) -> Result<(), String> {
    let named = [
        ("shards.svg", figures::throughput_by_shards(document)),
        ("growth.svg", figures::throughput_by_customers(document)),
    ];
    for (name, chart) in named {
        if let Some(chart) = chart {
            let path = folder.join(name);
            let svg = chart.file()?;
            fs::write(&path, svg).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

/// Makes a folder for charts where there is none, to know before a long run that they have one.
pub(crate) fn check_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn page(document: &Document) -> Result<String, String> {
    let title = format!("interlock-load {}", document.scenario);
    let mut body = format!("<h1>{}</h1>\n", escaped(&title));
    let verdict = if document.passed {
        "<p class=\"right\">Every answer was right.</p>\n"
    } else {
        "<p class=\"wrong\">An answer was wrong, so no throughput is told.</p>\n"
    };
    body.push_str(verdict);
    list(&mut body, &document.words);
    for (number, chart) in (1..).zip(figures::charts(document)) {
        let svg = chart.svg()?;
        let name = escaped(&chart.title);
        let note = escaped(&chart.note);
        let legend = chart.legend();
        let table = table(&chart.table);
        add(
            &mut body,
            format_args!(
                "<figure aria-labelledby=\"chart-{number}\">\n<h2 id=\"chart-{number}\">{name}</h2>\n\
                 <p>{note}</p>\n{legend}<div class=\"chart\">{svg}</div>\n\
                 <figcaption>{table}</figcaption>\n</figure>\n"
            ),
        );
    }
    section(&mut body, "Runs", &table(&runs(document)));
    if let Some(details) = figures::details(document) {
        section(&mut body, "Findings", &table(&details));
    }
    let faults: Vec<String> = document.runs.iter().flat_map(faults).collect();
    if !faults.is_empty() {
        let mut lines = String::new();
        list(&mut lines, &faults);
        section(&mut body, "Faults", &lines);
    }
    section(&mut body, "Conditions", &conditions(document));
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         </body>\n</html>\n",
        escaped(&title)
    ))
}

/// Appends to a page; writing to a string cannot fail.
fn add(body: &mut String, words: std::fmt::Arguments<'_>) {
    body.write_fmt(words).ok();
}

fn section(body: &mut String, title: &str, content: &str) {
    let title = escaped(title);
    add(
        body,
        format_args!("<section>\n<h2>{title}</h2>\n{content}</section>\n"),
    );
}

fn list(body: &mut String, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    body.push_str("<ul>\n");
    for line in lines {
        add(body, format_args!("<li>{}</li>\n", escaped(line)));
    }
    body.push_str("</ul>\n");
}

fn table(table: &Table) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let cells = |kind: &str, cells: &[String]| {
        let cell = |cell: &String| format!("<{kind}>{}</{kind}>", escaped(cell));
        cells.iter().map(cell).collect::<String>()
    };
    let mut text = String::from("<div class=\"wide\"><table>\n");
    if !table.head.is_empty() {
        let head = cells("th", &table.head);
        add(&mut text, format_args!("<thead><tr>{head}</tr></thead>\n"));
    }
    text.push_str("<tbody>\n");
    for row in &table.rows {
        add(&mut text, format_args!("<tr>{}</tr>\n", cells("td", row)));
    }
    text.push_str("</tbody>\n</table></div>\n");
    if table.rows.len() > ROWS_SHOWN_MAX {
        let rows = table.rows.len();
        return format!("<details><summary>The numbers, {rows} rows</summary>{text}</details>\n");
    }
    text
}

fn runs(document: &Document) -> Table {
    let head = [
        "run",
        "load",
        "connections",
        "batch",
        "seconds",
        "count",
        "a second",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "server us",
        "server cores",
        "client us",
    ];
    let row = |run: &Run| {
        let load = match (run.pace, run.rate) {
            (Loop::Open, Some(rate)) => format!("open loop, {}/s", whole(rate)),
            (Loop::Open, None) => "open loop".to_owned(),
            (Loop::Closed, _) => "closed loop".to_owned(),
        };
        let known = |figures: Option<f64>| figures.map_or_else(String::new, figure);
        // Nothing that a rate could be reckoned from, when an answer was wrong.
        let rate = run.throughput.filter(|_| document.passed);
        vec![
            run.name.clone(),
            load,
            run.connections.to_string(),
            figure(run.batch),
            figure(run.seconds),
            format!("{} {}", whole(run.count as f64), run.unit),
            rate.map_or_else(|| "not told".to_owned(), |it| whole(it.per_second)),
            figure(run.latency.p50_ms),
            figure(run.latency.p99_ms),
            figure(run.latency.p999_ms),
            known(run.cpu.server_us),
            known(run.cpu.server_cores),
            figure(run.cpu.generator_us),
        ]
    };
    Table {
        head: head.iter().map(|it| (*it).to_owned()).collect(),
        rows: document.runs.iter().map(row).collect(),
    }
}

/// What went wrong in a run, in words.
fn faults(run: &Run) -> Vec<String> {
    let faults = &run.faults;
    let statuses: u64 = faults.statuses.values().sum();
    let kinds = [
        ("wrong answers", faults.wrong_answers),
        ("refused for load", faults.refused),
        ("of another status", statuses),
        ("connections that failed", faults.broken_connections),
        ("requests not sent in time", faults.unsent),
    ];
    let counted = kinds.iter().filter(|kind| kind.1 > 0);
    let counts: Vec<_> = counted
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    if counts.is_empty() && faults.first.is_empty() {
        return Vec::new();
    }
    let mut words = vec![format!("{}: {}", run.name, counts.join(", "))];
    words.extend(
        faults
            .first
            .iter()
            .map(|first| format!("{}: {first}", run.name)),
    );
    words
}

fn conditions(document: &Document) -> String {
    let machine = &document.machine;
    let build = if machine.optimised {
        "with optimisation"
    } else {
        "without optimisation"
    };
    let mut rows = vec![
        ("command", document.command.clone()),
        ("begun", date(document.started_ms)),
        ("commit", machine.commit.clone()),
        (
            "cores",
            some(machine.cores as u64, machine.cores.to_string()),
        ),
        ("processor", machine.processor.clone()),
        (
            "memory",
            some(machine.memory_bytes, bytes(machine.memory_bytes as f64)),
        ),
        ("kernel", machine.kernel.clone()),
        ("file system", machine.file_system.clone()),
        ("harness built", build.to_owned()),
    ];
    for server in &document.servers {
        let how = if server.spawned {
            "started here"
        } else {
            "ran already"
        };
        let settings = server.settings.join(", ");
        let words = [&server.url, how, &server.ready, &settings];
        let words: Vec<_> = words.into_iter().filter(|it| !it.is_empty()).collect();
        rows.push(("server", words.join("; ")));
    }
    for run in &document.runs {
        rows.push(("asked", run.about.clone()));
    }
    for peer in &document.peers {
        rows.push(("peer", format!("{}: {}", peer.peer, peer.durability)));
    }
    for difference in document.peers.iter().flat_map(|peer| &peer.differences) {
        rows.push(("peers leave out", difference.clone()));
    }
    let mut seen = BTreeSet::new();
    rows.retain(|row| seen.insert(row.clone()));
    rows.retain(|(_, value)| !value.is_empty());
    table_of_pairs(&rows)
}

/// A figure that is known.
fn some(value: u64, words: String) -> String {
    if value == 0 { String::new() } else { words }
}

fn table_of_pairs(rows: &[(&str, String)]) -> String {
    let mut text = String::from("<dl>\n");
    let mut last = "";
    for (name, value) in rows {
        if *name != last {
            add(&mut text, format_args!("<dt>{}</dt>\n", escaped(name)));
        }
        last = name;
        add(&mut text, format_args!("<dd>{}</dd>\n", escaped(value)));
    }
    text.push_str("</dl>\n");
    text
}

#[cfg(test)]
#[path = "html/page_tests.rs"]
mod tests;
