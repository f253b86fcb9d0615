//! One run of load: a thread for each connection, the clock they share, what is seen from outside
//! meanwhile, the sum.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::answer::DECISIONS;
use crate::arrivals::{Arrivals, Pace};
use crate::connection::{self, Clock, Live, Script};
use crate::interrupt;
use crate::outside::{Look, Seen};
use crate::process::{self, Process};
use crate::progress::Progress;
use crate::report::{Cpu, Faults, Loop, Run, Second, Step, Throughput};
use crate::tally::{self, Tally};
use crate::target::{Endpoint, Target};

/// Time for all threads to be there before the load starts.
const LEAD: Duration = Duration::from_millis(20);

/// Makes what one connection asks, from the connection's number.
pub(crate) type Scripts<'a> = dyn Fn(u64) -> Result<Box<dyn Script + 'a>, String> + Sync + 'a;

/// One run: what is asked, of whom, how and how long.
pub(crate) struct Plan<'a> {
    /// What it is, for a heading.
    pub(crate) name: String,
    /// Purpose, customers and the like, for a heading.
    pub(crate) about: String,
    /// Who is asked.
    pub(crate) at: &'a Endpoint,
    /// The server as a process, where it is one of this machine.
    pub(crate) process: Option<Process>,
    /// Its data directory, where it is known.
    pub(crate) data: Option<std::path::PathBuf>,
    /// Connections.
    pub(crate) connections: u64,
    /// The number of the first connection. Their effect keys are by their numbers, so that a plan
    /// that is carried out twice needs others.
    pub(crate) first_connection: u64,
    /// When requests start.
    pub(crate) pace: Pace,
    /// How long, before and during the measurement. A run whose scripts end ends sooner.
    pub(crate) warm_up: Duration,
    /// The measured time.
    pub(crate) measured: Duration,
    /// Requests after which the run ends, if that is sooner.
    pub(crate) limit: Option<u64>,
    /// What is counted.
    pub(crate) unit: &'static str,
    /// How many of it a request asks.
    pub(crate) batch: f64,
    /// The kinds of requests.
    pub(crate) steps: &'static [&'static str],
    /// Whether the server may go away meanwhile: a broken connection then ends and is no fault.
    pub(crate) may_break: bool,
    /// Whether progress is shown.
    pub(crate) shown: bool,
    /// What each connection asks.
    pub(crate) script: &'a Scripts<'a>,
}

impl<'a> Plan<'a> {
    /// A plan of single requests of one kind, ten seconds of them.
    pub(crate) fn new(name: &str, target: &'a Target, script: &'a Scripts<'a>) -> Self {
        Self {
            name: name.to_owned(),
            about: String::new(),
            at: &target.endpoint,
            process: target.process,
            data: target.data(),
            connections: 4,
            first_connection: 0,
            pace: Pace::Closed,
            warm_up: Duration::from_secs(1),
            measured: Duration::from_secs(10),
            limit: None,
            unit: "requests",
            batch: 1.0,
            steps: &["request"],
            may_break: false,
            shown: true,
            script,
        }
    }
}

/// Carries out a plan.
pub(crate) fn run(plan: &Plan<'_>) -> Result<Run, String> {
    let start = Instant::now() + LEAD;
    let measured_from = start + plan.warm_up;
    let clock = Clock {
        start,
        measured_from,
        end: measured_from + plan.measured,
    };
    let arrivals = Arrivals::new(plan.pace, clock.start, clock.end, plan.limit);
    let live = Live::new(plan.connections)?;
    let (tallies, watched) = thread::scope(|scope| {
        let (live, arrivals) = (&live, &arrivals);
        let threads: Vec<_> = (0..plan.connections)
            .map(|index| {
                scope.spawn(move || {
                    interrupt::sleep_until(clock.start);
                    connection::run(plan, plan.first_connection + index, clock, arrivals, live)
                })
            })
            .collect();
        let watched = watch(plan, clock, live);
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|_| Err("a connection's thread panicked".to_owned()))
        };
        let tallies: Result<Vec<Tally>, String> = threads.into_iter().map(join).collect();
        (tallies, watched)
    });
    interrupt::check()?;
    let mut total = Tally::new(plan.steps.len())?;
    for tally in &tallies? {
        total.add(tally)?;
    }
    if total.was_unheard() {
        let cause = total.quoted.first().map_or("no connection", String::as_str);
        return Err(format!(
            "{cause} Nothing was answered, so nothing could be measured"
        ));
    }
    total.unsent(&arrivals.unsent());
    // To the end, or to that of the last connection when all of them ended sooner.
    let ended = live
        .ended
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let until = ended.unwrap_or(clock.end).min(clock.end);
    let took = until.saturating_duration_since(clock.measured_from);
    Ok(sum(plan, &total, took, watched))
}

/// What was seen from outside the connections.
struct Watched {
    over_time: Vec<Second>,
    seen: Seen,
}

