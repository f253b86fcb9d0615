//! One connection's loop: prepare a request, wait until it may start, send it, read the answer, have
//! it judged, count. One request is under way at a time.
//!
//! Here: sockets and times. Not here: what is asked and which answers are right ([`Script`]).

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::answer::Counts;
use crate::arrivals::{Arrivals, Pace};
use crate::http::{Answer, Reader};
use crate::run::Plan;
use crate::tally::{self, Tally};

const ANSWER_WAIT: Duration = Duration::from_secs(30);
const CONNECT_WAIT: Duration = Duration::from_secs(2);
/// After a failed connection, and after a refusal for load, before the next try.
const PAUSE_BROKEN: Duration = Duration::from_millis(100);
const PAUSE_REFUSED: Duration = Duration::from_millis(5);
/// Failures in a row after which a connection gives up.
const BROKEN_IN_A_ROW_MAX: u32 = 20;

/// What one connection asks, and which answers are right.
pub(crate) trait Script: Send {
    /// Prepares the next request and names its kind by its place in the plan's list; `None` when
    /// there is nothing more to ask. It is called before the request's time, so what it takes is not
    /// in the latency.
    fn prepare(&mut self) -> Option<usize>;

    /// The prepared request, head and body.
    fn bytes(&self) -> &[u8];

    /// Judges its answer. Refusals for load (429, 503) do not come here.
    fn judge(&mut self, status: u16, body: &[u8]) -> Result<Judged, Wrong>;

    /// The request was refused for load or its connection broke: nobody knows what became of it.
    fn lost(&mut self) {}
}

/// A right answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged {
    /// Units that were decided.
    pub(crate) units: u64,
    /// Units that were answered undecided.
    pub(crate) undecided: u64,
    /// What checks were told.
    pub(crate) counts: Counts,
}

impl Judged {
    /// One unit that is no check.
    pub(crate) fn one() -> Self {
        Self {
            units: 1,
            undecided: 0,
            counts: Counts::default(),
        }
    }

    /// The answers of checks.
    pub(crate) fn checks(counts: Counts) -> Self {
        let all: u64 = counts.decisions.iter().sum();
        let undecided = counts.undecided();
        Self {
            units: all - undecided,
            undecided,
            counts,
        }
    }
}

/// A wrong answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// A status that this request may not get.
    Status,
    /// A body that breaks a rule, in words.
    Answer(String),
}

impl<E: std::fmt::Display> From<E> for Wrong {
    fn from(rule: E) -> Self {
        Self::Answer(rule.to_string())
    }
}

/// The moments all connections of a run share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// Load starts.
    pub(crate) start: Instant,
    /// The measured time starts.
    pub(crate) measured_from: Instant,
    /// No request starts after this.
    pub(crate) end: Instant,
}

/// What is known of a run while it goes on.
#[derive(Debug)]
pub(crate) struct Live {
    /// Units decided, warm-up included.
    pub(crate) units: AtomicU64,
    /// Faults of any kind.
    pub(crate) faults: AtomicU64,
    /// Connections that have not ended.
    pub(crate) open: AtomicU64,
    /// When the last one did that has.
    pub(crate) ended: Mutex<Option<Instant>>,
    /// Latencies since somebody last took them.
    pub(crate) recent: Mutex<Histogram<u64>>,
}

impl Live {
    /// Of so many connections.
    pub(crate) fn new(connections: u64) -> Result<Self, String> {
        Ok(Self {
            units: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            open: AtomicU64::new(connections),
            ended: Mutex::new(None),
            recent: Mutex::new(tally::histogram(2)?),
        })
    }

    fn answered(&self, units: u64, took: Duration) {
        self.units.fetch_add(units, Ordering::Relaxed);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.saturating_record(tally::nanoseconds(took));
    }
}

/// Runs one connection to the end of the plan.
pub(crate) fn run(
    plan: &Plan<'_>,
    connection: u64,
    clock: Clock,
    arrivals: &Arrivals,
    live: &Live,
) -> Result<Tally, String> {
    let ends = Ends(live);
    let mut driver = Driver {
        plan,
        clock,
        live,
        reader: Reader::new(),
        stream: None,
        tally: Tally::new(plan.steps.len())?,
    };
    driver.run(&mut *(plan.script)(connection)?, arrivals);
    drop(ends);
    Ok(driver.tally)
}

/// Counts a connection as ended, however it ends.
struct Ends<'a>(&'a Live);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let mut ended = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner);
        *ended = Some(Instant::now());
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Driver<'a, 'p> {
    plan: &'a Plan<'p>,
    clock: Clock,
    live: &'a Live,
    reader: Reader,
    stream: Option<TcpStream>,
    tally: Tally,
}

