//! Load on a peer: a thread for each connection, each with one batch under way and the next one right
//! after (a closed loop, like the batches it is compared with). Every answer is judged; afterwards
//! each connection asks its last batch once more, which must find its effects reserved.

use std::sync::Barrier;
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
    from: Instant,
    end: Instant,
}

/// Carries out a run.
pub(crate) fn run(server: &dyn Server, load: &Load, ledger: &Ledger) -> Result<Measured, String> {
    let links = (0..load.connections)
        .map(|_| server.connect(load.form, load.run, load.draw.batch))
        .collect::<Result<Vec<_>, _>>()?;
    let start = Instant::now() + LEAD;
    let from = start + load.warm_up;
    let end = from + load.measured;
    let clock = Clock { from, end };
    // Nobody asks again while another still measures.
    let over = Barrier::new(links.len());
    let (parts, cpu) = thread::scope(|scope| {
        let spawn = |(connection, link)| {
            let over = &over;
            scope.spawn(move || {
                interrupt::sleep_until(start);
                Connection::new(load, connection, clock).and_then(|it| it.drive(link, ledger, over))
            })
        };
        let threads: Vec<_> = (0..).zip(links).map(spawn).collect();
        interrupt::sleep_until(from);
        let cpu = || {
            [
                server.cpu_seconds(),
                Process::own().cpu_seconds().unwrap_or(0.0),
            ]
        };
        let before = cpu();
        interrupt::sleep_until(end);
        let after = cpu();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            let panicked = || Err("a connection's thread panicked".to_owned());
            thread.join().unwrap_or_else(|_| panicked())
        };
        let parts = threads
            .into_iter()
            .map(join)
            .collect::<Result<Vec<_>, String>>();
        (parts, [after[0] - before[0], after[1] - before[1]])
    });
    sum(parts?, load, cpu)
}

fn sum(parts: Vec<Part>, load: &Load, cpu: [f64; 2]) -> Result<Measured, String> {
    let mut total = Measured {
        counts: Counts::default(),
        seconds: load.measured.as_secs_f64(),
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
    batches: Batches,
    clock: Clock,
    part: Part,
    verdicts: Vec<Verdict>,
    again: Vec<Verdict>,
}

impl Connection {
    fn new(load: &Load, connection: u64, clock: Clock) -> Result<Self, String> {
        Ok(Self {
            batches: Batches::new(load.draw, connection),
            clock,
            part: Part {
                counts: Counts::default(),
                latency: histogram(3)?,
                over_time: Vec::new(),
                seconds: 0.0,
                fault: None,
            },
            verdicts: Vec::with_capacity(load.draw.batch),
            again: Vec::with_capacity(load.draw.batch),
        })
    }

    fn drive(
        mut self,
        mut link: Box<dyn Link>,
        ledger: &Ledger,
        over: &Barrier,
    ) -> Result<Part, String> {
        let mut asked = false;
        let mut outcome = Ok(());
        while outcome.is_ok() && Instant::now() < self.clock.end && !interrupt::asked() {
            outcome = self.exchange(&mut *link, ledger);
            asked = outcome.is_ok();
        }
        over.wait();
        if asked {
            outcome = link
                .ask(self.batches.checks(), &mut self.again)
                .and_then(|()| {
                    ledger.judge_again(self.batches.probes(), &self.verdicts, &self.again)
                });
        }
        self.part.fault = outcome.err();
        Ok(self.part)
    }

    fn exchange(&mut self, link: &mut dyn Link, ledger: &Ledger) -> Result<(), String> {
        self.batches.renew();
        let start = Instant::now();
        link.ask(self.batches.checks(), &mut self.verdicts)?;
        let done = Instant::now();
        let counts = ledger.judge(self.batches.checks(), self.batches.probes(), &self.verdicts)?;
        if start < self.clock.from {
            return Ok(());
        }
        let part = &mut self.part;
        let took = (done - start).as_nanos() as u64;
        part.counts.add(&counts);
        part.latency.saturating_record(took);
        let since = done - self.clock.from;
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
