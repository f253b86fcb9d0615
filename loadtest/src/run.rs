//! One run: a thread for each connection, the clock they share, the progress line, the sum.

use std::io::{IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::connection::{self, Clock, Live};
use crate::options::Plan;
use crate::table::Report;
use crate::tally::Tally;

/// Time for all threads to be there before the load starts.
const LEAD: Duration = Duration::from_millis(20);

/// Carries out a plan.
pub(crate) fn run(plan: &Plan) -> Result<Report, String> {
    let start = Instant::now() + LEAD;
    let measured_from = start + plan.warm_up;
    let clock = Clock {
        start,
        measured_from,
        end: measured_from + plan.measured,
    };
    let live = Live::default();
    let (tallies, cpu) = thread::scope(|scope| {
        let live = &live;
        let threads: Vec<_> = (0..plan.common.connections)
            .map(|index| {
                scope.spawn(move || {
                    sleep_until(clock.start);
                    connection::run(plan, index, clock, live)
                })
            })
            .collect();
        let cpu = watch(plan, clock, live);
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|_| Err("a connection's thread panicked".to_owned()))
        };
        (
            threads.into_iter().map(join).collect::<Result<Vec<_>, _>>(),
            cpu,
        )
    });
    let mut total = Tally::new()?;
    for tally in &tallies? {
        total.add(tally)?;
    }
    let until = total.last.unwrap_or(clock.end).max(clock.end);
    Ok(Report::new(plan, &total, until - clock.measured_from, cpu))
}

/// Shows progress once a second on a terminal and returns the processor seconds of the measured time.
fn watch(plan: &Plan, clock: Clock, live: &Live) -> f64 {
    let shows = std::io::stderr().is_terminal() && !plan.common.json;
    sleep_until(clock.measured_from);
    let cpu_before = cpu_seconds();
    let mut last = live.checks.load(Ordering::Relaxed);
    let mut at = clock.measured_from;
    while at < clock.end {
        let next = (at + Duration::from_secs(1)).min(clock.end);
        sleep_until(next);
        let now = live.checks.load(Ordering::Relaxed);
        if shows {
            let rate = (now - last) as f64 / (next - at).as_secs_f64();
            let line = format!(
                "{} {:>3.0} s  {rate:>9.0} checks/s  {} faults",
                plan.title,
                (next - clock.measured_from).as_secs_f64(),
                live.faults.load(Ordering::Relaxed)
            );
            progress(&line);
        }
        (last, at) = (now, next);
    }
    if shows {
        progress("");
    }
    cpu_seconds() - cpu_before
}

/// Writes over the terminal's current line. A progress line that cannot be written is no fault.
fn progress(line: &str) {
    let mut terminal = std::io::stderr();
    drop(write!(terminal, "\r\x1b[2K{line}").and_then(|()| terminal.flush()));
}

fn sleep_until(moment: Instant) {
    thread::sleep(moment.saturating_duration_since(Instant::now()));
}

/// Processor seconds of this process so far; 0 where the system does not tell.
fn cpu_seconds() -> f64 {
    // User and system time are fields 14 and 15, in hundredths; the name in field 2 may hold spaces.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat
        .rsplit_once(')')
        .map_or("", |(_, rest)| rest)
        .split_whitespace();
    let ticks: u64 = fields
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    ticks as f64 / 100.0
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
