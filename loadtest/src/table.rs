//! A document as a table of at most 80 columns.

use std::collections::BTreeMap;
use std::fmt;

use crate::peer;
use crate::report::{Document, Loop, Race, Recovery, Resources, Run};

/// Columns that a row's name and its indents take.
const NAME_COLUMNS: usize = 13;
const COLUMNS: usize = 80;

/// A document, to be shown.
pub(crate) struct Table<'a>(pub(crate) &'a Document);

type Row<'a> = dyn FnMut(&str, &str) -> fmt::Result + 'a;

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(document) = self;
        rows(document, &mut |name, value| show(f, name, value))?;
        write!(f, "{}", peer::Table(document))?;
        if !document.words.is_empty() {
            writeln!(f)?;
        }
        let mut words = document.words.iter();
        words.try_for_each(|words| show(f, "result", words))
    }
}

/// A row: a name and a value, which goes on below itself where it is long.
fn show(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    for (index, line) in wrapped(value, COLUMNS - NAME_COLUMNS).iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        writeln!(f, "{}", format!("{name:<12} {line}").trim_end())?;
    }
    Ok(())
}

fn rows(document: &Document, row: &mut Row<'_>) -> fmt::Result {
    row("command", &document.command)?;
    row("machine", &machine(document))?;
    for server in &document.servers {
        let spawned = if server.spawned {
            "started for the run"
        } else {
            "ran already"
        };
        let settings = server.settings.join(" ");
        row(
            "server",
            &format!("{}, {spawned} {} {settings}", server.url, server.ready),
        )?;
    }
    // A comparison has dozens of runs; its own table has what they come to.
    let shown = |run: &&Run| document.peers.is_empty() || !run.passed();
    for run in document.runs.iter().filter(shown) {
        row("", "")?;
        show_run(run, document.machine.cores, row)?;
    }
    steps(document, row)?;
    if let Some(recovery) = &document.recovery {
        row("", "")?;
        show_recovery(recovery, row)?;
    }
    if let Some(race) = &document.race {
        row("", "")?;
        show_race(race, row)?;
    }
    Ok(())
}

fn machine(document: &Document) -> String {
    let machine = &document.machine;
    let unoptimised = if machine.optimised {
        ""
    } else {
        ", generator built without optimisation"
    };
    let commit = match machine.commit.as_str() {
        "" => String::new(),
        commit => format!(", commit {commit}"),
    };
    format!(
        "{} cores, {}, {:.1} GB, {}, {}{commit}{unoptimised}",
        machine.cores,
        machine.processor,
        machine.memory_bytes as f64 / 1e9,
        machine.kernel,
        machine.file_system
    )
}

fn show_run(run: &Run, cores: usize, row: &mut Row<'_>) -> fmt::Result {
    row("run", &head(run))?;
    match run.throughput {
        Some(rates) => {
            let undecided = match run.undecided {
                0 => String::new(),
                some => format!(", and {} undecided", grouped(some)),
            };
            let text = format!(
                "{} ({}/s){undecided}",
                grouped(run.count),
                grouped(rates.per_second.round() as u64)
            );
            row(run.unit, &text)?;
            if run.count != run.requests {
                let rate = grouped(rates.requests_per_second.round() as u64);
                let text = format!("{} ({rate}/s)", grouped(run.requests));
                row("requests", &text)?;
            }
        }
        None => row(run.unit, "NO RATE: an answer was wrong")?,
    }
    if run.requests > 0 {
        show_figures(run, cores, row)?;
    }
    let faults = faults(run);
    let text = if faults.is_empty() {
        "none".to_owned()
    } else {
        faults.join(", ")
    };
    row("faults", &text)?;
    run.faults.first.iter().try_for_each(|fault| row("", fault))
}