/// Shows progress, notes what each second brought, and looks at the processes before and after.
fn watch(plan: &Plan<'_>, clock: Clock, live: &Live) -> Watched {
    let mut progress = Progress::new();
    interrupt::sleep_until(clock.measured_from);
    take_recent(live);
    let before = Look::at(plan);
    let mut units = live.units.load(Ordering::Relaxed);
    let mut at = Instant::now();
    let mut over_time = Vec::new();
    while at < clock.end && live.open.load(Ordering::Relaxed) > 0 {
        let next = (at + Duration::from_secs(1)).min(clock.end);
        wait_until(next, live);
        let (now, until) = (live.units.load(Ordering::Relaxed), Instant::now());
        let (p50_ms, p99_ms) = take_recent(live);
        let second = Second {
            at_s: (until - clock.measured_from).as_secs_f64(),
            per_second: (now - units) as f64 / (until - at).as_secs_f64(),
            p50_ms,
            p99_ms,
            resident_bytes: plan.process.and_then(Process::resident_bytes),
            disk_bytes: plan.data.as_deref().map(process::disk_bytes),
        };
        if plan.shown {
            progress.show(&format!(
                "{} {:>4.0} s {:>9.0} {}/s  p99 {:>7.2} ms  {} faults",
                plan.name,
                second.at_s,
                second.per_second,
                plan.unit,
                second.p99_ms,
                live.faults.load(Ordering::Relaxed)
            ));
        }
        over_time.push(second);
        (units, at) = (now, until);
    }
    progress.end();
    Watched {
        over_time,
        seen: Look::at(plan).since(&before),
    }
}

/// The latencies since the last call, and none from here on.
fn take_recent(live: &Live) -> (f64, f64) {
    let mut recent = live.recent.lock().unwrap_or_else(PoisonError::into_inner);
    let at = |percentile| recent.value_at_percentile(percentile) as f64 / 1e6;
    let found = (at(50.0), at(99.0));
    recent.reset();
    found
}

fn sum(plan: &Plan<'_>, tally: &Tally, took: Duration, watched: Watched) -> Run {
    let seconds = took.as_secs_f64().max(1e-9);
    let other: u64 = tally.statuses.values().sum::<u64>() - tally.refused;
    let right = tally.wrong + tally.broken + other == 0;
    let steps = plan.steps.iter().zip(&tally.steps);
    let steps = steps.filter(|(_, histogram)| !histogram.is_empty());
    let rate = match plan.pace {
        Pace::Closed => None,
        Pace::Open { per_second, .. } => Some(per_second * plan.batch),
    };
    let seen = &watched.seen;
    let each = |total: f64| total / (tally.units.max(1) as f64);
    Run {
        name: plan.name.clone(),
        pace: rate.map_or(Loop::Closed, |_| Loop::Open),
        rate,
        unit: plan.unit,
        connections: plan.connections,
        batch: plan.batch,
        about: plan.about.clone(),
        seconds,
        count: tally.units,
        undecided: tally.undecided,
        requests: tally.requests,
        throughput: right.then(|| Throughput {
            per_second: tally.units as f64 / seconds,
            requests_per_second: tally.requests as f64 / seconds,
        }),
        latency: tally::latency(&tally.latency),
        steps: steps
            .map(|(name, histogram)| Step {
                name,
                latency: tally::latency(histogram),
            })
            .collect(),
        over_time: watched.over_time,
        decisions: DECISIONS
            .into_iter()
            .zip(tally.counts.decisions)
            .filter(|(_, count)| *count > 0)
            .collect(),
        reasons: tally.counts.reasons_seen().collect(),
        tokens: tally.counts.tokens,
        tokens_verified: tally.counts.tokens_verified,
        ordered_pairs: tally.counts.ordered,
        faults: Faults {
            wrong_answers: tally.wrong,
            refused: tally.refused,
            statuses: tally.statuses.clone(),
            broken_connections: tally.broken,
            unsent: tally.unsent,
            first: tally.quoted.clone(),
        },
        sent_bytes: tally.bytes_sent,
        received_bytes: tally.bytes_received,
        cpu: Cpu {
            generator_us: each(seen.generator_cpu_s * 1e6),
            generator_cores: seen.generator_cpu_s / seen.seconds,
            server_us: seen.server_cpu_s.map(|cpu_s| each(cpu_s * 1e6)),
            server_cores: seen.server_cpu_s.map(|cpu_s| cpu_s / seen.seconds),
            machine_cores: seen.machine_cpu_s.map(|cpu_s| cpu_s / seen.seconds),
        },
        server: seen.resources(tally.units),
    }
}

impl Run {
    /// Whether every answer was right. Refusals for load and slowness are no wrong answers.
    pub(crate) const fn passed(&self) -> bool {
        self.throughput.is_some()
    }
}

/// Sleeps until then, or until no connection is open any more.
fn wait_until(moment: Instant, live: &Live) {
    while live.open.load(Ordering::Relaxed) > 0 {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(Duration::from_millis(20)));
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
