//! Load on a peer: a thread for each connection, each with one batch under way and the next one right
//! after (a closed loop, like the batches it is compared with). Every answer is judged; afterwards
//! each connection asks its last batch once more, which must find its effects reserved.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::judge::{Counts, Ledger, Verdict};
use super::keys::{Batches, Draw};
use super::server::{Form, Link, Server};
use crate::interrupt;
use crate::process::Process;

/// Latencies are kept to three digits, those of one second to two, from one microsecond to two
/// minutes.
const LATENCY_NS: (u64, u64) = (1_000, 120_000_000_000);
/// Time for all threads to be there before the load starts.
const LEAD: Duration = Duration::from_millis(20);
/// How often it is looked whether all connections have ended.
const LOOK: Duration = Duration::from_millis(20);
/// No run is shorter, so that a rate is a number.
const LEAST_S: f64 = 1e-6;

/// One run of load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// What is asked.
    pub(crate) draw: Draw,
    /// How batches are put.
    pub(crate) form: Form,
    /// Connections.
    pub(crate) connections: u64,
    /// Sets the effect keys of this run apart from all others'.
    pub(crate) run: u32,
    /// Batches after which it ends, over all connections.
    pub(crate) limit: Option<u64>,
    /// Load before the measured time.
    pub(crate) warm_up: Duration,
    /// The measured time.
    pub(crate) measured: Duration,
}

/// What it came to.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Answers of the measured time.
    pub(crate) counts: Counts,
    /// Measured seconds.
    pub(crate) seconds: f64,
    /// Nanoseconds a batch took.
    pub(crate) latency: Histogram<u64>,
    /// The same second by second, with the checks answered.
    pub(crate) over_time: Vec<(u64, Histogram<u64>)>,
    /// Processor seconds of the peer and of this process.
    pub(crate) cpu: [f64; 2],
    /// Answers that are wrong and connections that failed, in words.
    pub(crate) faults: Vec<String>,
}

/// The moments all connections share.
#[derive(Debug, Clone, Copy)]
struct Clock {
    start: Instant,
    from: Instant,
    end: Instant,
}

/// Carries out a run.
pub(crate) fn run(server: &dyn Server, load: &Load, ledger: &Ledger) -> Result<Measured, String> {
    let mut connections = (0..load.connections)
        .map(|number| Connection::open(server, load, number))
        .collect::<Result<Vec<_>, _>>()?;
    let start = Instant::now() + LEAD;
    let from = start + load.warm_up;
    let end = from + load.measured;
    let clock = Clock { start, from, end };
    let asked = AtomicU64::new(0);
    // Whether one more batch may be asked; a batch is counted when it is begun.
    let more = || {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        load.limit.is_none_or(|limit| number < limit)
    };
    let cpu = thread::scope(|scope| {
        let more = &more;
        let threads: Vec<_> = connections
            .iter_mut()
            .map(|connection| scope.spawn(move || connection.drive(clock, more, ledger)))
            .collect();
        let cpu = || {
            let own = Process::own().cpu_seconds();
            [server.cpu_seconds(), own.unwrap_or(0.0)]
        };
        interrupt::sleep_until(from);
        let before = cpu();
        while Instant::now() < end && threads.iter().any(|thread| !thread.is_finished()) {
            interrupt::sleep_until(end.min(Instant::now() + LOOK));
        }
        let after = cpu();
        [after[0] - before[0], after[1] - before[1]]
    });
    interrupt::check()?;
    // Nobody asks again while another still measures.
    connections.iter_mut().for_each(|it| it.ask_again(ledger));
    let parts = connections.into_iter().map(|it| it.part).collect();
    sum(parts, load, cpu)
}

fn sum(parts: Vec<Part>, load: &Load, cpu: [f64; 2]) -> Result<Measured, String> {
    let mut total = Measured {
        counts: Counts::default(),
        seconds: match load.limit {
            Some(_) => LEAST_S,
            None => load.measured.as_secs_f64(),
        },
        latency: histogram(3)?,
        over_time: Vec::new(),
        cpu,
        faults: Vec::new(),
    };
    for part in parts {
        total.counts.add(&part.counts);
        let added = total.latency.add(&part.latency);
        added.map_err(|error| error.to_string())?;
        for (at, (checks, latency)) in part.over_time.iter().enumerate() {
            if total.over_time.len() == at {
                total.over_time.push((0, histogram(2)?));
            }
            let second = &mut total.over_time[at];
            second.0 += checks;
            second.1.add(latency).map_err(|error| error.to_string())?;
        }
        total.seconds = total.seconds.max(part.seconds);
        total.faults.extend(part.fault);
    }
    Ok(total)
}

fn histogram(digits: u8) -> Result<Histogram<u64>, String> {
    Histogram::new_with_bounds(LATENCY_NS.0, LATENCY_NS.1, digits)
        .map_err(|error| format!("the latency histogram: {error}"))
}

/// What one connection counted.
#[derive(Debug)]
struct Part {
    counts: Counts,
    latency: Histogram<u64>,
    over_time: Vec<(u64, Histogram<u64>)>,
    /// From the measured start to the last answer.
    seconds: f64,
    fault: Option<String>,
}

struct Connection {
    link: Box<dyn Link>,
    batches: Batches,
    part: Part,
    verdicts: Vec<Verdict>,
}

impl Connection {
    fn open(server: &dyn Server, load: &Load, number: u64) -> Result<Self, String> {
        Ok(Self {
            link: server.connect(load.form, load.run, load.draw.batch)?,
            batches: Batches::new(load.draw, number),
            part: Part {
                counts: Counts::default(),
                latency: histogram(3)?,
                over_time: Vec::new(),
                seconds: 0.0,
                fault: None,
            },
            verdicts: Vec::with_capacity(load.draw.batch),
        })
    }

    /// Asks batch after batch until the end, or until an answer is wrong.
    fn drive(&mut self, clock: Clock, more: &impl Fn() -> bool, ledger: &Ledger) {
        interrupt::sleep_until(clock.start);
        let goes_on = || Instant::now() < clock.end && !interrupt::asked() && more();
        while self.part.fault.is_none() && goes_on() {
            self.part.fault = self.exchange(clock, ledger).err();
        }
    }

    /// Asks the last batch once more: every effect of it is reserved by now.
    fn ask_again(&mut self, ledger: &Ledger) {
        // Without a batch so far there is nothing to ask again.
        if self.part.fault.is_some() || self.verdicts.is_empty() {
            return;
        }
        let mut again = Vec::with_capacity(self.verdicts.len());
        let asked = self.link.ask(self.batches.checks(), &mut again);
        let judged =
            asked.and_then(|()| ledger.judge_again(self.batches.probes(), &self.verdicts, &again));
        self.part.fault = judged.err();
    }

    fn exchange(&mut self, clock: Clock, ledger: &Ledger) -> Result<(), String> {
        self.batches.renew();
        let start = Instant::now();
        self.link.ask(self.batches.checks(), &mut self.verdicts)?;
        let done = Instant::now();
        let counts = ledger.judge(self.batches.checks(), self.batches.probes(), &self.verdicts)?;
        if start < clock.from {
            return Ok(());
        }
        let part = &mut self.part;
        let took = (done - start).as_nanos() as u64;
        part.counts.add(&counts);
        part.latency.saturating_record(took);
        let since = done - clock.from;
        part.seconds = since.as_secs_f64();
        let second = since.as_secs() as usize;
        while part.over_time.len() <= second {
            part.over_time.push((0, histogram(2)?));
        }
        part.over_time[second].0 += counts.checks;
        part.over_time[second].1.saturating_record(took);
        Ok(())
    }
}