fn head(run: &Run) -> String {
    let requests = if run.batch > 1.0 {
        format!("batches of {}", run.batch)
    } else {
        "one at a time".to_owned()
    };
    let pace = match (run.pace, run.rate) {
        (Loop::Open, Some(rate)) => {
            format!(
                "OPEN LOOP at {} {}/s",
                grouped(rate.round() as u64),
                run.unit
            )
        }
        (Loop::Open | Loop::Closed, _) => "CLOSED LOOP".to_owned(),
    };
    format!(
        "{}: {pace}, {} connections, {requests}, {:.1} s, {}",
        run.name, run.connections, run.seconds, run.about
    )
}

fn show_figures(run: &Run, cores: usize, row: &mut Row<'_>) -> fmt::Result {
    let latency = &run.latency;
    let text = format!(
        "p50 {:.2}  p90 {:.2}  p99 {:.2}  p99.9 {:.2}  max {:.2}",
        latency.p50_ms, latency.p90_ms, latency.p99_ms, latency.p999_ms, latency.max_ms
    );
    row("latency ms", &text)?;
    for step in &run.steps {
        let text = format!(
            "{:<14} p50 {:.2}  p99 {:.2}  max {:.2}  ({} requests)",
            step.name,
            step.latency.p50_ms,
            step.latency.p99_ms,
            step.latency.max_ms,
            grouped(step.latency.count)
        );
        row("", &text)?;
    }
    let counts = |map: &BTreeMap<&'static str, u64>| {
        let words = map
            .iter()
            .map(|(name, count)| format!("{name} {}", grouped(*count)));
        words.collect::<Vec<_>>().join(", ")
    };
    if !run.decisions.is_empty() {
        row("decisions", &counts(&run.decisions))?;
    }
    if !run.reasons.is_empty() {
        row("reasons", &counts(&run.reasons))?;
    }
    if run.tokens > 0 {
        let (tokens, verified) = (grouped(run.tokens), grouped(run.tokens_verified));
        row(
            "tokens",
            &format!("{tokens}, of which {verified} were verified"),
        )?;
    }
    if run.ordered_pairs > 0 {
        row(
            "order proved",
            &format!("{} pairs", grouped(run.ordered_pairs)),
        )?;
    }
    let mega = |bytes: u64| bytes as f64 / 1e6;
    let per = |bytes: u64| bytes.checked_div(run.count).unwrap_or_default();
    let text = format!(
        "{:.1} MB sent ({} each), {:.1} MB received ({} each)",
        mega(run.sent_bytes),
        per(run.sent_bytes),
        mega(run.received_bytes),
        per(run.received_bytes)
    );
    row("bytes", &text)?;
    show_processors(run, cores, row)?;
    run.server
        .iter()
        .try_for_each(|server| show_server(server, row))
}

/// Who used the processor: the generator, the server, everything.
fn show_processors(run: &Run, cores: usize, row: &mut Row<'_>) -> fmt::Result {
    let cpu = &run.cpu;
    let both = |us: f64, share: f64| format!("{us:.2} us each, {share:.2} cores");
    row(
        "CPU",
        &format!("generator {}", both(cpu.generator_us, cpu.generator_cores)),
    )?;
    if let (Some(us), Some(share)) = (cpu.server_us, cpu.server_cores) {
        row("", &format!("server    {}", both(us, share)))?;
    }
    if let Some(busy) = cpu.machine_cores {
        row(
            "",
            &format!("machine   {busy:.2} of {cores} cores, everything included"),
        )?;
    }
    Ok(())
}

fn show_server(server: &Resources, row: &mut Row<'_>) -> fmt::Result {
    let mega = |bytes: u64| bytes as f64 / 1e6;
    let disk = server.disk_bytes;
    let disk = disk.map_or_else(String::new, |bytes| {
        format!(", {:.1} MB on disk", mega(bytes))
    });
    let text = format!(
        "{:.1} MB resident{disk}, {} entities",
        mega(server.resident_bytes),
        grouped(server.entities)
    );
    row("server", &text)?;
    let text = format!(
        "{:.1} MB written ({:.0} bytes each, {:.1} MB/s), {} commits",
        mega(server.written_bytes),
        server.written_bytes_each,
        server.written_bytes_per_second / 1e6,
        grouped(server.commits)
    );
    row("", &text)?;
    let busy = server
        .shards_busy
        .iter()
        .map(|share| format!("{:.0} %", share * 100.0));
    let busy: Vec<_> = busy.collect();
    row("", &format!("shards busy {}", busy.join(", ")))
}