impl Driver<'_, '_> {
    fn run(&mut self, script: &mut dyn Script, arrivals: &Arrivals) {
        let mut broken_in_a_row = 0;
        while let Some(step) = script.prepare() {
            let Some(start) = arrivals.next() else { break };
            match self.exchange(script.bytes()) {
                Ok(answer) => {
                    broken_in_a_row = 0;
                    let goes_on = self.judge(script, step, answer, start, Instant::now());
                    if !goes_on {
                        break;
                    }
                }
                Err(_) if self.plan.may_break => break,
                Err(error) => {
                    broken_in_a_row += 1;
                    self.stream = None;
                    script.lost();
                    self.tally.broken += 1;
                    self.fault(format!("connection: {error}"));
                    if broken_in_a_row == BROKEN_IN_A_ROW_MAX {
                        break;
                    }
                    thread::sleep(PAUSE_BROKEN);
                }
            }
        }
    }

    /// Sends a request and reads its answer, over a new connection when there is none.
    fn exchange(&mut self, request: &[u8]) -> io::Result<Answer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                self.reader = Reader::new();
                let stream = self.connect()?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(ANSWER_WAIT))?;
                stream.set_write_timeout(Some(ANSWER_WAIT))?;
                stream
            }
        };
        stream.write_all(request)?;
        let answer = self.reader.read(&mut stream)?;
        if !answer.closes {
            self.stream = Some(stream);
        }
        Ok(answer)
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let address = self.plan.at.address;
        TcpStream::connect_timeout(&address, CONNECT_WAIT).map_err(|error| {
            let words = format!("{address}: {error}; is a server running there?");
            io::Error::new(error.kind(), words)
        })
    }

    /// Counts an answer; false when the connection shall end.
    fn judge(
        &mut self,
        script: &mut dyn Script,
        step: usize,
        answer: Answer,
        start: Instant,
        done: Instant,
    ) -> bool {
        let Clock {
            measured_from, end, ..
        } = self.clock;
        let took = done.saturating_duration_since(start);
        // The rate is of what is answered in the measured time, the latency of what is due in it: an
        // open loop that has fallen behind answers now what was due long ago.
        let (answered, due) = (measured_from <= done && done <= end, start >= measured_from);
        if answered {
            self.tally.bytes_sent += script.bytes().len() as u64;
            self.tally.bytes_received += answer.bytes as u64;
        }
        if matches!(answer.status, 429 | 503) {
            script.lost();
            self.refused(answer.status);
            return true;
        }
        match script.judge(answer.status, self.reader.body()) {
            Ok(judged) => {
                self.live.answered(judged.units, took);
                if answered {
                    self.tally.answered(&judged);
                }
                if due {
                    self.tally.took(step, took);
                }
                true
            }
            Err(Wrong::Status) => {
                self.status(answer.status);
                !is_final(answer.status)
            }
            Err(Wrong::Answer(rule)) => {
                // Also in the warm-up: a wrong answer is wrong whenever it comes.
                self.tally.wrong += 1;
                let what = self.plan.steps[step];
                self.fault(format!("{what}: wrong answer: {rule}"));
                true
            }
        }
    }

    fn status(&mut self, status: u16) {
        *self.tally.statuses.entry(status).or_default() += 1;
        self.fault(format!("status {status}: {}", excerpt(self.reader.body())));
    }

    fn refused(&mut self, status: u16) {
        self.status(status);
        self.tally.refused += 1;
        if self.plan.pace == Pace::Closed {
            thread::sleep(PAUSE_REFUSED);
        }
    }

    fn fault(&mut self, words: String) {
        self.live.faults.fetch_add(1, Ordering::Relaxed);
        self.tally.quote(words);
    }
}

/// A status that the next request would get as well: a wrong key, a feature that is off, a bad body.
const fn is_final(status: u16) -> bool {
    matches!(status, 400..=428 | 430..=499)
}

/// What a body says, for a report line: a problem's detail, else its start.
pub(crate) fn excerpt(body: &[u8]) -> String {
    let problem = serde_json::from_slice::<serde_json::Value>(body).ok();
    let detail = problem.as_ref().and_then(|it| it.get("detail")?.as_str());
    let text = detail.map_or_else(|| String::from_utf8_lossy(body), Into::into);
    text.chars().filter(|c| !c.is_control()).take(320).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_quoted_by_its_detail() {
        let problem =
            br#"{"title":"The request breaks the contract","detail":"`purpose` is wrong"}"#;
        assert_eq!(excerpt(problem), "`purpose` is wrong");
        assert_eq!(excerpt(b"<html>\r\n"), "<html>");
    }
}