fn faults(run: &Run) -> Vec<String> {
    let faults = &run.faults;
    let statuses: u64 = faults.statuses.values().sum();
    let kinds = [
        ("wrong answers", faults.wrong_answers),
        ("refused for load", faults.refused),
        ("wrong statuses", statuses - faults.refused),
        ("broken connections", faults.broken_connections),
        (
            "requests not sent in time (their wait is in the latency)",
            faults.unsent,
        ),
    ];
    let some = kinds.into_iter().filter(|(_, count)| *count > 0);
    some.map(|(kind, count)| format!("{} {kind}", grouped(count)))
        .collect()
}

/// The steps of scenarios that have some, a line each.
fn steps(document: &Document, row: &mut Row<'_>) -> fmt::Result {
    if !document.shards.is_empty() {
        row("", "")?;
        row(
            "shards",
            "   checks/s   p50 ms   p99 ms   busy   server us each",
        )?;
    }
    for step in &document.shards {
        let text = format!(
            "{:>11} {:>8.2} {:>8.2} {:>4.0} % {:>16.2}",
            grouped(step.per_second.round() as u64),
            step.p50_ms,
            step.p99_ms,
            step.busy * 100.0,
            step.server_us
        );
        row(&format!("{:>6}", step.shards), &text)?;
    }
    if !document.growth.is_empty() {
        row("", "")?;
        row(
            "customers",
            "   checks/s   p50 ms   p99 ms   resident MB   B/entity   disk MB",
        )?;
    }
    for step in &document.growth {
        let text = format!(
            "{:>11} {:>8.2} {:>8.2} {:>13.1} {:>10.0} {:>9.1}",
            grouped(step.per_second.round() as u64),
            step.p50_ms,
            step.p99_ms,
            step.resident_bytes as f64 / 1e6,
            step.bytes_per_entity,
            step.disk_bytes as f64 / 1e6
        );
        row(&format!("{:>10}", grouped(step.customers)), &text)?;
    }
    Ok(())
}

fn show_recovery(recovery: &Recovery, row: &mut Row<'_>) -> fmt::Result {
    let text = format!(
        "ready after {:.2} s, of which {:.2} s rebuilt memory, from {:.1} MB on disk",
        recovery.ready_s,
        recovery.rebuilt_s,
        recovery.disk_bytes as f64 / 1e6
    );
    row("recovery", &text)?;
    let text = format!(
        "{} entities ({}/s) of {} records and {} snapshots",
        grouped(recovery.entities),
        grouped(recovery.entities_per_second.round() as u64),
        grouped(recovery.records),
        grouped(recovery.snapshots)
    );
    row("", &text)
}

fn show_race(race: &Race, row: &mut Row<'_>) -> fmt::Result {
    let text = format!(
        "{} effect keys in {} attempts",
        grouped(race.effects),
        grouped(race.effect_attempts)
    );
    row("race", &text)?;
    let text = format!(
        "{} budgets of {} in {} attempts",
        grouped(race.budgets),
        race.budget_limit,
        grouped(race.budget_attempts)
    );
    row("", &text)?;
    let text = format!(
        "{} customers in {} attempts, {} claims",
        grouped(race.targets),
        grouped(race.claim_attempts),
        grouped(race.claims)
    );
    row("", &text)?;
    race.violations
        .iter()
        .try_for_each(|violation| row("VIOLATION", violation))
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Breaks a text at spaces so that no line is longer than `width`, where words allow it. Spaces at
/// its start stay.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for (index, word) in text.split(' ').enumerate() {
        let needed = line.chars().count() + 1 + word.chars().count();
        if index > 0 && needed > width && !line.trim().is_empty() {
            lines.push(std::mem::take(&mut line));
        } else if index > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
